"""What Generate, Improve and Aggregate share: k samples of a prompt, for each thought or for all together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, final

from gotlang.amounts import ONE, Amount, Polynomial
from gotlang.errors import EvaluationError
from gotlang.flows import Flow, FlowScope, Guess, Result
from gotlang.operations.names import needed_names
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
    Verifying,
)
from gotlang.operations.step import Arguments, Effect, Step
from gotlang.scope import PoolType, Scope, Variable
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Expression
from gotlang.syntax.format import format_expression
from gotlang.thought import Thought, Thoughts
from gotlang.types import BOOL, INT

SETTINGS: dict[str, SettingRule] = {"k": K, **MODEL_SETTINGS, "until": UNTIL}
TEXT = (
    "{prompt(arguments)} from {pool}, k {k}[, {settings:settings}]"
    "[, until {until}][, {batched:flag}][, {stop:stop}]"
)
SAMPLES: frozenset[Effect] = frozenset({"samples"})


@final
@dataclass(frozen=True, slots=True)
class Stop:
    """When sampling may end: as soon as `count` thoughts that compete have the value that cannot be beaten.

    `score` and `arguments` are those of the Score that follows; `it` in them is the thought at hand.
    """

    score: str
    arguments: Arguments
    count: Expression

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions in it."""
        return (*(value for _, value in self.arguments), self.count)

    def changed(self, change: Callable[[Expression], Expression]) -> Stop:
        """The same with its expressions changed."""
        return Stop(
            self.score, tuple((name, change(value)) for name, value in self.arguments), change(self.count)
        )


@dataclass(frozen=True, slots=True)
class Sampling(Step):
    """`until` ends sampling at the first thought it holds for. The early-stop pass sets `stop`, the pass
    that batches samples `batched` (all samples in one request where the endpoint takes `n`)."""

    prompt: str
    arguments: Arguments
    k: Expression
    settings: Arguments = ()
    until: Expression | None = None
    batched: bool = False
    stop: Stop | None = None


SamplingT = TypeVar("SamplingT", bound=Sampling)


def check_prompt(node: n.Step, c: Checking, scope: Scope, *, single: bool) -> PoolType:
    """Check the prompt and `until`; the thoughts that the samples make."""
    result, many = c.prompt(node.operands[0], scope)
    if (until := c.setting("until")) is not None:
        sampled = Variable("it", result, "thought", scored=True, used=True)
        c.expect(until, scope.inside(sampled), BOOL, "`until`")
    return PoolType(result, single and not many and is_one(c.setting("k")) and not c.repeated)


def build(kind: type[SamplingT]) -> Callable[[n.Step, Building], SamplingT]:
    """The builder of one kind of step."""

    def make(node: n.Step, b: Building) -> SamplingT:
        prompt, arguments = b.called(node.operands[0])
        settings, until = b.model_settings(), b.setting("until")
        return kind(*b.base, prompt, arguments, b.count("k"), settings, until, span=node.span)

    return make


def verify_request(step: Sampling, v: Verifying, scope: Scope) -> PoolType:
    """Verify what is sampled; `single` tells whether one response gives one thought."""
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
    """The effects of a step that asks a model."""
    return SAMPLES


def estimate_samples(
    step: Sampling, scope: FlowScope, e: Estimating, *, together: bool = False, started: bool = False
) -> Result:
    """Samples for each thought, or for all `together`. `started`: sampling may be over before it begins, at
    a thought that is in the pool already."""
    pool = scope.flow(step.pool)
    whole = scope.whole(pool)
    request = e.request(step.prompt, step.arguments, step.settings, whole if together else scope.each(pool))
    k, places = e.amount(step.k, whole), pool.count.at_most(ONE) if together else pool.count
    calls, requests = places * k, e.requests(places, k, step.batched)
    low, high = calls.bounds
    rounds = Amount.between(float(low > 0), float(high > 0))
    made = calls * request.values
    if step.until is not None or (e.early and step.stop is not None):
        calls, requests, rounds = _stopped(step, e, calls, k, places, started)
        # What comes after the thought that ends the sampling is dropped.
        fewest = Polynomial.of(min(1, calls.low.low)) if step.until is not None else calls.low
        made = Amount(fewest, made.high)
    hops = scope.hops(needed_names(step), pool.hops) + rounds
    volume = e.made_from(pool, step.arguments, scope, together)
    one = Guess(tokens=(0, request.most))
    return Flow(ONE if step.single else made, one, hops, volume, step.single), request.bill(calls, requests)


