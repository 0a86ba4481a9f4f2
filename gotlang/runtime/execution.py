"""One execution of an operation: the names its expressions see, its samples, and the thoughts it makes.

The function that runs an operation is called as `run(step, thoughts, running)`, where `running` is an
`Execution`. It gives the operation's thoughts, or raises OperationFailed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

from gotlang.answers.forms import response_format
from gotlang.answers.reader import read
from gotlang.errors import EvaluationError, GotError, OperationFailed, ReadError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Layer
from gotlang.ir.foreign import call_python
from gotlang.models.base import DEFAULT_MAX_TOKENS, DecodingSettings, Model, Request, Usage
from gotlang.operations.checks import count, number, position
from gotlang.operations.names import free_names, looks_at_pool
from gotlang.operations.step import GIVEN
from gotlang.runtime.context import Context
from gotlang.runtime.graph import FAILED, Frame, Handle, Operation, critical_path, path_key
from gotlang.runtime.python import call_function
from gotlang.runtime.render import examples, render
from gotlang.runtime.sampler.ledger import Round, latency
from gotlang.runtime.sampler.store import MissingSample, Sample
from gotlang.syntax import expressions as e
from gotlang.thought import Thought, Thoughts, named_thoughts
from gotlang.types import fits

T = TypeVar("T")

FIRST_SAMPLE = (0,)
"""The sample numbers of most requests."""


# -------------------------------------------------------------------- names and thoughts


def each(frame: Frame, thought: Thought) -> Mapping[str, Any]:
    """The names for what is evaluated once per thought."""
    return frame if thought.empty else Layer({"it": thought}, frame)


def whole(frame: Frame, thoughts: Sequence[Thought]) -> Mapping[str, Any]:
    """The names for what is evaluated once for all current thoughts."""
    if not thoughts or thoughts[0].empty:
        return frame
    names: dict[str, Any] = {"thoughts": Thoughts(thoughts)}
    if len(thoughts) == 1:
        names["it"] = thoughts[0]
    return Layer(names, frame)


def real(thoughts: Sequence[Thought]) -> tuple[Thought, ...]:
    """The thoughts without the empty one that a pipeline starts with."""
    if len(thoughts) == 1:  # as they mostly are
        return tuple(thoughts) if not thoughts[0].empty else ()
    return tuple([t for t in thoughts if not t.empty])


def derived(operation: Operation, value: Any, index: int, parents: Sequence[Thought]) -> Thought:
    """A computed thought, as opposed to a sampled one; the empty thought is never a parent."""
    return Thought(value, operation, index, real(parents))


def bound_thoughts(
    context: Context, value: e.Expression, names: Mapping[str, Any]
) -> tuple[Thought, ...] | None:
    """The thoughts that a name, or an index into named thoughts, refers to (`Thoughts` for a name of any
    number of them); None for any other expression."""
    if isinstance(value, e.Reference):
        bound = _bound(names, value.name)
        if isinstance(bound, Thought):
            return (bound,)
        return bound if isinstance(bound, Thoughts) else None
    if isinstance(value, e.Index) and isinstance(value.value, e.Reference):
        bound = _bound(names, value.value.name)
        if isinstance(bound, Thoughts):
            return (bound[position(context.evaluate(value.index, names), bound)],)
    return None


def _bound(names: Mapping[str, Any], name: str) -> Any:
    """The binding of a name; None for an unbound one: `pi`, or `score` as short for `score(it)`."""
    try:
        return names[name]
    except KeyError:
        return None


# -------------------------------------------------------------------- one execution


@final
class Execution:
    """What the run function of an operation gets, as `running`.

    `hops` and `seconds` are what it has added to the critical path so far: sequential model calls, and their
    latency in seconds.
    """

    __slots__ = ("_noted", "context", "frame", "hops", "operation", "seconds")

    def __init__(self, context: Context, operation: Operation) -> None:
        self.context = context
        self.operation = operation
        self.frame = operation.frame
        self.hops = 0
        self.seconds = 0.0
        self._noted = len(context.failures)

    # ---------------------------------------------------------------- names and values

    def each(self, thought: Thought, around: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """The names for what is evaluated once per thought, over those of `around` (default: the block's)."""
        if thought.empty:
            return self.frame if around is None else around
        return Layer({"it": thought}, self.frame if around is None else around)

    def whole(self, thoughts: Sequence[Thought]) -> Mapping[str, Any]:
        """The names for what is evaluated once for all current thoughts."""
        return whole(self.frame, thoughts)

    def evaluate(self, expression: e.Expression, names: Mapping[str, Any] | None = None) -> Any:
        """The value of an expression; `names` defaults to the block's. Raises EvaluationError."""
        return self.context.evaluate(expression, self.frame if names is None else names)

    def count(
        self, expression: e.Expression, thoughts: Sequence[Thought], setting: str, least: int = 0
    ) -> int:
        """A setting that is a whole number of at least `least`. Raises EvaluationError."""
        return count(self.context.evaluate(expression, whole(self.frame, thoughts)), setting, least)

    def local_score(self, name: str, arguments: ir.Arguments, names: Mapping[str, Any]) -> float:
        """The value of a score that asks no model. Raises EvaluationError, also for NaN."""
        evaluate = self.context.evaluate
        values = {parameter: evaluate(value, names) for parameter, value in arguments}
        found = evaluate(self.score(name).value, Layer(values, self.context.params))
        return number(found, f"score `{name}`")

    def bound(self, value: e.Expression, names: Mapping[str, Any]) -> tuple[Thought, ...] | None:
        """The thoughts that a name, or an index into named thoughts, refers to; None for any other."""
        return bound_thoughts(self.context, value, names)

    def score(self, name: str) -> ir.ScoreFunction:
        """A score of the program."""
        return self.context.declared.scores[name]

    # ---------------------------------------------------------------- the run

    @property
    def wave(self) -> int | None:
        """The size of the first wave of an early-stopped sampling; None for the default."""
        return self.context.wave

    @property
    def has_truth(self) -> bool:
        """Whether the ground truth of this run is known."""
        return self.context.has_truth

    def with_truth(self, thought: Thought) -> Mapping[str, Any]:
        """The names for a `GroundTruth` condition: `truth` among them, if it is known."""
        names: dict[str, Any] = {"it": thought}
        if self.context.has_truth:
            names["truth"] = self.context.truth
        return Layer(names, self.frame)

    def note_truth(self, correct: bool | None) -> None:
        """Note the outcome of a `GroundTruth`; None if it could not be evaluated."""
        self.context.measured[self.operation] = correct

    # ---------------------------------------------------------------- thoughts and failures

    def derived(self, value: Any, index: int, parents: Sequence[Thought]) -> Thought:
        """A computed thought; `index` numbers the operation's thoughts."""
        return Thought(value, self.operation, index, real(parents))

    def failed(self, reason: str, number: int | None = None) -> None:
        """Note that one thought or sample failed; `number` is its index."""
        self.context.failed(self.operation, reason, number)

    @property
    def skipped(self) -> bool:
        """Whether the run has skipped samples, because of the budget or because it was stopped."""
        return self.context.skipped > 0

    def inputs_failed(self) -> bool:
        """Whether any input of the operation failed; only an operation with optional inputs runs then."""
        return any(source.state == FAILED for source in self.operation.inputs)

    def uses_failed(self, value: e.Expression) -> bool:
        """Whether an expression uses the thoughts of an input that failed."""
        inputs = self.operation.inputs
        if looks_at_pool(value) and inputs[0].state == FAILED:
            return True
        for name in free_names(value):
            try:
                bound = self.frame.find(name)
            except KeyError:
                continue
            if isinstance(bound, Handle) and bound.operation.state == FAILED and bound.operation in inputs:
                return True
        return False

    def try_each(self, thoughts: Sequence[Thought], make: Callable[[Thought], T]) -> list[tuple[int, T]]:
        """`(index, make(thought))` for each thought; one for which it raises GotError is noted as failed."""
        found = []
        for index, thought in enumerate(thoughts):
            try:
                found.append((index, make(thought)))
            except GotError as error:
                self.context.failed(self.operation, error.message, thought.index)
        return found

    def for_each(self, thoughts: Sequence[Thought], make: Callable[[Thought], T]) -> list[tuple[int, T]]:
        """The same. Raises OperationFailed if all of them fail."""
        return self.some(thoughts, self.try_each(thoughts, make))

    async def for_each_call(
        self, thoughts: Sequence[Thought], make: Callable[[Thought], Awaitable[T]]
    ) -> list[tuple[int, T]]:
        """The same for calls of Python functions, several of which run at the same time."""
        found: dict[int, T] = {}
        failed: dict[int, GotError] = {}

        async def one(at: int) -> None:
            async with self.context.calls:
                try:
                    found[at] = await make(thoughts[at])
                except GotError as error:
                    failed[at] = error

        if len(thoughts) == 1:
            await one(0)
        else:
            async with asyncio.TaskGroup() as group:
                for at in range(len(thoughts)):
                    group.create_task(one(at))
        for at in sorted(failed):
            self.context.failed(self.operation, failed[at].message, thoughts[at].index)
        return self.some(thoughts, [(at, found[at]) for at in sorted(found)])

    def some(self, thoughts: Sequence[Thought], found: list[T]) -> list[T]:
        """`found` as it is. Raises OperationFailed if there are thoughts, and nothing was found for any."""
        if thoughts and not found:
            raise self.nothing_left()
        return found

    def nothing_left(self) -> OperationFailed:
        """The error of an operation without a thought to give, with the failures noted for it."""
        context, operation = self.context, self.operation
        if operation in context.cut_off:
            return OperationFailed("not every answer was asked for", cut_off=True)
        where = path_key(operation)
        noted = context.failures[self._noted :]
        reasons = list(dict.fromkeys(failure.reason for failure in noted if failure.key == where))
        more = f"; and {len(reasons) - 3} more reasons" if len(reasons) > 3 else ""
        return OperationFailed(f"every thought failed: {'; '.join(reasons[:3])}{more}")

    # ---------------------------------------------------------------- Python functions

    async def call_python(self, name: str, positional: list[Any], named: dict[str, Any]) -> Any:
        """Call an imported function. Raises EvaluationError for whatever it raises, and if it takes longer
        than the run allows."""
        context = self.context
        return await call_function(context.functions[name], name, positional, named, context.timeout_s)

    async def search(self, corpus: str, query: Any, k: int) -> Any:
        """The k best documents of a corpus, or what a Python function that stands for one returns. Raises
        EvaluationError for whatever the search raises."""
        searched = self.context.corpora.get(corpus) or self.context.functions[corpus]
        return await call_function(searched, corpus, [query], {"k": k})

    # ---------------------------------------------------------------- prompts

    def call(
        self,
        prompt: str,
        arguments: ir.Arguments,
        settings: ir.Arguments,
        thoughts: Thought | Sequence[Thought],
        samples: int = 1,
        turn: int = 0,
    ) -> PromptCall:
        """A call of a prompt for one thought, or for all of them together, to be sampled `samples` times.
        `turn` numbers the rounds of an operation that asks several times.

        Raises EvaluationError or TemplateError if an argument, a setting or a text cannot be evaluated.
        """
        if isinstance(thoughts, Thought):
            names, pool = self.each(thoughts), real((thoughts,))
        else:
            names, pool = whole(self.frame, thoughts), real(thoughts)
        context = self.context
        evaluate, declared = context.evaluate, context.declared.prompts[prompt]
        values = {name: evaluate(value, names) for name, value in arguments}
        chosen = {name: evaluate(value, names) for name, value in (*declared.settings, *settings)}
        model = context.models(chosen.pop("model", None))
        shown = context.examples.get(id(declared))
        if shown is None:
            shown = context.examples[id(declared)] = examples(declared)
        request = Request(
            model.name,
            render(declared, values, shown),
            _decoding_settings(chosen, declared),
            context.seed,
            prompt,
            values,
            model.endpoint,
        )
        expected = None
        if declared.count is not None:
            expected = count(evaluate(declared.count, Layer(values, context.params)), "count")
        key = request.key()
        first = context.numbers.first(key, self.operation, turn, samples)
        parents = self._parents(arguments, names, pool)
        return PromptCall(self, declared, model, request, key, first, parents, names, expected)

    def check_samples(self, samples: int) -> None:
        """Raises EvaluationError if the run may not ask for that many samples more."""
        self.context.sampler.check(samples)

    async def sample(
        self, wanted: Sequence[tuple[PromptCall, Sequence[int]]], *, fused: bool = False
    ) -> list[list[Sample]]:
        """Samples of several calls, asked for at the same time; sample numbers count from 0 for each call.
        `fused` asks for all samples of a call in one request, if the endpoint supports `n`.

        Raises EvaluationError if the run asks for too many. A sample that cannot be had is a MissingSample.
        """
        asked = [(call, numbers) for call, numbers in wanted if numbers]
        samples = sum(len(numbers) for _, numbers in asked)
        sampler = self.context.sampler
        sampler.check(samples)
        sampler.asked += samples
        if len(asked) == 1:
            call, numbers = asked[0]
            results = [await call.sample(numbers, fused)]
        else:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(call.sample(numbers, fused)) for call, numbers in asked]
            results = [task.result() for task in tasks]
        self.hops += 1
        self.seconds += max(seconds for _, seconds in results) if results else 0.0
        each = iter(results)
        return [next(each)[0] if numbers else [] for _, numbers in wanted]

    async def sample_once(self, calls: Sequence[PromptCall]) -> list[Sample]:
        """The first sample of each call, asked for at the same time."""
        return [first for (first,) in await self.sample([(call, FIRST_SAMPLE) for call in calls])]

    def _parents(
        self, arguments: ir.Arguments, names: Mapping[str, Any], pool: tuple[Thought, ...]
    ) -> tuple[Thought, ...]:
        """The parents of sampled thoughts: the current thoughts, and those the prompt uses by name."""
        context = self.context
        used = context.used_names.get(id(arguments))
        if used is None:
            found = dict.fromkeys(name for _, value in arguments for name in free_names(value))
            used = context.used_names[id(arguments)] = tuple(name for name in found if name not in GIVEN)
        if not used:
            return pool
        parents = {thought.identity: thought for thought in pool}
        for name in used:
            for thought in real(named_thoughts(names, name)):
                parents.setdefault(thought.identity, thought)
        return tuple(parents.values())


