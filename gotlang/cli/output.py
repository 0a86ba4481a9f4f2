"""What is written where: data on stdout, everything else on stderr, colors only where a person looks."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO, final

from gotlang.errors import CompileError, GotError, RunError

FORMAT_VERSION = 2
"""Of every document that `--json` prints."""
_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"


@final
@dataclass(frozen=True, slots=True)
class Style:
    """Colors for one stream, or none: where it is no terminal, or where NO_COLOR is set."""

    color: bool

    @classmethod
    def of(cls, stream: TextIO) -> Style:
        """How to write to a stream."""
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return cls(not plain and stream.isatty())

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text else text

    def red(self, text: str) -> str:
        """For errors."""
        return self._in("1;31", text)

    def yellow(self, text: str) -> str:
        """For what is not as one would like it."""
        return self._in("1;33", text)

    def blue(self, text: str) -> str:
        """For lines and marks."""
        return self._in("1;34", text)

    def bold(self, text: str) -> str:
        """For what matters."""
        return self._in("1", text)

    def dim(self, text: str) -> str:
        """For what explains."""
        return self._in("2", text)


_PLAIN = {"·": "-", "…": "...", "×": "x", "→": "->"}
"""Our marks where a terminal has no others than those of ASCII."""


def plainer(error: UnicodeError) -> tuple[str, int]:
    """How text is written that a stream cannot hold: a handler for `codecs.register_error`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    plain = (_PLAIN.get(letter) or letter.encode("ascii", "backslashreplace").decode() for letter in text)
    return "".join(plain), error.end


def complain(text: str) -> None:
    """A line on stderr."""
    print(_steady(text, sys.stderr), file=sys.stderr)


def say(text: str) -> None:
    """A line on stdout."""
    print(_steady(text, sys.stdout))


def harmless(text: str) -> str:
    """A text from a stranger without what steers a terminal: control characters stand as `\\x1b`."""
    return re.sub(_CONTROL, _escaped, text)


def _steady(text: str, stream: TextIO) -> str:
    """A line as it is, but for a terminal, which models and strangers could steer: they may color it."""
    return re.sub(rf"(?!\x1b\[[0-9;]*m){_CONTROL}", _escaped, text) if stream.isatty() else text


def _escaped(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]):02x}"


def document(content: dict[str, Any]) -> None:
    """The one JSON document of a command on stdout."""
    say(to_json(content, indent=2 if sys.stdout.isatty() else None))


def to_json(content: Any, *, indent: int | None = None) -> str:
    """JSON for any value: numbers that JSON cannot hold are null, foreign objects their text."""
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    return json.dumps(_plain(content), ensure_ascii=ascii_only, allow_nan=False, indent=indent, default=str)


def _plain(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {str(name): _plain(part) for name, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
    return value


@contextmanager
def errors_as_document(wanted: bool) -> Iterator[None]:
    """Where a command prints JSON, an error is a document on stdout too, beside the message on stderr."""
    try:
        yield
    except GotError as error:
        if wanted:
            document(error_document(error))
        raise


def error_document(error: GotError) -> dict[str, Any]:
    """An error as data."""
    content: dict[str, Any] = {
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
            {"operation": f.operation, "reason": f.reason, "sample": f.sample} for f in error.failures
        ]
    return {"format_version": FORMAT_VERSION, "error": content}


def count(number: int, noun: str) -> str:
    """`1 error`, `2 errors`, `3,000 errors`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters, saying what was left out."""
    if len(text) <= most:
        return text
    return f"{text[:most]} ... ({len(text) - most:,} more characters)"
