"""One look over a program before the parser: comments, brackets, indentation, and where declarations start.

The parser then reads one declaration at a time, so that a mistake in one leaves the others readable, and
brackets and quotes that do not pair up are reported where they stand, not where the parser gave up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gotlang.diagnostics import Diagnostic, Label
from gotlang.span import Span
from gotlang.syntax.nodes import Comment

MAX_DEPTH = 100
"""How deep brackets, blocks and expressions may nest."""

_TOKEN = re.compile(
    r'"""[^"\\]*+(?:(?:\\[\s\S]|"(?!""))[^"\\]*+)*+(?P<long>""")?+'
    r'|"(?:[^"\\\n]|\\[^\n])*+(?P<short>")?+'
    r"|#[^\n]*+"
    r"|[()\[\]{}]"
    r"|\\[ \t]*+\n"
    r"|\n[ \t]*+(?=[^ \t\n#])"
)
_FIRST_LINE = re.compile(r"[ \t]*+(?=[^ \t\n#])")
_DECLARATION = re.compile(
    r"^(?:(?:param|prompt|score|scheme|study|type)[ \t]+\w+[ \t]*[(:=]"
    r'|import[ \t]+["pc]|simulate[ \t]+with\b)',
    re.MULTILINE,
)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_MAX_RESTARTS = 10


@dataclass(slots=True)
class Piece:
    """One declaration's text, from the margin to the next one, and what is wrong with it already."""

    start: int
    end: int
    problems: list[Diagnostic] = field(default_factory=list)


def scan(name: str, text: str, base: int = 0) -> tuple[list[Piece], list[Comment]]:
    """The declarations and comments of a text that stands at offset `base` of the source called `name`.

    Pieces count from the start of the text, the places of comments and problems from the start of the source.
    """
    scanner = _Scanner(name, text, base)
    at = 0
    while at < len(text):
        at = scanner.run(at)
    return scanner.pieces, scanner.comments


def end_of_code(text: str, start: int) -> int:
    """Where the code of the line that starts at an offset ends, for what a comment is not to be blamed."""
    end = text.find("\n", start)
    line = text[start : end if end >= 0 else len(text)]
    return start + max(1, len(line.split(" #", 1)[0].rstrip()))


def line_starts(text: str) -> list[int]:
    """Where lines with code start that do not continue another one, except the first."""
    starts = []
    depth = 0
    for match in _TOKEN.finditer(text):
        mark = match[0][0]
        if mark == "\n" and depth == 0:
            starts.append(match.start() + 1)
        elif mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
    return starts


