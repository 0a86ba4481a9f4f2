"""A line of canonical text before it is laid out: what may be broken over several lines, and how.

A line that is too long, or that has comments inside, is broken at brackets: one item a line, each with a
comma, as in

    prompt merge(
        left: list[int],  # sorted already
        right: list[int],
    ) -> list[int]:

or, where all items are single words without comments, as many on a line as fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gotlang.syntax.nodes import Comment
from gotlang.syntax.texts import quote

WIDTH = 100
"""How long a line may be before it is broken, in characters."""
INDENT = 4


@dataclass(frozen=True, slots=True)
class LongText:
    """A text in triple quotes; its lines stand `hang` further in than the line they belong to."""

    value: str
    lines: tuple[str, ...]
    hang: int


@dataclass(frozen=True, slots=True)
class Item:
    """One thing between brackets, with its place in the source."""

    pieces: tuple[Piece, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Brackets:
    """Things between brackets, with the place of the brackets in the source."""

    opening: str
    items: tuple[Item, ...]
    closing: str
    start: int
    end: int


Piece = str | LongText | Brackets


@dataclass(slots=True)
class Output:
    """One line of the result and its comment; `verbatim` marks a line inside a text."""

    text: str
    comment: str | None = None
    verbatim: bool = False


def flat(pieces: Sequence[Piece]) -> str:
    """The pieces on one line."""
    return "".join(_flat(pieces))


def _flat(pieces: Sequence[Piece]) -> Iterator[str]:
    for piece in pieces:
        if isinstance(piece, str):
            yield piece
        elif isinstance(piece, LongText):
            yield quote(piece.value)
        else:
            yield piece.opening + ", ".join(flat(item.pieces) for item in piece.items) + piece.closing


def lay_out(
    pieces: Sequence[Piece], margin: int, comments: Sequence[Comment], ending: str = ""
) -> tuple[list[Output], list[str]]:
    """The lines of some pieces at a margin, and the comments that found no place among them.

    `comments` are those that stand inside; `ending` follows the last piece.
    """
    brackets = [piece for piece in pieces if isinstance(piece, Brackets) and piece.items]
    inside = {id(b): [c for c in comments if b.start <= c.span.start < b.end] for b in brackets}
    placed = {c.span.start for held in inside.values() for c in held}
    homeless = [c.text for c in comments if c.span.start not in placed]
    broken = {key for key, held in inside.items() if held}
    whole = sorted((b for b in brackets if id(b) not in broken), key=lambda b: len(flat([b])))
    while True:
        lines = [Output(" " * margin)]
        for piece in pieces:
            _append(lines, piece, margin, broken, inside)
        lines[-1].text += ending
        if not whole or all(line.verbatim or len(line.text) <= WIDTH for line in lines):
            return lines, homeless
        broken.add(id(whole.pop()))


def _append(
    lines: list[Output],
    piece: Piece,
    margin: int,
    broken: set[int],
    inside: dict[int, list[Comment]],
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
            lines.extend(_one_a_line(piece, margin + INDENT, inside[id(piece)]))
        lines.append(Output(" " * margin + piece.closing))
    else:
        lines[-1].text += piece.opening
        for number, item in enumerate(piece.items):
            lines[-1].text += ", " if number else ""
            for part in item.pieces:
                _append(lines, part, margin, broken, inside)
        lines[-1].text += piece.closing


def _is_word(item: Item) -> bool:
    return all(isinstance(piece, str) and " " not in piece for piece in item.pieces)


def _filled(brackets: Brackets, margin: int) -> Iterator[Output]:
    """As many items on a line as fit."""
    line = " " * margin
    for number, item in enumerate(brackets.items):
        text = flat(item.pieces) + ("," if number < len(brackets.items) - 1 else "")
        if line.strip() and len(line) + 1 + len(text) > WIDTH:
            yield Output(line)
            line = " " * margin
        line += " " + text if line.strip() else text
    yield Output(line)


def _one_a_line(brackets: Brackets, margin: int, comments: Sequence[Comment]) -> Iterator[Output]:
    left = list(comments)
    pad = " " * margin
    for number, item in enumerate(brackets.items):
        while left and left[0].span.start < item.start:
            yield Output(pad + left.pop(0).text)
        within = []
        while left and left[0].span.start < item.end:
            within.append(left.pop(0))
        lines, homeless = lay_out(item.pieces, margin, within, ",")
        yield from (Output(pad + text) for text in homeless)
        last = number == len(brackets.items) - 1
        if left and not left[0].own_line and (last or left[0].span.start < brackets.items[number + 1].start):
            lines[-1].comment = left.pop(0).text
        yield from lines
    yield from (Output(pad + comment.text) for comment in left)
