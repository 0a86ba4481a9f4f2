"""`if`: the first block whose condition holds; the pool goes through unchanged where none does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import final

from gotlang.amounts import Amount
from gotlang.flows import FREE, Flow, FlowScope, Result, one_of
from gotlang.operations.names import free_names, looks_at_pool
from gotlang.operations.record import BlockRecord, StepLabel, grows
from gotlang.operations.stages import Estimating, Verifying
from gotlang.operations.step import Region, Step
from gotlang.scope import PoolType
from gotlang.syntax.expressions import Expression
from gotlang.types import ANY, BOOL, Type, join


@final
@dataclass(frozen=True, slots=True)
class If(Step):
    """Conditions with their blocks, in order, and the block of `else`."""

    branches: tuple[tuple[Expression, Region], ...]
    otherwise: Region | None

    @property
    def regions(self) -> tuple[Region, ...]:
        """The blocks, that of `else` last."""
        inside = tuple(body for _, body in self.branches)
        return (*inside, self.otherwise) if self.otherwise is not None else inside

    def with_regions(self, change: Callable[[Region], Region]) -> If:
        """The step with its blocks changed."""
        branches = tuple((condition, change(body)) for condition, body in self.branches)
        return replace(self, branches=branches, otherwise=change(self.otherwise) if self.otherwise else None)


def _verify(step: If, v: Verifying) -> PoolType:
    for condition, _ in step.branches:
        v.expect(condition, v.whole, BOOL)
    results = [] if step.otherwise is not None else [v.pool]
    results += [v.inside({}).region(body) for body in step.regions]
    type_: Type | None = None
    for result in results:
        type_ = result.type if type_ is None else join(type_, result.type) or ANY
    return PoolType(type_ or ANY, all(result.single for result in results))


def hops_before(nodes: Iterable[Expression], pool: Flow, scope: FlowScope) -> Amount:
    """The model calls before a block whose shape these expressions decide."""
    nodes = list(nodes)
    start = pool.hops if any(looks_at_pool(node) for node in nodes) else None
    return scope.hops([name for node in nodes for name in free_names(node)], start)


def _estimate(step: If, scope: FlowScope, e: Estimating) -> Result:
    pool = scope.flow(step.pool)
    floor = hops_before([condition for condition, _ in step.branches], pool, scope)
    whole = scope.whole(pool)
    ends: list[Result] = []
    for condition, body in step.branches:
        holds = e.holds(condition, whole)
        if holds is not False:
            ends.append(e.region(body, scope.inside({}, floor)))
        if holds:
            break
    else:
        if step.otherwise is not None:
            ends.append(e.region(step.otherwise, scope.inside({}, floor)))
        else:
            ends.append((replace(pool, hops=pool.hops.up_to(floor)), FREE))
    found, bill = one_of(ends)
    return replace(found, hops=found.hops.up_to(floor), single=step.single, part=None), bill


BLOCK = BlockRecord(
    name="if",
    usage="`if condition:`, `elif`, `else:`",
    doc="the first block whose condition holds; without `else`, the thoughts go through where none does",
    step=If,
    text="if from {pool}",
    verify=_verify,
    effects=grows,
    estimate=_estimate,
    remaining=lambda step, remaining: max(map(remaining.through, step.regions), default=0),
    label=lambda step: StepLabel(),
)
