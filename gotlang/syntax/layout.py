"""Lines in order to the canonical text: long lines broken at brackets, comments, blank lines and columns.

A line that is too long, or that has comments inside, is broken at brackets: one item per line, each with a
comma, as in

    prompt merge(
        left: list[int],  # sorted already
        right: list[int],
    ) -> list[int]:

or, if all items are single words without comments, as many on a line as fit.

Comments on a line of their own stay between the lines they were between, at the indentation of what follows;
those at the end of a block stay in it. Comments after code stay on their line, in one column for lines that
follow each other. Comments inside brackets stay with the same item.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from math import inf

from msgspec import Struct

from gotlang.span import Source, Span
from gotlang.syntax.nodes import Comment

WIDTH = 100
"""The maximum length of a line before it is broken, in characters."""
INDENT = 4
_WIDE = 60
"""Longer lines do not push the comments of their neighbours to the right."""
_MOST_PADDING = 24
"""A param's default longer than this does not push the ranges of its neighbours to the right."""
COLUMN = "\0"
"""Separates the name, default, range and condition of a param, which are aligned with its neighbours'."""
_CLOSING = {"(": ")", "[": "]", "{": "}"}

# ---------------------------------------------------------------- one line


class LongText(Struct):
    """A text in triple quotes; its lines are indented by `hang` more than the line they belong to."""

    text: str
    """The text in quotes on one line."""
    lines: list[str]
    hang: int


class Item(Struct):
    """One thing between brackets, with its place in the source; `text` is all of it on one line."""

    pieces: list[Piece]
    span: Span
    text: str = ""

    def __post_init__(self) -> None:
        self.text = flat(self.pieces)


class Brackets(Struct):
    """Things between brackets, with their place in the source; `long` ones have a LongText inside."""

    opening: str
    items: list[Item]
    span: Span
    text: str = ""
    long: bool = False

    def __post_init__(self) -> None:
        self.text = self.opening + ", ".join([item.text for item in self.items]) + _CLOSING[self.opening]
        self.long = any(
            isinstance(piece, LongText) or (isinstance(piece, Brackets) and piece.long)
            for item in self.items
            for piece in item.pieces
        )


Piece = str | LongText | Brackets


class Output(Struct):
    """One line of the result and its comment; `verbatim` marks a line inside a text."""

    text: str
    comment: str | None = None
    verbatim: bool = False


def flat(pieces: Iterable[Piece]) -> str:
    """The pieces on one line."""
    return "".join([piece if isinstance(piece, str) else piece.text for piece in pieces])


def lay_out(
    pieces: Sequence[Piece], margin: int, comments: Sequence[Comment], ending: str = ""
) -> tuple[list[Output], list[str]]:
    """The lines of some pieces at a margin, and the comments that found no place among them.

    `comments` are those inside; `ending` follows the last piece.
    """
    brackets = [piece for piece in pieces if isinstance(piece, Brackets) and piece.items]
    inside = {id(b): [c for c in comments if b.span.start <= c.span.start < b.span.end] for b in brackets}
    placed = {c.span.start for held in inside.values() for c in held}
    homeless = [c.text for c in comments if c.span.start not in placed]
    broken = {key for key, held in inside.items() if held}
    whole = sorted((b for b in brackets if id(b) not in broken), key=lambda b: len(b.text))
    while True:
        lines = [Output(" " * margin)]
        for piece in pieces:
            _append(lines, piece, margin, broken, inside)
        lines[-1].text += ending
        if not whole or all(line.verbatim or _width(line.text) <= WIDTH for line in lines):
            return lines, homeless
        broken.add(id(whole.pop()))


def _width(text: str) -> int:
    return len(text) - text.count(COLUMN)


