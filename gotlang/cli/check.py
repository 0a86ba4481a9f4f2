"""`gotc check` and `gotc fmt`: the errors of all files at once, in several formats; the canonical form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from gotlang.checks import CheckResult
from gotlang.cli import options as opt
from gotlang.cli.output import (
    annotation,
    complain,
    count,
    document,
    known,
    plain_document,
    say,
)
from gotlang.cli.programs import Found, all_ok, exit_code, found_in, source, tell
from gotlang.cli.watch import watchable
from gotlang.diagnostics import as_json as diagnostic_json
from gotlang.diagnostics import with_fixes
from gotlang.disk import in_the_form_of, replace_file
from gotlang.errors import GotError, UsageError, reporting
from gotlang.files import formatted
from gotlang.version import __version__

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ANNOTATED = {
    "file": "file",
    "line": "line",
    "endLine": "end_line",
    "col": "column",
    "endColumn": "end_column",
    "title": "code",
}
"""The properties of GitHub's annotations, by the names of ours."""


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@opt.choice(
    "--format",
    ("text", "json", "github", "sarif"),
    "text for people, json for scripts, github for annotations in GitHub's CI, sarif for code scanning.",
    "text",
)
@opt.flag("--fix", "Apply the fixes of diagnostics to the files, then check them.")
@watchable
def check_command(files: tuple[str, ...], format: str, fix: bool) -> int:
    """Parse and check programs and their imports. A FILE of `-` is standard input.

    The exit code is 2 if a file has an error; warnings do not count.
    """
    if files.count("-") > 1:
        raise UsageError("duplicate `-`: standard input can be read only once")
    for name in dict.fromkeys(files) if fix else ():
        _fix(name)
    found = {name: found_in(name) for name in files}
    match format:
        case "json":
            document(_json(found))
        case "github":
            for line in _github(found):
                say(line)
        case "sarif":
            plain_document(_sarif(found))
        case _:
            tell(found)
    return exit_code(found)


_MOST_ROUNDS = 10
"""Maximum number of checks of a file after fixes: one fix may reveal another error."""


def _fix(name: str) -> None:
    """Apply the fixes of diagnostics to a file. Raises UsageError if it cannot be written."""
    if name == "-" or name.endswith(".ir.json"):
        raise UsageError(f"`{name}` cannot be changed by --fix", help="name a file that ends in .got")
    made = 0
    for _ in range(_MOST_ROUNDS):
        result = found_in(name)
        fixes = [d.fix for d in getattr(result, "diagnostics", ()) if d.fix and d.fix.span.source == name]
        if not fixes:
            break
        text = with_fixes(source(name).text, fixes)
        with reporting(f"cannot write {name}"):
            replace_file(Path(name), in_the_form_of(Path(name).read_bytes(), text))
        made += len(set(fixes))
    if made:
        complain(f"{name}: fixed {count(made, 'problem')}")


def _entries(result: CheckResult | UsageError) -> list[dict[str, Any]]:
    """The diagnostics of a file as plain data."""
    if isinstance(result, UsageError):
        return []
    return [diagnostic_json(diagnostic, result.sources) for diagnostic in result.diagnostics]


def _json(found: Found) -> dict[str, Any]:
    """`ok`, every diagnostic with its place, and the files that could not be read."""
    return {
        "ok": all_ok(found),
        "files": list(found),
        "diagnostics": [entry for result in found.values() for entry in _entries(result)],
        "unreadable": [
            {"file": name, "message": error.message, "help": error.help}
            for name, error in found.items()
            if isinstance(error, UsageError)
        ],
    }


def _github(found: Found) -> Iterator[str]:
    """One workflow command per diagnostic, which GitHub shows at the line."""
    for name, result in found.items():
        if isinstance(result, UsageError):
            yield annotation("error", result.message, file=name)
        for entry in _entries(result):
            place = {key: entry[own] for key, own in _ANNOTATED.items()}
            yield annotation(entry["severity"], _whole(entry), **place)


def _whole(entry: dict[str, Any]) -> str:
    """Message, notes and help on separate lines."""
    lines = [entry["message"], *entry["notes"]]
    if entry["help"]:
        lines.append(f"help: {entry['help']}")
    return "\n".join(lines)


def _sarif(found: Found) -> dict[str, Any]:
    """A SARIF log with one run."""
    entries = [entry for result in found.values() for entry in _entries(result)]
    unreadable = [
        {"level": "error", "message": {"text": error.message}}
        for error in found.values()
        if isinstance(error, UsageError)
    ]
    from gotlang.codes import CODES

    rules = [
        {
            "id": code,
            "shortDescription": {"text": CODES[code].title},
            "fullDescription": {"text": CODES[code].text},
        }
        for code in dict.fromkeys(entry["code"] for entry in entries)
        if code in CODES
    ]
    run = {
        "tool": {"driver": {"name": "gotc", "version": __version__, "rules": rules}},
        "invocations": [{"executionSuccessful": not unreadable, "toolExecutionNotifications": unreadable}],
        "results": [
            {
                "ruleId": entry["code"],
                "level": entry["severity"],
                "message": {"text": _whole(entry)},
                "locations": [_location(entry)],
                "relatedLocations": [
                    {**_location(label), "message": {"text": label["text"]}} for label in entry["labels"]
                ],
            }
            for entry in entries
        ],
        # Our columns count characters, not units of UTF-16.
        "columnKind": "unicodeCodePoints",
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _location(place: dict[str, Any]) -> dict[str, Any]:
    region = {
        "startLine": place["line"],
        "startColumn": place["column"],
        "endLine": place["end_line"],
        "endColumn": place["end_column"],
    }
    uri = place["file"].replace("\\", "/")
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


@click.command("fmt")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@opt.flag("--check", "Change nothing; exit with 1 if a file would be changed.")
def fmt_command(files: tuple[str, ...], check: bool) -> int:
    """Rewrite programs in canonical form. A FILE of `-` is read from standard input and written to standard
    output.

    The meaning of a program never changes, nor do its comments. A file that does not parse is left as it is.
    """
    changed, code = [], 0
    for name in dict.fromkeys(files):
        try:
            if _format(name, check):
                changed.append("standard input" if name == "-" else name)
        except GotError as error:
            code = known(error)
    for name in changed:
        complain(f"{'would change' if check else 'changed'} {name}")
    complain(f"{count(len(changed), 'file')} of {len(set(files))} {'would change' if check else 'changed'}")
    return code or (1 if check and changed else 0)


def _format(name: str, check: bool) -> bool:
    """Whether a file was not in canonical form; it is now, unless `check`."""
    read = source(name)
    text = formatted(read)
    if name == "-":
        if not check:
            click.echo(text, nl=False)
        return text != read.text
    path = Path(name)
    with reporting(f"cannot write {name}"):
        now = path.read_bytes()
        if now == (content := in_the_form_of(now, text)):
            return False
        if not check:
            replace_file(path, content)
    return True
