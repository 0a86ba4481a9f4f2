"""`try`: a block, and a fallback if it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from msgspec.structs import replace

from gotlang.amounts import Amount
from gotlang.flows import FlowScope, Result, one_of
from gotlang.operations.record import BlockRecord, StepLabel, grows
from gotlang.operations.stages import Estimating, Verifying
from gotlang.operations.step import Region, Step
from gotlang.scope import PoolType
from gotlang.types import ANY, join


@final
class Try(Step, frozen=True):
    """The block, and that of `else`; both start from the same thoughts."""

    tried: Region
    otherwise: Region

    @property
    def regions(self) -> tuple[Region, ...]:
        """The blocks, that of `else` last."""
        return self.tried, self.otherwise

    def with_regions(self, change: Callable[[Region], Region]) -> Try:
        """The step with its blocks changed."""
        return replace(self, tried=change(self.tried), otherwise=change(self.otherwise))


def _verify(step: Try, v: Verifying) -> PoolType:
    tried, other = (v.inside({}).region(body) for body in step.regions)
    return PoolType(join(tried.type, other.type) or ANY, tried.single and other.single)


def _estimate(step: Try, scope: FlowScope, e: Estimating) -> Result:
    tried, cost = e.region(step.tried, scope.inside({}))
    # At worst it fails at its end, at best immediately.
    floor = Amount(scope.floor.low, scope.floor.up_to(tried.hops).high)
    other, more = e.region(step.otherwise, scope.inside({}, floor))
    found, bill = one_of([(tried, cost), (other, more), (other, cost + more)])
    return replace(found, single=step.single, part=None), bill


BLOCK = BlockRecord(
    name="try",
    usage="`try:`, `else:`",
    doc="the block of `else` where the first one fails",
    step=Try,
    text="try from {pool}",
    verify=_verify,
    effects=grows,
    estimate=_estimate,
    remaining=lambda step, remaining: remaining.through(step.tried),
    label=lambda step: StepLabel(),
)
