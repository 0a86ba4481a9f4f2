"""`gotc check`: every mistake of every file in one go, for people, for scripts and for code hosts."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from gotlang.cli.check_formats import Found, as_json, github, sarif
from gotlang.cli.output import Style, complain, count, document, say
from gotlang.cli.programs import compilation
from gotlang.errors import UsageError

FORMATS = ("text", "json", "github", "sarif")


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    default="text",
    help="text for people, json for scripts, github for annotations in GitHub's CI, sarif for code scanning.",
)
def command(files: tuple[str, ...], format: str) -> int:
    """Parse and check programs, and what they import. A FILE of `-` is standard input.

    The exit code is 0 where no file has an error (warnings do not count), and 2 where one has.
    """
    if files.count("-") > 1:
        raise UsageError("standard input can be read once: `-` stands twice")
    found = [_check(name) for name in dict.fromkeys(files)]
    if format == "text":
        _text(found)
    elif format == "json":
        document(as_json(found))
    elif format == "github":
        for line in github(found):
            say(line)
    else:
        document(sarif(found))
    return 0 if all(one.compiled is not None and one.compiled.ok for one in found) else 2


def _check(name: str) -> Found:
    try:
        return Found(name, compilation(name))
    except UsageError as error:
        return Found(name, None, error)


def _text(found: Sequence[Found]) -> None:
    """Mistakes with their lines on stdout, the count on stderr."""
    from gotlang.cli.failing import message
    from gotlang.diagnostics import render

    errors = warnings = 0
    for one in found:
        if one.unreadable is not None:
            message(one.unreadable.message, one.unreadable.help)
            errors += 1
        if one.compiled is None:
            continue
        for diagnostic in one.compiled.diagnostics:
            say(render(diagnostic, one.compiled.sources, color=Style.of(sys.stdout).color))
            say("")
            errors += diagnostic.severity == "error"
            warnings += diagnostic.severity == "warning"
    also = f", {count(warnings, 'warning')}" if warnings else ""
    complain(f"{count(len(found), 'file')}: {count(errors, 'error')}{also}")
