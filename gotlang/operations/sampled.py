"""The common part of Generate, Improve and Aggregate: k samples of a prompt, for each thought or for all
together."""

from __future__ import annotations

import math
from bisect import bisect, insort
from collections.abc import Callable, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, TypeVar, final

from msgspec import Struct
from msgspec.structs import replace

from gotlang.amounts import ONE, ZERO, Amount, Polynomial
from gotlang.errors import EvaluationError
from gotlang.flows import Flow, FlowScope, Guess, KeptScores, Result
from gotlang.operations.checks import claim
from gotlang.operations.record import MODEL_SETTINGS, UNTIL, K, SettingRule, StepLabel, is_one
from gotlang.operations.stages import (
    Building,
    Checking,
    Declared,
    Estimating,
    PromptCall,
    Remaining,
    Running,
    Sample,
    Speculation,
    Verifying,
)
from gotlang.operations.step import Arguments, Effect, Step
from gotlang.scope import Facts, PoolType, Scope, Variable
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Expression
from gotlang.syntax.format import format_expression
from gotlang.thought import Thought, Thoughts
from gotlang.types import BOOL, INT

SETTINGS: dict[str, SettingRule] = {"k": K, **MODEL_SETTINGS, "until": UNTIL}
TEXT = (
    "{prompt(arguments)} from {pool}, k {k}[, {settings:settings}]"
    "[, until {until}][, {batched:flag}][, {stop:stop}][, {line:line}]"
)
SAMPLES: frozenset[Effect] = frozenset({"samples"})


