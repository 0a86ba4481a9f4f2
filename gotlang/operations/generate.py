"""`Generate`: for each current thought, k samples of a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from gotlang.flows import FlowScope, Result
from gotlang.operations import sampling
from gotlang.operations.record import Operation, Syntax, asks
from gotlang.operations.stages import Checking, Estimating, Verifying
from gotlang.scope import PoolType
from gotlang.syntax import nodes as n


@final
@dataclass(frozen=True, slots=True)
class Generate(sampling.Sampling):
    """`Generate`: k samples for each thought."""


def _check(node: n.Step, c: Checking) -> PoolType:
    return sampling.check_prompt(node, c, c.each, single=c.pool.single)


def _verify(step: Generate, v: Verifying) -> PoolType:
    found = sampling.verify_request(step, v, v.each)
    return PoolType(found.type, v.pool.single and found.single)


def _estimate(step: Generate, scope: FlowScope, e: Estimating) -> Result:
    return sampling.estimate_samples(step, scope, e)


OPERATION = Operation(
    name="Generate",
    syntax=Syntax(sampling.SETTINGS, "Generate(k=5) sort(part)", first="k"),
    usage="`Generate(k=5) p(args)`",
    doc="for each current thought, k samples of prompt `p`: k thoughts, or k times what `p` returns "
    "if it returns `many`",
    check=_check,
    step=Generate,
    build=sampling.build(Generate),
    text=f"Generate {sampling.TEXT}",
    verify=_verify,
    effects=sampling.samples,
    estimate=_estimate,
    remaining=sampling.one_call,
    run=asks(sampling.sample_each),
    label=sampling.label,
    family="ask",
)
