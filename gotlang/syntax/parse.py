"""Program text to nodes. Never raises for a program's mistakes: they come back as diagnostics."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from gotlang.diagnostics import Diagnostic, in_order
from gotlang.span import Source, Span
from gotlang.syntax.expressions import Expression
from gotlang.syntax.nodes import Declaration, Module, TypeNode
from gotlang.syntax.recover import Reader, run
from gotlang.syntax.scan import scan

MAX_LENGTH = 4_000_000
"""How long a program may be, in characters."""
MAX_WORDS = 150_000
"""How long a program may be, in words and signs; a quoted text or a comment counts as one."""
MAX_PROBLEMS = 50
"""After how many mistakes the rest of a program is not read any more."""
PATIENCE = 20
"""How many broken lines are taken out to find the mistakes after them."""


def parse(source: Source) -> tuple[Module, tuple[Diagnostic, ...]]:
    """The module of a source, and what is wrong with its syntax.

    A declaration with a mistake is left out, the others are there: one run shows as many mistakes as it can.
    """
    whole = Span(source.name, 0, len(source.text))
    if problem := _unreadable(source):
        return Module(whole, ()), (problem,)
    text = _without_mark(source.text)
    pieces, comments = scan(source.name, text)
    reader = Reader(source.name, PATIENCE)
    declarations: list[Declaration] = []
    for piece in pieces:
        declarations.extend(reader.read(text[piece.start : piece.end], piece.start, piece.problems))
        if len(reader.problems) >= MAX_PROBLEMS:
            break
    return Module(whole, tuple(declarations), tuple(comments)), in_order(reader.problems)


def parse_expression(source: Source) -> Expression | Diagnostic:
    """One expression on its own, as in `--fail-if 'mean(mistakes) > 2'`, or the first mistake in it."""
    result: Expression | Diagnostic = _alone(source, "expression")
    return result


def parse_type(source: Source) -> TypeNode | Diagnostic:
    """One type on its own, such as `list[int]`, or the first mistake in it."""
    result: TypeNode | Diagnostic = _alone(source, "type")
    return result


def _alone(source: Source, start: str) -> Any | Diagnostic:
    if problem := _unreadable(source):
        return problem
    text = _without_mark(source.text)
    base = len(text) - len(text.lstrip(" \t\n")) if text.strip(" \t\n") else 0
    text = text.strip(" \t\n")
    pieces, _ = scan(source.name, text, base)
    for piece in pieces:
        if piece.problems:
            return piece.problems[0]
    result, problems, _ = run(source.name, text, base, start)
    return problems[0] if problems else result


def _without_mark(text: str) -> str:
    """A byte order mark at the start of a file is no part of the program; offsets stay."""
    return "\n" + text[1:] if text.startswith("\ufeff") else text


_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u2028\u2029\ud800-\udfff]|(?<!\A)\ufeff")
_WORDS = re.compile(r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*+"""|"(?:[^"\\\n]|\\[^\n])*+"|#[^\n]*+|\w++|[^\w\s]')


def _unreadable(source: Source) -> Diagnostic | None:
    """Why a text is not looked at any further."""
    text = source.text
    if len(text) > MAX_LENGTH:
        return _too_long(source, MAX_LENGTH, f"longer than {MAX_LENGTH:,} characters")
    if found := _FORBIDDEN.search(text):
        return _forbidden(ord(found[0]), Span(source.name, found.start(), found.end()))
    if len(text) > MAX_WORDS and (last := next(islice(_WORDS.finditer(text), MAX_WORDS, None), None)):
        return _too_long(source, last.start(), f"longer than {MAX_WORDS:,} words and signs")
    return None


def _forbidden(character: int, span: Span) -> Diagnostic:
    if 0xDC80 <= character <= 0xDCFF:  # how Python decodes what is not UTF-8, byte by byte
        message = f"the byte {character - 0xDC00:#x} makes no UTF-8 text"
        return Diagnostic("GOT0002", message, span, help="save the file as UTF-8")
    return Diagnostic(
        "GOT0002",
        f"the character U+{character:04X} may not stand in a program",
        span,
        help=f"delete it; in a text, write `\\u{character:04x}`",
    )


def _too_long(source: Source, at: int, message: str) -> Diagnostic:
    return Diagnostic(
        "GOT0006",
        message,
        Span(source.name, at, at + 1),
        help="keep long lists and texts in data files or in Python, or split the program with `import`",
    )
