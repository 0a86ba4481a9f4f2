"""`Improve`: as `Generate`, and the thoughts it started from stay in the pool."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import final

from gotlang.flows import FlowScope, Result
from gotlang.operations import sampling
from gotlang.operations.record import OperationRecord, Syntax, asks
from gotlang.operations.stages import Checking, Estimating, Verifying
from gotlang.scope import PoolType
from gotlang.syntax import nodes as n
from gotlang.types import ANY, NONE, join


@final
@dataclass(frozen=True, slots=True)
class Improve(sampling.Sampling):
    """`Improve`: k samples for each thought, which stay in the pool before the new ones."""


def _check(node: n.Step, c: Checking) -> PoolType:
    c.needs_thoughts("to start from")
    found = sampling.check_prompt(node, c, c.each, single=False)
    type_ = found.type if c.pool.type == NONE else c.joined(node.operands[0], found.type) or found.type
    return PoolType(type_, False)


def _verify(step: Improve, v: Verifying) -> PoolType:
    found = sampling.verify_request(step, v, v.each)
    return PoolType(join(v.pool.type, found.type) or ANY, False)


def _estimate(step: Improve, scope: FlowScope, e: Estimating) -> Result:
    return sampling.with_pool(sampling.estimate_samples(step, scope, e, started=True), scope.flow(step.pool))


OPERATION = OperationRecord(
    name="Improve",
    syntax=Syntax(sampling.SETTINGS, "Improve(k=5) repair(numbers, it)", first="k"),
    usage="`Improve(k=5) p(args)`",
    doc="the same, and the thoughts it started from stay in the pool, before the new ones",
    check=_check,
    step=Improve,
    build=sampling.build(Improve),
    text=f"Improve {sampling.TEXT}",
    verify=_verify,
    effects=sampling.samples,
    estimate=_estimate,
    remaining=sampling.one_call,
    run=asks(partial(sampling.sample, beside=True)),
    label=sampling.label,
    family="ask",
)
