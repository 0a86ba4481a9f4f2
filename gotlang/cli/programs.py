"""Checks of the programs that commands name, and their errors as text. Checking does not import click."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gotlang.checks import CheckResult, check, compiled
from gotlang.cli.output import Style, complain, count, message, say
from gotlang.diagnostics import render
from gotlang.errors import UsageError
from gotlang.files import MAX_BYTES, STORED, decoded, read_source, stored_file
from gotlang.span import Source

if TYPE_CHECKING:
    from gotlang.api import Compilation
    from gotlang.program import Recalled

_STDIN = "<stdin>"

Found = Mapping[str, CheckResult | UsageError]
"""The result of checking each file, or the error that it could not be read."""


def source(path: str) -> Source:
    """The text of a program; `-` is standard input. Raises UsageError if it cannot be read."""
    if path != "-":
        return read_source(path)
    return Source.of(_STDIN, decoded(sys.stdin.buffer.read(MAX_BYTES + 1)))


def compilation(path: str) -> Compilation | Recalled:
    """Compile a program, or read its IR. One from standard input may import from the current folder."""
    if path.endswith(STORED):
        return stored_file(path)
    return compiled(source(path), _folder(path))


def checked(path: str) -> CheckResult:
    """The result of a program's check, possibly from an earlier one. For stored IR, errors in reading it are
    UsageErrors."""
    if path.endswith(STORED):
        found = stored_file(path)
        return CheckResult(found.ok, found.diagnostics, found.sources)
    return check(source(path), _folder(path))


def _folder(path: str) -> Path:
    return (Path() if path == "-" else Path(path).parent).resolve()


def check_files(files: Sequence[str]) -> int:
    """Check programs and print their errors; returns the exit code."""
    found = {name: found_in(name) for name in files}
    tell(found)
    return exit_code(found)


def found_in(name: str) -> CheckResult | UsageError:
    """The diagnostics of a file."""
    try:
        return checked(name)
    except UsageError as error:
        return error


def exit_code(found: Found) -> int:
    """2 if a file has an error; warnings do not count."""
    return 0 if all_ok(found) else 2


def all_ok(found: Found) -> bool:
    """Whether no file has an error."""
    return all(not isinstance(result, UsageError) and result.ok for result in found.values())


def tell(found: Found) -> None:
    """Print errors with their lines to stdout, their number to stderr."""
    severities = []
    for result in found.values():
        if isinstance(result, UsageError):
            message(result.message, result.help)
            severities.append("error")
            continue
        for diagnostic in result.diagnostics:
            say(render(diagnostic, result.sources, color=Style.of(sys.stdout).color) + "\n")
            severities.append(diagnostic.severity)
    warnings = severities.count("warning")
    also = f", {count(warnings, 'warning')}" if warnings else ""
    complain(f"{count(len(found), 'file')}: {count(severities.count('error'), 'error')}{also}")
