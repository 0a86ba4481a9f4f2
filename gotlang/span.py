"""Where a piece of program text stands: the ground everything that reports an error stands on."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of offsets (in characters, from 0) in one source text.

    `source` is the name of the text (a path, or `<stdin>`), never the text itself.
    """

    source: str
    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of `other`."""
        return Span(self.source, min(self.start, other.start), max(self.end, other.end))


NOWHERE = Span("<builtin>", 0, 0)


@final
@dataclass(frozen=True)
class Source:
    """One program text with its name; line ends are always `\\n` and the last line has one."""

    name: str
    text: str = field(repr=False)

    @classmethod
    def of(cls, name: str, text: str) -> Source:
        """A source whose line ends are made uniform, as the grammar expects them."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        return cls(name, text if text.endswith("\n") else text + "\n")

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        find = self.text.find
        at = find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = find("\n", at + 1)
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        from bisect import bisect_right

        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column counted from 1."""
        return self._starts[min(line, len(self._starts)) - 1] + column - 1

    def line(self, number: int) -> str:
        """The text of a line counted from 1, without its end; empty past the last one."""
        if not 1 <= number <= len(self._starts):
            return ""
        start = self._starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)]
