"""The grammar file, the Lark parser made from it, and the parser's saved tables.

There is one parser per thread, since the indenter keeps state. Lark needs a quarter of a second to make one
from the grammar, and a fiftieth to load its tables, which the build of the package writes as JSON. They are
used only for the same grammar and the same Lark.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lark import Lark
    from lark.indenter import Indenter

TABLES: Final = "got.tables.json"
"""Made by `grammars/build_tables.py`; never under version control."""

_parsers = threading.local()


@cache
def grammar_text(name: str = "got.lark") -> str:
    """A grammar's text: from the wheel, or from `grammars/` beside the package in a source tree."""
    packaged = resources.files("gotlang") / "grammars" / name
    if packaged.is_file():
        return packaged.read_text("utf-8")
    return (Path(__file__).parents[2] / "grammars" / name).read_text("utf-8")


def parser() -> Lark:
    """This thread's parser of programs, from the saved tables where they match the grammar."""
    found: Lark | None = getattr(_parsers, "got", None)
    if found is None:
        with suppress(OSError):
            found = from_tables(grammar_text(TABLES))
        found = _parsers.got = found or build_parser()
    return found


def build_parser(*extensions: str, starts: Sequence[str] = ("module", "expression", "vary_item")) -> Lark:
    """An LALR parser for the grammar of programs and the grammar texts that extend it."""
    from lark import Lark

    return Lark(
        "\n".join([grammar_text(), *extensions]),
        parser="lalr",
        lexer="contextual",
        start=list(starts),
        postlex=indentation(),
        maybe_placeholders=True,
        propagate_positions=True,
    )


def indentation() -> Indenter:
    """A tokenizer of indentation. It keeps state, so each parser has its own."""
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


def to_tables(parser: Lark) -> str:
    """The tables of a parser that `build_parser` made, as JSON."""
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    data, memo = parser.memo_serialize([TerminalDef, Rule])
    data["options"]["postlex"] = None  # code, which is given again on the way back
    return json.dumps({"stamp": _stamp(), "data": data, "memo": memo}, separators=(",", ":"), sort_keys=True)


def from_tables(text: str) -> Lark | None:
    """The parser, or None where the tables were made from another grammar or by another Lark."""
    from lark import Lark

    # The keys of states, tokens and rules are numbers, which JSON writes as texts.
    content = json.loads(
        text, object_hook=lambda part: {int(key) if key.isdigit() else key: part[key] for key in part}
    )
    if content.get("stamp") != _stamp():
        return None
    found: Lark = Lark._load_from_dict(  # type: ignore[no-untyped-call]
        content["data"], content["memo"], postlex=indentation()
    )
    return found


def _stamp() -> dict[str, Any]:
    import lark

    digest = hashlib.sha256(grammar_text().encode()).hexdigest()
    return {"format": 1, "lark": lark.__version__, "grammar": digest}
