"""A scheme's call as a step: once for each current thought."""

from __future__ import annotations

from typing import final

from msgspec.structs import replace

from gotlang.amounts import ONE
from gotlang.flows import ANYTHING, UNBOUNDED, Flow, FlowScope, Result
from gotlang.operations.record import BlockRecord, StepLabel
from gotlang.operations.stages import Estimating, Verifying
from gotlang.operations.step import Arguments, Step
from gotlang.scope import PoolType


@final
class Invoke(Step, frozen=True):
    """The scheme and its arguments by parameter."""

    scheme: str
    arguments: Arguments


def _verify(step: Invoke, v: Verifying) -> PoolType:
    result, many = v.scheme(step.scheme, step.arguments)
    return PoolType(result, v.pool.single and not many)


def _estimate(step: Invoke, scope: FlowScope, e: Estimating) -> Result:
    pool = scope.flow(step.pool)
    called = e.scheme(step, step.scheme, step.arguments, scope)
    if called is None:
        count = ONE if step.single else ANYTHING
        return Flow(count, hops=ANYTHING, volume=ANYTHING, single=step.single), UNBOUNDED
    found, bill, floor = called
    if pool.single:
        return replace(found, single=step.single), bill
    total = replace(
        found, count=found.count * pool.count, hops=found.hops.up_to(floor), single=False, part=None
    )
    return total, bill.times(pool.count)


BLOCK = BlockRecord(
    name="scheme",
    usage="`scheme(args)`",
    doc="a scheme as a step: once for each current thought",
    step=Invoke,
    text="scheme {scheme(arguments)} from {pool}[, {line:line}]",
    verify=_verify,
    effects=lambda step, declared: declared.effects(step.scheme) | {"grows"},
    estimate=_estimate,
    remaining=lambda step, remaining: remaining.scheme(step.scheme),
    label=lambda step: StepLabel(step.scheme),
)
