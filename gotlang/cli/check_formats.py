"""What `gotc check` found, as data: our own JSON, GitHub's workflow commands, and SARIF 2.1.0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from gotlang.cli.output import FORMAT_VERSION
from gotlang.codes import CODES
from gotlang.diagnostics import as_json as diagnostic_json
from gotlang.version import __version__

if TYPE_CHECKING:
    from gotlang.compiler import Compilation
    from gotlang.errors import UsageError

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@final
@dataclass(frozen=True, slots=True)
class Found:
    """What came of one file: `compiled`, or the reason why it could not be read."""

    name: str
    compiled: Compilation | None
    unreadable: UsageError | None = None


def as_json(found: Sequence[Found]) -> dict[str, Any]:
    """`ok`, every diagnostic with its place, and the files that could not be read."""
    diagnostics = [entry for one in found for entry in _entries(one)]
    return {
        "format_version": FORMAT_VERSION,
        "ok": all(one.compiled is not None and one.compiled.ok for one in found),
        "files": [one.name for one in found],
        "diagnostics": diagnostics,
        "unreadable": [
            {"file": one.name, "message": one.unreadable.message, "help": one.unreadable.help}
            for one in found
            if one.unreadable is not None
        ],
    }


def _entries(one: Found) -> list[dict[str, Any]]:
    if one.compiled is None:
        return []
    return [diagnostic_json(d, one.compiled.sources) for d in one.compiled.diagnostics]


def github(found: Sequence[Found]) -> Iterator[str]:
    """One `::error ...::message` a diagnostic, which GitHub shows at the line."""
    for one in found:
        if one.unreadable is not None:
            yield f"::error file={github_property(one.name)}::{github_data(one.unreadable.message)}"
        for entry in _entries(one):
            place = {
                "file": entry["file"],
                "line": entry["line"],
                "endLine": entry["end_line"],
                "col": entry["column"],
                "endColumn": entry["end_column"],
                "title": entry["code"],
            }
            written = ",".join(f"{name}={github_property(str(value))}" for name, value in place.items())
            yield f"::{entry['severity']} {written}::{github_data(_whole(entry))}"


def _whole(entry: dict[str, Any]) -> str:
    """Message, notes and help on lines of their own."""
    lines = [entry["message"], *entry["notes"]]
    if entry["help"]:
        lines.append(f"help: {entry['help']}")
    return "\n".join(lines)


def github_data(text: str) -> str:
    """A text as the message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def github_property(text: str) -> str:
    """A text as a property of a workflow command, such as its title."""
    return github_data(text).replace(":", "%3A").replace(",", "%2C")


def sarif(found: Sequence[Found]) -> dict[str, Any]:
    """A SARIF log with one run."""
    results = [_result(entry) for one in found for entry in _entries(one)]
    unreadable = [
        {"level": "error", "message": {"text": one.unreadable.message}}
        for one in found
        if one.unreadable is not None
    ]
    codes = dict.fromkeys(
        diagnostic.code for one in found if one.compiled for diagnostic in one.compiled.diagnostics
    )
    rules = [
        {
            "id": code,
            "shortDescription": {"text": CODES[code].title},
            "fullDescription": {"text": CODES[code].text},
        }
        for code in codes
        if code in CODES
    ]
    driver = {"name": "gotc", "version": __version__, "rules": rules}
    invocation = {"executionSuccessful": not unreadable, "toolExecutionNotifications": unreadable}
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "results": results,
        # Our columns count characters, not units of UTF-16.
        "columnKind": "unicodeCodePoints",
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "ruleId": entry["code"],
        "level": entry["severity"],
        "message": {"text": _whole(entry)},
        "locations": [_location(entry)],
        "relatedLocations": [
            {**_location(label), "message": {"text": label["text"]}} for label in entry["labels"]
        ],
    }


def _location(place: dict[str, Any]) -> dict[str, Any]:
    region = {
        "startLine": place["line"],
        "startColumn": place["column"],
        "endLine": place["end_line"],
        "endColumn": place["end_column"],
    }
    uri = place["file"].replace("\\", "/")
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}
