"""Operations that ask a model: Generate, Improve, Aggregate, and the scoring and validating kinds."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from gotlang.errors import EvaluationError, ReadError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Layer
from gotlang.ir.names import free_names
from gotlang.ir.thought import Thought, Thoughts, named_thoughts
from gotlang.models.base import DEFAULT_MAX_TOKENS, Model, Request, Settings
from gotlang.runtime.context import Context, OperationFailed
from gotlang.runtime.graph import Operation
from gotlang.runtime.ledger import NO_TIMES, Times
from gotlang.runtime.read import read
from gotlang.runtime.render import render
from gotlang.runtime.sampling import Draw, Missing


@final
@dataclass(slots=True)
class Site:
    """One request of an operation with the number of its first draw, and the thoughts it was made from.

    `count` is how many values each answer must hold, where the prompt says so.
    """

    model: Model
    request: Request
    first: int
    parents: tuple[Thought, ...]
    names: Mapping[str, Any]
    count: int | None = None


@final
@dataclass(slots=True)
class Spent:
    """What an operation added to the longest path: model calls in a row, and seconds."""

    hops: int = 0
    times: Times = NO_TIMES

    def add(self, times: Times, hops: int = 1) -> None:
        """One more round of calls, after those before."""
        self.hops += hops
        self.times = (self.times[0] + times[0], self.times[1] + times[1], self.times[2] + times[2])


def each(operation: Operation, thought: Thought) -> Mapping[str, Any]:
    """The names for what is evaluated once a thought."""
    return operation.frame if thought.value is None else Layer({"it": thought}, operation.frame)


def whole(operation: Operation, thoughts: Sequence[Thought]) -> Mapping[str, Any]:
    """The names for what is evaluated once for all current thoughts."""
    if not thoughts or thoughts[0].value is None:
        return operation.frame
    names: dict[str, Any] = {"thoughts": Thoughts(thoughts)}
    if len(thoughts) == 1:
        names["it"] = thoughts[0]
    return Layer(names, operation.frame)


def real(thoughts: Sequence[Thought]) -> tuple[Thought, ...]:
    """The thoughts but for the empty one that a pipeline starts with."""
    return tuple(t for t in thoughts if t.value is not None)


def site(
    context: Context,
    operation: Operation,
    prompt: ir.Prompt,
    arguments: ir.Arguments,
    settings: ir.Arguments,
    names: Mapping[str, Any],
    parents: tuple[Thought, ...],
    draws: int,
    turn: int = 0,
) -> Site:
    """The request an operation makes of a prompt.

    Draws are numbered on from those that the operation's ancestors asked of the same request, so that asking
    again gives new answers, while operations that do not depend on each other share theirs. `turn` tells
    the rounds of an operation that asks several times from each other.
    """
    evaluate = context.evaluate
    values = {name: evaluate(value, names) for name, value in arguments}
    chosen = {name: evaluate(value, names) for name, value in (*prompt.settings, *settings)}
    stop = chosen.get("stop", ())
    model = context.models(chosen.get("model"))
    request = Request(
        model.name,
        render(prompt, values),
        Settings(
            temperature=_number(chosen.get("temperature")),
            top_p=_number(chosen.get("top_p")),
            max_tokens=chosen.get("max_tokens", DEFAULT_MAX_TOKENS),
            stop=(stop,) if isinstance(stop, str) else tuple(stop),
            logprobs=bool(chosen.get("logprobs", False)),
        ),
        context.seed,
        prompt.name,
        values,
    )
    first = context.numbering.first(request.key(), operation, turn, draws)
    count = None
    if prompt.count is not None:
        count = positive(evaluate(prompt.count, Layer(values, context.params)), "count")
    made_from = _made_from(arguments, names, parents)
    return Site(model, request, first, made_from, names, count)


def _made_from(
    arguments: ir.Arguments, names: Mapping[str, Any], pool: tuple[Thought, ...]
) -> tuple[Thought, ...]:
    """What an answer is made from: what it starts from, and the thoughts that the prompt is shown by name."""
    found = {thought.identity: thought for thought in pool}
    for name in dict.fromkeys(name for _, value in arguments for name in free_names(value)):
        for thought in real(named_thoughts(names, name)):
            found.setdefault(thought.identity, thought)
    return tuple(found.values())


def _number(value: Any) -> float | None:
    return float(value) if value is not None else None


async def draw(
    context: Context, operation: Operation, wanted: Sequence[tuple[Site, Sequence[int]]], spent: Spent
) -> list[list[Draw]]:
    """Draws of several requests at the same time; numbers count from each site's first."""
    urgency = operation.sequence
    fused = getattr(operation.step, "fused", False)

    async def one(place: Site, numbers: Sequence[int]) -> tuple[list[Draw], Times]:
        absolute = [place.first + number for number in numbers]
        return await context.sampler.draw(
            place.model, place.request, absolute, urgency, fused=fused, operation=operation
        )

    asked = [(place, numbers) for place, numbers in wanted if numbers]
    if len(asked) == 1:
        results = [await one(*asked[0])]
    else:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(place, numbers)) for place, numbers in asked]
        results = [task.result() for task in tasks]
    longest = [max((times[i] for _, times in results), default=0.0) for i in range(3)]
    spent.add((longest[0], longest[1], longest[2]))
    found = iter(results)
    return [next(found)[0] if numbers else [] for _, numbers in wanted]


