"""`Aggregate`: combines the current thoughts into one, with k samples."""

from __future__ import annotations

from functools import partial
from typing import final

from gotlang.operations import sampled
from gotlang.operations.record import NO_FACT, OperationRecord, Syntax, asks
from gotlang.operations.stages import Checking
from gotlang.scope import PoolType
from gotlang.syntax import nodes as n
from gotlang.types import EMPTY


@final
class Aggregate(sampled.SampledStep, frozen=True):
    """`Aggregate`: k samples for all thoughts together."""


def _check(node: n.Step, c: Checking) -> PoolType:
    c.needs_thoughts("to start from")
    found = sampled.check_prompt(node, c, c.whole, single=True)
    if c.pool.type != EMPTY and not c.looks_at_thoughts(node.operands[0], c.whole):
        c.error(
            "GOT0326",
            "`Aggregate` does not show the thoughts that it combines",
            node.operands[0].span,
            help="show them to the prompt, as `thoughts`; to start again, write `Generate` as a first step",
        )
    return found


OPERATION = OperationRecord(
    name="Aggregate",
    syntax=Syntax(sampled.SETTINGS, "Aggregate(10) merge(left, right)", first="k"),
    usage="`Aggregate(10) p(args)`",
    doc="combines all current thoughts into one, with 10 samples",
    fails="no response can be read",
    asks=NO_FACT,
    keeps=False,
    check=_check,
    step=Aggregate,
    build=sampled.build(Aggregate),
    text=f"Aggregate {sampled.TEXT}",
    verify=lambda step, v: sampled.verify_request(step, v, v.whole),
    effects=sampled.samples,
    estimate=lambda step, scope, e: sampled.estimate_samples(step, scope, e, together=True),
    remaining=sampled.one_call,
    run=asks(partial(sampled.sample, together=True)),
    label=sampled.label,
    family="ask",
)
