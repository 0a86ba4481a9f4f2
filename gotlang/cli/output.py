"""Output: data on stdout, everything else on stderr, colors only on terminals; files; reports of errors."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partialmethod
from typing import TYPE_CHECKING, Any, Final, TextIO, final

from msgspec import Struct

from gotlang.disk import Draft, replace_file
from gotlang.errors import CompileError, GotError, RunError, reporting
from gotlang.patterns import lazy_pattern
from gotlang.version import __version__

if TYPE_CHECKING:
    import click

FORMAT_VERSION: Final = 2
"""The version of every document that `--json` prints, as in `gotlang.result` (a test compares)."""
_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"


def _paint(style: Style, code: str, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if style.color and text else text


@final
class Style(Struct, frozen=True):
    """Colors of one stream: none if it is not a terminal, or if NO_COLOR is set."""

    color: bool
    red = partialmethod(_paint, "1;31")
    yellow = partialmethod(_paint, "1;33")
    blue = partialmethod(_paint, "1;34")
    bold = partialmethod(_paint, "1")
    dim = partialmethod(_paint, "2")

    @classmethod
    def of(cls, stream: TextIO) -> Style:
        """The style of a stream."""
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return cls(not plain and stream.isatty())


_PLAIN = {"·": "-", "…": "...", "×": "x", "→": "->", "←": "<-"}
"""Replacements of our marks on a terminal that has only ASCII."""


def ascii_fallback(error: UnicodeError) -> tuple[str, int]:
    """A handler for `codecs.register_error`: replaces text that a stream cannot encode."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    plain = (_PLAIN.get(letter) or letter.encode("ascii", "backslashreplace").decode() for letter in text)
    return "".join(plain), error.end


def complain(text: str) -> None:
    """Print a line to stderr, after all that was printed to stdout, so that one log has them in order."""
    with suppress(OSError, ValueError):  # it is reported by the last flush
        sys.stdout.flush()
    print(_steady(text, sys.stderr), file=sys.stderr)


def say(text: str, *, exact: bool = False) -> None:
    """Print a line to stdout; an `exact` one is not changed for a file or a pipe."""
    print(text if exact and not sys.stdout.isatty() else _steady(text, sys.stdout))


def harmless(text: str) -> str:
    """An untrusted text without control characters, which are written as `\\x1b`."""
    return re.sub(_CONTROL, _escaped, text)


def _steady(text: str, stream: TextIO) -> str:
    """A line without the control characters of untrusted text; colors stay if the stream has them."""
    colors = r"(?!\x1b\[[0-9;]*m)" if Style.of(stream).color else ""
    return re.sub(colors + _CONTROL, _escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]):02x}"


def document(content: dict[str, Any]) -> None:
    """The one JSON document of a command on stdout, with its `format_version`."""
    plain_document({"format_version": FORMAT_VERSION, **content})


def plain_document(content: dict[str, Any]) -> None:
    """A JSON document in a format that is not our own."""
    say(to_json(content, indent=2 if sys.stdout.isatty() else None))