@final
class EarlyStop(Struct, frozen=True):
    """When sampling may end: as soon as `count` competing thoughts have the best possible value.

    `score` and `arguments` are those of the Score that follows; `it` in them is the current thought.
    """

    score: str
    arguments: Arguments
    count: Expression

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions in it."""
        return (*(value for _, value in self.arguments), self.count)

    def changed(self, change: Callable[[Expression], Expression]) -> EarlyStop:
        """The same with its expressions changed."""
        return EarlyStop(
            self.score, tuple((name, change(value)) for name, value in self.arguments), change(self.count)
        )


class SampledStep(Step, frozen=True):
    """`until` ends sampling at the first thought for which it is true. The early-stopping pass sets `stop`,
    the batching pass `batched` (all samples in one request if the endpoint supports `n`)."""

    prompt: str
    arguments: Arguments
    k: Expression
    settings: Arguments = ()
    until: Expression | None = None
    batched: bool = False
    stop: EarlyStop | None = None


SamplingT = TypeVar("SamplingT", bound=SampledStep)


def check_prompt(node: n.Step, c: Checking, scope: Scope, *, single: bool) -> PoolType:
    """Check the prompt and `until`; returns the type of the sampled thoughts."""
    result, many = c.prompt(node.operands[0], scope)
    facts = Facts(logprobs=c.gives_logprobs(node.operands[0]))
    if (until := c.setting("until")) is not None:
        c.expect(until, c.knowing(facts, result, scope, "`until`"), BOOL, "`until`")
    return PoolType(result, single and not many and is_one(c.setting("k")) and not c.repeated, facts)


def build(kind: type[SamplingT]) -> Callable[[n.Step, Building], SamplingT]:
    """The builder of one kind of step."""

    def make(node: n.Step, b: Building) -> SamplingT:
        prompt, arguments = b.called(node.operands[0])
        settings, until = b.model_settings(), b.setting("until")
        return kind(*b.base, prompt, arguments, b.count("k"), settings, until, span=node.span)

    return make


def verify_request(step: SampledStep, v: Verifying, scope: Scope) -> PoolType:
    """Verify the request; `single` tells whether one response yields one thought."""
    result, many = v.prompt(step.prompt, step.arguments, scope)
    v.settings(step.settings, scope)
    v.expect(step.k, v.whole, INT)
    sampled = v.each.inside(Variable("it", result, "thought"))
    if step.until is not None:
        v.expect(step.until, sampled, BOOL)
    if step.stop is not None:
        v.score(step.stop.score, step.stop.arguments, sampled, ends_sampling=True)
        v.expect(step.stop.count, v.each, INT)
    return PoolType(result, not many and is_one(step.k))


def samples(step: Step, declared: Declared) -> frozenset[Effect]:
    """The effects of a step that calls a model."""
    return SAMPLES


def estimate_samples(
    step: SampledStep, scope: FlowScope, e: Estimating, *, together: bool = False, started: bool = False
) -> Result:
    """Samples for each thought, or for all `together`. `started`: sampling may be over before it begins,
    because of a thought that is in the pool already."""
    pool = scope.flow(step.pool)
    whole = scope.whole(pool)
    request = e.request(step.prompt, step.arguments, step.settings, whole if together else scope.each(pool))
    k, places = e.amount(step.k, whole), pool.count.at_most(ONE) if together else pool.count
    calls, requests = places * k, e.requests(places, k, step.batched)
    low, high = calls.bounds
    rounds = request.rounds(k) if high > 0 else ZERO
    rounds = rounds if low > 0 else Amount(ZERO.low, rounds.high)
    made = calls * request.values
    over = started and step.until is None
    if e.ahead and (step.until is not None or step.stop is not None):
        apart = e.apart(step.prompt, step.settings, step.batched)
        least = Polynomial.of(0 if over else min(1, low))
        if over or apart:
            calls, requests, rounds = (Amount(least, each.high) for each in (calls, requests, rounds))
        if apart or step.until is not None:
            made = Amount(least, made.high)
    elif step.until is None and e.early and step.stop is not None and e.at_once:
        if started:
            calls, requests, rounds = (Amount(ZERO.low, each.high) for each in (calls, requests, rounds))
    elif step.until is not None or (e.early and step.stop is not None):
        further = calls * request.retries
        calls, requests, rounds = _stopped(step, e, calls, k, places, started)
        rounds = Amount(rounds.low, (rounds + further).high)
        # Samples after the thought that ends the sampling are dropped.
        fewest = Polynomial.of(min(1, calls.low.low)) if step.until is not None else calls.low
        made = Amount(fewest, made.high)
    hops = scope.hops(e.needs(step), pool.hops) + rounds
    volume = e.made_from(pool, step.arguments, scope, together)
    one = Guess(tokens=(0, request.shown))
    return Flow(ONE if step.single else made, one, hops, volume, step.single), request.bill(calls, requests)


def _stopped(
    step: SampledStep, e: Estimating, calls: Amount, k: Amount, places: Amount, started: bool
) -> tuple[Amount, Amount, Amount]:
    """The calls, requests and rounds of a sampling step that may end after any round."""
    low, high = calls.bounds
    first = e.first_batch(k.bounds[0])
    least = 0 if started and step.until is None else min(first, low)
    rounds: float = math.inf if high == math.inf else math.ceil(math.log2(high / first + 1))
    sent = min(high, rounds * places.bounds[1]) if step.batched else high
    some = float(least > 0)
    return (
        Amount(Polynomial.of(least), calls.high),
        Amount.between(some if step.batched else least, sent),
        Amount.between(some, rounds),
    )


# ---------------------------------------------------------------- run


async def sample(
    step: SampledStep,
    thoughts: Thoughts,
    running: Running,
    *,
    together: bool = False,
    beside: Sequence[Thought] = (),
) -> Thoughts:
    """k samples for each thought, or for all `together`; thoughts that stay `beside` them are before them."""
    k = running.count(step.k, thoughts, "k", 0 if beside else 1)
    if (most := k * (1 if together else len(thoughts))) > 1:
        running.check_samples(most)

    def make(of: Thought | Thoughts) -> PromptCall:
        return running.call(step.prompt, step.arguments, step.settings, of)

    if together and thoughts:
        calls = [make(thoughts)]
    elif len(thoughts) == 1:
        calls = [make(thoughts[0])]
    else:
        calls = [call for _, call in running.try_each(thoughts, make)]
    if k == 1 and len(calls) == 1 and not (calls[0].retries or beside or step.stop or step.until):
        return await _only(thoughts, calls[0], running)  # as in most steps
    kept = _SampledThoughts(running, step, list(beside))
    responses = Responses(running, calls, k, step.batched)
    stops, until, prefer = step.stop is not None, step.until is not None, running.prefer
    if (stops or until) and prefer == "latency" and responses.apart:
        async with running.speculation() as ahead:
            while not (responses.over or kept.over or kept.settled()):
                (at, _), sampled, values = await responses.next(ahead)
                kept.add(calls[at], sampled, values)
        return Thoughts(running.some(thoughts, kept.thoughts) if k else kept.thoughts)
    # In rounds of doubling size, if sampling may end early and that is worth the time. Otherwise all at once,
    # but nothing if it is over before it began.
    in_waves = (stops and prefer == "cost") or (until and prefer != "latency")
    size = max(1, running.wave or math.ceil(k / 3)) if in_waves else None
    while not (responses.over or kept.over or kept.settled()):
        for (at, _), sampled, values in await responses.ask(size):
            kept.add(calls[at], sampled, values)
        size = size * 2 if size is not None else None
    return Thoughts(running.some(thoughts, kept.thoughts) if k else kept.thoughts)


async def _only(thoughts: Thoughts, call: PromptCall, running: Running) -> Thoughts:
    """The only sample of a step's only call."""
    sampled = await call.one()
    values = call.values(0, sampled) or ()
    return Thoughts(running.some(thoughts, [call.thought(v, at, sampled) for at, v in enumerate(values)]))