def _append(
    lines: list[Output], piece: Piece, margin: int, broken: set[int], inside: dict[int, list[Comment]]
) -> None:
    if isinstance(piece, str):
        lines[-1].text += piece
    elif isinstance(piece, LongText):
        pad = " " * (margin + piece.hang)
        lines[-1].text += '"""'
        lines.extend(Output(pad + line if line else "", verbatim=True) for line in piece.lines)
        lines.append(Output(pad + '"""'))
    elif id(piece) in broken:
        lines[-1].text += piece.opening
        if not inside[id(piece)] and all(_is_word(item) for item in piece.items):
            lines.extend(_filled(piece, margin + INDENT))
        else:
            lines.extend(_one_per_line(piece, margin + INDENT, inside[id(piece)]))
        lines.append(Output(" " * margin + _CLOSING[piece.opening]))
    elif not piece.long:
        lines[-1].text += piece.text
    else:
        lines[-1].text += piece.opening
        for number, item in enumerate(piece.items):
            lines[-1].text += ", " if number else ""
            for part in item.pieces:
                _append(lines, part, margin, broken, inside)
        lines[-1].text += _CLOSING[piece.opening]


def _is_word(item: Item) -> bool:
    return " " not in item.text and all(isinstance(piece, str) for piece in item.pieces)


def _filled(brackets: Brackets, margin: int) -> list[Output]:
    """As many items on a line as fit."""
    lines: list[Output] = []
    for word in ", ".join(item.text for item in brackets.items).split(" "):
        if lines and len(lines[-1].text) + len(word) < WIDTH:
            lines[-1].text += " " + word
        else:
            lines.append(Output(" " * margin + word))
    return lines


def _one_per_line(brackets: Brackets, margin: int, comments: Sequence[Comment]) -> Iterator[Output]:
    left = deque(comments)
    pad = " " * margin
    stops = [*(item.span.start for item in brackets.items[1:]), inf]
    for item, stop in zip(brackets.items, stops, strict=True):
        while left and left[0].span.start < item.span.start:
            yield Output(pad + left.popleft().text)
        within = []
        while left and left[0].span.start < item.span.end:
            within.append(left.popleft())
        lines, homeless = lay_out(item.pieces, margin, within, ",")
        yield from (Output(pad + text) for text in homeless)
        if left and not left[0].own_line and left[0].span.start < stop:
            lines[-1].comment = left.popleft().text
        yield from lines
    yield from (Output(pad + comment.text) for comment in left)


# ---------------------------------------------------------------- all lines


class CanonicalLine(Struct):
    """A line of canonical text and its start in the source; at depth 0 a declaration starts."""

    depth: int
    start: int
    pieces: list[Piece]


class _Entry(Struct):
    """A line of code, perhaps over several lines, or a comment with its own line."""

    depth: int
    outputs: list[Output]
    blank_above: bool
    is_comment: bool = False


def arrange(lines: Sequence[CanonicalLine], comments: Sequence[Comment], source: Source | None) -> str:
    """The text of some lines, in the order of their starts, with the comments of their source."""
    layout = _Layout(source)
    waiting = deque(comments)
    for line, stop in zip(lines, [*(line.start for line in lines[1:]), inf], strict=False):
        above, inside = [], []
        while waiting and waiting[0].span.start < line.start:
            above.append(waiting.popleft())
        while (
            waiting and waiting[0].span.start < stop and not (waiting[0].own_line and not waiting[0].nested)
        ):
            inside.append(waiting.popleft())
        layout.add_comments(above, line.depth)
        layout.add(line, inside)
    layout.add_comments(waiting, 0)
    entries = layout.entries
    _separate(entries)
    _align(entries)
    outputs: list[Output] = []
    for number, entry in enumerate(entries):
        opened = number and entries[number - 1].depth < entry.depth and not entries[number - 1].is_comment
        if number and entry.blank_above and not opened:
            outputs.append(Output(""))
        outputs.extend(entry.outputs)
    return "".join(line + "\n" for line in _with_comments(outputs))