@final
@dataclass(slots=True)
class PromptCall:
    """A prompt with its arguments filled in: one request, and the number of its first sample.

    `parents` are the thoughts that the prompt was given, `expected` is how many values each answer must hold
    (None: any number), `batched` how many samples were asked for in one request.
    """

    running: Execution
    prompt: ir.Prompt
    model: Model
    request: Request
    key: str
    first: int
    parents: tuple[Thought, ...]
    names: Mapping[str, Any]
    expected: int | None = None
    batched: int = 1

    async def sample(self, numbers: Sequence[int], fused: bool) -> tuple[list[Sample], float]:
        """Samples with these numbers, counted from 0, and the seconds that they took."""
        running, model, request = self.running, self.model, self.request
        operation, sampler = running.operation, running.context.sampler
        absolute = [self.first + number for number in numbers]
        samples, persistent = await sampler.sample(model, request, self.key, absolute, operation, fused=fused)
        if request.settings.temperature == 0:
            absolute = [0] * len(absolute)
        found = tuple([sample[0] for sample in samples if not isinstance(sample, MissingSample)])
        if not found:
            return samples, 0.0
        if len(found) < len(samples):
            pairs = zip(absolute, samples, strict=True)
            absolute = [n for n, sample in pairs if not isinstance(sample, MissingSample)]
        hops, start = critical_path(operation)
        batch = max(1, model.batch) if fused else 1
        self.batched = min(batch, len(numbers))
        sampler.ledger.rounds.append(
            Round(
                operation,
                running.hops,
                start + running.seconds,
                hops,
                self.key,
                FIRST_SAMPLE if absolute == [0] else tuple(absolute),
                found,
                persistent,
                batch,
                model.price,
            )
        )
        return samples, latency(found)

    def values(self, number: int, sample: Sample) -> list[Any]:
        """The values read from a sample. One that is missing or cannot be read is noted as failed, and has
        none."""
        if isinstance(sample, MissingSample):
            self.note_missing(number, sample)
            return []
        completion = sample[0].completion
        try:
            values = self._read(completion.text)
            if self.expected is not None and len(values) != self.expected:
                raise ReadError(f"{self.expected} values were asked for, and the answer holds {len(values)}")
            return values
        except (ReadError, EvaluationError) as error:
            reason = error.message
            if completion.finish_reason == "length":
                reason += " (the answer was cut off at max_tokens)"
            self.running.failed(f"{reason}: {_excerpt(completion.text)}", self.first + number)
            return []

    def note_missing(self, number: int, sample: Sample) -> None:
        """Note a sample that is missing; nothing for any other."""
        if not isinstance(sample, MissingSample):
            return
        context = self.running.context
        if sample.cut_off:
            context.skipped += 1
            context.cut_off.add(self.running.operation)
        else:
            self.running.failed(sample.reason, self.first + number)

    def skipped(self, sample: Sample) -> bool:
        """Whether a sample was never asked for, because of the budget or because the run was stopped."""
        return isinstance(sample, MissingSample) and sample.cut_off

    def thought(self, value: Any, index: int, sample: Sample) -> Thought:
        """A thought with a value read from a sample; `index` numbers the operation's thoughts."""
        assert not isinstance(sample, MissingSample)
        stored = sample[0]
        completion = stored.completion
        logprob = completion.logprob
        if logprob is not None and completion.tokens:
            logprob /= len(completion.tokens)
        price, usd = self.model.price, None
        if price is not None:
            # Its share of the prompt, and its own tokens: the same whoever asked first.
            read = Usage(stored.usage.input_tokens, 0, stored.usage.cached_input_tokens)
            usd = price.usd(read) / self.batched + price.usd(Usage(0, completion.output_tokens))
        return Thought(
            value,
            self.running.operation,
            index,
            self.parents,
            logprob=logprob,
            usd=usd,
            call=self.key,
            tokens=completion.tokens,
        )

    def _read(self, text: str) -> list[Any]:
        """An answer as values of the prompt's type: one, or several for `many`."""
        prompt = self.prompt
        if prompt.reader is None:
            return read(text, prompt.result, prompt.form, prompt.many)
        value = call_python(self.running.context.functions[prompt.reader], prompt.reader, [text], {})
        values = list(value) if prompt.many and isinstance(value, list | tuple) else [value]
        for one in values:
            if why := fits(prompt.result, one):
                raise ReadError(f"`{prompt.reader}` did not return {prompt.result}: {why}")
        return values


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 80 else line[:77] + "...")


