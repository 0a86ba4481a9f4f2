"""Operations that ask a model about thoughts: Score, Validate and ValidateAndImprove by a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gotlang.errors import EvaluationError
from gotlang.ir import program as ir
from gotlang.runtime.context import Context
from gotlang.runtime.draws import Missing
from gotlang.runtime.graph import Operation
from gotlang.runtime.sites import Site, Spent, draw, made, nothing_left, site, try_each, values_of
from gotlang.runtime.values import count, each, mean, number, whole
from gotlang.syntax import expressions as e
from gotlang.thought import Thought, Thoughts


async def rate_by_prompt(
    context: Context, operation: Operation, thoughts: Thoughts, spent: Spent
) -> Thoughts:
    """`Score(k) prompt(it)`: the mean of k answers that are numbers."""
    step = operation.step
    assert isinstance(step, ir.Score) and step.score is not None
    prompt = context.program.prompt(step.score)
    k = count(context.evaluate(step.k, whole(operation.frame, thoughts)), "k", 1)
    noted = len(context.failures)

    def make(thought: Thought) -> Site:
        return site(context, operation, prompt, step.arguments, (), each(operation, thought), (thought,), k)

    asked = try_each(context, operation, thoughts, make)
    wanted = [(place, range(k)) for _, place in asked]
    results = await draw(context, operation, wanted, spent, fused=step.fused)
    out = []
    for (at, place), result in zip(asked, results, strict=True):
        numbers: list[float] = []
        for index, drawn in enumerate(result):
            for value in values_of(context, operation, prompt, drawn, place.first + index, place.values):
                try:
                    numbers.append(number(value, f"`{prompt.name}`"))
                except EvaluationError as error:
                    context.failed(operation, error.message, place.first + index)
        try:
            if numbers:
                out.append(thoughts[at].known(score=mean(numbers, f"`{prompt.name}`")))
        except EvaluationError as error:
            context.failed(operation, error.message, thoughts[at].index)
    if not out and thoughts:
        raise nothing_left(context, operation, noted)
    return Thoughts(out)


async def _judge(
    context: Context,
    operation: Operation,
    thoughts: Sequence[Thought],
    condition: e.Expression | None,
    judge: str | None,
    arguments: ir.Arguments,
    spent: Spent,
    turn: int = 0,
) -> list[Thought]:
    """Each thought marked valid or not, by a condition or a prompt; not valid where that cannot be said, and
    neither where it was not asked."""
    valid: dict[int, bool | None] = {}
    if condition is not None:
        found = try_each(
            context, operation, thoughts, lambda t: context.evaluate(condition, each(operation, t))
        )
        valid = {at: bool(holds) for at, holds in found}
    if judge is not None:
        prompt = context.program.prompt(judge)

        def make(thought: Thought) -> Site:
            names = each(operation, thought)
            return site(context, operation, prompt, arguments, (), names, (thought,), 1, turn)

        asked = try_each(context, operation, thoughts, make)
        results = await draw(context, operation, [(place, [0]) for _, place in asked], spent)
        for (at, place), result in zip(asked, results, strict=True):
            values = values_of(context, operation, prompt, result[0], place.first)
            cut_off = isinstance(result[0], Missing) and result[0].cut_off
            valid[at] = None if cut_off else bool(values and values[0])
    return [replace(thought, valid=valid.get(at, False)) for at, thought in enumerate(thoughts)]


async def validate(context: Context, operation: Operation, thoughts: Thoughts, spent: Spent) -> Thoughts:
    """`Validate`."""
    step = operation.step
    assert isinstance(step, ir.Validate)
    return Thoughts(
        await _judge(context, operation, thoughts, step.condition, step.prompt, step.arguments, spent)
    )


async def mend(context: Context, operation: Operation, thoughts: Thoughts, spent: Spent) -> Thoughts:
    """`ValidateAndImprove`: all thoughts side by side, each as often as it needs."""
    step = operation.step
    assert isinstance(step, ir.ValidateAndImprove)
    prompt = context.program.prompt(step.prompt)
    tries = count(context.evaluate(step.tries, whole(operation.frame, thoughts)), "tries")

    async def judge(those: Sequence[Thought], turn: int) -> list[Thought]:
        return await _judge(
            context, operation, those, step.condition, step.judge, step.judge_arguments, spent, turn
        )

    current = await judge(thoughts, 0)
    index = len(thoughts)
    for turn in range(tries):
        wrong = [at for at, thought in enumerate(current) if thought.valid is False]
        if not wrong:
            break

        def make(thought: Thought, turn: int = turn) -> Site:
            names = each(operation, thought)
            return site(context, operation, prompt, step.arguments, step.settings, names, (thought,), 1, turn)

        asked = try_each(context, operation, [current[at] for at in wrong], make)
        results = await draw(context, operation, [(place, [0]) for _, place in asked], spent)
        for (at, place), result in zip(asked, results, strict=True):
            values = values_of(context, operation, prompt, result[0], place.first, place.values)
            if values:
                current[wrong[at]] = made(operation, values[0], index, place, result[0])
                index += 1
        for at, thought in zip(wrong, await judge([current[at] for at in wrong], turn + 1), strict=True):
            current[at] = thought
    return Thoughts(current)