Response = tuple[tuple[int, int], Sample, list[Any]]
"""The position of a call and the number of a sample, the sample and its values."""
_slot = _call = itemgetter(0)


@final
class Responses:
    """The first k readable responses of each of several calls, of at most k * (1 + retries) samples of each,
    in the order of the calls and of the sample numbers. `unasked` are the calls whose samples were not all
    requested, because of the budget or an interruption."""

    def __init__(self, running: Running, calls: Sequence[PromptCall], k: int, batched: bool = False) -> None:
        self.running = running
        self.calls = calls
        self.batched = batched
        self.unasked: set[int] = set()
        self._wanted = [(at, number) for at in range(len(calls)) for number in range(k)]
        self._early: list[Response] = []
        """Samples that come after one that is requested again."""
        self._next = [k] * len(calls)
        self._most = [k * (1 + call.retries) for call in calls]
        self._cached: int | None = None
        """The number of samples in the cache that come before the first request of `next`."""
        self._turns: dict[tuple[int, int], int] = {}

    @property
    def over(self) -> bool:
        """Whether nothing is left to request."""
        return not self._wanted

    @property
    def apart(self) -> bool:
        """Whether each sample has a request of its own."""
        return not self.batched or all(call.batch == 1 for call in self.calls)

    async def next(self, ahead: Speculation) -> Response:
        """The next sample. It and all others are requested now, unless it is cached: it may be enough."""
        if self._cached is None:
            self._cached = await self._leading()
        if self._cached == 0:
            for at, number in self._wanted:
                ahead.ask(self.calls[at], number)
        self._cached -= 1
        at, number = slot = self._wanted.pop(0)
        turn, following = self._turns.get(slot, 0), self._next[at]
        sample = await ahead.take(self.calls[at], number, turn)
        values = self._values(at, number, sample)
        if self._next[at] > following:  # it is requested again
            self._turns[at, following] = turn + 1
            if self._cached < 0:
                ahead.ask(self.calls[at], following)
        return slot, sample, values

    async def _leading(self) -> int:
        """How many of the next samples, up to the first missing one, are cached."""
        found = 0
        for at, slots in groupby(self._wanted, key=_call):
            numbers = [number for _, number in slots]
            there = await self.calls[at].cached(numbers)
            found += there
            if there < len(numbers):
                break
        return found

    async def ask(self, size: int | None = None) -> list[Response]:
        """Request the next samples, each with its call and values."""
        slots, self._wanted = self._wanted[:size], self._wanted[size or len(self._wanted) :]
        asked: list[tuple[PromptCall, list[int]]] = [(call, []) for call in self.calls]
        for at, number in slots:
            asked[at][1].append(number)
        samples = chain.from_iterable(await self.running.sample(asked, batched=self.batched))
        each = zip(slots, samples, strict=True)
        read = [(slot, sample, self._values(*slot, sample)) for slot, sample in each]
        if self._early:
            read = sorted(self._early + read, key=_slot)
        given = bisect(read, self._wanted[0], key=_slot) if self._wanted else len(read)
        self._early = read[given:]
        return read[:given]

    def _values(self, at: int, number: int, sample: Sample) -> list[Any]:
        """The values of a sample; if it has none and another sample may replace it, that is requested."""
        call = self.calls[at]
        unasked = call.skipped(sample)
        again = not unasked and self._next[at] < self._most[at]
        values = call.values(number, sample, again)
        if unasked:
            self.unasked.add(at)
        elif values is None and again:
            insort(self._wanted, (at, self._next[at]))
            self._next[at] += 1
        return values or []

    async def all(self) -> list[list[tuple[Sample, list[Any]]]]:
        """All of them, by call."""
        found: list[list[tuple[Sample, list[Any]]]] = [[] for _ in self.calls]
        while not self.over:
            for (at, _), sample, values in await self.ask():
                found[at].append((sample, values))
        return found


