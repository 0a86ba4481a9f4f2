"""Steps that Python adds to a run, written as in a program: checked against its declarations, and built.

steps = AddedSteps(checked, program, level=2, skip=frozenset())
region, pool = steps("Generate(k=3) draft(it, angle)", {"angle": None}, pool, span)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, final

from gotlang.diagnostics import Report
from gotlang.errors import EvaluationError
from gotlang.ir.build import build_region
from gotlang.ir.program import Program, Region
from gotlang.passes import optimize_region
from gotlang.scope import PoolType, Scope, Variable
from gotlang.semantics.check import Checked
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.pipelines import PipelineChecker
from gotlang.semantics.symbols import RESERVED
from gotlang.span import Source, Span
from gotlang.syntax import nodes as n
from gotlang.syntax.parse import parse
from gotlang.types import ANY, ListType

ENTRY = "%given"
"""The name of the pool that added steps start from."""
_HEAD = "scheme added() -> many any:\n"


@final
class AddedSteps:
    """Compiles steps in the names of one program, at the optimization level of its run; each text once."""

    def __init__(self, checked: Checked, program: Program, level: int, skip: frozenset[str]) -> None:
        self._checked = checked
        self._program = program
        self._level = level
        self._skip = skip
        self._known: dict[Any, tuple[Region, PoolType]] = {}

    def __call__(
        self, text: str, names: Mapping[str, PoolType | None], pool: PoolType, span: Span
    ) -> tuple[Region, PoolType]:
        """The region of some steps that start from `pool`, and the pool they leave.

        `names` are those they may use: of thoughts with their pool, of plain values with None. Every step
        gets the place `span`, that of the call which adds them. Raises EvaluationError for the first mistake.
        """
        key = (text, tuple(names.items()), pool, span)
        if key not in self._known:
            region, left = self._compile(text, names, pool)
            region = optimize_region(self._program, _placed(region, span), self._level, self._skip)
            self._known[key] = region, left
        return self._known[key]

    def _compile(
        self, text: str, names: Mapping[str, PoolType | None], pool: PoolType
    ) -> tuple[Region, PoolType]:
        lines = "".join(f"    {line}\n" for line in text.splitlines() if line.strip())
        module, problems = parse(Source.of("<added>", _HEAD + lines))
        for problem in problems:
            raise EvaluationError(f"{problem.message} in `{text}`", help=problem.help)
        scheme, symbols = module.declarations[0], self._checked.symbols
        assert isinstance(scheme, n.Scheme)
        report = Report()
        expressions = ExpressionChecker(symbols, report)
        pipelines = PipelineChecker(symbols, report, expressions)
        scope = Scope()
        for name, kind in names.items():
            if name in RESERVED or name in symbols.nodes:
                raise EvaluationError(f"`{name}` is declared or reserved, and cannot be given a value")
            scope.add(_variable(name, kind))
        pipelines.suite(scheme.body, pool, scope)
        for diagnostic in report.diagnostics:
            if diagnostic.severity == "error":
                raise EvaluationError(f"{diagnostic.message} in `{text}`", help=diagnostic.help)
        arguments, named = expressions.arguments, frozenset(pipelines.named)
        checked = Checked((), symbols, pipelines.pools, arguments, named, ())
        return build_region(checked, scheme.body, ENTRY, pool, names)


def _variable(name: str, kind: PoolType | None) -> Variable:
    if kind is None:
        return Variable(name, ANY, "value", used=True)
    if kind.single:
        return Variable(name, kind.type, "thought", scored=kind.scored, used=True)
    return Variable(name, ListType(kind.type), "thoughts", scored=kind.scored, used=True)


def _placed(region: Region, span: Span) -> Region:
    def at(inner: Region) -> Region:
        return _placed(inner, span)

    return replace(region, steps=tuple(replace(s.with_regions(at), span=span) for s in region.steps))
