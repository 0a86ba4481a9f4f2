"""The grammar file, the Lark parser made from it, and the tables by which programs are parsed.

Lark needs a quarter of a second to make a parser from the grammar. The build of the package stores its tables
as JSON, in two lines: those of a `Reader`, which parses correct programs, and Lark's own, for texts with
errors. They are used only for the same grammar, and Lark's only with the same version of Lark. There is one
parser of Lark's per thread, since the indenter has state.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from gotlang.syntax.reader import Reader, Token, tables

if TYPE_CHECKING:
    from lark import Lark
    from lark.indenter import Indenter

TABLES: Final = "got.tables.json"
"""Made by `grammars/build_tables.py`; never under version control."""

_parsers = threading.local()


@cache
def grammar_text(name: str = "got.lark") -> str:
    """A grammar's text."""
    return _grammar_file(name).read_text("utf-8")


def _grammar_file(name: str) -> Path:
    """A grammar file: from the wheel, or from `grammars/` next to the package in a source tree."""
    package = Path(__file__).parents[1]
    packaged = package / "grammars" / name
    return packaged if packaged.is_file() else package.parent / "grammars" / name


@cache
def reader() -> Reader:
    """The reader of programs, from the saved tables if they match the grammar."""
    found: Reader | None = None
    with suppress(OSError), _grammar_file(TABLES).open("rb") as file:
        found = reader_from_tables(file.readline())
    return found or Reader(tables(parser()))


def parser() -> Lark:
    """This thread's parser of programs, from the saved tables if they match the grammar."""
    found: Lark | None = getattr(_parsers, "got", None)
    if found is None:
        with suppress(OSError):
            found = from_tables(grammar_text(TABLES))
        found = _parsers.got = found or build_parser()
    return found


def tokens_of_lark(text: str, start: str) -> list[Token]:
    """The tokens of a text from Lark, whose lexer knows the possible next tokens. Raises UnexpectedInput."""
    parser().parse(text, start=start)
    found = parser().parse_interactive(text, start=start).iter_parse()
    return [(token.type, str(token), token.start_pos or 0, token.end_pos or 0) for token in found]


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
    """A tokenizer of indentation. It has state, so each parser has its own."""
    from lark.indenter import Indenter

    class Indentation(Indenter):
        NL_type = "_NL"
        OPEN_PAREN_types = ["LPAR", "LSQB", "LBRACE"]  # noqa: RUF012 (Lark asks for lists)
        CLOSE_PAREN_types = ["RPAR", "RSQB", "RBRACE"]  # noqa: RUF012
        INDENT_type = "_INDENT"
        DEDENT_type = "_DEDENT"
        tab_len = 8
        # Words are tokenized whole: where only `in` is possible, `inner` is not `in` and `ner`.
        always_accept = ("_NL", "NAME")

    return Indentation()


def to_tables(parser: Lark) -> str:
    """The tables of a parser that `build_parser` made: a line of JSON for the reader, and one for Lark."""
    import lark
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    data, memo = parser.memo_serialize([TerminalDef, Rule])
    data["options"]["postlex"] = None  # code, which is passed again on loading
    lines = (
        {"grammar": _digest(), "tables": tables(parser)},
        {"grammar": _digest(), "lark": lark.__version__, "data": data, "memo": memo},
    )
    return "".join(json.dumps(line, separators=(",", ":"), sort_keys=True) + "\n" for line in lines)


def reader_from_tables(line: str | bytes) -> Reader | None:
    """The reader from the first line of the tables, or None if they were made from another grammar."""
    content = msgspec.json.decode(line)
    return Reader(content["tables"]) if content.get("grammar") == _digest() else None


def from_tables(text: str) -> Lark | None:
    """The parser, or None if the tables were made from another grammar or by another Lark."""
    import lark

    # The keys of states, tokens and rules are numbers, which JSON writes as strings.
    content = json.loads(
        text.partition("\n")[2] or "{}",
        object_hook=lambda part: {int(key) if key.isdigit() else key: part[key] for key in part},
    )
    if (content.get("grammar"), content.get("lark")) != (_digest(), lark.__version__):
        return None
    found: Lark = lark.Lark._load_from_dict(  # type: ignore[no-untyped-call]
        content["data"], content["memo"], postlex=indentation()
    )
    return found


@cache
def _digest() -> str:
    return hashlib.sha256(grammar_text().encode()).hexdigest()
