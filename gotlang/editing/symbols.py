"""What the names of a program mean: symbols, and the places where each is written."""

from __future__ import annotations

from typing import Literal, final

from msgspec import Struct

from gotlang.span import Span

Kind = Literal[
    "prompt", "score", "metric", "scheme", "param", "type", "case", "field", "operation", "function",
    "partial", "corpus", "python", "study", "input", "setting", "local", "variable", "alias", "module",
    "file",
]  # fmt: skip
"""What a name stands for. An `alias` is another name for what is imported, `python` a function of Python, an
`input` a parameter of a prompt, scheme, score, metric, partial or function, a `setting` that of an operation,
a `variable` stands for a type, and a `file` is named by its path."""


@final
class Symbol(Struct, frozen=True):
    """What a name means. Two are one where all of this is the same.

    `source` is the file that declares it, by its real path or its name in `<>`, and `start` the offset of its
    name there. Fields and cases belong to no single file: a field is that of all records with the same
    fields, its `owner`, and a case that of its name. The `owner` of an input or a setting is the name of
    what takes it.
    """

    kind: Kind
    name: str
    source: str = ""
    start: int = -1
    owner: str = ""


@final
class Occurrence(Struct, frozen=True):
    """A place where a symbol is written; `declares` where that brings it into the program. `means` is what an
    alias is another name for."""

    span: Span
    symbol: Symbol
    declares: bool = False
    means: Symbol | None = None
