"""`if`: the first block whose condition is true; if none is, the pool is unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, final

from msgspec.structs import replace

from gotlang.amounts import Amount
from gotlang.flows import FREE, Flow, FlowScope, Result, one_of
from gotlang.operations.names import free_names, looks_at_pool
from gotlang.operations.record import BlockRecord, StepLabel, grows
from gotlang.operations.stages import Estimating, Verifying
from gotlang.operations.step import Region, Step
from gotlang.scope import PoolType
from gotlang.syntax.expressions import Expression
from gotlang.syntax.format import format_expression
from gotlang.types import BOOL


class Branching(Step, frozen=True):
    """Base of the steps that run one of several blocks: `branches` pairs conditions or patterns with blocks,
    `otherwise` is the block of `else`."""

    branches: tuple[tuple[Any, Region], ...]
    otherwise: Region | None

    @property
    def conditions(self) -> tuple[tuple[Expression, Region], ...]:
        """The blocks, each with the condition under which it runs, if no earlier one does."""
        return self.branches

    @property
    def heads(self) -> tuple[str, ...]:
        """The condition or pattern of each block, as text."""
        return tuple(format_expression(selected) for selected, _ in self.branches)

    @property
    def passes_on(self) -> bool:
        """Whether the pool is passed on if no condition is true."""
        return self.otherwise is None

    @property
    def regions(self) -> tuple[Region, ...]:
        """The blocks, that of `else` last."""
        inside = tuple(body for _, body in self.branches)
        return (*inside, self.otherwise) if self.otherwise is not None else inside

    def with_regions(self, change: Callable[[Region], Region]) -> Step:
        """The step with its blocks changed."""
        branches = tuple((selected, change(body)) for selected, body in self.branches)
        return replace(self, branches=branches, otherwise=change(self.otherwise) if self.otherwise else None)


@final
class If(Branching, frozen=True):
    """Conditions with their blocks, in order, and the block of `else`."""

    branches: tuple[tuple[Expression, Region], ...]


def _verify(step: If, v: Verifying) -> PoolType:
    inside: list[Verifying] = []
    for condition, body in step.branches:
        v.expect(condition, v.whole, BOOL)
        inside.append(v.where(condition, True, body.entry).inside({}))
        v = v.where(condition, False, step.pool)
    return verify_branches(step, v, [*inside, v.inside({})][: len(step.regions)])


def verify_branches(step: Branching, v: Verifying, inside: Iterable[Verifying]) -> PoolType:
    """The common output of blocks, each of which one of these functions verifies."""
    results = [v.pool] if step.passes_on else []
    results += [each.region(body) for each, body in zip(inside, step.regions, strict=True)]
    return PoolType(v.joined(*(result.type for result in results)), all(result.single for result in results))


def hops_before(nodes: Iterable[Expression], pool: Flow, scope: FlowScope) -> Amount:
    """The model calls before a block whose shape these expressions determine."""
    nodes = list(nodes)
    start = pool.hops if any(looks_at_pool(node) for node in nodes) else None
    return scope.hops([name for node in nodes for name in free_names(node)], start)


def estimate_branches(step: Branching, scope: FlowScope, e: Estimating) -> Result:
    """The output and the cost of the blocks that may run: minimum and maximum."""
    pool = scope.flow(step.pool)
    floor = hops_before([condition for condition, _ in step.conditions], pool, scope)
    whole = scope.whole(pool)
    ends: list[Result] = []
    for condition, body in step.conditions:
        holds = e.holds(condition, whole)
        if holds is not False:
            ends.append(e.region(body, scope.inside({}, floor)))
        if holds:
            break
    else:
        if step.otherwise is not None:
            ends.append(e.region(step.otherwise, scope.inside({}, floor)))
        elif step.passes_on:
            ends.append((replace(pool, hops=pool.hops.up_to(floor)), FREE))
    found, bill = one_of(ends)
    return replace(found, hops=found.hops.up_to(floor), single=step.single, part=None), bill


BLOCK = BlockRecord(
    name="if",
    usage="`if condition:`, `elif`, `else:`",
    doc="the first block whose condition is true; if none is, and without `else`, the pool is unchanged",
    step=If,
    text="if from {pool}",
    verify=_verify,
    effects=grows,
    estimate=estimate_branches,
    remaining=lambda step, remaining: max(map(remaining.through, step.regions), default=0),
    label=lambda step: StepLabel(),
)
