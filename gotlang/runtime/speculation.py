"""Samples that are requested before it is known whether they are needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, Self, final

from gotlang.models.base import Model
from gotlang.runtime.sampler.events import Sample

Round = dict[Any, dict[int, Sample]]
"""Samples by call and number."""


class _AskingCall(Protocol):
    """`gotlang.runtime.execution.ModelPromptCall`, as far as it is used here."""

    @property
    def model(self) -> Model:
        """The model that it is for."""

    def ask(self, number: int) -> Coroutine[Any, Any, list[Sample]]:
        """Its sample with this number."""


@final
class SpeculativeSamples:
    """Implements `gotlang.operations.stages.Speculation`, where its methods are documented.

    `count` is called with the samples that were taken, by `turn`, as if no others had been requested. A
    withdrawn request is free if it was not sent, and uncertain if it is in flight. Simulated ones are not
    withdrawn, so that the spending of a simulated run does not depend on timing.
    """

    def __init__(self, count: Callable[[Round], None]) -> None:
        self._count = count
        self._asked: dict[tuple[_AskingCall, int], asyncio.Task[list[Sample]]] = {}
        self._rounds: list[Round] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        for taken in self._rounds:
            self._count(taken)
        for (call, _), task in self._asked.items():
            if error[0] is not None or not call.model.simulated:
                task.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)

    def ask(self, call: _AskingCall, number: int) -> None:
        self._asked[call, number] = asyncio.create_task(call.ask(number))

    async def take(self, call: _AskingCall, number: int, turn: int) -> Sample:
        if (call, number) not in self._asked:
            self.ask(call, number)
        (sample,) = await self._asked.pop((call, number))
        if turn == len(self._rounds):
            self._rounds.append({})
        self._rounds[turn].setdefault(call, {})[number] = sample
        return sample
