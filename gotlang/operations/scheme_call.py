"""A scheme's call as a step: once for each current thought."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from gotlang.amounts import ONE
from gotlang.flows import ANYTHING, UNBOUNDED, Flow, FlowScope, Result
from gotlang.operations.record import Block, Label
from gotlang.operations.stages import Declared, Estimating, Remaining, Verifying
from gotlang.operations.step import Arguments, Effect, Step
from gotlang.scope import PoolType


@final
@dataclass(frozen=True, slots=True)
class Invoke(Step):
    """The scheme and its arguments by parameter."""

    scheme: str
    arguments: Arguments


def _verify(step: Invoke, v: Verifying) -> PoolType:
    result, many = v.scheme(step.scheme, step.arguments)
    return PoolType(result, v.pool.single and not many)


def _effects(step: Invoke, declared: Declared) -> frozenset[Effect]:
    return declared.effects(step.scheme) | {"grows"}


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


def _remaining(step: Invoke, remaining: Remaining) -> int:
    return remaining.scheme(step.scheme)


def _label(step: Invoke) -> Label:
    return Label(step.scheme)


BLOCK = Block(
    name="scheme",
    usage="`scheme(args)`",
    doc="a scheme as a step: once for each current thought",
    step=Invoke,
    text="scheme {scheme(arguments)} from {pool}",
    verify=_verify,
    effects=_effects,
    estimate=_estimate,
    remaining=_remaining,
    label=_label,
)
