"""`ValidateAndImprove`: asks a prompt again about each thought that is not valid, up to `tries` times in a
row."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

from gotlang.amounts import ONE, Amount, Polynomial
from gotlang.flows import FREE, FlowScope, Guess, Result
from gotlang.operations.record import (
    MODEL_SETTINGS,
    OperationRecord,
    SettingRule,
    StepLabel,
    Syntax,
    asks,
    passed_on,
)
from gotlang.operations.sampling import samples
from gotlang.operations.stages import (
    Building,
    Checking,
    Estimating,
    PromptCall,
    Running,
    Verifying,
)
from gotlang.operations.step import Arguments, Step
from gotlang.operations.validate import judging
from gotlang.scope import PoolType
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Expression
from gotlang.thought import Thought, Thoughts
from gotlang.types import ANY, INT, join


@final
@dataclass(frozen=True, slots=True)
class ValidateAndImprove(Step):
    """`condition`, or the prompt `judge`, tells which thoughts are valid; `prompt` improves the others."""

    condition: Expression | None
    judge: str | None
    judge_arguments: Arguments
    prompt: str
    arguments: Arguments
    tries: Expression
    settings: Arguments = ()


def _check(node: n.Step, c: Checking) -> PoolType:
    c.needs_thoughts()
    c.judgement(node.operands[0])
    result, many = c.prompt(node.operands[1], c.each)
    if many:
        c.error("GOT0313", "`ValidateAndImprove` needs a prompt that gives one value", node.operands[1].span)
    return PoolType(c.joined(node.operands[1], result) or ANY, c.pool.single)


def _build(node: n.Step, b: Building) -> ValidateAndImprove:
    judged, improved = b.judgement(node.operands[0]), b.called(node.operands[1])
    return ValidateAndImprove(
        *b.base, *judged, *improved, b.count("tries"), b.model_settings(), span=node.span
    )


def _verify(step: ValidateAndImprove, v: Verifying) -> PoolType:
    v.judgement(step.condition, step.judge, step.judge_arguments)
    v.expect(step.tries, v.whole, INT)
    v.settings(step.settings, v.each)
    result, many = v.prompt(step.prompt, step.arguments, v.each)
    return PoolType(join(v.pool.type, result) or ANY, v.pool.single and not many)


def _estimate(step: ValidateAndImprove, scope: FlowScope, e: Estimating) -> Result:
    """From nothing to improve to every try of every thought."""
    pool = scope.flow(step.pool)
    tries = e.amount(step.tries, scope.whole(pool))
    tried = replace(pool, each=pool.each.or_(Guess(tokens=(0, math.inf))))
    request = e.request(step.prompt, step.arguments, step.settings, scope.each(tried))
    judged = e.judged(step.judge, step.judge_arguments, pool, scope)
    turn = request.bill(pool.count, pool.count) + (judged or FREE)
    flow = passed_on(step, scope)
    most_turns = Amount(Polynomial.of(0), tries.high)
    after = e.made_from(pool, step.arguments, scope)
    judging = ONE if judged is not None else Amount.of(0)
    flow = replace(
        flow,
        each=pool.each.or_(Guess(tokens=(0, request.most))),
        hops=flow.hops + judging + (ONE + judging) * most_turns,
        volume=Amount(pool.volume.low, (after + tries * after).high),
    )
    return flow, (judged or FREE) + turn.times(most_turns)


async def _run(step: ValidateAndImprove, thoughts: Thoughts, running: Running) -> Thoughts:
    """`ValidateAndImprove`: all thoughts side by side, each as often as it needs."""
    tries = running.count(step.tries, thoughts, "tries")
    judge = judging(step.condition, step.judge, step.judge_arguments)
    current = await judge(running, thoughts, 0)
    index = len(thoughts)
    for turn in range(tries):
        wrong = [at for at, thought in enumerate(current) if thought.valid is False]
        if not wrong:
            break

        def make(thought: Thought, turn: int = turn) -> PromptCall:
            return running.call(step.prompt, step.arguments, step.settings, thought, 1, turn)

        calls = running.try_each([current[at] for at in wrong], make)
        samples = await running.sample_once([call for _, call in calls])
        for (at, call), sample in zip(calls, samples, strict=True):
            if values := call.values(0, sample):
                current[wrong[at]] = call.thought(values[0], index, sample)
                index += 1
        for at, thought in zip(
            wrong, await judge(running, [current[at] for at in wrong], turn + 1), strict=True
        ):
            current[at] = thought
    return Thoughts(current)


OPERATION = OperationRecord(
    name="ValidateAndImprove",
    syntax=Syntax(
        {"tries": SettingRule((INT,), least=0), **MODEL_SETTINGS},
        "ValidateAndImprove(tries=3) len(it) == 4, repair(it)",
        first="tries",
        operands=(2, 2),
    ),
    usage="`ValidateAndImprove(tries=3) condition, p(args)`",
    doc="asks `p` about each thought that is not valid, up to `tries` times in a row",
    check=_check,
    step=ValidateAndImprove,
    build=_build,
    text="ValidateAndImprove {prompt(arguments)} unless {condition|judge(judge_arguments)} from {pool}, "
    "tries {tries}[, {settings:settings}]",
    verify=_verify,
    effects=samples,
    estimate=_estimate,
    remaining=lambda step, remaining: remaining.rounds(step.tries) * (2 if step.judge else 1),
    run=asks(_run),
    label=lambda step: StepLabel.of(step.tries, "tries", step.prompt),
    family="ask",
)
