"""`Improve`: like `Generate`, for thoughts that are replaced, or kept beside the new ones."""

from __future__ import annotations

from typing import final

from msgspec.structs import replace

from gotlang.flows import FlowScope, Result
from gotlang.operations import sampled
from gotlang.operations.record import NO_FACT, OperationRecord, SettingRule, Syntax, asks
from gotlang.operations.stages import Building, Checking, Estimating, Running, Verifying
from gotlang.scope import PoolType
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Constant, Expression
from gotlang.thought import Thoughts
from gotlang.types import BOOL, EMPTY


@final
class Improve(sampled.SampledStep, frozen=True):
    """`Improve`: k samples for each thought; with `keep` the thought stays, before the new ones."""

    keep: bool = False


def _check(node: n.Step, c: Checking) -> PoolType:
    c.needs_thoughts("to start from")
    keep = c.setting("keep")
    if keep is not None and not (isinstance(keep, Constant) and isinstance(keep.value, bool)):
        c.error("GOT0311", "`keep` must be a literal `true` or `false`", keep.span)
    found = sampled.check_prompt(node, c, c.each, single=c.pool.single)
    if c.pool.type != EMPTY and not c.looks_at_thoughts(node.operands[0], c.each):
        c.error(
            "GOT0326",
            "`Improve` does not show the thought that it improves",
            node.operands[0].span,
            help="show it to the prompt, as `it`; for new ones, write `Generate`",
        )
    type_ = found.type if c.pool.type == EMPTY else c.joined(node.operands[0], found.type) or found.type
    if keep_of(keep):
        return PoolType(type_, False, found.facts.both(c.pool.facts))
    return PoolType(type_, found.single, found.facts)


def keep_of(keep: Expression | None) -> bool:
    """Whether the improved thoughts are kept."""
    return isinstance(keep, Constant) and keep.value is True


def _build(node: n.Step, b: Building) -> Improve:
    return replace(sampled.build(Improve)(node, b), keep=keep_of(b.setting("keep")))


def _verify(step: Improve, v: Verifying) -> PoolType:
    found = sampled.verify_request(step, v, v.each)
    single = v.pool.single and found.single and not step.keep
    return PoolType(v.joined(v.pool.type, found.type), single)


def _estimate(step: Improve, scope: FlowScope, e: Estimating) -> Result:
    result = sampled.estimate_samples(step, scope, e, started=step.keep)
    return sampled.with_pool(result, scope.flow(step.pool)) if step.keep else result


async def _run(step: Improve, thoughts: Thoughts, running: Running) -> Thoughts:
    """`Improve`: a kept thought is marked, and not scored again."""
    old = [thought.found(kept=True) for thought in thoughts] if step.keep else []
    return await sampled.sample(step, thoughts, running, beside=old)


OPERATION = OperationRecord(
    name="Improve",
    syntax=Syntax(
        {**sampled.SETTINGS, "keep": SettingRule((BOOL,))}, "Improve(k=5) repair(numbers, it)", first="k"
    ),
    usage="`Improve(k=5) p(args)`, `Improve(k=5, keep=true) p(args)`",
    doc="the same, but the new thoughts replace the old ones. With `keep=true` the old ones stay, before "
    "the new ones, and a following `Score` by a model scores only the new ones",
    fails="no response can be read, and no thought is kept",
    asks=NO_FACT,
    keeps=False,
    check=_check,
    step=Improve,
    build=_build,
    text=f"Improve {sampled.TEXT}[, {{keep:flag}}]",
    verify=_verify,
    effects=sampled.samples,
    estimate=_estimate,
    remaining=sampled.one_call,
    run=asks(_run),
    label=sampled.label,
    family="ask",
)
