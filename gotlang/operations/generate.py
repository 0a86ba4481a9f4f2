"""`Generate`: for each current thought, k samples of a prompt."""

from __future__ import annotations

from typing import final

from msgspec.structs import replace

from gotlang.amounts import ONE, Amount
from gotlang.flows import FlowScope, Result
from gotlang.operations import sampled
from gotlang.operations.record import NO_FACT, Asks, Grows, OperationRecord, Run, Syntax
from gotlang.operations.stages import Declared, Estimating, Verifying
from gotlang.scope import PoolType


@final
class Generate(sampled.SampledStep, frozen=True):
    """`Generate`: k samples for each thought."""


def _verify(step: Generate, v: Verifying) -> PoolType:
    found = sampled.verify_request(step, v, v.each)
    return PoolType(found.type, v.pool.single and found.single)


def _estimate(step: Generate, scope: FlowScope, e: Estimating) -> Result:
    found, bill = sampled.estimate_samples(step, scope, e)
    if (used := e.tools(step.prompt, scope)) is None:
        return found, bill
    turns, each, waits = used
    pool = scope.flow(step.pool)
    samples = pool.count * e.amount(step.k, scope.whole(pool))
    # All of them except the last may call tools, whose results are in the next request.
    further = Amount.between(0, max(0.0, turns.bounds[1] - 1))
    rounds = e.request(step.prompt, step.arguments, step.settings, scope.each(pool)).rounds(ONE)
    asked = bill.times(turns)
    asked = replace(
        asked,
        requests=asked.calls,
        input_tokens=Amount(asked.input_tokens.low, None),
        usd=Amount(asked.usd.low, None) if asked.usd is not None else None,
    )
    hops = Amount(found.hops.low, (found.hops + further * (rounds + waits)).high)
    found = replace(found, hops=hops, volume=Amount(found.volume.low, None))
    return found, asked + each.times(samples * further)


_SAMPLE, _TALK = Asks(sampled.sample), Grows("tools")


def _run(step: Generate, declared: Declared) -> Run:
    return _TALK if declared.tools(step.prompt) else _SAMPLE


OPERATION = OperationRecord(
    name="Generate",
    syntax=Syntax(sampled.SETTINGS, "Generate(k=5) sort(part)", first="k"),
    usage="`Generate(k=5) p(args)`",
    doc="for each current thought, k samples of prompt `p`: k thoughts, or k times what `p` returns "
    "if it returns `many`",
    fails="no response can be read",
    asks=NO_FACT,
    keeps=False,
    check=lambda node, c: sampled.check_prompt(node, c, c.each, single=c.pool.single),
    step=Generate,
    build=sampled.build(Generate),
    text=f"Generate {sampled.TEXT}",
    verify=_verify,
    effects=lambda step, declared: sampled.SAMPLES | declared.tools(step.prompt),
    estimate=_estimate,
    remaining=sampled.one_call,
    run=_run,
    label=sampled.label,
    family="ask",
)
