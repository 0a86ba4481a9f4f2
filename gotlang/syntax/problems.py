"""From what Lark says of a mistake to a diagnostic: the right place, the tokens in words, and a hint."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from gotlang.diagnostics import Diagnostic
from gotlang.span import Span
from gotlang.syntax.grammar import parser
from gotlang.syntax.hints import hint
from gotlang.syntax.scan import end_of_code
from gotlang.syntax.words import expected, misfit

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput


def explain(error: UnexpectedInput, name: str, text: str, base: int) -> tuple[Diagnostic, bool]:
    """The diagnostic of a syntax error, and whether its line alone is at fault."""
    from lark.exceptions import UnexpectedToken

    state: Any = error.interactive_parser
    wanted: set[str] = state.accepts()
    if isinstance(error, UnexpectedToken):
        terminal, met = error.token.type, str(error.token)
        start, end = error.token.start_pos or 0, error.token.end_pos or 0
    else:
        start = error.pos_in_stream or 0
        terminal, met, end = "", text[start], start + 1

    if wanted == {"_INDENT"}:
        # The end of the line that opens the block is the last thing the parser took.
        end = state.parser_state.value_stack[-1].start_pos
        return _diagnostic(
            name,
            base,
            (end - 1, end),
            "GOT0003",
            "no indented line follows",
            help="indent the lines of this block by four spaces"
            + (", or write a value after `=`" if text[end - 1] == "=" else ""),
        ), False
    if terminal == "_INDENT":
        # The place of an indentation is the line end before it.
        return _diagnostic(
            name,
            base,
            (end, end_of_code(text, end)),
            "GOT0003",
            "this line is indented, and nothing above it opens a block",
            help="line it up with the line above, or end that one with `:`",
        ), False
    if terminal == "$END":
        start = max(0, len(text) - 1)
        end = start + 1
    elif terminal in {"_NL", "_DEDENT"}:
        end = start + 1
    return _diagnostic(
        name,
        base,
        (start, end),
        "GOT0001",
        misfit(terminal, met),
        f"expected {expected(wanted, _literals())}",
        hint(terminal, met, wanted, text, start, _literals()),
    ), True


def _diagnostic(
    name: str,
    base: int,
    place: tuple[int, int],
    code: str,
    message: str,
    at: str = "",
    help: str | None = None,
) -> Diagnostic:
    return Diagnostic(code, message, Span(name, base + place[0], base + place[1]), at, help=help)


@cache
def _literals() -> dict[str, str]:
    """The text of each keyword and sign of the grammar by its terminal's name."""
    return {t.name: t.pattern.value for t in parser().terminals if t.pattern.type == "str"}
