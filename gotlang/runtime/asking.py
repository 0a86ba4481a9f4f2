"""Operations that sample thoughts: Generate, Improve and Aggregate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, final

from gotlang.errors import EvaluationError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Layer
from gotlang.runtime.context import Context
from gotlang.runtime.draws import Draw, Missing
from gotlang.runtime.graph import Operation
from gotlang.runtime.sites import (
    Site,
    Spent,
    draw,
    made,
    note_missing,
    nothing_left,
    site,
    try_each,
    values_of,
)
from gotlang.runtime.values import count, each, number, real, whole
from gotlang.thought import Thought, Thoughts

Slot = tuple[int, int]
"""One answer to ask for: which site's, and its number there."""


async def ask(context: Context, operation: Operation, thoughts: Thoughts, spent: Spent) -> Thoughts:
    """`Generate`, `Improve`, `Aggregate`."""
    step = operation.step
    assert isinstance(step, ir.Sampling)
    noted = len(context.failures)
    k = count(context.evaluate(step.k, whole(operation.frame, thoughts)), "k")
    context.sampler.room(k * (1 if isinstance(step, ir.Aggregate) else len(thoughts)))
    sampling = _Sampling(context, operation, step, list(thoughts) if isinstance(step, ir.Improve) else [])
    sites = _sites(context, operation, step, thoughts, k)
    if step.stop is not None or step.until is not None:
        await _in_waves(sampling, sites, k, spent)
    elif sites and k:
        drawn = await draw(
            context, operation, [(place, range(k)) for place in sites], spent, fused=step.fused
        )
        for place, result in zip(sites, drawn, strict=True):
            for index, one in enumerate(result):
                sampling.take(place, index, one)
    if not sampling.kept and k > 0 and thoughts:
        raise nothing_left(context, operation, noted)
    return Thoughts(sampling.kept)


def _sites(
    context: Context, operation: Operation, step: ir.Sampling, thoughts: Thoughts, k: int
) -> list[Site]:
    prompt = context.program.prompt(step.prompt)
    if isinstance(step, ir.Aggregate) and thoughts:
        names = whole(operation.frame, thoughts)
        return [site(context, operation, prompt, step.arguments, step.settings, names, real(thoughts), k)]

    def make(thought: Thought) -> Site:
        names = each(operation, thought)
        return site(context, operation, prompt, step.arguments, step.settings, names, real((thought,)), k)

    if len(thoughts) == 1:
        return [make(thoughts[0])]
    return [place for _, place in try_each(context, operation, thoughts, make)]


async def _in_waves(sampling: _Sampling, sites: list[Site], k: int, spent: Spent) -> None:
    """Sample until enough thoughts cannot be beaten, or one ends it."""
    for wave in _waves(sampling.context, [(at, index) for at in range(len(sites)) for index in range(k)], k):
        if sampling.settled():
            return
        wanted: list[tuple[Site, list[int]]] = [(place, []) for place in sites]
        for at, index in wave:
            wanted[at][1].append(index)
        results = await draw(sampling.context, sampling.operation, wanted, spent, fused=sampling.step.fused)
        queues = [iter(result) for result in results]
        for at, index in wave:
            sampling.take(sites[at], index, next(queues[at]))
        if sampling.over:
            return


def _waves(context: Context, order: list[Slot], k: int) -> list[list[Slot]]:
    waves, at, size = [], 0, max(1, context.wave or math.ceil(k / 3))
    while at < len(order):
        waves.append(order[at : at + size])
        at, size = at + size, size * 2
    return waves


@final
class _Sampling:
    """What one operation has sampled so far, and whether that is enough."""

    __slots__ = ("_looked_at", "_perfect", "context", "kept", "operation", "over", "prompt", "step")

    def __init__(
        self, context: Context, operation: Operation, step: ir.Sampling, kept: list[Thought]
    ) -> None:
        self.context = context
        self.operation = operation
        self.step = step
        self.prompt = context.program.prompt(step.prompt)
        self.kept = kept
        self.over = False
        """Whether a thought came that ends the sampling (`until`)."""
        self._looked_at = 0
        self._perfect = 0

    def take(self, place: Site, index: int, drawn: Draw) -> None:
        """Keep what an answer gives, as long as nothing has ended the sampling."""
        context, operation = self.context, self.operation
        if self.over:
            # What was asked for at the same time is dropped, but not what went wrong with it.
            if isinstance(drawn, Missing):
                note_missing(context, operation, drawn, place.first + index)
            return
        for value in values_of(context, operation, self.prompt, drawn, place.first + index, place.values):
            thought = made(operation, value, len(self.kept), place, drawn)
            self.kept.append(thought)
            if self.step.until is not None and self._until(place, thought):
                self.over = True
                return

    def _until(self, place: Site, thought: Thought) -> bool:
        assert self.step.until is not None
        try:
            return bool(self.context.evaluate(self.step.until, Layer({"it": thought}, place.names)))
        except EvaluationError as error:
            self.context.failed(self.operation, f"`until`: {error.message}", thought.index)
            return False

    def settled(self) -> bool:
        """Whether enough thoughts have the score that cannot be beaten."""
        stop = self.step.stop
        if stop is None:
            return False
        context, frame = self.context, self.operation.frame
        score = context.program.score(stop.score)
        enough = count(context.evaluate(stop.count, frame), "n")
        for thought in self.kept[self._looked_at :]:
            try:
                rated = rate_locally(context, score, stop.arguments, Layer({"it": thought}, frame))
            except EvaluationError:
                continue  # the Score that follows leaves it out, and says so
            self._perfect += rated == score.best
        self._looked_at = len(self.kept)
        return self._perfect >= max(1, enough)


def rate_locally(
    context: Context, score: ir.ScoreFunction, arguments: ir.Arguments, names: Mapping[str, Any]
) -> float:
    """The number that a score gives without asking a model. Raises EvaluationError, also for NaN."""
    values = {name: context.evaluate(value, names) for name, value in arguments}
    params = Layer(values, context.params)
    return number(context.evaluate(score.value, params), f"score `{score.name}`")
