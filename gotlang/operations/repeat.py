"""`repeat`: a block on its own result, a number of times or until a condition is true."""

from __future__ import annotations

import math
from typing import final

from msgspec.structs import replace

from gotlang.amounts import ZERO, Amount, Polynomial
from gotlang.flows import FREE, UNBOUNDED, Bill, Flow, FlowScope, Guess, Result, one_of
from gotlang.operations.if_ import hops_before
from gotlang.operations.names import used_names
from gotlang.operations.record import BlockRecord, StepLabel, grows
from gotlang.operations.stages import Estimating, Verifying
from gotlang.operations.step import WithBody
from gotlang.scope import PoolType
from gotlang.syntax.expressions import Expression
from gotlang.types import BOOL, EMPTY, INT

MAX_ROUNDS = 200
"""Maximum number of rounds that are estimated one by one, if they differ."""


@final
class Repeat(WithBody, frozen=True):
    """`count` rounds at most; `counter` names their number, from 0."""

    count: Expression
    counter: str | None
    until: Expression | None

    @property
    def bound_names(self) -> tuple[str, ...]:
        """The counter."""
        return (self.counter,) if self.counter is not None else ()


def _verify(step: Repeat, v: Verifying) -> PoolType:
    v.expect(step.count, v.whole, INT)
    type_ = v.pool.type if v.pool.type == EMPTY else step.type
    v.fits(type_, v.pool.type, "what it starts from")
    entry = PoolType(type_, v.pool.single and step.single)
    inner = v.inside({step.body.entry: entry}, {step.counter: INT} if step.counter is not None else None)
    left = inner.region(step.body)
    if step.until is not None:
        v.expect(step.until, inner.whole_of(left), BOOL)
    if v.pool.type == EMPTY:
        return left
    v.fits(type_, left.type, "what a round leaves")
    return PoolType(type_, v.pool.single and left.single)


# ---------------------------------------------------------------- estimate


def _estimate(step: Repeat, scope: FlowScope, e: Estimating) -> Result:
    pool = scope.flow(step.pool)
    floor = hops_before([step.count], pool, scope)
    count = e.amount(step.count, scope.whole(pool))
    fewest, most = count.bounds
    flow, bill = pool, FREE
    ends: list[Result] = [] if fewest >= 1 else [(pool, FREE)]
    last: Result | None = (pool, FREE) if most == 0 else None
    cost: Bill | None = None
    number = 0
    counted = any(step.counter in used_names(inner) for inner in step.body.steps)
    exact = None if step.until is not None or counted else count.exact
    # A number of rounds that a param determines is followed a little further, for the sake of the formula.
    probed = 3 if exact is not None and exact.constant is None else 0
    while last is None or number < probed:
        names: dict[str, Flow | Guess] = {step.body.entry: flow}
        if step.counter is not None:
            names[step.counter] = e.known(number)
        inner = scope.inside(names, floor)
        found, another = e.region(step.body, inner)
        found = replace(found, single=found.single and step.single)
        number += 1
        if exact is not None and another == cost and _alike(found, flow) and most != 0:
            rest = Amount.of(exact - Polynomial.of(number - 1))
            return _further(flow, found, rest), bill + another.times(rest)
        flow, bill, cost = found, bill + another, another
        if number == most:
            last = (flow, bill)
        elif number >= fewest and fewest < most < math.inf:
            ends.append((flow, bill))
        if last is None and step.until is not None:
            holds = e.holds(step.until, inner.whole(flow))
            floor = hops_before([step.until], flow, inner).up_to(flow.hops)
            if holds is not False:
                ends.append((flow, bill))
            if holds:
                return one_of(ends)
        if e.exhausted or number >= MAX_ROUNDS or (most == math.inf and number >= 3):
            return _unbounded(one_of([*ends, (flow, bill)]))
    return one_of([*ends, last])


def _unbounded(result: Result) -> Result:
    """An estimate for any further number of rounds."""
    found, bill = result
    hops, volume = Amount(found.hops.low, None), Amount(found.volume.low, None)
    return replace(found, hops=hops, volume=volume), bill.or_(bill + UNBOUNDED)


def _alike(a: Flow, b: Flow) -> bool:
    """Whether the output of a round is like its input, except for its place on the path."""
    return replace(a, hops=ZERO, volume=ZERO) == replace(b, hops=ZERO, volume=ZERO)


def _further(before: Flow, after: Flow, rounds: Amount) -> Flow:
    """The output of this number of further rounds, each of which behaves like the first of them."""
    hops = before.hops + (after.hops - before.hops) * rounds
    volume = before.volume + (after.volume - before.volume) * rounds
    return replace(after, hops=hops, volume=volume)


BLOCK = BlockRecord(
    name="repeat",
    usage="`repeat n:`, `repeat n until condition:`",
    doc="the block on its own result, a number of times or until a condition is true",
    step=Repeat,
    text="repeat {count}[ as {counter:name}][ until {until}] from {pool}",
    verify=_verify,
    effects=grows,
    estimate=_estimate,
    remaining=lambda step, remaining: remaining.rounds(step.count) * remaining.through(step.body),
    label=lambda step: StepLabel.of(step.count),
)
