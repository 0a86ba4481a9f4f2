"""`KeepValid`: keeps the valid thoughts."""

from __future__ import annotations

from typing import final

from msgspec.structs import replace

from gotlang.amounts import ONE, Amount
from gotlang.errors import OperationFailed
from gotlang.flows import FREE, FlowScope, Result
from gotlang.operations.record import OperationRecord, StepLabel, Syntax, local, no_calls, passed_on, pure
from gotlang.operations.stages import Estimating, Running
from gotlang.operations.step import Step
from gotlang.scope import PoolType
from gotlang.thought import Thoughts


@final
class KeepValid(Step, frozen=True):
    """`KeepValid`."""


def _estimate(step: KeepValid, scope: FlowScope, e: Estimating) -> Result:
    pool = passed_on(step, scope, e)
    count = Amount(pool.count.at_most(ONE).low, pool.count.high)  # at least one, if there are any
    return replace(pool, count=count, single=step.single), FREE


def _run(step: KeepValid, thoughts: Thoughts, running: Running) -> Thoughts:
    """`KeepValid`."""
    kept = Thoughts(t for t in thoughts if t.valid)
    if not kept:
        if running.skipped and any(t.valid is None for t in thoughts):
            raise OperationFailed("not every thought was judged", cut_off=True)
        raise OperationFailed(f"none of {len(thoughts)} thoughts is valid")
    return kept


OPERATION = OperationRecord(
    name="KeepValid",
    syntax=Syntax({}, "KeepValid()", operands=(0, 0)),
    usage="`KeepValid()`",
    doc="keeps the valid thoughts",
    fails="no thought is valid",
    asks=frozenset({"validity"}),
    keeps=True,
    check=lambda node, c: PoolType(c.pool.type, c.pool.single),
    step=KeepValid,
    build=lambda node, b: KeepValid(*b.base, span=node.span),
    text="KeepValid from {pool}",
    verify=lambda step, v: PoolType(v.pool.type, v.pool.single),
    effects=pure,
    estimate=_estimate,
    remaining=no_calls,
    run=local(_run),
    label=lambda step: StepLabel(),
    family="choose",
)