def values_of(
    context: Context,
    operation: Operation,
    prompt: ir.Prompt,
    drawn: Draw,
    number: int,
    count: int | None = None,
) -> list[Any]:
    """The values read from one draw; a draw without one, or without `count` of them, is noted as failed and
    gives none."""
    if isinstance(drawn, Missing):
        if drawn.over_budget:
            context.skipped += 1
        else:
            context.failed(operation, drawn.reason, number)
        return []
    try:
        values = read_answer(context, prompt, drawn[0].answer.text)
        if count is not None and len(values) != count:
            raise ReadError(f"{count} values were asked for, and the answer holds {len(values)}")
        return values
    except (ReadError, EvaluationError) as error:
        reason = error.message
        if drawn[0].answer.finish_reason == "length":
            reason += " (the answer was cut off at max_tokens)"
        context.failed(operation, f"{reason}: {_shown(drawn[0].answer.text)}", number)
        return []


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 80 else line[:77] + "...")


def read_answer(context: Context, prompt: ir.Prompt, text: str) -> list[Any]:
    """An answer as values of the prompt's type: one, or several where it says `many`."""
    if prompt.reader is None:
        return read(text, prompt.result, prompt.form, prompt.many)
    from gotlang.ir.evaluate import call_python
    from gotlang.types import fits

    value = call_python(context.functions[prompt.reader], prompt.reader, [text], {})
    values = list(value) if prompt.many and isinstance(value, list | tuple) else [value]
    for one in values:
        if why := fits(prompt.result, one):
            raise ReadError(f"`{prompt.reader}` did not give {prompt.result}: {why}")
    return values


def made(operation: Operation, value: Any, index: int, place: Site, drawn: Draw) -> Thought:
    """A thought read from an answer."""
    assert not isinstance(drawn, Missing)
    answer = drawn[0].answer
    logprob = answer.logprob
    if logprob is not None and answer.tokens:
        logprob /= len(answer.tokens)
    price = place.model.price
    usd = None
    if price is not None:
        usd = price.usd(drawn[0].usage) / drawn[0].batch
    return Thought(
        value,
        operation,
        index,
        place.parents,
        logprob=logprob,
        usd=usd,
        call=place.request.key(),
        tokens=answer.tokens,
    )


def nothing_left(context: Context, operation: Operation, before: int) -> OperationFailed:
    """The failure of an operation that has no thought to give, with the reasons of its draws."""
    reasons = list(dict.fromkeys(f.reason for f in context.failures[before:]))
    if not reasons:
        return OperationFailed("the budget allowed no answer", over_budget=True)
    shown = "; ".join(reasons[:3]) + (f"; and {len(reasons) - 3} more reasons" if len(reasons) > 3 else "")
    return OperationFailed(f"every thought failed: {shown}")