@final
class _SampledThoughts:
    """The thoughts that one operation has sampled so far, and whether they are enough."""

    __slots__ = ("_looked_at", "_perfect", "over", "running", "step", "thoughts")

    def __init__(self, running: Running, step: SampledStep, thoughts: list[Thought]) -> None:
        self.running = running
        self.step = step
        self.thoughts = thoughts
        self.over = False
        """Whether `until` is true for a thought."""
        self._looked_at = 0
        self._perfect = 0

    def add(self, call: PromptCall, sample: Sample, values: list[Any]) -> None:
        """Add the thoughts of a sample, unless `until` was true for one before."""
        for value in values:
            if self.over:
                return
            thought = call.thought(value, len(self.thoughts), sample)
            self.thoughts.append(thought)
            if self.step.until is not None:
                self.over = self._meets(self.step.until, call, thought)

    def _meets(self, until: Expression, call: PromptCall, thought: Thought) -> bool:
        try:
            return bool(self.running.evaluate(until, self.running.each(thought, call.names)))
        except EvaluationError as error:
            self.running.failed(f"`until`: {error.message}", thought.index)
            return False

    def settled(self) -> bool:
        """Whether enough thoughts have the best possible score."""
        stop, running = self.step.stop, self.running
        if stop is None:
            return False
        score, enough = running.score(stop.score), running.count(stop.count, (), "n")
        for thought in self.thoughts[self._looked_at :]:
            try:
                found = running.local_score(stop.score, stop.arguments, running.each(thought))
            except EvaluationError:
                continue  # the Score that follows leaves it out, and reports that
            self._perfect += bool(claim(score, found))
        self._looked_at = len(self.thoughts)
        return self._perfect >= max(1, enough)


def one_call(step: Step, remaining: Remaining) -> int:
    """The sequential model calls of an operation that makes one for each thought, concurrently."""
    return 1


def label(step: SampledStep) -> StepLabel:
    """The prompt, and the settings of the step."""
    settings: list[tuple[str, Any]] = [("k", step.k), *step.settings]
    return StepLabel(
        step.prompt, ", ".join(f"{name} = {format_expression(value)}" for name, value in settings)
    )


def with_pool(result: Result, pool: Flow) -> Result:
    """The same, with the thoughts it started from beside the new ones."""
    found, bill = result
    each, volume, count = pool.each.or_(found.each), pool.volume.or_(found.volume), pool.count + found.count
    kept = KeptScores(count, found.count, pool.scorer)
    return replace(found, count=count, each=each, volume=volume, single=False, kept=kept, scorer=None), bill
