"""Where an operation asks: the request it makes of a prompt, its draws, and the thoughts read from them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

from gotlang.answers.reader import read
from gotlang.answers.schema import response_format
from gotlang.errors import EvaluationError, GotError, ReadError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Layer
from gotlang.ir.foreign import call_python
from gotlang.ir.names import GIVEN, free_names
from gotlang.models.base import DEFAULT_MAX_TOKENS, DecodingSettings, Model, Request, Usage
from gotlang.runtime.context import Context, OperationFailed
from gotlang.runtime.draws import Draw, Missing
from gotlang.runtime.graph import Operation, longest
from gotlang.runtime.ledger import Round, waited
from gotlang.runtime.places import place
from gotlang.runtime.render import examples, render
from gotlang.runtime.values import count, real
from gotlang.thought import Thought, named_thoughts
from gotlang.types import fits

T = TypeVar("T")

JUST_THE_FIRST = (0,)
"""The draws of most requests."""


@final
@dataclass(slots=True)
class Site:
    """One request of an operation with the number of its first draw, and the thoughts it was made from.

    `values` is how many values each answer must hold, where the prompt says so, `together` how many answers
    the operation asked for in one request, whoever really asked for which.
    """

    model: Model
    request: Request
    key: str
    first: int
    parents: tuple[Thought, ...]
    names: Mapping[str, Any]
    values: int | None = None
    together: int = 1


@final
class Spent:
    """What an operation adds to the longest path while it runs: model calls in a row, and seconds."""

    __slots__ = ("hops", "seconds")

    def __init__(self) -> None:
        self.hops = 0
        self.seconds = 0.0


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
    """The request an operation makes of a prompt, `draws` times; `turn` tells its rounds from each other.

    Raises EvaluationError or TemplateError where an argument, a setting or a text has no value.
    """
    evaluate = context.evaluate
    values = {name: evaluate(value, names) for name, value in arguments}
    chosen = {name: evaluate(value, names) for name, value in (*prompt.settings, *settings)}
    model = context.models(chosen.pop("model", None))
    shown = context.examples.get(id(prompt))
    if shown is None:
        shown = context.examples[id(prompt)] = examples(prompt)
    request = Request(
        model.name,
        render(prompt, values, shown),
        _settings(chosen, prompt),
        context.seed,
        prompt.name,
        values,
        model.endpoint,
    )
    wanted = None
    if prompt.count is not None:
        wanted = count(evaluate(prompt.count, Layer(values, context.params)), "count")
    key = request.key()
    first = context.numbering.first(key, operation, turn, draws)
    return Site(model, request, key, first, _made_from(context, arguments, names, parents), names, wanted)


def _made_from(
    context: Context, arguments: ir.Arguments, names: Mapping[str, Any], pool: tuple[Thought, ...]
) -> tuple[Thought, ...]:
    """What an answer is made from: what it starts from, and the thoughts that the prompt is shown by name."""
    shown = context.shown.get(id(arguments))
    if shown is None:
        found = dict.fromkeys(name for _, value in arguments for name in free_names(value))
        shown = context.shown[id(arguments)] = tuple(name for name in found if name not in GIVEN)
    if not shown:
        return pool
    made_from = {thought.identity: thought for thought in pool}
    for name in shown:
        for thought in real(named_thoughts(names, name)):
            made_from.setdefault(thought.identity, thought)
    return tuple(made_from.values())


_PLAIN = DecodingSettings()


def _settings(chosen: Mapping[str, Any], prompt: ir.Prompt) -> DecodingSettings:
    """Decoding settings. Raises EvaluationError where one is not of its kind."""
    if not chosen:
        return _PLAIN
    stop = chosen.get("stop", ())
    stops = (stop,) if isinstance(stop, str) else tuple(stop) if isinstance(stop, list | tuple) else (None,)
    if not all(isinstance(text, str) for text in stops):
        raise EvaluationError(f"`stop` must be a text or several, not {stop!r:.60}")
    most = chosen.get("max_tokens", DEFAULT_MAX_TOKENS)
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise EvaluationError(f"`max_tokens` must be a whole number of at least 1, not {most!r:.60}")
    return DecodingSettings(
        temperature=_number(chosen, "temperature"),
        top_p=_number(chosen, "top_p"),
        max_tokens=most,
        stop=stops,
        logprobs=bool(chosen.get("logprobs", False)),
        response_format=response_format(prompt.result) if chosen.get("structured", False) else None,
    )


def _number(chosen: Mapping[str, Any], name: str) -> float | None:
    value = chosen.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise EvaluationError(f"`{name}` must be a number of at least 0, not {value!r:.60}")
    return float(value)


async def draw(
    context: Context,
    operation: Operation,
    wanted: Sequence[tuple[Site, Sequence[int]]],
    spent: Spent,
    *,
    fused: bool = False,
) -> list[list[Draw]]:
    """Draws of several requests at the same time; numbers count from each site's first.

    Raises EvaluationError where the run has asked for too many.
    """
    asked = [(place, numbers) for place, numbers in wanted if numbers]
    answers = sum(len(numbers) for _, numbers in asked)
    context.sampler.room(answers)
    context.sampler.asked += answers
    if len(asked) == 1:
        results = [await _draw_one(context, operation, *asked[0], spent, fused)]
    else:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(_draw_one(context, operation, place, numbers, spent, fused))
                for place, numbers in asked
            ]
        results = [task.result() for task in tasks]
    spent.hops += 1
    spent.seconds += max(seconds for _, seconds in results) if results else 0.0
    each = iter(results)
    return [next(each)[0] if numbers else [] for _, numbers in wanted]


async def _draw_one(
    context: Context, operation: Operation, place: Site, numbers: Sequence[int], spent: Spent, fused: bool
) -> tuple[list[Draw], float]:
    """Draws of one request, and the seconds they took."""
    model, request, sampler = place.model, place.request, context.sampler
    absolute = [place.first + number for number in numbers]
    draws, persistent = await sampler.draw(model, request, place.key, absolute, operation, fused=fused)
    if request.settings.temperature == 0:
        absolute = [0] * len(absolute)
    found = tuple([drawn[0] for drawn in draws if not isinstance(drawn, Missing)])
    if not found:
        return draws, 0.0
    if len(found) < len(draws):
        absolute = [n for n, drawn in zip(absolute, draws, strict=True) if not isinstance(drawn, Missing)]
    hops, start = longest(operation)
    batch = max(1, model.batch) if fused else 1
    place.together = min(batch, len(numbers))
    start += spent.seconds
    sampler.ledger.rounds.append(
        Round(
            operation,
            spent.hops,
            start,
            hops,
            place.key,
            JUST_THE_FIRST if absolute == [0] else tuple(absolute),
            found,
            persistent,
            batch,
            model.price,
        )
    )
    return draws, waited(found)


def values_of(
    context: Context,
    operation: Operation,
    prompt: ir.Prompt,
    drawn: Draw,
    number: int,
    wanted: int | None = None,
) -> list[Any]:
    """The values read from one draw; a draw without one, or without `wanted` of them, is noted as failed and
    gives none."""
    if isinstance(drawn, Missing):
        note_missing(context, operation, drawn, number)
        return []
    answer = drawn[0].completion
    try:
        values = _read(context, prompt, answer.text)
        if wanted is not None and len(values) != wanted:
            raise ReadError(f"{wanted} values were asked for, and the answer holds {len(values)}")
        return values
    except (ReadError, EvaluationError) as error:
        reason = error.message
        if answer.finish_reason == "length":
            reason += " (the answer was cut off at max_tokens)"
        context.failed(operation, f"{reason}: {_shown(answer.text)}", number)
        return []


def note_missing(context: Context, operation: Operation, drawn: Missing, number: int) -> None:
    """Note a draw that no answer came for."""
    if drawn.cut_off:
        context.skipped += 1
        context.cut_off.add(operation)
    else:
        context.failed(operation, drawn.reason, number)


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 80 else line[:77] + "...")


def _read(context: Context, prompt: ir.Prompt, text: str) -> list[Any]:
    """An answer as values of the prompt's type: one, or several where it says `many`."""
    if prompt.reader is None:
        return read(text, prompt.result, prompt.form, prompt.many)
    value = call_python(context.functions[prompt.reader], prompt.reader, [text], {})
    values = list(value) if prompt.many and isinstance(value, list | tuple) else [value]
    for one in values:
        if why := fits(prompt.result, one):
            raise ReadError(f"`{prompt.reader}` did not give {prompt.result}: {why}")
    return values