class _Layout:
    """Collects entries; tracks the indentation in the source of the enclosing blocks of the last line."""

    def __init__(self, source: Source | None) -> None:
        self._text = source.text if source else ""
        self._columns: list[int] = [0]
        self.entries: list[_Entry] = []

    def add(self, line: CanonicalLine, comments: Sequence[Comment]) -> None:
        """A line with the comments on it or in it."""
        margin = line.depth * INDENT
        trailing = [c for c in comments if not c.nested]
        outputs, homeless = lay_out(line.pieces, margin, [c for c in comments if c.nested])
        homeless += [c.text for c in trailing[:-1]]
        if trailing:
            outputs[-1].comment = trailing[-1].text
        blank = self._blank_above(line.start)
        for text in homeless:
            self.entries.append(_Entry(line.depth, [Output(" " * margin + text)], blank, is_comment=True))
            blank = False
        self.entries.append(_Entry(line.depth, outputs, blank))
        del self._columns[line.depth :]
        self._columns += [self._column(line.start)] * (line.depth + 1 - len(self._columns))

    def add_comments(self, comments: Iterable[Comment], depth: int) -> None:
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
        """The indentation of the line of an offset."""
        before = self._text[self._text.rfind("\n", 0, offset) + 1 : offset]
        return len(before) - len(before.lstrip(" \t"))

    def _blank_above(self, offset: int) -> bool:
        end = self._text.rfind("\n", 0, offset)
        start = self._text.rfind("\n", 0, max(end, 0)) + 1
        return end >= 0 and not self._text[start:end].strip(" \t")


def _separate(entries: list[_Entry]) -> None:
    """Puts blank lines between declarations of different kinds and around those of several lines."""
    starts = [number for number, entry in enumerate(entries) if entry.depth == 0 and not entry.is_comment]
    shapes = []  # the first word and the number of lines of each declaration
    for start, end in pairwise([*starts, len(entries)]):
        word = entries[start].outputs[0].text.split(" ", 1)[0]
        lines = sum(len(entry.outputs) for entry in entries[start:end] if not entry.is_comment)
        shapes.append((word, lines))
    for start, shape, above in zip(starts[1:], shapes[1:], shapes, strict=False):
        if shape == above and shape[1] == 1:
            continue
        first = start
        while entries[first - 1].is_comment and entries[first - 1].depth == 0:
            first -= 1
        if not any(entry.blank_above for entry in entries[first : start + 1]):
            entries[first].blank_above = True


def _align(entries: Iterable[_Entry]) -> None:
    """Aligns params on lines that follow each other, with only comments between them."""
    groups: list[list[Output]] = [[]]
    for entry in entries:
        aligned = COLUMN in entry.outputs[0].text and len(entry.outputs) == 1
        if entry.blank_above or not (aligned or entry.is_comment):
            groups.append([])
        if aligned:
            groups[-1].append(entry.outputs[0])
        elif not entry.is_comment:
            for output in entry.outputs:
                output.text = output.text.replace(COLUMN, "")
    for group in groups:
        rows = [line.text.split(COLUMN) for line in group]
        texts = ["".join(row) for row in rows]
        fitting = [number for number, text in enumerate(_in_columns(rows)) if len(text) <= WIDTH]
        if len(fitting) > 1:
            for number, text in zip(fitting, _in_columns([rows[number] for number in fitting]), strict=True):
                texts[number] = text
        for line, text in zip(group, texts, strict=True):
            line.text = text


def _in_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    names = max((len(name) for name, *_ in rows), default=0)
    widths = [len(default) for _, default, domain, _ in rows if domain]
    defaults = max((width for width in widths if width <= _MOST_PADDING), default=0)
    return [
        name.ljust(names) + default.ljust(defaults if domain else 0) + domain + guard
        for name, default, domain, guard in rows
    ]


def _with_comments(outputs: Iterable[Output]) -> Iterator[str]:
    """The lines with their comments, in one column from a blank line or a text to the next."""
    for _, section in groupby(outputs, key=lambda line: line.verbatim or not line.text):
        lines = list(section)
        widths = [len(line.text) for line in lines if line.comment and len(line.text) <= _WIDE]
        column = max(widths, default=0)
        for line in lines:
            closes = not line.text.strip(" )]}")
            text = line.text if closes else line.text.ljust(column)
            yield f"{text}  {line.comment}" if line.comment else line.text
