"""`Score`: a score for each current thought, by a score of the program, by a prompt, or by an expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, final

from msgspec.structs import replace

from gotlang.errors import EvaluationError
from gotlang.flows import FREE, Flow, FlowScope, Result, Scorer, one_of
from gotlang.operations.checks import claim, frozen, mean, number
from gotlang.operations.names import free_names
from gotlang.operations.record import (
    NO_FACT,
    PURE,
    SHARE,
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
from gotlang.operations.sampled import SAMPLES, Responses
from gotlang.operations.stages import Building, Checking, Declared, Estimating, Running, Verifying
from gotlang.operations.step import Arguments, Effect, Step
from gotlang.scope import Facts, PoolType
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Constant, Expression
from gotlang.syntax.format import format_expression
from gotlang.thought import Thought, Thoughts
from gotlang.types import EMPTY, FLOAT, INT


@final
class Score(Step, frozen=True):
    """`score` names a score or a prompt that returns a number; without it, `value` is the score. Under the
    name of a `note` the number is used by a later expression, and is not a score."""

    score: str | None
    arguments: Arguments
    value: Expression | None
    k: Expression
    note: str | None = None
    batched: bool = False
    settings: Arguments = ()


def _check(node: n.Step, c: Checking) -> PoolType:
    c.needs_thoughts()
    found = c.score(node.operands[0])
    operand = node.operands[0]
    if not c.pool.single and c.pool.type != EMPTY and not c.looks_at_thoughts(operand, c.each, named=False):
        help = "use `it`, the thought that is scored"
        c.warning("GOT0508", "this score does not depend on the thought", operand.span, help=help)
    c.shares()
    return PoolType(c.pool.type, c.pool.single, Facts(True, (found,)))


def _build(node: n.Step, b: Building) -> Score:
    operand = node.operands[0]
    if b.is_score(operand) or b.is_prompt(operand):
        score, arguments = b.called(operand)
        settings = b.model_settings()
        return Score(*b.base, score, arguments, None, b.count("k"), settings=settings, span=node.span)
    return Score(*b.base, None, (), operand, b.count("k"), span=node.span)


def _verify(step: Score, v: Verifying) -> PoolType:
    v.expect(step.k, v.whole, INT)
    v.settings(step.settings, v.whole)
    if step.score is None:
        if step.value is None:
            raise v.fail("it has no score")
        v.expect(step.value, v.each, FLOAT)
    elif v.is_score(step.score):
        v.score(step.score, step.arguments, v.each)
    else:
        v.fits(FLOAT, v.prompt(step.score, step.arguments, v.each)[0], "the result of the prompt")
    return v.pool


def _effects(step: Score, declared: Declared) -> frozenset[Effect]:
    if step.score is None or declared.local_score(step.score):
        return PURE
    return SAMPLES if declared.asks(step.score) else declared.effects(step.score) | {"grows"}


def _estimate(step: Score, scope: FlowScope, e: Estimating) -> Result:
    scored = passed_on(step, scope, e)
    if step.score is None or not (e.asking_score(step.score) or e.is_prompt(step.score)):
        return scored, FREE
    me, kept = _scorer_of(step, scope), scored.kept
    if kept is None:
        found, bill = _asked(step, scored, scope, e)
    elif me == kept.scorer and kept.total == scored.count:
        found, bill = _asked(step, replace(scored, count=kept.fresh), scope, e)
    else:
        found, bill = one_of([(scored, FREE), _asked(step, scored, scope, e)])
    return replace(found, count=scored.count, kept=kept, scorer=me), bill


def _asked(step: Score, scored: Flow, scope: FlowScope, e: Estimating) -> Result:
    """The output and the cost of calling the score for all these thoughts."""
    assert step.score is not None
    if e.asking_score(step.score):
        return e.score(step.score, step.arguments, step.k, scored, scope)
    k = e.amount(step.k, scope.whole(scored))
    request = e.request(step.score, step.arguments, (), scope.each(scored))
    bill = request.bill(scored.count * k, e.requests(scored.count, k, step.batched))
    return replace(scored, hops=scored.hops + request.rounds(k)), bill


def _scorer_of(step: Score, scope: FlowScope) -> Scorer:
    """The scorer of the thoughts. One that depends on the other thoughts is equal to no other."""
    values = [*(value for _, value in step.arguments), step.k]
    names = sorted({name for value in values for name in free_names(value)} - {"it"})
    found = [object() if name == "thoughts" else scope.find(name) for name in names]
    return Scorer((str(step.score), *map(format_expression, values)), tuple(found))


def _run_locally(step: Score, thoughts: Thoughts, running: Running) -> Thoughts:
    """`Score` by a local score or an expression; a thought whose score has no value is left out."""

    def find(thought: Thought) -> float:
        names = running.each(thought)
        if step.score is not None:
            return running.local_score(step.score, step.arguments, names)
        assert step.value is not None
        return number(running.evaluate(step.value, names), "this score")

    found = running.for_each(thoughts, find)
    if step.score is None:
        return Thoughts(thoughts[at].known(score=value) for at, value in found)
    score = running.score(step.score)
    return Thoughts(
        thoughts[at].known(score=value, lower=score.lower, claim=claim(score, value)) for at, value in found
    )


async def _run_by_prompt(step: Score, thoughts: Thoughts, running: Running) -> Thoughts:
    """`Score(k) prompt(it)`: the mean of k numeric responses."""
    assert step.score is not None
    prompt, what = step.score, f"`{step.score}`"
    k = running.count(step.k, thoughts, "k", 1)
    scorers = dict(running.try_each(thoughts, lambda t: scorer(step, k, running.evaluate, running.each(t))))
    out = {at: thoughts[at] for at, asked in scorers.items() if thoughts[at].said(asked) is not None}
    left = [at for at in scorers if at not in out]
    calls = running.try_each(
        [thoughts[at] for at in left], lambda t: running.call(prompt, step.arguments, step.settings, t)
    )
    results = await Responses(running, [call for _, call in calls], k, step.batched).all()
    for (place, _), result in zip(calls, results, strict=True):
        at = left[place]
        numbers: list[float] = []
        for index, (_, values) in enumerate(result):
            for value in values:
                try:
                    numbers.append(number(value, what))
                except EvaluationError as error:
                    running.failed(error.message, index)
        try:
            if numbers:
                out[at] = thoughts[at].rated(None, scorers[at], mean(numbers, what))
        except EvaluationError as error:
            running.failed(error.message, thoughts[at].index)
    return Thoughts(running.some(thoughts, [out[at] for at in sorted(out)]))


def scorer(
    step: Score, k: int, evaluate: Callable[[Expression, Mapping[str, Any]], Any], names: Mapping[str, Any]
) -> Any:
    """The identity of a scorer: equal for the same score or prompt, with equal arguments and number of
    samples."""
    return step.score, k, tuple(frozen(evaluate(value, names)) for _, value in step.arguments)


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
    syntax=Syntax({"k": K, "share": SHARE}, "Score() mistakes(it, part)", first="k"),
    usage="`Score(k=1) s(args)`",
    doc="scores each current thought. `s` is a `score`, a prompt that responds with a number, or any "
    "expression (higher is better). With `k`, the mean of k samples of a scorer that calls a model",
    fails="no thought has a score",
    asks=NO_FACT,
    keeps=True,
    check=_check,
    step=Score,
    build=_build,
    text="Score {value|score(arguments)} from {pool}, k {k}[, {settings:settings}][, note {note:text}]"
    "[, {batched:flag}][, {line:line}]",
    verify=_verify,
    effects=_effects,
    estimate=_estimate,
    remaining=lambda step, remaining: remaining.score(step.score),
    run=_run,
    label=_label,
    family="judge",
)