_DEFAULT_SETTINGS = DecodingSettings()


def _decoding_settings(chosen: Mapping[str, Any], prompt: ir.Prompt) -> DecodingSettings:
    """Raises EvaluationError for a setting of the wrong type."""
    if not chosen:
        return _DEFAULT_SETTINGS
    stop = chosen.get("stop", ())
    stops = (stop,) if isinstance(stop, str) else tuple(stop) if isinstance(stop, list | tuple) else (None,)
    if not all(isinstance(text, str) for text in stops):
        raise EvaluationError(f"`stop` must be a string or a list of strings, not {stop!r:.60}")
    most = chosen.get("max_tokens", DEFAULT_MAX_TOKENS)
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise EvaluationError(f"`max_tokens` must be a whole number of at least 1, not {most!r:.60}")
    return DecodingSettings(
        temperature=_non_negative(chosen, "temperature"),
        top_p=_non_negative(chosen, "top_p"),
        max_tokens=most,
        stop=stops,
        logprobs=bool(chosen.get("logprobs", False)),
        response_format=response_format(prompt.result) if chosen.get("structured", False) else None,
    )


def _non_negative(chosen: Mapping[str, Any], name: str) -> float | None:
    value = chosen.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise EvaluationError(f"`{name}` must be a number of at least 0, not {value!r:.60}")
    return float(value)