def _stopped(
    step: Sampling, e: Estimating, calls: Amount, k: Amount, places: Amount, started: bool
) -> tuple[Amount, Amount, Amount]:
    """The calls, requests and rounds of a sampling that may end after any round."""
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
    step: Sampling,
    thoughts: Thoughts,
    running: Running,
    *,
    together: bool = False,
    beside: bool = False,
) -> Thoughts:
    """k samples for each thought, or for all `together`; `beside`: after the thoughts they start from."""
    k = running.count(step.k, thoughts, "k")
    running.check_samples(k * (1 if together else len(thoughts)))

    def make(of: Thought | Thoughts) -> PromptCall:
        return running.call(step.prompt, step.arguments, step.settings, of, k)

    if together and thoughts:
        calls = [make(thoughts)]
    elif len(thoughts) == 1:
        calls = [make(thoughts[0])]
    else:
        calls = [call for _, call in running.try_each(thoughts, make)]
    sampling = _Round(running, step, calls, list(thoughts) if beside else [])
    if step.stop is not None or step.until is not None:
        await sampling.in_waves(k)
    elif calls and k:
        results = await running.sample([(call, range(k)) for call in calls], batched=step.batched)
        for call, samples in zip(calls, results, strict=True):
            for index, one in enumerate(samples):
                sampling.keep(call, index, one)
    return Thoughts(running.some(thoughts, sampling.kept) if k else sampling.kept)


@final
class _Round:
    """The thoughts that one operation has sampled so far, and whether they are enough."""

    __slots__ = ("_looked_at", "_perfect", "calls", "kept", "over", "running", "step")

    def __init__(
        self, running: Running, step: Sampling, calls: list[PromptCall], kept: list[Thought]
    ) -> None:
        self.running = running
        self.step = step
        self.calls = calls
        self.kept = kept
        self.over = False
        """Whether a thought has met `until`."""
        self._looked_at = 0
        self._perfect = 0

    async def in_waves(self, k: int) -> None:
        """Sample in waves of doubling size until enough thoughts are perfect, or one meets `until`."""
        slots = [(at, index) for at in range(len(self.calls)) for index in range(k)]
        size = max(1, self.running.wave or math.ceil(k / 3))
        while slots and not self.over and not self.settled():
            await self.take(slots[:size])
            slots, size = slots[size:], size * 2

    async def take(self, slots: Sequence[tuple[int, int]]) -> None:
        """Sample these: each a call, and the number of a sample of it."""
        wanted: list[tuple[PromptCall, list[int]]] = [(call, []) for call in self.calls]
        for at, index in slots:
            wanted[at][1].append(index)
        results = await self.running.sample(wanted, batched=self.step.batched)
        each = [iter(result) for result in results]
        for at, index in slots:
            self.keep(self.calls[at], index, next(each[at]))

    def keep(self, call: PromptCall, index: int, sample: Sample) -> None:
        """Keep the thoughts that a sample gives, unless one has met `until` before."""
        if self.over:
            # What was requested at the same time is dropped, but not its failures.
            call.note_missing(index, sample)
            return
        for value in call.values(index, sample):
            thought = call.thought(value, len(self.kept), sample)
            self.kept.append(thought)
            if self.step.until is not None and self._meets(self.step.until, call, thought):
                self.over = True
                return

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
        for thought in self.kept[self._looked_at :]:
            try:
                found = running.local_score(stop.score, stop.arguments, running.each(thought))
            except EvaluationError:
                continue  # the Score that follows leaves it out, and says so
            self._perfect += found == score.best
        self._looked_at = len(self.kept)
        return self._perfect >= max(1, enough)


def one_call(step: Step, remaining: Remaining) -> int:
    """The model calls in a row of an operation that makes one for each thought, side by side."""
    return 1


def label(step: Sampling) -> StepLabel:
    """The prompt, and the settings of the step."""
    settings: list[tuple[str, Any]] = [("k", step.k), *step.settings]
    return StepLabel(
        step.prompt, ", ".join(f"{name} = {format_expression(value)}" for name, value in settings)
    )


def with_pool(result: Result, pool: Flow) -> Result:
    """The same, with the thoughts it started from beside the new ones."""
    found, bill = result
    each, volume = pool.each.or_(found.each), pool.volume.or_(found.volume)
    return replace(found, count=pool.count + found.count, each=each, volume=volume, single=False), bill
