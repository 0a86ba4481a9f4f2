"""The declarations of a program: signatures with their types resolved, in tables by kind."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import final

from msgspec import Struct, field

from gotlang.diagnostics import Report
from gotlang.scope import THOUGHT_FUNCTIONS, Facts
from gotlang.semantics.builtins import BUILTINS
from gotlang.span import Span
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import HOLE, Identifier
from gotlang.syntax.typos import no_method
from gotlang.types import ANY, SIMPLE, RecordType, Type

RESERVED = {"it", "thoughts", "done", "truth", "result"}
"""Predefined names, which cannot be declared."""
PREDEFINED = frozenset(
    """
    baseline calls correct cost failed failures invalid latency partial right rows score seconds
    """.split()  # noqa: SIM905 (a list would take one line per word)
)
"""Metrics and counts of every run, whose names declared metrics cannot have."""
TYPES = {*SIMPLE, "list", "pair", "dict", "any"}
"""Names of types that no other type can have."""


@final
class Signature(Struct, frozen=True):
    """The parameters and the result of a prompt, score or scheme; `many` if it returns several values."""

    name: str
    parameters: tuple[tuple[str, Type], ...]
    result: Type
    many: bool = False
    truth: Type | None = None

    @property
    def unreadable(self) -> bool:
        """Whether the head of its declaration is unreadable, so that calls cannot be checked."""
        return (HOLE, ANY) in self.parameters

    def takes(self) -> str:
        """`numbers: list[int], parts: int`."""
        return ", ".join(f"{name}: {type_}" for name, type_ in self.parameters) or "nothing"


@final
class Symbols(Struct):
    """Every declaration of a program and of its imports, by kind and name."""

    types: dict[str, Type] = field(default_factory=dict)
    cases: dict[str, RecordType] = field(default_factory=dict)
    params: dict[str, Type] = field(default_factory=dict)
    prompts: dict[str, Signature] = field(default_factory=dict)
    scores: dict[str, Signature] = field(default_factory=dict)
    metrics: dict[str, tuple[n.Metric, Signature]] = field(default_factory=dict)
    shares: set[str] = field(default_factory=set)
    """The metrics that are bools: on average, a share of the rows."""
    schemes: dict[str, Signature] = field(default_factory=dict)
    functions: dict[str, Span] = field(default_factory=dict)
    provided: list[str] = field(default_factory=list)
    """Functions that the host passes."""
    results: dict[str, Type] = field(default_factory=dict)
    """The declared result types of Python functions."""
    corpora: dict[str, Span] = field(default_factory=dict)
    nodes: dict[str, n.Param | n.Prompt | n.Score | n.Scheme] = field(default_factory=dict)
    facts: dict[str, Facts] = field(default_factory=dict)
    """The facts about the output of each scheme."""
    asking: set[str] = field(default_factory=set)
    """The scores that call a model."""
    used: set[str] = field(default_factory=set)
    """Names that are used, for warnings about the others."""

    def default_scheme(self, file: str) -> str | None:
        """The default scheme: of the schemes of the file itself (of all, if it has none) the one named like
        the file, otherwise the last."""
        written = [name for name in self.schemes if self.nodes[name].span.use is None]
        among = [name for name in written if self.nodes[name].span.source == file] or written
        stem = PurePosixPath(file).stem
        return stem if stem in among else among[-1] if among else None

    def declared(self, name: str) -> Span | None:
        """Where a name that expressions can use is declared; None if it is not."""
        node = self.nodes.get(name)
        return node.name.span if node is not None else self.functions.get(name) or self.corpora.get(name)

    def callables(self) -> list[str]:
        """Every name that can be called."""
        declared = (*self.prompts, *self.scores, *self.schemes, *self.functions)
        return [*declared, *BUILTINS, *THOUGHT_FUNCTIONS]

    def unknown_function(self, called: Identifier, report: Report) -> None:
        """Report the call of an unknown name."""
        _, dot, method = called.text.partition(".")
        help = no_method(method) if dot else ""
        report.unknown("GOT0103", "function", called.text, called.span, self.callables(), help=help)
