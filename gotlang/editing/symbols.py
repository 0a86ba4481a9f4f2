"""The meanings of the names of a program: symbols, and the places where each is written."""

from __future__ import annotations

from typing import Literal, final

from msgspec import Struct

from gotlang.span import Span

Kind = Literal[
    "prompt", "score", "metric", "scheme", "param", "type", "case", "field", "operation", "function",
    "partial", "corpus", "python", "study", "input", "setting", "local", "variable", "alias", "module",
    "file",
]  # fmt: skip
"""The kinds of symbols. An `alias` is another name of an import, `python` a function of Python, an `input` a
parameter of a prompt, scheme, score, metric, partial or function, a `setting` that of an operation, a
`variable` a type variable, and a `file` is named by its path."""


@final
class Symbol(Struct, frozen=True):
    """The meaning of a name. Two are equal if all fields are.

    `source` is the file that declares it, by its real path or its name in `<>`, and `start` the offset of its
    name there. Fields and cases belong to no single file: a field is shared by all records with the same
    fields, its `owner`, and a case is identified by its name. The `owner` of an input or a setting is the
    name of the declaration or operation.
    """

    kind: Kind
    name: str
    source: str = ""
    start: int = -1
    owner: str = ""


@final
class Occurrence(Struct, frozen=True):
    """A place where a symbol is written; `declares` whether that declares it. `means` is the symbol to which
    an alias refers."""

    span: Span
    symbol: Symbol
    declares: bool = False
    means: Symbol | None = None
