"""From lines in order to the canonical text: comments, blank lines and columns.

Comments on a line of their own stay between the lines they stood between, at the indentation of what
follows; those at the end of a block stay in it. Comments after code stay on their line, in one column
for lines that follow each other. Comments inside brackets stay with the same item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gotlang.span import Source
from gotlang.syntax.nodes import Comment
from gotlang.syntax.pieces import INDENT, Output, Piece, lay_out

_WIDE = 60
"""Longer lines do not push the comments of their neighbours to the right."""


@dataclass(slots=True)
class Line:
    """A line of canonical text: how deep it stands, what is on it, where it started in the source.

    `declaration` is the kind of declaration that starts here, if one does.
    """

    depth: int
    pieces: list[Piece]
    start: int
    declaration: str = ""
    above: list[Comment] = field(default_factory=list)
    within: list[Comment] = field(default_factory=list)


@dataclass(slots=True)
class _Entry:
    """A line of code, perhaps over several lines, or a comment with its own line."""

    depth: int
    outputs: list[Output]
    blank_above: bool
    declaration: str = ""
    is_comment: bool = False


def arrange(lines: Sequence[Line], comments: Sequence[Comment], source: Source | None) -> str:
    """The text of some lines, in the order of their starts, with the comments of their source."""
    below = _assign(lines, comments)
    layout = _Layout(source)
    for line in lines:
        layout.add(line)
    layout.add_comments(below, 0)
    entries = layout.entries
    _separate(entries)
    outputs: list[Output] = []
    for number, entry in enumerate(entries):
        opened = number and entries[number - 1].depth < entry.depth and not entries[number - 1].is_comment
        if number and entry.blank_above and not opened:
            outputs.append(Output(""))
        outputs.extend(entry.outputs)
    return "".join(line + "\n" for line in _with_comments(outputs))


def _assign(lines: Sequence[Line], comments: Sequence[Comment]) -> list[Comment]:
    """Gives each comment to the line below it or to the line it stands on; what is left stands at the end."""
    waiting: list[Comment] = []
    at = 0
    for number, line in enumerate(lines):
        while at < len(comments) and comments[at].span.start < line.start:
            waiting.append(comments[at])
            at += 1
        line.above, waiting = waiting, []
        stop = lines[number + 1].start if number + 1 < len(lines) else None
        while at < len(comments) and (stop is None or comments[at].span.start < stop):
            if comments[at].own_line and not comments[at].nested:
                break
            line.within.append(comments[at])
            at += 1
    return [*waiting, *comments[at:]]


class _Layout:
    """Collects entries; knows how far in the blocks around the last line stood in the source."""

    def __init__(self, source: Source | None) -> None:
        self._text = source.text if source else ""
        self._columns: list[int] = [0]
        self.entries: list[_Entry] = []

    def add(self, line: Line) -> None:
        """A line with the comments above it and on it."""
        self.add_comments(line.above, line.depth)
        margin = line.depth * INDENT
        trailing = [c for c in line.within if not c.nested]
        outputs, homeless = lay_out(line.pieces, margin, [c for c in line.within if c.nested])
        homeless += [c.text for c in trailing[:-1]]
        if trailing:
            outputs[-1].comment = trailing[-1].text
        blank = self._blank_above(line.start)
        for text in homeless:
            self.entries.append(_Entry(line.depth, [Output(" " * margin + text)], blank, is_comment=True))
            blank = False
        self.entries.append(_Entry(line.depth, outputs, blank, line.declaration))
        del self._columns[line.depth :]
        self._columns += [self._column(line.start)] * (line.depth + 1 - len(self._columns))

    def add_comments(self, comments: Sequence[Comment], depth: int) -> None:
        """Comments with their own lines, before a line of some depth."""
        deepest = max(depth, len(self._columns) - 1)
        for comment in comments:
            column = self._column(comment.span.start)
            while deepest > depth and self._columns[deepest] > column:
                deepest -= 1
            output = Output(" " * (deepest * INDENT) + comment.text)
            blank = self._blank_above(comment.span.start)
            self.entries.append(_Entry(deepest, [output], blank, is_comment=True))

    def _column(self, offset: int) -> int:
        """How far in the line of an offset stands."""
        start = self._text.rfind("\n", 0, offset) + 1
        end = start
        while end < offset and self._text[end] in " \t":
            end += 1
        return end - start

    def _blank_above(self, offset: int) -> bool:
        end = self._text.rfind("\n", 0, offset)
        if end < 0:
            return False
        start = self._text.rfind("\n", 0, end) + 1
        return not self._text[start:end].strip(" \t")


def _separate(entries: list[_Entry]) -> None:
    """Puts blank lines between declarations of different kinds and around those of several lines."""
    starts = [number for number, entry in enumerate(entries) if entry.declaration]
    ends = [*starts[1:], len(entries)][: len(starts)]
    sizes = [
        sum(len(entry.outputs) for entry in entries[start:end] if not entry.is_comment)
        for start, end in zip(starts, ends, strict=True)
    ]
    for number in range(1, len(starts)):
        first = start = starts[number]
        same = entries[start].declaration == entries[starts[number - 1]].declaration
        if same and sizes[number - 1] == sizes[number] == 1:
            continue
        while entries[first - 1].is_comment and entries[first - 1].depth == 0:
            first -= 1
        if not any(entry.blank_above for entry in entries[first : start + 1]):
            entries[first].blank_above = True


def _with_comments(outputs: Sequence[Output]) -> list[str]:
    """The lines with their comments, in one column from a blank line or a text to the next."""
    result: list[str] = []
    section: list[Output] = []
    for output in [*outputs, Output("")]:
        if output.text and not output.verbatim:
            section.append(output)
            continue
        widths = [len(line.text) for line in section if line.comment and len(line.text) <= _WIDE]
        column = max(widths, default=0)
        for line in section:
            closes = not line.text.strip(" )]}")
            text = line.text if closes else line.text.ljust(column)
            result.append(f"{text}  {line.comment}" if line.comment else line.text)
        result.append(output.text)
        section = []
    return result[:-1]