class _Scanner:
    def __init__(self, name: str, text: str, base: int) -> None:
        self._name, self._text, self._base = name, text, base
        self.pieces: list[Piece] = []
        self.comments: list[Comment] = []
        self._brackets: list[tuple[str, int]] = []
        self._columns = [0]
        self._long_texts: list[tuple[int, int]] = []
        self._restarts = 0

    def run(self, start: int) -> int:
        """Looks at the text from `start` on; the offset to go on from, which is mostly the text's end."""
        if first := _FIRST_LINE.match(self._text, start):
            self._line(start, first.end())
        for match in _TOKEN.finditer(self._text, start):
            at, end = match.span()
            mark = self._text[at]
            if mark == "\n":
                self._line(at + 1, end)
            elif mark == "#":
                self._comment(at, end)
            elif mark == '"' and match["long"] is not None:
                self._long_texts.append((at, end))
            elif mark == '"' and self._text.startswith('"""', at):
                return self._unclosed(at)
            elif mark == '"' and match["short"] is None:
                self._problem(
                    "GOT0004",
                    "this text has no closing quote",
                    at,
                    end,
                    'close it with `"`; a text of several lines stands in `"""`',
                )
            elif mark in "([{":
                self._open(mark, at)
            elif mark in _PAIRS:
                self._close(mark, at)
        self._never_closed()
        return len(self._text)

    def _line(self, start: int, code: int) -> None:
        """A line with code on it, where no bracket is open or one was forgotten."""
        indentation = self._text[start:code]
        if self._brackets:
            if indentation or not _DECLARATION.match(self._text, code):
                return
            self._never_closed()
        if not indentation or not self.pieces:
            if self.pieces:
                self.pieces[-1].end = start
            self.pieces.append(Piece(start, len(self._text)))
            self._columns = [0]
        if "\t" in indentation:
            at = start + indentation.index("\t")
            self._problem("GOT0003", "a tab in the indentation", at, help="indent with four spaces")
        elif indentation and self.pieces[-1].start == start:
            self._problem(
                "GOT0003", "a declaration starts at the margin", start, code, "delete the spaces before it"
            )
        else:
            self._indent(len(indentation), code)

    def _indent(self, column: int, code: int) -> None:
        columns = self._columns
        if column > columns[-1]:
            columns.append(column)
            if len(columns) == MAX_DEPTH + 1:
                self._problem("GOT0005", f"blocks nested more than {MAX_DEPTH} deep", code)
        while column < columns[-1]:
            columns.pop()
        if column != columns[-1]:
            columns.append(column)
            self._problem(
                "GOT0003",
                "this line is indented like no line above it",
                code,
                end_of_code(self._text, code),
                "line it up with the block it belongs to",
            )

    def _comment(self, at: int, end: int) -> None:
        line_start = self._text.rfind("\n", 0, at) + 1
        own_line = not self._text[line_start:at].strip(" \t")
        text = self._text[at:end].rstrip(" \t")
        span = Span(self._name, self._base + at, self._base + at + len(text))
        self.comments.append(Comment(span, text, own_line, bool(self._brackets)))

    def _open(self, mark: str, at: int) -> None:
        self._brackets.append((mark, at))
        if len(self._brackets) == MAX_DEPTH + 1:
            self._problem("GOT0005", f"brackets nested more than {MAX_DEPTH} deep", at)

    def _close(self, mark: str, at: int) -> None:
        if not self._brackets:
            self._problem("GOT0009", f"`{mark}` closes nothing", at, help="delete it, or open it before")
            return
        opened, where = self._brackets.pop()
        if opened != _PAIRS[mark]:
            span = Span(self._name, self._base + where, self._base + where + 1)
            self._problem(
                "GOT0009", f"`{mark}` does not close `{opened}`", at, labels=(Label(span, "opened here"),)
            )

    def _never_closed(self) -> None:
        if self._brackets:
            opened, where = self._brackets[-1]
            self._problem("GOT0009", f"`{opened}` is never closed", where)
        self._brackets = []

    def _unclosed(self, at: int) -> int:
        """A text in triple quotes that runs to the end of the file.

        The quotes that are missing may be those of an earlier text, which then closed where another one
        should open: that one holds a declaration. It is the one to report, and to go on after.
        """
        self._restarts += 1
        texts = [*self._long_texts, (at, len(self._text))] if self._restarts <= _MAX_RESTARTS else []
        resume = len(self._text)
        for start, end in texts:
            if declaration := _DECLARATION.search(self._text, start + 3, end):
                at, resume = start, declaration.start()
                break
        while self.pieces[-1].start > at:
            self.pieces.pop()
        piece = self.pieces[-1]
        piece.end = resume
        piece.problems = [p for p in piece.problems if p.span.start < self._base + at]
        while self.comments and self.comments[-1].span.start > self._base + at:
            self.comments.pop()
        self._brackets, self._columns, self._long_texts = [], [0], []
        self._problem("GOT0004", 'this text has no closing `"""`', at, at + 3)
        return resume

    def _problem(
        self,
        code: str,
        message: str,
        start: int,
        end: int | None = None,
        help: str | None = None,
        labels: tuple[Label, ...] = (),
    ) -> None:
        span = Span(self._name, self._base + start, self._base + (end if end is not None else start + 1))
        self.pieces[-1].problems.append(Diagnostic(code, message, span, labels=labels, help=help))
