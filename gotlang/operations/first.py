"""`first` and `race`: alternatives for one result; cheap ones first, or all at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import final

from msgspec.structs import replace

from gotlang.amounts import Amount
from gotlang.flows import Bill, Flow, FlowScope, Result, any_of
from gotlang.operations.names import bound_inside, free_names, used_names
from gotlang.operations.record import BlockRecord, StepLabel, grows
from gotlang.operations.stages import Estimating, Verifying
from gotlang.operations.step import Region, Step
from gotlang.scope import PoolType
from gotlang.syntax.expressions import Expression
from gotlang.syntax.format import format_expression
from gotlang.types import BOOL


@final
class First(Step, frozen=True):
    """Alternatives that all start from the same thoughts, each with the condition under which its output is
    chosen: in source order, one after the other (`turn`) or all at `once`, or in the order in which they end
    (`race`). `otherwise` is the last alternative, which needs no condition."""

    way: str
    branches: tuple[tuple[Expression, Region], ...]
    otherwise: Region | None

    @property
    def heads(self) -> tuple[str, ...]:
        """The condition of each alternative, as text."""
        return tuple(format_expression(condition) for condition, _ in self.branches)

    @property
    def regions(self) -> tuple[Region, ...]:
        """The alternatives in order."""
        inside = tuple(body for _, body in self.branches)
        return (*inside, self.otherwise) if self.otherwise is not None else inside

    def with_regions(self, change: Callable[[Region], Region]) -> First:
        """The step with its alternatives changed."""
        branches = tuple((condition, change(body)) for condition, body in self.branches)
        return replace(self, branches=branches, otherwise=change(self.otherwise) if self.otherwise else None)


def _verify(step: First, v: Verifying) -> PoolType:
    left = []
    for at, region in enumerate(step.regions):
        inner = v.inside({})
        left.append(inner.region(region))
        if at < len(step.branches):
            inner.expect(step.branches[at][0], inner.whole_of(left[-1]), BOOL)
    return PoolType(v.joined(*(pool.type for pool in left)), all(pool.single for pool in left))


def _estimate(step: First, scope: FlowScope, e: Estimating) -> Result:
    floor, costs, flows = scope.floor, list[Bill](), list[Flow]()
    if step.way == "race":
        # It starts once everything that identifies the race is available.
        floor = scope.hops(used_names(step) - bound_inside(step))
    for at, region in enumerate(step.regions):
        inner = scope.inside({}, floor)
        found, cost = e.region(region, inner)
        if at < len(step.branches):
            # An alternative is chosen once its condition is known, which may call models too.
            known = inner.hops(free_names(step.branches[at][0]), found.hops)
            found = replace(found, hops=Amount(found.hops.low, known.high))
        flows.append(found)
        costs.append(cost)
        if step.way == "turn":
            # At best an alternative fails immediately, at worst at its end.
            floor = Amount(floor.low, floor.up_to(found.hops).high)
    found, together = any_of(flows), reduce(Bill.__add__, costs)
    bill = (reduce(Bill.or_, costs) if step.way == "race" else costs[0]).or_(together)
    if step.way == "once":
        # The alternatives before the chosen one have ended.
        found = replace(found, hops=reduce(Amount.up_to, (each.hops for each in flows)).or_(flows[0].hops))
    return replace(found, single=step.single, part=None), bill


BLOCK = BlockRecord(
    name="first",
    usage="`first until condition:`, `race:`",
    doc="the first alternative whose result passes, in order or in time",
    step=First,
    text="first {way:name} from {pool}",
    verify=_verify,
    effects=grows,
    estimate=_estimate,
    remaining=lambda step, remaining: max(map(remaining.through, step.regions)),
    label=lambda step: StepLabel("race" if step.way == "race" else "first", alone=True),
)
