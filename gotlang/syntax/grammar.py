"""The grammar file and the Lark parser made of it, one a thread: the indenter keeps state."""

from __future__ import annotations

import threading
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lark import Lark
    from lark.indenter import Indenter

TABLES = "got.tables.json"
"""Made by `grammars/build_tables.py`; never under version control."""


@cache
def grammar_text(name: str = "got.lark") -> str:
    """A grammar's text: from the wheel, or from `grammars/` beside the package in a source tree."""
    packaged = resources.files("gotlang") / "grammars" / name
    if packaged.is_file():
        return packaged.read_text("utf-8")
    return (Path(__file__).parents[2] / "grammars" / name).read_text("utf-8")


def build(text: str, starts: list[str]) -> Lark:
    """A LALR parser for a grammar of indented blocks."""
    from lark import Lark

    return Lark(
        text,
        parser="lalr",
        lexer="contextual",
        start=starts,
        postlex=indentation(),
        maybe_placeholders=True,
        propagate_positions=True,
    )


def indentation() -> Indenter:
    """What tells blocks by their indentation. It keeps state, so each parser has its own."""
    from lark.indenter import Indenter

    class Indentation(Indenter):
        NL_type = "_NL"
        OPEN_PAREN_types = ["LPAR", "LSQB", "LBRACE"]  # noqa: RUF012 (Lark asks for lists)
        CLOSE_PAREN_types = ["RPAR", "RSQB", "RBRACE"]  # noqa: RUF012
        INDENT_type = "_INDENT"
        DEDENT_type = "_DEDENT"
        tab_len = 8
        # A word is read whole everywhere: where only `in` may follow, `inner` is not `in` and `ner`.
        always_accept = ("_NL", "NAME")

    return Indentation()


def build_parser() -> Lark:
    """A parser of programs; it starts at `module`, `expression` or `type`."""
    return build(grammar_text(), ["module", "expression", "type"])


_parsers = threading.local()


def parser() -> Lark:
    """This thread's parser of programs, from the tables that lie beside the grammar where they fit it."""
    found: Lark | None = getattr(_parsers, "got", None)
    if found is None:
        found = _from_tables() or build_parser()
        _parsers.got = found
    return found


def _from_tables() -> Lark | None:
    from gotlang.syntax.tables import from_text

    try:
        text = grammar_text(TABLES)
    except OSError:
        return None
    return from_text(text, grammar_text(), indentation())
