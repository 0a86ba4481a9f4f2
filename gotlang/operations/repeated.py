"""`Repeat(k)`: a block, a call or a step k times in separate contexts, each from the same thoughts."""

from __future__ import annotations

from typing import final

from msgspec.structs import replace

from gotlang.flows import FlowScope, Result
from gotlang.operations.if_ import hops_before
from gotlang.operations.record import BlockRecord, StepLabel, grows
from gotlang.operations.stages import Estimating, Verifying
from gotlang.operations.step import Arguments, WithBody
from gotlang.scope import PoolType
from gotlang.syntax.expressions import Expression
from gotlang.types import FLOAT, INT


@final
class Repeated(WithBody, frozen=True):
    """`settings` are those of the later repetitions: `temperature`, and `seed`, which is incremented."""

    count: Expression
    settings: Arguments = ()


def _verify(step: Repeated, v: Verifying) -> PoolType:
    v.expect(step.count, v.whole, INT)
    for name, value in step.settings:
        v.expect(value, v.whole, INT if name == "seed" else FLOAT)
    return PoolType(v.inside({}).region(step.body).type, False)


def _estimate(step: Repeated, scope: FlowScope, e: Estimating) -> Result:
    pool = scope.flow(step.pool)
    count = e.amount(step.count, scope.whole(pool))
    found, bill = e.region(step.body, scope.inside({}, hops_before([step.count], pool, scope)))
    return replace(found, count=found.count * count, single=False, part=None, scorer=None), bill.times(count)


BLOCK = BlockRecord(
    name="Repeat",
    usage="`Repeat(k):`",
    doc="the block k times in separate contexts, each from the same thoughts",
    step=Repeated,
    text="Repeat {count}[, {settings:settings}] from {pool}",
    verify=_verify,
    effects=grows,
    estimate=_estimate,
    remaining=lambda step, remaining: remaining.through(step.body),
    label=lambda step: StepLabel.of(step.count),
)
