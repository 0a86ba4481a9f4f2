"""`Map`: each thought is replaced by a new one with the value of an expression."""

from __future__ import annotations

from typing import final

from msgspec.structs import replace

from gotlang.amounts import ONE, ZERO
from gotlang.flows import FREE, FlowScope, Result
from gotlang.operations.record import (
    NO_FACT,
    OperationRecord,
    StepLabel,
    Syntax,
    local,
    no_calls,
    passed_on,
    pure,
)
from gotlang.operations.stages import Estimating, Running
from gotlang.operations.step import Step
from gotlang.scope import PoolType
from gotlang.syntax.expressions import Expression
from gotlang.thought import Thoughts


@final
class Map(Step, frozen=True):
    """A new thought for each, with the value of an expression."""

    value: Expression


def _estimate(step: Map, scope: FlowScope, e: Estimating) -> Result:
    pool = scope.flow(step.pool)
    each = e.guess(step.value, scope.each(pool))
    return replace(
        passed_on(step, scope, e),
        each=each,
        scorer=None,
        volume=ZERO if pool.start else pool.volume + ONE,
        start=False,
    ), FREE


def _run(step: Map, thoughts: Thoughts, running: Running) -> Thoughts:
    """`Map`."""
    found = running.for_each(thoughts, lambda t: running.evaluate(step.value, running.each(t)))
    return Thoughts(running.derived(value, at, (thoughts[at],)) for at, value in found)


OPERATION = OperationRecord(
    name="Map",
    syntax=Syntax({}, "Map() it.path"),
    usage="`Map() expression`",
    doc="replaces each thought by a new one with the value of the expression",
    fails="the expression has no value for any thought",
    asks=NO_FACT,
    keeps=False,
    check=lambda node, c: PoolType(c.infer(node.operands[0], c.each), c.pool.single),
    step=Map,
    build=lambda node, b: Map(*b.base, node.operands[0], span=node.span),
    text="Map {value} from {pool}",
    verify=lambda step, v: PoolType(v.infer(step.value, v.each), v.pool.single),
    effects=pure,
    estimate=_estimate,
    remaining=no_calls,
    run=local(_run),
    label=lambda step: StepLabel.of(step.value),
    family="pass",
)