def positive(value: Any, what: str) -> int:
    """A whole number of at least 0 for a setting."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise EvaluationError(f"`{what}` must be a whole number of at least 0, not {value!r}")
    if value > 10_000:
        raise EvaluationError(f"`{what}` of {value} is more than 10,000")
    return value


async def ask(context: Context, operation: Operation, thoughts: Thoughts) -> tuple[Thoughts, Spent]:
    """`Generate`, `Improve`, `Aggregate`."""
    step = operation.step
    assert isinstance(step, ir.Ask)
    prompt = context.program.prompt(step.prompt)
    evaluate = context.evaluate
    together = step.kind == "aggregate"
    k = positive(evaluate(step.k, whole(operation, thoughts)), "k")
    groups = [real(thoughts)] if together else [real([t]) for t in thoughts]
    sites = []
    for group, thought in zip(groups, thoughts, strict=False):
        names = whole(operation, thoughts) if together else each(operation, thought)
        sites.append(site(context, operation, prompt, step.arguments, step.settings, names, group, k))
    kept: list[Thought] = list(thoughts) if step.kind == "improve" else []
    before = len(context.failures)
    spent = Spent()
    order = [(position, number) for position in range(len(sites)) for number in range(k)]
    for wave in _waves(context, step, order, k):
        if step.stop is not None and _settled(context, operation, step.stop, kept):
            break
        wanted = [
            (place, [number for at, number in wave if at == position]) for position, place in enumerate(sites)
        ]
        results = await draw(context, operation, wanted, spent)
        queues = [iter(result) for result in results]
        enough = False
        for position, number in wave:
            drawn = next(queues[position])
            place = sites[position]
            for value in values_of(context, operation, prompt, drawn, place.first + number, place.count):
                thought = made(operation, value, len(kept), place, drawn)
                kept.append(thought)
                if step.until is not None and _until(context, step, place, thought):
                    enough = True
                    break
            if enough:
                break
        if enough:
            break
    if not kept and k > 0:
        raise nothing_left(context, operation, before)
    return Thoughts(kept), spent


def _waves(
    context: Context, step: ir.Ask, order: list[tuple[int, int]], k: int
) -> list[list[tuple[int, int]]]:
    if step.stop is None and step.until is None:
        return [order] if order else []
    first = context.wave or math.ceil(k / 3)
    waves, at, size = [], 0, max(1, first)
    while at < len(order):
        waves.append(order[at : at + size])
        at, size = at + size, size * 2
    return waves


def _settled(context: Context, operation: Operation, stop: ir.Stop, kept: list[Thought]) -> bool:
    """Whether enough thoughts have the score that cannot be beaten."""
    score = context.program.score(stop.score)
    count = context.evaluate(stop.count, operation.frame)
    found = 0
    for thought in kept:
        names = Layer({"it": thought}, operation.frame)
        try:
            if rate_locally(context, score, stop.arguments, names) == score.best:
                found += 1
        except EvaluationError:
            continue
        if found >= count:
            return True
    return False


def _until(context: Context, step: ir.Ask, place: Site, thought: Thought) -> bool:
    assert step.until is not None
    return bool(context.evaluate(step.until, Layer({"it": thought}, place.names)))


def rate_locally(
    context: Context, score: ir.Score, arguments: ir.Arguments, names: Mapping[str, Any]
) -> float:
    """The number that a score gives without asking a model. Raises EvaluationError, also for NaN."""
    values = {name: context.evaluate(value, names) for name, value in arguments}
    params = Layer(values, context.params)
    return number(context.evaluate(score.value, params), score.name)


def number(value: Any, what: str) -> float:
    """A score as a number. Raises EvaluationError where it is none, or NaN."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise EvaluationError(f"score `{what}` gave {value!r}, which is no number")
    if math.isnan(value):
        raise EvaluationError(f"score `{what}` gave NaN")
    return value


