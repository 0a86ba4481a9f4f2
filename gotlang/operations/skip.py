"""`skip`: an element of a `foreach`, or a member of a `Pool` of several, is left out, without a failure."""

from __future__ import annotations

from typing import final

from gotlang.amounts import ZERO
from gotlang.flows import FREE, NOTHING_KNOWN, Flow
from gotlang.operations.record import BlockRecord, StepLabel, grows, no_calls
from gotlang.operations.step import Region, Step
from gotlang.scope import PoolType
from gotlang.types import NEVER


@final
class Skip(Step, frozen=True):
    """`of` names the pool that continues without it: that of a `foreach`, or one that a `Pool` gathers."""

    of: str


def skipped_by(step: Step) -> frozenset[str]:
    """The pools, in addition to its own, that a step may leave without one of their elements."""
    if isinstance(step, Skip):
        return frozenset({step.of})
    inside = (name for region in step.regions for inner in region.steps for name in skipped_by(inner))
    return frozenset(inside) - {step.result}


def guards(region: Region) -> list[Step]:
    """The steps that decide whether a block has a result, in addition to the one that yields it."""
    return [step for step in region.steps if step.result != region.result and skipped_by(step)]


BLOCK = BlockRecord(
    name="skip",
    usage="`skip`",
    doc="the element, or the member of a `Pool` of several, is left out",
    step=Skip,
    text="skip {of:name} from {pool}",
    verify=lambda step, v: PoolType(NEVER, True),
    effects=grows,
    estimate=lambda step, scope, e: (Flow(ZERO, NOTHING_KNOWN, scope.floor, single=True), FREE),
    remaining=no_calls,
    label=lambda step: StepLabel(),
)
