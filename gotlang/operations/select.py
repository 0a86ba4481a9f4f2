"""`Select`: keeps the thoughts for which a condition is true, or those at given positions, in that order."""

from __future__ import annotations

from typing import final

from msgspec.structs import replace

from gotlang.amounts import ONE, ZERO, Amount, Polynomial
from gotlang.errors import EvaluationError, OperationFailed
from gotlang.flows import FREE, FlowScope, Result
from gotlang.operations.checks import position
from gotlang.operations.names import POOL_NAMES
from gotlang.operations.record import (
    NO_FACT,
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
from gotlang.syntax.expressions import Binary, Compare, Expression, ListDisplay, Reference, Unary
from gotlang.syntax.format import format_expression
from gotlang.syntax.walk import walk
from gotlang.thought import Thoughts
from gotlang.types import BOOL, DYNAMIC, INT, ListType


@final
class Select(Step, frozen=True):
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
        return PoolType(c.selected(node.operands[0]), c.pool.single)
    elif isinstance(positions, Compare | Unary | Binary) and any(
        isinstance(part, Reference) and part.name in POOL_NAMES for part in walk(positions)
    ):
        help = f"write `Select() {format_expression(positions)}`"
        c.error("GOT0310", "a condition of `Select` follows the parentheses", positions.span, help=help)
    else:
        c.expect(positions, c.whole, ListType(INT), "positions")
    return PoolType(c.pool.type, positions is not None and _is_one(positions))


def _is_one(positions: Expression) -> bool:
    return isinstance(positions, ListDisplay) and len(positions.elements) == 1


def _may_repeat(positions: Expression | None) -> bool:
    """Whether two positions may refer to the same thought, such as the first and the last of a single one."""
    if not isinstance(positions, ListDisplay):
        return positions is not None
    texts = [format_expression(element) for element in positions.elements]
    return len({text.startswith("-") for text in texts}) > 1 or len({*texts}) < len(texts)


def _build(node: n.Step, b: Building) -> Select:
    condition = node.operands[0] if node.operands else None
    return Select(*b.base, condition, b.setting("positions"), span=node.span)


def _verify(step: Select, v: Verifying) -> PoolType:
    if step.condition is not None:
        v.expect(step.condition, v.each, BOOL)
        return PoolType(v.selected(step.condition), v.pool.single)
    if step.positions is None:
        raise v.fail("it has no condition")
    v.expect(step.positions, v.whole, ListType(INT))
    return PoolType(v.pool.type, _is_one(step.positions))


def _estimate(step: Select, scope: FlowScope, e: Estimating) -> Result:
    pool = scope.flow(step.pool)
    if step.positions is not None:
        count = e.length(step.positions, scope.whole(pool))
    else:
        assert step.condition is not None
        holds = e.holds(step.condition, scope.each(pool))
        count = Amount(Polynomial.of(0), pool.count.high) if holds is None else pool.count if holds else ZERO
    found = replace(passed_on(step, scope, e), count=ONE if step.single else count, single=step.single)
    return replace(found, repeated=pool.repeated or _may_repeat(step.positions)), FREE


def _run(step: Select, thoughts: Thoughts, running: Running) -> Thoughts:
    """`Select`."""
    if (condition := step.condition) is not None:
        found = running.for_each(thoughts, lambda t: running.evaluate(condition, running.each(t)))
        kept = Thoughts(thoughts[at] for at, holds in found if holds)
        if not kept:
            raise OperationFailed("its condition is true for no thought")
        return kept
    assert step.positions is not None
    positions = running.evaluate(step.positions, running.whole(thoughts))
    if not isinstance(positions, list):
        raise EvaluationError(f"positions must be a list of whole numbers, not {positions!r:.60}")
    if not positions:
        raise OperationFailed("it is given no position")
    return Thoughts(thoughts[position(at, thoughts)] for at in positions)


OPERATION = OperationRecord(
    name="Select",
    syntax=Syntax(
        {"positions": SettingRule((DYNAMIC,), per_thought=True)},
        "Select() len(it) > 2",
        first="positions",
        operands=(0, 1),
    ),
    usage="`Select() condition`, `Select(positions)`",
    doc="keeps the thoughts that satisfy a condition, or the thoughts at positions (from 0, or from the "
    "end: -1), in that order",
    fails="no thought satisfies the condition; there is no such position",
    asks=NO_FACT,
    keeps=True,
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