async def rate_by_prompt(
    context: Context, operation: Operation, thoughts: Thoughts
) -> tuple[Thoughts, Spent]:
    """`Score(k) prompt(it)`: the mean of k answers that are numbers."""
    step = operation.step
    assert isinstance(step, ir.Rate) and step.score is not None
    prompt = context.program.prompt(step.score)
    k = positive(context.evaluate(step.k, whole(operation, thoughts)), "k")
    sites = [
        site(context, operation, prompt, step.arguments, (), each(operation, t), (t,), k) for t in thoughts
    ]
    spent = Spent()
    before = len(context.failures)
    results = await draw(context, operation, [(place, range(k)) for place in sites], spent)
    out = []
    for thought, place, result in zip(thoughts, sites, results, strict=True):
        numbers: list[float] = []
        for index, drawn in enumerate(result):
            for value in values_of(context, operation, prompt, drawn, place.first + index):
                numbers.append(number(value, prompt.name))
        if numbers:
            out.append(thought.known(score=math.fsum(numbers) / len(numbers)))
    if not out and thoughts:
        raise nothing_left(context, operation, before)
    return Thoughts(out), spent


async def judge(
    context: Context,
    operation: Operation,
    thoughts: Sequence[Thought],
    condition: Any,
    prompt_name: str | None,
    arguments: ir.Arguments,
    spent: Spent,
    turn: int = 0,
) -> list[Thought]:
    """Each thought marked valid or not, by a condition or by a prompt."""
    if prompt_name is None:
        out = []
        for thought in thoughts:
            try:
                valid = bool(context.evaluate(condition, each(operation, thought)))
            except EvaluationError as error:
                context.failed(operation, error.message, thought.index)
                valid = False
            out.append(thought.known(valid=valid))
        return out
    prompt = context.program.prompt(prompt_name)
    sites = [
        site(context, operation, prompt, arguments, (), each(operation, t), (t,), 1, turn) for t in thoughts
    ]
    results = await draw(context, operation, [(place, [0]) for place in sites], spent)
    marked = []
    for thought, place, result in zip(thoughts, sites, results, strict=True):
        values = values_of(context, operation, prompt, result[0], place.first)
        marked.append(thought.known(valid=bool(values and values[0])))
    return marked


async def validate(context: Context, operation: Operation, thoughts: Thoughts) -> tuple[Thoughts, Spent]:
    """`Validate`."""
    step = operation.step
    assert isinstance(step, ir.Validate)
    spent = Spent()
    marked = await judge(context, operation, thoughts, step.condition, step.prompt, step.arguments, spent)
    return Thoughts(marked), spent


async def mend(context: Context, operation: Operation, thoughts: Thoughts) -> tuple[Thoughts, Spent]:
    """`ValidateAndImprove`: all thoughts side by side, each as often as it needs."""
    step = operation.step
    assert isinstance(step, ir.Mend)
    prompt = context.program.prompt(step.prompt)
    tries = positive(context.evaluate(step.tries, whole(operation, thoughts)), "tries")
    spent = Spent()
    current = await judge(
        context, operation, thoughts, step.condition, step.judge, step.judge_arguments, spent
    )
    index = len(thoughts)
    for turn in range(tries):
        wrong = [i for i, thought in enumerate(current) if not thought.valid]
        if not wrong:
            break
        sites = [
            site(
                context,
                operation,
                prompt,
                step.arguments,
                step.settings,
                each(operation, current[i]),
                (current[i],),
                1,
                turn,
            )
            for i in wrong
        ]
        results = await draw(context, operation, [(place, [0]) for place in sites], spent)
        for i, place, result in zip(wrong, sites, results, strict=True):
            values = values_of(context, operation, prompt, result[0], place.first)
            if values:
                current[i] = made(operation, values[0], index, place, result[0])
                index += 1
        marked = await judge(
            context,
            operation,
            [current[i] for i in wrong],
            step.condition,
            step.judge,
            step.judge_arguments,
            spent,
            turn + 1,
        )
        for i, thought in zip(wrong, marked, strict=True):
            current[i] = thought
    return Thoughts(current), spent
