"""`KeepValid`: keeps the valid thoughts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from gotlang.amounts import ONE, Amount
from gotlang.errors import OperationFailed
from gotlang.flows import FREE, FlowScope, Result
from gotlang.operations.record import Label, Operation, Syntax, local, no_calls, passed_on, pure
from gotlang.operations.stages import Building, Checking, Estimating, Running, Verifying
from gotlang.operations.step import Step
from gotlang.scope import PoolType
from gotlang.syntax import nodes as n
from gotlang.thought import Thoughts


@final
@dataclass(frozen=True, slots=True)
class KeepValid(Step):
    """`KeepValid`."""


def _check(node: n.Step, c: Checking) -> PoolType:
    return PoolType(c.pool.type, False, c.pool.scored)


def _build(node: n.Step, b: Building) -> KeepValid:
    return KeepValid(*b.base, span=node.span)


def _verify(step: KeepValid, v: Verifying) -> PoolType:
    return PoolType(v.pool.type, False)


def _estimate(step: KeepValid, scope: FlowScope, e: Estimating) -> Result:
    pool = passed_on(step, scope)
    count = Amount(pool.count.at_most(ONE).low, pool.count.high)  # at least one, if there is any
    return replace(pool, count=count, single=False), FREE


def _run(step: KeepValid, thoughts: Thoughts, running: Running) -> Thoughts:
    """`KeepValid`."""
    kept = Thoughts(t for t in thoughts if t.valid)
    if thoughts and not kept:
        if running.skipped and any(t.valid is None for t in thoughts):
            raise OperationFailed("not every thought was judged", cut_off=True)
        raise OperationFailed(f"none of {len(thoughts)} thoughts is valid")
    return kept


def _label(step: KeepValid) -> Label:
    return Label()


OPERATION = Operation(
    name="KeepValid",
    syntax=Syntax({}, "KeepValid()", operands=(0, 0)),
    usage="`KeepValid()`",
    doc="keeps the valid ones",
    check=_check,
    step=KeepValid,
    build=_build,
    text="KeepValid from {pool}",
    verify=_verify,
    effects=pure,
    estimate=_estimate,
    remaining=no_calls,
    run=local(_run),
    label=_label,
    family="choose",
)
