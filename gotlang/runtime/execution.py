"""One execution of an operation: the names its expressions see, its samples, and the thoughts it makes.

The function that runs an operation is called as `run(step, thoughts, running)`, where `running` is an
`Execution`. It returns the operation's thoughts, or raises OperationFailed.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar, final

from msgspec import Struct, structs

from gotlang.answers.forms import response_format
from gotlang.answers.reader import certain, read
from gotlang.errors import (
    BeyondBest,
    EvaluationError,
    GotError,
    LimitExceeded,
    OperationFailed,
    ReadError,
)
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Layer
from gotlang.ir.foreign import call_python
from gotlang.models.base import Completion, DecodingSettings, Message, Model, Request, ToolSpec, Usage
from gotlang.operations.checks import count, number, position
from gotlang.operations.names import free_names, looks_at_pool
from gotlang.operations.record import PROMPT_SETTINGS, TOOL_SETTINGS
from gotlang.operations.step import GIVEN, PythonArguments
from gotlang.runtime.context import Context, cut_off
from gotlang.runtime.graph import SKIPPED, Frame, Operation, critical_path, path_key, path_text
from gotlang.runtime.python import call_function
from gotlang.runtime.render import examples, render
from gotlang.runtime.sampler.events import MissingSample, Sample
from gotlang.runtime.spaces import Space, at_line, first_number, inside
from gotlang.runtime.speculation import Round, SpeculativeSamples
from gotlang.runtime.stop_when import Enough, response_of
from gotlang.syntax import expressions as e
from gotlang.thought import Thought, Thoughts, packed
from gotlang.types import DYNAMIC, FLOAT, fits

T = TypeVar("T")


# -------------------------------------------------------------------- names and thoughts


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
    if len(thoughts) == 1:  # as in most cases
        return tuple(thoughts) if not thoughts[0].empty else ()
    return tuple([t for t in thoughts if not t.empty])


def derived(operation: Operation, value: Any, index: int, parents: Sequence[Thought]) -> Thought:
    """A computed thought, as opposed to a sampled one; the empty thought is never a parent."""
    return Thought(value, operation, index, packed(real(parents)))


def bound_thoughts(
    context: Context, value: e.Expression, names: Mapping[str, Any]
) -> tuple[Thought, ...] | None:
    """The thoughts that a name, or an index into named thoughts, refers to (`Thoughts` for a name of any
    number of them); None for any other expression."""
    name = value.value if isinstance(value, e.Index) else value
    if not isinstance(name, e.Reference):
        return None
    try:
        bound = names[name.name]
    except KeyError:
        return None  # `pi`, or `score` as short for `score(it)`
    if isinstance(value, e.Index):
        if not isinstance(bound, Thoughts):
            return None
        return (bound[position(context.evaluate(value.index, names), bound)],)
    if isinstance(bound, Thought):
        return (bound,)
    return bound if isinstance(bound, Thoughts) else None


# -------------------------------------------------------------------- one execution


@final
class _PromptUse(Struct, frozen=True):
    """The common data of all calls of a prompt by a step: the settings of both, the examples as they are
    `shown`, the names that its arguments have `used`, and whether these or the settings depend on thoughts.
    `given` are the step's own arguments and settings, referenced so that their ids stay unique."""

    prompt: ir.Prompt
    given: tuple[ir.Arguments, ir.Arguments]
    settings: ir.Arguments
    shown: list[str | Message]
    used: tuple[str, ...]
    on_pool: bool

    @classmethod
    def of(cls, prompt: ir.Prompt, arguments: ir.Arguments, settings: ir.Arguments) -> _PromptUse:
        both = (*prompt.settings, *settings)
        used = dict.fromkeys(name for _, value in arguments for name in free_names(value))
        on_pool = any(looks_at_pool(value) for _, value in (*arguments, *both))
        names = tuple(name for name in used if name not in GIVEN)
        return cls(prompt, (arguments, settings), both, examples(prompt), names, on_pool)


