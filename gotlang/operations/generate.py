"""`Generate`: for each current thought, k samples of a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from gotlang.operations import sampling
from gotlang.operations.record import NO_FACT, OperationRecord, Syntax, asks
from gotlang.operations.stages import Verifying
from gotlang.scope import PoolType


@final
@dataclass(frozen=True, slots=True)
class Generate(sampling.Sampling):
    """`Generate`: k samples for each thought."""


def _verify(step: Generate, v: Verifying) -> PoolType:
    found = sampling.verify_request(step, v, v.each)
    return PoolType(found.type, v.pool.single and found.single)


OPERATION = OperationRecord(
    name="Generate",
    syntax=Syntax(sampling.SETTINGS, "Generate(k=5) sort(part)", first="k"),
    usage="`Generate(k=5) p(args)`",
    doc="for each current thought, k samples of prompt `p`: k thoughts, or k times what `p` returns "
    "if it returns `many`",
    fails="no response can be read",
    asks=NO_FACT,
    keeps=False,
    check=lambda node, c: sampling.check_prompt(node, c, c.each, single=c.pool.single),
    step=Generate,
    build=sampling.build(Generate),
    text=f"Generate {sampling.TEXT}",
    verify=_verify,
    effects=sampling.samples,
    estimate=sampling.estimate_samples,
    remaining=sampling.one_call,
    run=asks(sampling.sample),
    label=sampling.label,
    family="ask",
)
