"""A labelled block, or an indented pipeline: steps under a name of their own."""

from __future__ import annotations

from typing import final

from msgspec.structs import replace

from gotlang.flows import FlowScope, Result
from gotlang.operations.record import BlockRecord, StepLabel, grows
from gotlang.operations.stages import Estimating
from gotlang.operations.step import WithBody


@final
class Block(WithBody, frozen=True):
    """`names` are the names of pools inside."""

    label: str
    names: tuple[tuple[str, str], ...]

    @property
    def bound_names(self) -> tuple[str, ...]:
        """The names of pools inside."""
        return tuple(inner for inner, _ in self.names)

    @property
    def pools_named(self) -> tuple[str, ...]:
        """The pools with these names."""
        return tuple(outer for _, outer in self.names)


def _estimate(step: Block, scope: FlowScope, e: Estimating) -> Result:
    inner = scope.inside({inner: scope.flow(outer) for inner, outer in step.names})
    found, bill = e.region(step.body, inner)
    return replace(found, single=step.single), bill


BLOCK = BlockRecord(
    name="block",
    usage="`merge step 1 from a, b as left, right:`",
    doc="a labelled block: steps under a name, from the pools it names",
    step=Block,
    text="block {label:text}[ {names:pairs}] from {pool}",
    verify=lambda step, v: v.inside({inner: v.named(outer) for inner, outer in step.names}).region(step.body),
    effects=grows,
    estimate=_estimate,
    remaining=lambda step, remaining: remaining.through(step.body),
    label=lambda step: StepLabel(step.label, alone=True),
)