def to_json(content: Any, *, indent: int | None = None) -> str:
    """JSON of any value: NaN and infinities become null, foreign objects their text."""
    import json

    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    text = json.dumps(_plain(content), ensure_ascii=ascii_only, allow_nan=False, indent=indent, default=str)
    return re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {str(name): _plain(part) for name, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
    return value


JSON: Final = "gotlang.json"
"""The key in a context's `meta` of commands that print JSON: their errors are documents on stdout too."""


def as_json(context: click.Context, _: click.Parameter | None, wanted: Any) -> Any:
    """A callback of options: note whether the command prints JSON."""
    if wanted is True or wanted == "json":
        context.meta[JSON] = True
    return wanted


def error_document(error: GotError) -> dict[str, Any]:
    """An error as data."""
    content: dict[str, Any] = {
        "status": "failed",
        "kind": type(error).__name__,
        "message": error.message,
        "help": error.help,
        "exit_code": error.exit_code,
    }
    if isinstance(error, CompileError):
        from gotlang.diagnostics import as_json

        content["diagnostics"] = [as_json(d, error.sources) for d in error.diagnostics]
    if isinstance(error, RunError):
        content["failed"] = [
            {"operation": f.operation, "reason": f.reason, "sample": f.sample, "handled": f.handled}
            for f in error.failures
        ]
    return {"error": content}


def count(number: int, noun: str) -> str:
    """`1 error`, `2 errors`, `3,000 errors`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shortened(text: str, most: int) -> str:
    """A text of at most `most` characters, with the number of those left out."""
    if len(text) <= most:
        return text
    return f"{text[:most]} ... ({len(text) - most:,} more characters)"


def cut(text: str, most: int) -> str:
    """A text on one line of at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def value_text(value: Any, most: int | None = None) -> str:
    """A value as text: a string as it is, all else as JSON."""
    text = value if isinstance(value, str) else to_json(value)
    return text if most is None else shortened(text, most)


def duration(seconds: float) -> str:
    """`0.4 s`, `59 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def write_file(path: str, text: str, option: str) -> None:
    """Write a file, or standard output for `-`. Raises UsageError if that fails."""
    if path == "-":
        sys.stdout.write(text)
        return
    with reporting(f"{option}: cannot write {path}"):
        replace_file(path, text.encode("utf-8", "backslashreplace"))


def check_writable(path: str | None, option: str) -> None:
    """Refuse a file that cannot be written, before anything is spent. Raises UsageError."""
    if path is None:
        return
    with reporting(f"{option}: cannot write {path}"):
        Draft(path).close()


def annotation(level: str, message: str, **properties: object) -> str:
    """A workflow command of GitHub."""

    def data(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    written = [
        f"{name}={data(str(value)).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in properties.items()
    ]
    return f"::{level} {','.join(written)}::{data(message)}"


FAILED, USAGE, PARTIAL, THRESHOLD, INVALID, CACHE_LOST, LIMITED, WAITING = range(1, 9)
BUG, INTERRUPTED = 70, 130
EXIT_CODES: Final = {
    0: "done",
    FAILED: "failed: a run without a result, too many failed rows, files that `--check` would change",
    USAGE: "wrong usage, input or configuration, missing trust, or a program that does not compile: "
    "nothing was spent",
    PARTIAL: "partial: a limit ended it early, or a law is undecided",
    THRESHOLD: "a `--fail-if` condition is true, or a test failed",
    INVALID: "the result is not valid",
    CACHE_LOST: "the cache was lost, so no more requests were sent: `--on-cache-loss`",
    LIMITED: "a limit of `--sandbox` was exceeded: processor time, time, memory, output",
    WAITING: "a question to a person is waiting for an answer: `--answer`",
    BUG: "an internal error of gotc",
    INTERRUPTED: "interrupted",
}
"""The exit codes of all commands (docs/results.md has the same table; a test compares)."""


WITHOUT_CACHE: Final = (
    "once it can store again, the same command continues; `--on-cache-loss go-on` continues without storing"
)
"""Advice after the cache was lost."""


def usage(error: click.ClickException) -> int:
    """Report a command line that click refuses."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        complain(error.format_message())
        return error.exit_code
    words = error.format_message().replace("is not a valid integer range", "is not a whole number")
    words = words.replace("is not a valid integer", "is not a whole number")
    see = None
    if context is not None:
        see = f"`{context.command_path} --help` shows the options"
        name = getattr(getattr(error, "param", None), "name", None)
        if name and getattr(context.get_parameter_source(name), "name", "") == "DEFAULT_MAP":
            from gotlang.cli.config import configured_in

            see = f"it is set in {configured_in(context, name)}; {see}"
        if any(parameter.name == "input" for parameter in context.command.params) and "argument" in words:
            see += "; inputs are given as `--input NAME=VALUE`"
    first, _, rest = words.rstrip(".").partition(" ")  # ours start with a lower-case letter
    message(f"{first.lower()} {rest}" if first.isalpha() and first.istitle() else words.rstrip("."), see)
    return error.exit_code


def known(error: GotError) -> int:
    """Report an error that the user can fix."""
    from gotlang.diagnostics import excerpt, render

    _trace(error)
    color = Style.of(sys.stderr).color
    if isinstance(error, CompileError):
        for diagnostic in error.diagnostics:
            complain(render(diagnostic, error.sources, color=color) + "\n")
        complain(f"{error.message} in the program")
    elif isinstance(error, RunError) and error.span is not None:
        message(error.message, error.help, excerpt(error.span, error.sources, color=color))
    else:
        message(error.message, error.help)
    return error.exit_code


def message(words: str, help: str | None = None, place: str = "") -> None:
    """Print an error message, with the lines that show its place, and with advice."""
    style = Style.of(sys.stderr)
    complain(f"{style.red('error')}{style.bold(': ' + words)}")
    if place:
        complain(place)
    if help:
        complain(f"  {style.blue('=')} help: {help}")


def interrupted(help: str = "") -> int:
    """Report that the user pressed Ctrl-C; `help` says how to continue."""
    complain("interrupted" + help)
    return INTERRUPTED


def bug(error: Exception) -> int:
    """Report an internal error."""
    import platform
    import traceback

    _trace(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    words = " ".join(str(error).split())
    complain(f"{Style.of(sys.stderr).red('bug')} in gotc: {type(error).__name__}: {words[:200]}")
    complain(f"  at {os.path.basename(place.filename)}:{place.lineno} in {place.name}")
    complain(f"  gotc {__version__}, Python {platform.python_version()}, {platform.system()}")
    if not os.environ.get("GOTC_TRACEBACK"):
        complain("  GOTC_TRACEBACK=1 shows the traceback; please report it with the program")
    return BUG


def _trace(error: Exception) -> None:
    if os.environ.get("GOTC_TRACEBACK"):
        import traceback

        traceback.print_exception(error)


_NOT_XML = lazy_pattern("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def junit(suites: Mapping[str, Sequence[str]]) -> str:
    """A document of test suites: their names, and their cases as `test_case` writes them."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for name, cases in suites.items():
        failures, errors = (sum(f"<{kind} " in case for case in cases) for kind in ("failure", "error"))
        counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}"'
        lines += [f"<testsuite name={_quoted(name)} {counts}>", *cases, "</testsuite>"]
    return "\n".join((*lines, "</testsuites>\n"))


def test_case(
    group: str, name: str, outcome: tuple[str, str] | None = None, seconds: float | None = None
) -> str:
    """A test case. `outcome` is `failure`, `error` or `skipped` and its message; None if it passed."""
    took = "" if seconds is None else f' time="{seconds:.3f}"'
    inside = "" if outcome is None else f"<{outcome[0]} message={_quoted(outcome[1])}/>"
    return f"<testcase classname={_quoted(group)} name={_quoted(name)}{took}>{inside}</testcase>"


def _quoted(words: str) -> str:
    """An attribute's value; characters that XML does not allow are left out."""
    from html import escape

    return f'"{escape(_NOT_XML.sub("", words))}"'