def made(operation: Operation, value: Any, index: int, place: Site, drawn: Draw) -> Thought:
    """A thought read from an answer."""
    assert not isinstance(drawn, Missing)
    stored = drawn[0]
    answer = stored.completion
    logprob = answer.logprob
    if logprob is not None and answer.tokens:
        logprob /= len(answer.tokens)
    price, usd = place.model.price, None
    if price is not None:
        # Its share of the prompt, and its own tokens: the same in whatever order operations share answers.
        read = Usage(stored.usage.input_tokens, 0, stored.usage.cached_input_tokens)
        usd = price.usd(read) / place.together + price.usd(Usage(0, answer.output_tokens))
    return Thought(
        value, operation, index, place.parents, logprob=logprob, usd=usd, call=place.key, tokens=answer.tokens
    )


def nothing_left(context: Context, operation: Operation, noted: int) -> OperationFailed:
    """The failure of an operation that has no thought to give, with the reasons noted for it since there were
    `noted`."""
    if operation in context.cut_off:
        return OperationFailed("not every answer was asked for", cut_off=True)
    where = place(operation)
    reasons = list(dict.fromkeys(f.reason for f in context.failures[noted:] if f.place == where))
    shown = "; ".join(reasons[:3]) + (f"; and {len(reasons) - 3} more reasons" if len(reasons) > 3 else "")
    return OperationFailed(f"every thought failed: {shown}")


def try_each(
    context: Context, operation: Operation, thoughts: Sequence[Thought], make: Callable[[Thought], T]
) -> list[tuple[int, T]]:
    """What `make` gives for each thought, by its position; those it has no value for are noted as failed."""
    found = []
    for index, thought in enumerate(thoughts):
        try:
            found.append((index, make(thought)))
        except GotError as error:
            context.failed(operation, error.message, thought.index)
    return found