@final
class Execution:
    """Implements `gotlang.operations.stages.Running`, where its methods are documented.

    `hops` and `seconds` are its contribution to the critical path so far: sequential model calls, and their
    latency in seconds.
    """

    __slots__ = ("_asked", "_noted", "_space", "context", "frame", "hops", "operation", "seconds")

    def __init__(self, context: Context, operation: Operation) -> None:
        self.context = context
        self.operation = operation
        self.frame = operation.frame
        self.hops = 0
        self.seconds = 0.0
        self._noted = len(context.failures)
        self._space: Space | None = None
        self._asked: dict[tuple[str, int], int] = {}

    # ---------------------------------------------------------------- names and values

    def each(self, thought: Thought, around: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        around = self.frame if around is None else around
        return around if thought.empty else Layer({"it": thought}, around)

    def whole(self, thoughts: Sequence[Thought]) -> Mapping[str, Any]:
        return whole(self.frame, thoughts)

    def names(self, thoughts: Thought | Sequence[Thought]) -> Mapping[str, Any]:
        """The names for a call for one thought, or for several together."""
        return self.each(thoughts) if isinstance(thoughts, Thought) else whole(self.frame, thoughts)

    def evaluate(self, expression: e.Expression, names: Mapping[str, Any] | None = None) -> Any:
        return self.context.evaluate(expression, self.frame if names is None else names)

    def count(
        self, expression: e.Expression, thoughts: Sequence[Thought], setting: str, least: int = 0
    ) -> int:
        if isinstance(expression, e.Constant):
            return count(expression.value, setting, least)
        return count(self.context.evaluate(expression, whole(self.frame, thoughts)), setting, least)

    def local_score(self, name: str, arguments: ir.Arguments, names: Mapping[str, Any]) -> float:
        evaluate = self.context.evaluate
        values = {parameter: evaluate(value, names) for parameter, value in arguments}
        found = evaluate(self.score(name).value, Layer(values, self.context.params))
        return number(found, f"score `{name}`")

    def bound(self, value: e.Expression, names: Mapping[str, Any]) -> tuple[Thought, ...] | None:
        return bound_thoughts(self.context, value, names)

    def used_names(self, value: e.Expression) -> tuple[str, ...]:
        return self.context.tables.names.of(value, lambda value: tuple(free_names(value)))

    def score(self, name: str) -> ir.ScoreFunction:
        return self.context.declared.scores[name]

    # ---------------------------------------------------------------- the run

    @property
    def wave(self) -> int | None:
        return self.context.settings.wave

    @property
    def prefer(self) -> str | None:
        return self.context.settings.prefer

    @property
    def has_truth(self) -> bool:
        return self.context.has_truth

    def with_truth(self, thought: Thought) -> Mapping[str, Any]:
        names: dict[str, Any] = {"it": thought}
        if self.context.has_truth:
            names["truth"] = self.context.truth
        return Layer(names, self.frame)

    def note_truth(self, correct: bool | None) -> None:
        self.context.measured[self.operation] = correct

    # ---------------------------------------------------------------- thoughts and failures

    def derived(self, value: Any, index: int, parents: Sequence[Thought]) -> Thought:
        return Thought(value, self.operation, index, packed(real(parents)))

    def failed(self, reason: str, number: int | None = None) -> None:
        self.context.failed(self.operation, reason, number)

    @property
    def skipped(self) -> bool:
        return self.context.skipped > 0

    def was_skipped(self, value: e.Expression) -> bool:
        inputs = self.operation.inputs
        skipped = [source for source in inputs if source.output is SKIPPED]
        if not skipped:
            return False
        handles = map(self.frame.handle, free_names(value))
        used = [handle.operation for handle in handles if handle is not None]
        return not set(skipped).isdisjoint([*used, *inputs[:1]] if looks_at_pool(value) else used)

    def try_each(self, thoughts: Sequence[Thought], make: Callable[[Thought], T]) -> list[tuple[int, T]]:
        found = []
        for index, thought in enumerate(thoughts):
            try:
                found.append((index, make(thought)))
            except GotError as error:
                if isinstance(error, LimitExceeded | BeyondBest) or cut_off(error):
                    raise
                self.context.failed(self.operation, error.message, thought.index)
        return found

    def for_each(self, thoughts: Sequence[Thought], make: Callable[[Thought], T]) -> list[tuple[int, T]]:
        return self.some(thoughts, self.try_each(thoughts, make))

    async def for_each_call(
        self, thoughts: Sequence[Thought], make: Callable[[Thought], Awaitable[T]]
    ) -> list[tuple[int, T]]:
        async def one(thought: Thought) -> T | GotError:
            async with self.context.calls:
                try:
                    return await make(thought)
                except GotError as error:
                    return error

        results = await in_parallel([one(thought) for thought in thoughts])
        found: list[tuple[int, T]] = []
        for at, result in enumerate(results):
            if isinstance(result, LimitExceeded | BeyondBest):
                raise result
            if isinstance(result, GotError):
                self.context.failed(self.operation, result.message, thoughts[at].index)
            else:
                found.append((at, result))
        return self.some(thoughts, found)

    def some(self, thoughts: Sequence[Thought], found: list[T]) -> list[T]:
        if thoughts and not found:
            raise self.nothing_left()
        return found

    def nothing_left(self) -> OperationFailed:
        """The error of an operation without thoughts, with its recorded failures."""
        context, operation = self.context, self.operation
        if operation in context.cut_off:
            return OperationFailed("not every model call was made", cut_off=True)
        where = path_key(operation)
        noted = context.failures[self._noted :]
        reasons = list(dict.fromkeys(failure.reason for failure in noted if failure.key == where))
        if not reasons:
            return OperationFailed("no response has a value")
        more = f"; and {len(reasons) - 3} more" if len(reasons) > 3 else ""
        return OperationFailed(f"every thought failed: {'; '.join(reasons[:3])}{more}")

    # ---------------------------------------------------------------- Python functions

    async def call_python(
        self, name: str, arguments: PythonArguments, names: Mapping[str, Any], view: Any = None
    ) -> Any:
        """With a `view`, the function gets it as its first argument, and may return what is not a value of
        the language."""
        context = self.context
        values = [(key, context.evaluate(value, names)) for key, value in arguments]
        positional = [value for key, value in values if key is None]
        named = {key: value for key, value in values if key is not None}
        function, timeout_s, raw = context.functions[name], context.settings.timeout_s, view is not None
        if raw:
            positional.insert(0, view)
        result = context.program.results.get(name, DYNAMIC)
        return await call_function(function, name, positional, named, timeout_s, result, raw=raw)

    async def search(self, corpus: str, query: Any, k: int) -> Any:
        # A Python function may stand for a corpus.
        searched = self.context.corpora.get(corpus) or self.context.functions[corpus]
        return await call_function(searched, corpus, [query], {"k": k})

    # ---------------------------------------------------------------- prompts

    def call(
        self,
        prompt: str,
        arguments: ir.Arguments,
        settings: ir.Arguments,
        thoughts: Thought | Sequence[Thought],
        turn: int = 0,
        talk: Conversation | None = None,
    ) -> ModelPromptCall:
        """`talk` is the conversation since the prompt."""
        context, frame = self.context, self.frame
        calls = context.tables.calls
        known = calls.get((prompt, id(arguments), id(settings)))
        if known is None:
            known = _PromptUse.of(context.declared.prompts[prompt], arguments, settings)
            calls[prompt, id(arguments), id(settings)] = known
        evaluate, declared = context.evaluate, known.prompt
        pool = real((thoughts,) if isinstance(thoughts, Thought) else thoughts)
        names = self.names(thoughts) if known.on_pool else frame
        values = {name: evaluate(value, names) for name, value in arguments}
        chosen: dict[str, Any] = {}
        model_name, shared, timeout, retries, hedge = None, False, None, None, None
        bounds: dict[str, Any] = {}
        tools: tuple[ToolSpec, ...] = ()
        if known.settings or frame.again:
            chosen = {name: evaluate(value, names) for name, value in known.settings}
            chosen.update(frame.again)
            model_name, shared = chosen.pop("model", None), chosen.pop("share", False)
            timeout, retries = chosen.pop("timeout", None), chosen.pop("retries", None)
            hedge = chosen.pop("hedge", None)
            bounds = {name: chosen.pop(name) for name in TOOL_SETTINGS if name in chosen}
        model = context.models(model_name)
        expected = None
        if declared.count is not None:
            expected = count(evaluate(declared.count, Layer(values, context.params)), "count")
        messages = render(declared, values, known.shown, context.media)
        if talk is not None:
            messages, tools = talk.goes_on(messages, model, **bounds)
        request = Request(
            model.name,
            messages,
            _decoding_settings(chosen, declared, expected),
            context.settings.seed,
            prompt,
            values,
            model.endpoint,
            tools,
        )
        enough = None
        if declared.stop_when is not None:
            enough = Enough(declared.stop_when, Layer(values, context.params), evaluate)
            ends = structs.replace(request.settings, stop_when=enough.text)
            request = structs.replace(request, settings=ends)
        key = request.key()
        if context.settings.edits:
            edits = dict(context.settings.edits)
            while (texts := edits.pop((path_text(self.operation), key), None)) is not None:
                request = structs.replace(request, messages=_edited(request.messages, texts))
                key = request.key()
        first = 0 if request.settings.temperature == 0 else self._first(key, turn, shared)
        parents = self._parents(known.used, pool) if known.used else pool
        called = ModelPromptCall(self, declared, model, request, key, first, parents, thoughts, expected)
        called.talk, called.enough = talk, enough
        called.own = request.settings.temperature != 0 and not (shared or frame.common)
        if timeout is not None:
            called.timeout_s = _setting("timeout", timeout)
        if hedge is not None:
            called.hedge = _setting("hedge", hedge)
        if retries is not None:
            more = count(_setting("retries", retries), "retries")
            # At temperature 0 every sample is the same response.
            called.retries = more if request.settings.temperature != 0 else 0
        return called

    def _first(self, key: str, turn: int, shared: bool) -> int:
        """The number of a request's first sample; equal requests of one turn are distinguished by their
        rank."""
        if shared:
            return first_number(self.frame.shared) + turn
        space = self._space
        if space is None:
            step = self.operation.step
            space = self._space = at_line(self.frame.space, step.line if step is not None else None)
        rank = self._asked.get((key, turn), 0)
        self._asked[key, turn] = rank + 1
        return first_number(inside(space, turn, rank) if turn or rank else space)

    def check_samples(self, samples: int) -> None:
        self.context.sampler.check(samples)

    async def sample(
        self, wanted: Sequence[tuple[ModelPromptCall, Sequence[int]]], *, batched: bool = False
    ) -> list[list[Sample]]:
        sampler = self.context.sampler
        sampler.ask(sum([len(numbers) for _, numbers in wanted]))
        work = [call.sample(numbers, batched) for call, numbers in wanted if numbers]
        results = await in_parallel(work)
        self.hops += 1
        self.seconds += max([seconds for _, seconds in results], default=0.0)
        if len(results) == len(wanted):
            return [samples for samples, _ in results]
        each = iter(results)
        return [next(each)[0] if numbers else [] for _, numbers in wanted]

    def speculation(self) -> SpeculativeSamples:
        return SpeculativeSamples(self._count)

    def _count(self, taken: Round) -> None:
        """Record the samples of a round."""
        self.seconds += max([call.count(samples) for call, samples in taken.items()])
        self.hops += 1

    def _parents(self, used: Sequence[str], pool: tuple[Thought, ...]) -> tuple[Thought, ...]:
        """The parents of sampled thoughts: the current thoughts, and those the prompt uses by name."""
        given = list(pool)
        for name in used:
            try:
                bound = self.frame[name]
            except KeyError:
                continue
            if isinstance(bound, Thought):
                if not bound.empty and not (given and bound is given[0]):
                    given.append(bound)
            elif isinstance(bound, Thoughts):
                given += real(bound)
        if len(given) < 2:
            return tuple(given)
        parents: dict[tuple[int, int], Thought] = {}
        for thought in given:
            parents.setdefault(thought.identity, thought)
        return tuple(parents.values())


def _edited(messages: tuple[Message, ...], texts: Sequence[str]) -> tuple[Message, ...]:
    """Messages with other texts. Raises OperationFailed unless there is one for each."""
    if len(messages) != len(texts):
        raise OperationFailed(f"the edited prompt has {len(texts)} messages instead of {len(messages)}")
    return tuple(structs.replace(m, content=text) for m, text in zip(messages, texts, strict=True))


async def in_parallel(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of coroutines that run at the same time, in their order."""
    if len(work) == 1:
        return [await work[0]]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in work]
    return [task.result() for task in tasks]


class Conversation(Protocol):
    """The conversation after a prompt, to which a request adds."""

    def goes_on(
        self, messages: tuple[Message, ...], model: Model, turns: Any = ..., protocol: Any = ...
    ) -> tuple[tuple[Message, ...], tuple[ToolSpec, ...]]:
        """The messages of the next request, after those of the prompt, and its tools."""

    def called(self, completion: Completion) -> Any:
        """The tool calls in a completion; None if it is an answer. Raises ReadError."""


@final
class ModelPromptCall(Struct, eq=False):
    """Implements `gotlang.operations.stages.PromptCall`, where its methods are documented.

    It is for `thoughts`. `parents` are the thoughts in the prompt, `expected` is the number of values that
    each response must contain (None: any number), `timeout_s` its timeout in seconds (None: no limit),
    `batched` the number of samples in one request.
    """

    running: Execution
    prompt: ir.Prompt
    model: Model
    request: Request
    key: str
    first: int
    parents: tuple[Thought, ...]
    thoughts: Thought | Sequence[Thought]
    expected: int | None = None
    timeout_s: float | None = None
    hedge: float | None = None
    retries: int = 0
    batched: int = 1
    talk: Conversation | None = None
    enough: Enough | None = None
    own: bool = False

    @property
    def names(self) -> Mapping[str, Any]:
        return self.running.names(self.thoughts)

    @property
    def batch(self) -> int:
        return self.model.batch

    async def one(self) -> Sample:
        running, numbers = self.running, (self.first,)
        running.context.sampler.ask(1)
        samples = await self._asked(numbers, False)
        running.seconds += self._noted(numbers, samples, 1)
        running.hops += 1
        return samples[0]

    async def sample(self, numbers: Sequence[int], batched: bool) -> tuple[list[Sample], float]:
        """Samples with these numbers, counted from 0, and the seconds that they took."""
        absolute = [self.first + number for number in numbers]
        samples = await self._asked(absolute, batched)
        return samples, self._noted(absolute, samples, max(1, self.model.batch) if batched else 1)

    def ask(self, number: int) -> Coroutine[Any, Any, list[Sample]]:
        """One sample, which is not recorded before `count`."""
        self.running.context.sampler.ask(1)
        return self._asked((self.first + number,), False, ahead=number)

    def count(self, samples: Mapping[int, Sample]) -> float:
        """Record samples by number, each of a request of its own; returns the seconds that they took."""
        return self._noted([self.first + number for number in samples], list(samples.values()), 1)

    async def cached(self, numbers: Sequence[int]) -> int:
        if self.request.settings.temperature == 0:
            numbers = [0] * len(numbers)
        return await self.running.context.sampler.cached(self.key, [self.first + n for n in numbers])

    def _asked(
        self, numbers: Sequence[int], batched: bool, ahead: int = 0
    ) -> Coroutine[Any, Any, list[Sample]]:
        running = self.running
        return running.context.sampler.sample(
            self.model,
            self.request,
            self.key,
            numbers,
            running.operation,
            batched=batched,
            timeout_s=self.timeout_s,
            hedge=self.hedge,
            ahead=ahead,
            enough=self.enough,
            own=self.own,
        )

    def _noted(self, numbers: Sequence[int], samples: Sequence[Sample], batch: int) -> float:
        """Record the samples in the ledger; returns the seconds that they took."""
        running, operation = self.running, self.running.operation
        if self.request.settings.temperature == 0:
            numbers = [0] * len(numbers)
        found, waited = [sample for sample in samples if isinstance(sample, tuple)], 0.0
        if len(found) < len(samples):
            waited = max([sample.seconds for sample in samples if isinstance(sample, MissingSample)])
            if not found:
                return waited
            pairs = zip(numbers, samples, strict=True)
            numbers = [n for n, sample in pairs if isinstance(sample, tuple)]
        hops, start = critical_path(operation)
        if running.seconds:
            start += running.seconds
        self.batched = min(batch, len(samples))
        asked = operation.sequence, running.hops, start, hops, self.key
        running.context.sampler.ledger.note(asked, batch, self.model.price, numbers, found)
        for one, _ in found:
            if one.latency_s > waited:
                waited = one.latency_s
        return waited

    def values(self, number: int, sample: Sample, again: bool = False) -> list[Any] | None:
        context, operation = self.running.context, self.running.operation
        if isinstance(sample, MissingSample):
            if sample.cut_off:
                context.skipped += 1
                context.cut_off.add(operation)
            else:
                context.failed(operation, sample.reason, number, handled=again)
            return None
        completion, last = sample[0].completion, self.request.messages[-1]
        # The prefill of the assistant's turn is part of the response.
        text = last.content + completion.text if last.role == "assistant" else completion.text
        try:
            if self.talk is not None and (called := self.talk.called(completion)) is not None:
                return [called]
            if self.request.settings.regex is not None:
                self._check_form(completion.text)
            values = self._read(text)
            if completion.finish_reason == "length" and not self._certain(text):
                raise ReadError("its end is unknown")
            if self.expected is not None and len(values) != self.expected:
                raise ReadError(f"expected {self.expected} values, and the response has {len(values)}")
            return values
        except (ReadError, EvaluationError) as error:
            reason = error.message
            if completion.finish_reason == "length":
                reason += " (the response was cut off at max_tokens)"
            context.failed(operation, f"{reason}: {_excerpt(text)}", number, handled=again)
            return None

    def skipped(self, sample: Sample) -> bool:
        return isinstance(sample, MissingSample) and sample.cut_off

    def thought(self, value: Any, index: int, sample: Sample) -> Thought:
        assert not isinstance(sample, MissingSample)
        stored = sample[0]
        completion = stored.completion
        price, usd = self.model.price, None
        if price is not None:
            # Its share of the prompt, and its own tokens: independent of which operation requested it first.
            read = stored.usage.part(0)
            usd = price.usd(read) / self.batched + price.usd(Usage(0, completion.output_tokens))
        return Thought(
            value,
            self.running.operation,
            index,
            packed(self.parents),
            usd,
            self.key,
            response_of(completion),
        )

    def _certain(self, text: str) -> bool:
        """Whether a response that was cut off contains the complete value."""
        prompt, held = self.prompt, self.request.settings.response_format is not None
        return prompt.reader is None and certain(text, prompt.result, prompt.form, prompt.many, held)

    def _check_form(self, text: str) -> None:
        """Raise ReadError for a response that does not match the regular expression: not all endpoints
        enforce it."""
        if (regex := self.request.settings.regex) is not None:
            from gotlang.answers.regex import Regex

            matches = Regex.parse(regex).matches
            if not matches(text) and not matches(text.strip()):
                raise ReadError(f"it does not match `{regex}`")

    def _read(self, text: str) -> list[Any]:
        """A response as values of the prompt's type: one, or several for `many`."""
        prompt, held = self.prompt, self.request.settings.response_format is not None
        if prompt.reader is None:
            return read(text, prompt.result, prompt.form, prompt.many, held)
        value = call_python(self.running.context.tables.limited[prompt.reader], prompt.reader, [text], {})
        values = list(value) if prompt.many and isinstance(value, list | tuple) else [value]
        for one in values:
            if why := fits(prompt.result, one):
                raise ReadError(f"`{prompt.reader}` did not return {prompt.result}: {why}")
        return values


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 80 else line[:77] + "...")


_DEFAULT_SETTINGS = DecodingSettings()


def _decoding_settings(
    chosen: Mapping[str, Any], prompt: ir.Prompt, expected: int | None
) -> DecodingSettings:
    """Raises EvaluationError for a setting of the wrong type."""
    if not chosen:
        return _DEFAULT_SETTINGS
    found = {name: _setting(name, value) for name, value in chosen.items() if value is not None}
    if "stop" in found:
        found["stop"] = (found["stop"],) if isinstance(found["stop"], str) else tuple(found["stop"])
    if sum(name in found for name in ("regex", "grammar")) + (found.get("structured") is True) > 1:
        raise EvaluationError("a response has one form: one of `structured`, `regex` and `grammar`")
    if "top_logprobs" in found:
        found["logprobs"] = True
    if found.pop("structured", False):
        found["response_format"] = response_format(prompt.result, prompt.many, expected)
    return DecodingSettings(**found)


def _setting(name: str, value: Any) -> Any:
    """The value of a setting, None if it is omitted. Raises EvaluationError for one of the wrong type."""
    if value is None:
        return None
    rule = PROMPT_SETTINGS[name]
    if all(fits(type_, value) for type_ in rule.types) or (isinstance(value, float) and math.isinf(value)):
        raise EvaluationError(f"`{name}` must be {' or '.join(map(str, rule.types))}, not {value!r:.60}")
    if (why := rule.refused(name, value)) is not None:
        raise EvaluationError(f"{why}, not {value!r:.60}")
    return float(value) if rule.types == (FLOAT,) else value
