"""How each operation runs: a function of its step, the current thoughts, and its execution."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, final

from gotlang.errors import MEMBERS_FAILED, EvaluationError, OperationFailed
from gotlang.ir import program as ir
from gotlang.ir.names import free_names
from gotlang.runtime.checks import mean, number, position
from gotlang.runtime.execution import Execution, PromptCall
from gotlang.runtime.sampler.store import Sample
from gotlang.semantics.functions import frozen
from gotlang.syntax import expressions as e
from gotlang.thought import Thought, Thoughts, named_thoughts

# -------------------------------------------------------------------- Generate, Improve, Aggregate


async def sample(step: ir.Sampling, thoughts: Thoughts, running: Execution) -> Thoughts:
    """`Generate`, `Improve`, `Aggregate`."""
    k = running.count(step.k, thoughts, "k")
    together = isinstance(step, ir.Aggregate)
    running.check_samples(k * (1 if together else len(thoughts)))
    prompt = running.prompt(step.prompt)

    def make(of: Thought | Thoughts) -> PromptCall:
        return running.call(prompt, step.arguments, step.settings, of, k)

    if together and thoughts:
        calls = [make(thoughts)]
    elif len(thoughts) == 1:
        calls = [make(thoughts[0])]
    else:
        calls = [call for _, call in running.try_each(thoughts, make)]
    sampling = _Sampling(running, step, calls, list(thoughts) if isinstance(step, ir.Improve) else [])
    if step.stop is not None or step.until is not None:
        await sampling.in_waves(k)
    elif calls and k:
        results = await running.sample([(call, range(k)) for call in calls], fused=step.fused)
        for call, samples in zip(calls, results, strict=True):
            for index, one in enumerate(samples):
                sampling.keep(call, index, one)
    return Thoughts(running.some(thoughts, sampling.kept) if k else sampling.kept)


@final
class _Sampling:
    """The thoughts that one operation has sampled so far, and whether they are enough."""

    __slots__ = ("_looked_at", "_perfect", "calls", "kept", "over", "running", "step")

    def __init__(
        self, running: Execution, step: ir.Sampling, calls: list[PromptCall], kept: list[Thought]
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
        results = await self.running.sample(wanted, fused=self.step.fused)
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

    def _meets(self, until: e.Expression, call: PromptCall, thought: Thought) -> bool:
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
                found = running.local_score(score, stop.arguments, running.each(thought))
            except EvaluationError:
                continue  # the Score that follows leaves it out, and says so
            self._perfect += found == score.best
        self._looked_at = len(self.kept)
        return self._perfect >= max(1, enough)


# -------------------------------------------------------------------- Score, Validate, ValidateAndImprove


def score(step: ir.Score, thoughts: Thoughts, running: Execution) -> Thoughts:
    """`Score` by a local score or an expression; a thought whose score has no value is left out."""
    declared = running.score(step.score) if step.score is not None else None

    def find(thought: Thought) -> float:
        names = running.each(thought)
        if declared is not None:
            return running.local_score(declared, step.arguments, names)
        assert step.value is not None
        return number(running.evaluate(step.value, names), "this score")

    lower = declared is not None and declared.lower
    found = running.for_each(thoughts, find)
    return Thoughts(thoughts[at].known(score=value, lower=lower) for at, value in found)


async def score_by_prompt(step: ir.Score, thoughts: Thoughts, running: Execution) -> Thoughts:
    """`Score(k) prompt(it)`: the mean of k answers that are numbers."""
    assert step.score is not None
    prompt = running.prompt(step.score)
    what = f"`{prompt.name}`"
    k = running.count(step.k, thoughts, "k", 1)
    calls = running.try_each(thoughts, lambda t: running.call(prompt, step.arguments, (), t, k))
    results = await running.sample([(call, range(k)) for _, call in calls], fused=step.fused)
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


async def validate(step: ir.Validate, thoughts: Thoughts, running: Execution) -> Thoughts:
    """`Validate`."""
    judge = _judge(step.condition, step.prompt, step.arguments)
    return Thoughts(await judge(running, thoughts, 0))


async def validate_and_improve(
    step: ir.ValidateAndImprove, thoughts: Thoughts, running: Execution
) -> Thoughts:
    """`ValidateAndImprove`: all thoughts side by side, each as often as it needs."""
    prompt = running.prompt(step.prompt)
    tries = running.count(step.tries, thoughts, "tries")
    judge = _judge(step.condition, step.judge, step.judge_arguments)
    current = await judge(running, thoughts, 0)
    index = len(thoughts)
    for turn in range(tries):
        wrong = [at for at, thought in enumerate(current) if thought.valid is False]
        if not wrong:
            break

        def make(thought: Thought, turn: int = turn) -> PromptCall:
            return running.call(prompt, step.arguments, step.settings, thought, 1, turn)

        calls = running.try_each([current[at] for at in wrong], make)
        samples = await running.sample_once([call for _, call in calls])
        for (at, call), sample in zip(calls, samples, strict=True):
            if values := call.values(0, sample):
                current[wrong[at]] = call.thought(values[0], index, sample)
                index += 1
        for at, thought in zip(
            wrong, await judge(running, [current[at] for at in wrong], turn + 1), strict=True
        ):
            current[at] = thought
    return Thoughts(current)


def _judge(
    condition: e.Expression | None, judge: str | None, arguments: ir.Arguments
) -> Callable[[Execution, Sequence[Thought], int], Awaitable[list[Thought]]]:
    """Marks each thought valid or not, by a condition or a prompt: not valid if that fails, and neither if
    the prompt was not asked."""

    async def mark(running: Execution, thoughts: Sequence[Thought], turn: int) -> list[Thought]:
        valid: dict[int, bool | None] = {}
        if condition is not None:
            found = running.try_each(thoughts, lambda t: running.evaluate(condition, running.each(t)))
            valid = {at: bool(holds) for at, holds in found}
        if judge is not None:
            prompt = running.prompt(judge)
            calls = running.try_each(thoughts, lambda t: running.call(prompt, arguments, (), t, 1, turn))
            samples = await running.sample_once([call for _, call in calls])
            for (at, call), sample in zip(calls, samples, strict=True):
                values = call.values(0, sample)
                valid[at] = None if call.skipped(sample) else bool(values and values[0])
        return [replace(thought, valid=valid.get(at, False)) for at, thought in enumerate(thoughts)]

    return mark


# -------------------------------------------------------------------- choosing and computing


def keep_valid(step: ir.KeepValid, thoughts: Thoughts, running: Execution) -> Thoughts:
    """`KeepValid`."""
    kept = Thoughts(t for t in thoughts if t.valid)
    if thoughts and not kept:
        if running.skipped and any(t.valid is None for t in thoughts):
            raise OperationFailed("not every thought was judged", cut_off=True)
        raise OperationFailed(f"none of {len(thoughts)} thoughts is valid")
    return kept


def keep_best_n(step: ir.KeepBestN, thoughts: Thoughts, running: Execution) -> Thoughts:
    """`KeepBestN`."""
    n = running.count(step.count, thoughts, "n")
    scored = [t for t in thoughts if t.score is not None]
    if thoughts and not scored:
        raise OperationFailed("no thought has a score")
    # `sorted` is stable, so ties keep the earlier thought first.
    return Thoughts(sorted(scored, key=lambda t: t.goodness, reverse=True)[:n])


def select(step: ir.Select, thoughts: Thoughts, running: Execution) -> Thoughts:
    """`Select`."""
    if (condition := step.condition) is not None:
        found = running.for_each(thoughts, lambda t: running.evaluate(condition, running.each(t)))
        return Thoughts(thoughts[at] for at, holds in found if holds)
    assert step.positions is not None
    positions = running.evaluate(step.positions, running.whole(thoughts))
    if not isinstance(positions, list):
        raise EvaluationError(f"positions must be a list of whole numbers, not {positions!r:.60}")
    return Thoughts(thoughts[position(at, thoughts)] for at in positions)


def vote(step: ir.Vote, thoughts: Thoughts, running: Execution) -> Thoughts:
    """`Vote`: the first thought with the value that most have; ties go to the value that came first."""
    if not thoughts:
        raise OperationFailed("there is no thought to vote on")
    weight = step.weight

    def weigh(thought: Thought) -> float:
        return (
            1.0 if weight is None else number(running.evaluate(weight, running.each(thought)), "this weight")
        )

    weights: dict[Any, float] = {}
    first: dict[Any, Thought] = {}
    for at, found in running.for_each(thoughts, weigh):
        key = frozen(thoughts[at].value)
        first.setdefault(key, thoughts[at])
        weights[key] = weights.get(key, 0.0) + found
    return Thoughts([first[max(weights, key=lambda key: weights[key])]])


def map_(step: ir.Map, thoughts: Thoughts, running: Execution) -> Thoughts:
    """`Map`."""
    found = running.for_each(thoughts, lambda t: running.evaluate(step.value, running.each(t)))
    return Thoughts(running.derived(value, at, (thoughts[at],)) for at, value in found)


def pool(step: ir.Pool, thoughts: Thoughts, running: Execution) -> Thoughts:
    """`Pool`, bindings, `return`: named thoughts as they are, any other value as a new thought.

    A `Pool` of several goes on without those that failed.
    """
    names = running.whole(thoughts)
    if len(step.values) == 1:
        return Thoughts(_pooled(running, step.values[0], names, 0))
    out: list[Thought] = []
    lost, left = running.inputs_failed(), len(step.values)
    for value in step.values:
        if lost and running.uses_failed(value):
            left -= 1
            continue
        try:
            out.extend(_pooled(running, value, names, len(out)))
        except EvaluationError as error:
            running.failed(error.message, len(out))
            left -= 1
    if not left:
        raise OperationFailed(MEMBERS_FAILED)
    return Thoughts(out)


def _pooled(
    running: Execution, value: e.Expression, names: Mapping[str, Any], index: int
) -> Sequence[Thought]:
    bound = running.bound(value, names)
    if bound is not None:
        return bound
    parents = [thought for name in free_names(value) for thought in named_thoughts(names, name)]
    return (running.derived(running.evaluate(value, names), index, parents),)


def ground_truth(step: ir.GroundTruth, thoughts: Thoughts, running: Execution) -> Thoughts:
    """`GroundTruth`: noted for the first thought; None if the truth is not known.

    It only measures: if it fails, that is noted, and the scheme goes on.
    """
    for thought in thoughts[:1]:
        running.note_truth(None)
        try:
            running.note_truth(bool(running.evaluate(step.condition, running.with_truth(thought))))
        except EvaluationError as error:
            if running.has_truth or "truth" not in free_names(step.condition):
                running.failed(error.message, thought.index)
    return thoughts


# -------------------------------------------------------------------- Retrieve and Call


async def retrieve(step: ir.Retrieve, thoughts: Thoughts, running: Execution) -> Thoughts:
    """`Retrieve`: a thought whose search fails is left out."""
    k = running.count(step.k, thoughts, "k")

    async def search(thought: Thought) -> list[str]:
        query = running.evaluate(step.query, running.each(thought))
        texts = await running.search(step.corpus, query, k)
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise EvaluationError(f"`{step.corpus}` did not return a list of strings")
        return texts

    out: list[Thought] = []
    for at, texts in await running.for_each_call(thoughts, search):
        out.extend(running.derived(text, len(out) + i, (thoughts[at],)) for i, text in enumerate(texts))
    return Thoughts(out)


async def call(step: ir.Call, thoughts: Thoughts, running: Execution) -> Thoughts:
    """`Call`: a thought for which the function fails is left out."""

    async def run(thought: Thought) -> Any:
        names = running.each(thought)
        positional = [running.evaluate(value, names) for key, value in step.arguments if key is None]
        named = {key: running.evaluate(value, names) for key, value in step.arguments if key is not None}
        value = await running.call_python(step.function, positional, named)
        if value is None:
            raise EvaluationError(f"`{step.function}` gave None, which is no value of the language")
        return value

    found = await running.for_each_call(thoughts, run)
    return Thoughts(running.derived(value, at, (thoughts[at],)) for at, value in found)


Local = Callable[[Any, Thoughts, Execution], Thoughts]
Waiting = Callable[[Any, Thoughts, Execution], Awaitable[Thoughts]]

LOCAL: dict[type, Local] = {
    ir.Score: score,
    ir.KeepValid: keep_valid,
    ir.KeepBestN: keep_best_n,
    ir.Select: select,
    ir.Vote: vote,
    ir.Map: map_,
    ir.Pool: pool,
    ir.GroundTruth: ground_truth,
}
"""The operations that run at once, by their step."""

WAITING: dict[type, Waiting] = {
    ir.Generate: sample,
    ir.Improve: sample,
    ir.Aggregate: sample,
    ir.ValidateAndImprove: validate_and_improve,
    ir.Validate: validate,
    ir.Retrieve: retrieve,
    ir.Call: call,
}
"""The operations that wait for a model or a tool, by their step; a `Score` by a prompt is one too."""
