"""`gotc check`: the errors of all files at once, for people, for scripts and for code hosts."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from gotlang.cli import errors, formats
from gotlang.cli import options as opt
from gotlang.cli.inputs import compilation
from gotlang.cli.output import Style, complain, count, document, plain_document, say
from gotlang.diagnostics import render
from gotlang.errors import UsageError


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@opt.choice(
    "--format",
    ("text", "json", "github", "sarif"),
    "text for people, json for scripts, github for annotations in GitHub's CI, sarif for code scanning.",
    "text",
)
def command(files: tuple[str, ...], format: str) -> int:
    """Parse and check programs and their imports. A FILE of `-` is standard input.

    The exit code is 2 if a file has an error; warnings do not count.
    """
    if files.count("-") > 1:
        raise UsageError("duplicate `-`: standard input can be read only once")
    found = [_check(name) for name in dict.fromkeys(files)]
    match format:
        case "json":
            document(formats.check_json(found))
        case "github":
            for line in formats.check_github(found):
                say(line)
        case "sarif":
            plain_document(formats.check_sarif(found))
        case _:
            _text(found)
    return 0 if all(one.ok for one in found) else 2


def _check(name: str) -> formats.CheckedFile:
    try:
        return formats.CheckedFile(name, compilation(name))
    except UsageError as error:
        return formats.CheckedFile(name, error)


def _text(found: Sequence[formats.CheckedFile]) -> None:
    """Errors with their lines on stdout, their number on stderr."""
    severities = []
    for one in found:
        if isinstance(one.result, UsageError):
            errors.message(one.result.message, one.result.help)
            severities.append("error")
            continue
        for diagnostic in one.result.diagnostics:
            say(render(diagnostic, one.result.sources, color=Style.of(sys.stdout).color) + "\n")
            severities.append(diagnostic.severity)
    warnings = severities.count("warning")
    also = f", {count(warnings, 'warning')}" if warnings else ""
    complain(f"{count(len(found), 'file')}: {count(severities.count('error'), 'error')}{also}")
