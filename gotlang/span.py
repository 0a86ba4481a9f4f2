"""Program texts and places in them."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import final

from msgspec import Struct

MAX_LENGTH = 16_000_000
"""Characters of a program."""


@final
class Span(Struct, frozen=True, gc=False, omit_defaults=True):
    """A half-open range of offsets (in characters, from 0) in one source text.

    `source` is the name of the text (a path, or `<stdin>`), never the text itself. `use` is the place of the
    use, if this is a definition that was inlined.
    """

    source: str
    start: int
    end: int
    use: Span | None = None

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of `other`."""
        return Span(self.source, min(self.start, other.start), max(self.end, other.end), self.use)

    def used_at(self, use: Span) -> Span:
        """The same place, inlined at `use`."""
        return Span(self.source, self.start, self.end, use if self.use is None else self.use.used_at(use))


NOWHERE = Span("<builtin>", 0, 0)


@final
class Source(Struct, frozen=True, dict=True):
    """One program text with its name; line ends are always `\\n` and the last line has one."""

    name: str
    text: str

    @classmethod
    def of(cls, name: str, text: str) -> Source:
        """A source with uniform line ends, as the grammar expects them."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        return cls(name, text if text.endswith("\n") else text + "\n")

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, number: int) -> int:
        """The offset where a line counted from 1 starts; the end of the text past the last one."""
        return self._starts[number - 1] if number <= len(self._starts) else len(self.text)

    def line(self, number: int) -> str:
        """The text of a line counted from 1, without its end; empty past the last one."""
        if not 1 <= number <= len(self._starts):
            return ""
        start = self._starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)]


@final
class Fragment(Struct, frozen=True):
    """A piece of a source: its text, and the offset in the source called `source` where it starts.

    The text may be edited; then `shifts` lists offsets in it with the shift to the source from there on.
    """

    source: str
    text: str
    base: int = 0
    shifts: tuple[tuple[int, int], ...] = ()

    def span(self, start: int, end: int) -> Span:
        """The place of a part of it, by offsets in its own text."""
        if self.shifts:
            start, end = self._origin(start), self._origin(end)
        return Span(self.source, self.base + start, self.base + end)

    def offset(self, at: int) -> int:
        """The offset in its own text of an offset in the source."""
        at, end = at - self.base, len(self.text)
        for start, shift in (*self.shifts[::-1], (0, 0)):
            if at - shift >= start:
                return min(at - shift, end)
            end = start
        return at

    def edited(self, start: int, end: int, new: str) -> Fragment:
        """The same with other text in one place; text after it keeps its places in the source."""
        text = self.text[:start] + new + self.text[end:]
        longer = len(new) - (end - start)
        if not longer:
            return Fragment(self.source, text, self.base, self.shifts)
        before = [shift for shift in self.shifts if shift[0] <= start]
        behind = [(at + longer, shift - longer) for at, shift in self.shifts if at > end]
        last = next((shift for at, shift in self.shifts[::-1] if at <= end), 0)
        shifts = (*before, (start + len(new), last - longer), *behind)
        return Fragment(self.source, text, self.base, shifts)

    def _origin(self, at: int) -> int:
        """The offset in the source of one in the edited text, both relative to their start."""
        most = len(self.text) + abs(self.shifts[-1][1])
        for start, shift in (*self.shifts[::-1], (0, 0)):
            if at >= start:
                return min(at + shift, most)
            most = start + shift
        return at
