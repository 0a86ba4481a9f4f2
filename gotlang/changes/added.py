"""Steps that Python adds to a run, written as in a program: checked against its declarations, and built.

    add = compile_block(checked, "Generate(k=3) draft(it, angle)", {"angle": ...}, pool, span)

What is wrong with them is told as a program's mistakes are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, final

from gotlang.errors import EvaluationError
from gotlang.ir import program as ir
from gotlang.ir.build import build_region
from gotlang.ir.program import Program, Region
from gotlang.passes import optimize_region
from gotlang.scope import PoolType, Scope, Variable
from gotlang.semantics.check import Checked
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.pipelines import PipelineChecker
from gotlang.semantics.report import Report
from gotlang.semantics.symbols import RESERVED
from gotlang.span import Source, Span
from gotlang.syntax import nodes as n
from gotlang.syntax.parse import parse
from gotlang.types import ANY, ListType

ENTRY = "%given"
"""The name of the pool that added steps start from."""
_HEAD = "scheme added() -> many any:\n"


def compile_block(
    checked: Checked, text: str, names: Mapping[str, PoolType | None], pool: PoolType, span: Span
) -> tuple[ir.Region, PoolType]:
    """The region of some steps that start from `pool`, and the pool they leave.

    `names` are those they may use: of thoughts with their pool, of plain values with None. Every step is
    given the place `span`, which is where the program calls what adds them. Raises EvaluationError with the
    first mistake.
    """
    lines = "".join(f"    {line}\n" for line in text.splitlines() if line.strip())
    module, problems = parse(Source.of("<added>", _HEAD + lines))
    for problem in problems:
        raise EvaluationError(f"{problem.message} in `{text}`", help=problem.help)
    scheme = module.declarations[0]
    assert isinstance(scheme, n.Scheme)
    report = Report()
    expressions = ExpressionChecker(checked.symbols, report)
    pipelines = PipelineChecker(checked.symbols, report, expressions)
    pipelines.steps.pools = pipelines.pools
    scope = Scope()
    for name, kind in names.items():
        if name in RESERVED or name in checked.symbols.nodes:
            raise EvaluationError(f"`{name}` has a meaning already, so no value can be given for it")
        scope.add(_variable(name, kind))
    pipelines.suite(scheme.body, pool, scope)
    for diagnostic in report.diagnostics:
        if diagnostic.severity == "error":
            raise EvaluationError(f"{diagnostic.message} in `{text}`", help=diagnostic.help)
    found = Checked(
        (),
        checked.symbols,
        pipelines.pools,
        expressions.arguments,
        frozenset(pipelines.named),
        (),
    )
    region, left = build_region(found, scheme.body, ENTRY, pool, names)
    return _placed(region, span), left


def _variable(name: str, kind: PoolType | None) -> Variable:
    if kind is None:
        return Variable(name, ANY, "value", used=True)
    if kind.single:
        return Variable(name, kind.type, "thought", scored=kind.scored, used=True)
    return Variable(name, ListType(kind.type), "thoughts", scored=kind.scored, used=True)


def _placed(region: ir.Region, span: Span) -> ir.Region:
    return replace(region, steps=tuple(_at(step, span) for step in region.steps))


def _at(step: ir.Step, span: Span) -> ir.Step:
    return replace(step.with_regions(lambda region: _placed(region, span)), span=span)


@final
class AddedSteps:
    """Compiles steps in the names of one program, at the optimization level that its run has."""

    def __init__(self, checked: Checked, program: Program, level: int, skip: frozenset[str]) -> None:
        self._checked = checked
        self._program = program
        self._level = level
        self._skip = skip
        self._known: dict[Any, tuple[Region, PoolType]] = {}

    def __call__(
        self, text: str, names: Mapping[str, PoolType | None], pool: PoolType, span: Span
    ) -> tuple[Region, PoolType]:
        """What `compile_block` says of the same, optimized. Raises EvaluationError with the first mistake."""
        key = (text, tuple(names.items()), pool, span)
        if key not in self._known:
            region, left = compile_block(self._checked, text, names, pool, span)
            self._known[key] = optimize_region(self._program, region, self._level, self._skip), left
        return self._known[key]
