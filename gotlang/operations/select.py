"""`Select`: keeps the thoughts that a condition holds for, or those at given positions, in that order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from gotlang.amounts import ZERO, Amount, Polynomial
from gotlang.errors import EvaluationError
from gotlang.flows import FREE, FlowScope, Result
from gotlang.operations.checks import position
from gotlang.operations.record import (
    OperationRecord,
    SettingRule,
    StepLabel,
    Syntax,
    local,
    no_calls,
    passed_on,
    pure,
)
from gotlang.operations.stages import Building, Checking, Estimating, Running, Verifying
from gotlang.operations.step import Step
from gotlang.scope import PoolType
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Expression
from gotlang.thought import Thoughts
from gotlang.types import ANY, BOOL, INT, ListType


@final
@dataclass(frozen=True, slots=True)
class Select(Step):
    """`condition` on each thought, or `positions`."""

    condition: Expression | None
    positions: Expression | None


def _check(node: n.Step, c: Checking) -> PoolType:
    c.needs_thoughts()
    positions = c.setting("positions")
    if (positions is None) == (not node.operands):
        c.error(
            "GOT0310",
            "`Select` takes a condition or positions",
            help="write `Select() len(it) > 2` or `Select([0, 2])`",
        )
    elif positions is None:
        c.expect(node.operands[0], c.each, BOOL, "a condition")
    else:
        c.expect(positions, c.whole, ListType(INT), "positions")
    return PoolType(c.pool.type, False, c.pool.scored)


def _build(node: n.Step, b: Building) -> Select:
    condition = node.operands[0] if node.operands else None
    return Select(*b.base, condition, b.setting("positions"), span=node.span)


def _verify(step: Select, v: Verifying) -> PoolType:
    if step.condition is not None:
        v.expect(step.condition, v.each, BOOL)
    elif step.positions is not None:
        v.expect(step.positions, v.whole, ListType(INT))
    else:
        raise v.fail("it has no condition")
    return PoolType(v.pool.type, False)


def _estimate(step: Select, scope: FlowScope, e: Estimating) -> Result:
    pool = scope.flow(step.pool)
    if step.positions is not None:
        count = e.length(step.positions, scope.whole(pool))
    else:
        assert step.condition is not None
        holds = e.holds(step.condition, scope.each(pool))
        count = Amount(Polynomial.of(0), pool.count.high) if holds is None else pool.count if holds else ZERO
    return replace(passed_on(step, scope), count=count, single=False), FREE


def _run(step: Select, thoughts: Thoughts, running: Running) -> Thoughts:
    """`Select`."""
    if (condition := step.condition) is not None:
        found = running.for_each(thoughts, lambda t: running.evaluate(condition, running.each(t)))
        return Thoughts(thoughts[at] for at, holds in found if holds)
    assert step.positions is not None
    positions = running.evaluate(step.positions, running.whole(thoughts))
    if not isinstance(positions, list):
        raise EvaluationError(f"positions must be a list of whole numbers, not {positions!r:.60}")
    return Thoughts(thoughts[position(at, thoughts)] for at in positions)


OPERATION = OperationRecord(
    name="Select",
    syntax=Syntax(
        {"positions": SettingRule((ANY,))}, "Select() len(it) > 2", first="positions", operands=(0, 1)
    ),
    usage="`Select() condition`, `Select(positions)`",
    doc="the thoughts a condition holds for; the thoughts at positions (from 0, or from the end: -1), in "
    "that order",
    check=_check,
    step=Select,
    build=_build,
    text="Select[ where {condition}][ at {positions}] from {pool}",
    verify=_verify,
    effects=pure,
    estimate=_estimate,
    remaining=no_calls,
    run=local(_run),
    label=lambda step: StepLabel.of(step.condition or step.positions),
    family="choose",
)
