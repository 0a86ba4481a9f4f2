"""Draws: the answers of a model to a request, numbered, each paid once.

An answer is looked for in the process cache (where equal requests under way are waited for), then in the
persistent one, and only then asked of the model, all that is missing in as few requests as it takes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from gotlang.cache.base import Cache, Stored
from gotlang.errors import BudgetExceeded, GotError, ModelError
from gotlang.models.base import Model, Request
from gotlang.runtime.budget import Budget, worst_case
from gotlang.runtime.events import Asked, Observer
from gotlang.runtime.gate import Gate
from gotlang.runtime.ledger import Ledger, Source, Times

if TYPE_CHECKING:
    from gotlang.runtime.graph import Operation


@final
@dataclass(frozen=True, slots=True)
class Missing:
    """A draw that no answer came for, and why; `over_budget` where it was never asked."""

    reason: str
    over_budget: bool = False


Draw = tuple[Stored, Source] | Missing


@final
class Sampler:
    """Asks models for one run.

    `now` is the time answers are stored with, in seconds since 1970.
    """

    def __init__(
        self,
        ledger: Ledger,
        budget: Budget,
        gate: Gate,
        *,
        cache: Cache | None = None,
        observe: Observer | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.ledger = ledger
        self.budget = budget
        self.gate = gate
        self.cache = cache
        self.observe = observe
        self.now = now
        self.stopping: str | None = None
        """Set to a reason, no further request is sent; those under way are finished."""
        self.refused = False
        """Whether the budget did not allow a request."""
        self.notes: dict[str, None] = {}
        """What models said beside their answers, such as a setting that they do not take, each once."""
        self._process: dict[tuple[str, int], Stored | Missing | asyncio.Future[Stored | Missing]] = {}

    async def draw(
        self,
        model: Model,
        request: Request,
        numbers: Sequence[int],
        urgency: Any,
        *,
        fused: bool = True,
        operation: Operation | None = None,
    ) -> tuple[list[Draw], Times]:
        """The draws of a request with these numbers, in their order, and the seconds they took.

        `fused` asks for all that are missing in one request, where the endpoint takes `n`. `operation` is
        what the draws are for, as observers are told.
        """
        batch = max(1, model.batch) if fused else 1
        key = request.key()
        # At temperature 0 equal requests are equal calls: every draw is the first.
        wanted = [0] * len(numbers) if request.settings.temperature == 0 else list(numbers)
        mine: dict[int, asyncio.Future[Stored | Missing]] = {}
        loop = asyncio.get_running_loop()
        for number in wanted:
            if (key, number) not in self._process:
                mine[number] = self._process[key, number] = loop.create_future()
        sources: dict[int, Source] = {}
        try:
            if mine:
                await self._obtain(model, request, key, mine, sources, urgency, fused)
        finally:
            for number, future in mine.items():
                if not future.done():
                    future.set_result(Missing("the run was stopped"))
                self._process[key, number] = future.result()
        draws: list[Draw] = []
        for number in wanted:
            found = self._process[key, number]
            if isinstance(found, asyncio.Future):
                found = await asyncio.shield(found)
            if isinstance(found, Missing):
                draws.append(found)
            else:
                draws.append((found, sources.pop(number, "process")))
        answers = [draw for draw in draws if not isinstance(draw, Missing)]
        times = self.ledger.count(answers, batch, model.price)
        if self.observe is not None:
            self.observe(Asked(request, key, tuple(numbers), tuple(draws), model.name, operation))
        return draws, times

    async def _obtain(
        self,
        model: Model,
        request: Request,
        key: str,
        mine: dict[int, asyncio.Future[Stored | Missing]],
        sources: dict[int, Source],
        urgency: Any,
        fused: bool,
    ) -> None:
        if self.cache is not None:
            for number, stored in self.cache.get(key, list(mine)).items():
                mine[number].set_result(stored)
                sources[number] = "persistent"
        missing = [number for number, future in mine.items() if not future.done()]
        while missing:
            batch = max(1, model.batch) if fused else 1
            chunks = [missing[i : i + batch] for i in range(0, len(missing), batch)]
            if len(chunks) == 1:
                await self._ask(model, request, key, chunks[0], mine, sources, urgency)
            else:
                async with asyncio.TaskGroup() as group:
                    for chunk in chunks:
                        group.create_task(self._ask(model, request, key, chunk, mine, sources, urgency))
            missing = [number for number in missing if not mine[number].done()]

    async def _ask(
        self,
        model: Model,
        request: Request,
        key: str,
        numbers: list[int],
        mine: dict[int, asyncio.Future[Stored | Missing]],
        sources: dict[int, Source],
        urgency: Any,
    ) -> None:
        """Send one request for these draws; those it gives no answer for stay missing, to be asked again."""

        def give_up(error: GotError | str, over_budget: bool = False) -> None:
            reason = error if isinstance(error, str) else _reason(error)
            for number in numbers:
                if not mine[number].done():
                    mine[number].set_result(Missing(reason, over_budget))

        async with self.gate.slot(urgency):
            if self.stopping is not None:
                return give_up(self.stopping, True)
            try:
                reservation = await self.budget.reserve(request, len(numbers), model.price)
            except BudgetExceeded as error:
                self.refused = True
                return give_up(error, True)
            if self.stopping is not None:
                self.budget.settle(reservation, 0, 0.0)
                return give_up(self.stopping, True)
            answered, usd, lost = 0, 0.0, 0
            try:
                reply = await model.ask(request, reservation.answers, numbers[0])
                answered, lost = len(reply.answers), reply.lost
                self.notes.update(dict.fromkeys(reply.notes))
                price = model.price
                usd = price.usd(reply.usage) if price is not None else 0.0
                self.ledger.paid.add(answered, reply.requests, reply.usage, price, reply.latency_s)
            except ModelError as error:
                lost = error.lost
                self.ledger.paid.requests += error.requests
                return give_up(error)
            finally:
                self.ledger.paid.lost += lost
                # What was lost may have been charged as if it had been answered at full length.
                if lost and model.price is not None:
                    usd += lost * worst_case(request, reservation.answers, model.price)
                self.budget.settle(reservation, answered + lost * reservation.answers, usd)
            made = self.now()
            stored = {
                number: Stored(answer, reply.usage, reply.latency_s, answered, position, made)
                for position, (number, answer) in enumerate(zip(numbers, reply.answers, strict=False))
            }
            # What is paid is kept before anything else may go wrong.
            if self.cache is not None:
                self.cache.put(key, request, stored)
                self.cache.flush()
            for number, answer in stored.items():
                mine[number].set_result(answer)
                sources[number] = "model"
            return None


def _reason(error: GotError) -> str:
    return f"{error.message} ({error.help})" if error.help else error.message
