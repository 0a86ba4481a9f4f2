"""`Score`: a score for each current thought, by a score of the program, by a prompt, or by an expression."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from gotlang.amounts import ONE
from gotlang.errors import EvaluationError
from gotlang.flows import FREE, FlowScope, Result
from gotlang.operations.checks import mean, number
from gotlang.operations.record import (
    PURE,
    Asks,
    Grows,
    K,
    Local,
    OperationRecord,
    Run,
    StepLabel,
    Syntax,
    passed_on,
)
from gotlang.operations.sampling import SAMPLES
from gotlang.operations.stages import Building, Checking, Declared, Estimating, Running, Verifying
from gotlang.operations.step import Arguments, Effect, Step
from gotlang.scope import PoolType
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Constant, Expression
from gotlang.thought import Thought, Thoughts
from gotlang.types import FLOAT, INT


@final
@dataclass(frozen=True, slots=True)
class Score(Step):
    """`score` names a score or a prompt that gives a number; without it, `value` is the score."""

    score: str | None
    arguments: Arguments
    value: Expression | None
    k: Expression
    batched: bool = False


def _check(node: n.Step, c: Checking) -> PoolType:
    c.needs_thoughts()
    c.score(node.operands[0])
    return PoolType(c.pool.type, c.pool.single, True)


def _build(node: n.Step, b: Building) -> Score:
    operand = node.operands[0]
    if b.is_score(operand) or b.is_prompt(operand):
        score, arguments = b.called(operand)
        return Score(*b.base, score, arguments, None, b.count("k"), span=node.span)
    return Score(*b.base, None, (), operand, b.count("k"), span=node.span)


def _verify(step: Score, v: Verifying) -> PoolType:
    v.expect(step.k, v.whole, INT)
    if step.score is None:
        if step.value is None:
            raise v.fail("it has no score")
        v.expect(step.value, v.each, FLOAT)
    elif v.is_score(step.score):
        v.score(step.score, step.arguments, v.each)
    else:
        v.fits(FLOAT, v.prompt(step.score, step.arguments, v.each)[0], "what the prompt gives")
    return v.pool


def _effects(step: Score, declared: Declared) -> frozenset[Effect]:
    if step.score is None or declared.local_score(step.score):
        return PURE
    return SAMPLES if declared.asks(step.score) else declared.effects(step.score) | {"grows"}


def _estimate(step: Score, scope: FlowScope, e: Estimating) -> Result:
    pool, scored = scope.flow(step.pool), passed_on(step, scope)
    if step.score is not None and e.asking_score(step.score):
        return e.score(step.score, step.arguments, step.k, scored, scope)
    if step.score is None or not e.is_prompt(step.score):
        return scored, FREE
    k = e.amount(step.k, scope.whole(pool))
    request = e.request(step.score, step.arguments, (), scope.each(pool))
    bill = request.bill(pool.count * k, e.requests(pool.count, k, step.batched))
    return replace(scored, hops=scored.hops + ONE), bill


def _run_locally(step: Score, thoughts: Thoughts, running: Running) -> Thoughts:
    """`Score` by a local score or an expression; a thought whose score has no value is left out."""

    def find(thought: Thought) -> float:
        names = running.each(thought)
        if step.score is not None:
            return running.local_score(step.score, step.arguments, names)
        assert step.value is not None
        return number(running.evaluate(step.value, names), "this score")

    lower = step.score is not None and running.score(step.score).lower
    found = running.for_each(thoughts, find)
    return Thoughts(thoughts[at].known(score=value, lower=lower) for at, value in found)


async def _run_by_prompt(step: Score, thoughts: Thoughts, running: Running) -> Thoughts:
    """`Score(k) prompt(it)`: the mean of k answers that are numbers."""
    assert step.score is not None
    prompt, what = step.score, f"`{step.score}`"
    k = running.count(step.k, thoughts, "k", 1)
    calls = running.try_each(thoughts, lambda t: running.call(prompt, step.arguments, (), t, k))
    results = await running.sample([(call, range(k)) for _, call in calls], batched=step.batched)
    out: list[Thought] = []
    for (at, call), result in zip(calls, results, strict=True):
        numbers: list[float] = []
        for index, sample in enumerate(result):
            for value in call.values(index, sample):
                try:
                    numbers.append(number(value, what))
                except EvaluationError as error:
                    running.failed(error.message, call.first + index)
        try:
            if numbers:
                out.append(thoughts[at].known(score=mean(numbers, what)))
        except EvaluationError as error:
            running.failed(error.message, thoughts[at].index)
    return Thoughts(running.some(thoughts, out))


def _run(step: Score, declared: Declared) -> Run:
    if declared.asks(step.score):
        return Asks(_run_by_prompt)
    if step.score is None or declared.local_score(step.score):
        return Local(_run_locally)
    return Grows("score")


def _label(step: Score) -> StepLabel:
    if step.score is None:
        return StepLabel.of(step.value)
    once = isinstance(step.k, Constant) and step.k.value == 1
    return StepLabel(step.score) if once else StepLabel.of(step.k, "k", step.score)


OPERATION = OperationRecord(
    name="Score",
    syntax=Syntax({"k": K}, "Score() mistakes(it, part)", first="k"),
    usage="`Score(k=1) s(args)`",
    doc="a score for each current thought. `s` is a `score`, a prompt that responds with a number, or any "
    "expression (higher is better). With `k`, the mean of k samples of a scorer that asks a model",
    check=_check,
    step=Score,
    build=_build,
    text="Score {value|score(arguments)} from {pool}, k {k}[, {batched:flag}]",
    verify=_verify,
    effects=_effects,
    estimate=_estimate,
    remaining=lambda step, remaining: remaining.score(step.score),
    run=_run,
    label=_label,
    family="judge",
)
