"""`ValidateAndImprove`: calls a prompt for each invalid thought, up to `tries` times in sequence."""

from __future__ import annotations

import math
from typing import final

from msgspec.structs import replace

from gotlang.amounts import ONE, Amount, Polynomial
from gotlang.flows import FlowScope, Guess, Result
from gotlang.operations.checks import MOST
from gotlang.operations.record import (
    MODEL_SETTINGS,
    NO_FACT,
    OperationRecord,
    SettingRule,
    StepLabel,
    Syntax,
    asks,
    passed_on,
)
from gotlang.operations.sampled import Responses, samples
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
from gotlang.scope import Facts, PoolType
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Expression
from gotlang.thought import Thought, Thoughts
from gotlang.types import ANY, INT


@final
class ValidateAndImprove(Step, frozen=True):
    """`condition`, or the prompt `judge`, decides which thoughts are valid; `prompt` improves the others."""

    condition: Expression | None
    judge: str | None
    judge_arguments: Arguments
    prompt: str
    arguments: Arguments
    tries: Expression
    settings: Arguments = ()


def _check(node: n.Step, c: Checking) -> PoolType:
    c.needs_thoughts()
    # An improved thought is a new one, which is judged and may be improved again.
    facts = Facts(logprobs=c.pool.facts.logprobs and c.gives_logprobs(node.operands[1]))
    here = "`ValidateAndImprove`"
    judged = replace(facts, validated=True)
    c.judgement(node.operands[0], c.knowing(facts, c.pool.type, c.each, here))
    result, many = c.prompt(node.operands[1], c.knowing(judged, c.pool.type, c.each, here))
    if many:
        c.error("GOT0313", "`ValidateAndImprove` needs a prompt with one result", node.operands[1].span)
    return PoolType(c.joined(node.operands[1], result) or ANY, c.pool.single, judged)


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
    return PoolType(v.joined(v.pool.type, result), v.pool.single and not many)


def _estimate(step: ValidateAndImprove, scope: FlowScope, e: Estimating) -> Result:
    """From nothing to improve to every try of every thought."""
    pool = scope.flow(step.pool)
    tries = e.amount(step.tries, scope.whole(pool))
    tried = replace(pool, each=pool.each.or_(Guess(tokens=(0, math.inf))))
    request = e.request(step.prompt, step.arguments, step.settings, scope.each(tried))
    judged, judging = e.judged(step.judge, step.judge_arguments, pool, scope)
    turn = request.bill(pool.count, pool.count) + judged
    flow = passed_on(step, scope, e)
    most_turns = Amount(Polynomial.of(0), tries.high)
    after = e.made_from(pool, step.arguments, scope)
    flow = replace(
        flow,
        each=pool.each.or_(Guess(tokens=(0, request.shown))),
        scorer=None,
        hops=flow.hops + judging + (request.rounds(ONE) + judging) * most_turns,
        volume=Amount(pool.volume.low, (after + tries * after).high),
    )
    return flow, judged + turn.times(most_turns)


async def _run(step: ValidateAndImprove, thoughts: Thoughts, running: Running) -> Thoughts:
    """`ValidateAndImprove`: all thoughts concurrently, each as often as it needs."""
    tries = running.count(step.tries, thoughts, "tries")
    judge = judging(step.condition, step.judge, step.judge_arguments, step.settings)
    current = await judge(running, thoughts, 0)
    index = len(thoughts)
    for turn in range(tries):
        wrong = [at for at, thought in enumerate(current) if thought.valid is False]
        if not wrong:
            break

        def make(thought: Thought, turn: int = turn) -> PromptCall:
            return running.call(step.prompt, step.arguments, step.settings, thought, turn)

        calls = running.try_each([current[at] for at in wrong], make)
        responses = await Responses(running, [call for _, call in calls], 1).all()
        for (at, call), found in zip(calls, responses, strict=True):
            for sample, values in found:
                if values:
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
        {"tries": SettingRule((INT,), 0, MOST), **MODEL_SETTINGS},
        "ValidateAndImprove(tries=3) len(it) == 4, repair(it)",
        first="tries",
        operands=(2, 2),
    ),
    usage="`ValidateAndImprove(tries=3) condition, p(args)`",
    doc="judges each thought; an invalid one is replaced by a result of `p`, which is judged again, up to "
    "`tries` times. Afterwards every thought is marked, and some may still be invalid",
    fails="never: a thought that was not improved stays unchanged",
    asks=NO_FACT,
    keeps=False,
    check=_check,
    step=ValidateAndImprove,
    build=_build,
    text="ValidateAndImprove {prompt(arguments)} unless {condition|judge(judge_arguments)} from {pool}, "
    "tries {tries}[, {settings:settings}][, {line:line}]",
    verify=_verify,
    effects=samples,
    estimate=_estimate,
    remaining=lambda step, remaining: remaining.rounds(step.tries) * (2 if step.judge else 1),
    run=asks(_run),
    label=lambda step: StepLabel.of(step.tries, "tries", step.prompt),
    family="ask",
)
