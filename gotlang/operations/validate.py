"""`Validate`: marks each current thought as valid or invalid, by a condition or by a prompt that returns true
or false."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import final

from msgspec.structs import replace

from gotlang.flows import FlowScope, Result
from gotlang.operations.record import (
    NO_FACT,
    PURE,
    SHARE,
    OperationRecord,
    StepLabel,
    Syntax,
    asks,
    passed_on,
)
from gotlang.operations.sampled import SAMPLES, Responses
from gotlang.operations.stages import Checking, Estimating, Running, Verifying
from gotlang.operations.step import Arguments, Step
from gotlang.scope import Facts, PoolType
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Expression
from gotlang.thought import Thought, Thoughts


@final
class Validate(Step, frozen=True):
    """`condition`, or `prompt` if a model judges."""

    condition: Expression | None
    prompt: str | None = None
    arguments: Arguments = ()
    settings: Arguments = ()


def _check(node: n.Step, c: Checking) -> PoolType:
    c.judgement(node.operands[0], c.each)
    c.shares()
    return PoolType(c.pool.type, c.pool.single, Facts(validated=True))


def _verify(step: Validate, v: Verifying) -> PoolType:
    v.judgement(step.condition, step.prompt, step.arguments)
    v.settings(step.settings, v.whole)
    return v.pool


def _estimate(step: Validate, scope: FlowScope, e: Estimating) -> Result:
    flow = passed_on(step, scope, e)
    bill, rounds = e.judged(step.prompt, step.arguments, scope.flow(step.pool), scope)
    return replace(flow, hops=flow.hops + rounds), bill


async def _run(step: Validate, thoughts: Thoughts, running: Running) -> Thoughts:
    """`Validate`."""
    judge = judging(step.condition, step.prompt, step.arguments, step.settings)
    return Thoughts(await judge(running, thoughts, 0))


def judging(
    condition: Expression | None, judge: str | None, arguments: Arguments, settings: Arguments
) -> Callable[[Running, Sequence[Thought], int], Awaitable[list[Thought]]]:
    """Mark each thought as valid or invalid, by a condition or a prompt: invalid if that fails, and neither
    if the prompt was not called. Of the settings only `share` applies to the judge."""
    shared = tuple(setting for setting in settings if setting[0] == "share")

    async def mark(running: Running, thoughts: Sequence[Thought], turn: int) -> list[Thought]:
        valid: dict[int, bool | None] = {}
        if condition is not None:
            found = running.try_each(thoughts, lambda t: running.evaluate(condition, running.each(t)))
            valid = {at: bool(holds) for at, holds in found}
        if judge is not None:
            calls = running.try_each(thoughts, lambda t: running.call(judge, arguments, shared, t, turn))
            responses = Responses(running, [call for _, call in calls], 1)
            for asked, found in enumerate(await responses.all()):
                values = [value for _, values in found for value in values]
                valid[calls[asked][0]] = None if asked in responses.unasked else bool(values and values[0])
        return [thought.found(valid=valid.get(at, False)) for at, thought in enumerate(thoughts)]

    return mark


OPERATION = OperationRecord(
    name="Validate",
    syntax=Syntax({"share": SHARE}, "Validate() len(it) == len(numbers)"),
    usage="`Validate() condition`",
    doc="marks each thought as valid or invalid, by an expression or by a prompt that returns a bool",
    fails="never: without a judgment, a thought is invalid",
    asks=NO_FACT,
    keeps=True,
    check=_check,
    step=Validate,
    build=lambda node, b: Validate(
        *b.base, *b.judgement(node.operands[0]), b.model_settings(), span=node.span
    ),
    text="Validate {condition|prompt(arguments)} from {pool}[, {settings:settings}][, {line:line}]",
    verify=_verify,
    effects=lambda step, declared: SAMPLES if step.prompt is not None else PURE,
    estimate=_estimate,
    remaining=lambda step, remaining: 1 if step.prompt is not None else 0,
    run=asks(_run),
    label=lambda step: StepLabel.of(step.condition, name=step.prompt or ""),
    family="judge",
)
