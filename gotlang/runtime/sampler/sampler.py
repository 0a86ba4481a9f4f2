"""Draws: the answers of a model to a request, numbered, each paid once.

An answer is looked for in the process cache (where equal requests under way are waited for), then in the
persistent one, and only then asked of the model, all that is missing in as few requests as it takes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, final

from gotlang.cache.base import Cache, StoredSample
from gotlang.errors import BudgetExceeded, CacheError, EvaluationError, GotError, ModelError
from gotlang.models.base import AlreadyCached, Model, Permit, Reply, Request
from gotlang.runtime.sampler.budget import Allowance, Budget
from gotlang.runtime.sampler.events import Asked, Observer, Unsaved
from gotlang.runtime.sampler.gate import Lane
from gotlang.runtime.sampler.ledger import Ledger
from gotlang.runtime.sampler.store import MissingSample, Sample, SampleSource, SampleStore

if TYPE_CHECKING:
    from gotlang.runtime.graph import Operation

MAX_ANSWERS = 250_000
"""The most answers one run may ask for; a program that wants more is taken for a mistake."""
AT_ONCE_S = 0.01
"""Seconds after which the persistent cache is looked at once more before a request goes out."""
Found = StoredSample | MissingSample
NONE_STORED: frozenset[int] = frozenset()


@final
class _Wanted:
    """Draws of one request that an operation asks for, and the others that wait for them."""

    __slots__ = ("found", "key", "looked", "model", "numbers", "operation", "request", "sources", "waiting")

    def __init__(
        self, model: Model, request: Request, key: str, operation: Operation | None, numbers: Sequence[int]
    ) -> None:
        self.model = model
        self.request = request
        self.key = key
        self.operation = operation
        self.numbers = numbers
        self.looked = 0.0  # when the persistent cache was, by the loop's clock
        self.found: dict[int, Found] = {}
        self.sources: dict[int, SampleSource] = {}
        self.waiting: dict[int, list[asyncio.Future[Found]]] | None = None

    def missing(self) -> list[int]:
        """The draws that there is nothing for yet."""
        return [number for number in self.numbers if number not in self.found]

    def give(self, number: int, found: Found) -> None:
        """A draw is there, or there will be none."""
        self.found[number] = found
        if self.waiting is not None:
            for waiter in self.waiting.pop(number, ()):
                if not waiter.done():
                    waiter.set_result(found)

    def give_up(self, numbers: Iterable[int], reason: str, *, cut_off: bool = False) -> None:
        """There will be no answer for these."""
        for number in numbers:
            if number not in self.found:
                self.give(number, MissingSample(reason, cut_off))

    async def wait(self, number: int) -> Found:
        """A draw that another operation asks for."""
        if number in self.found:
            return self.found[number]
        if self.waiting is None:
            self.waiting = {}
        waiter: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        self.waiting.setdefault(number, []).append(waiter)
        return await waiter


@final
class Sampler:
    """Asks models for one run.

    `urgency` tells which operation's requests go first where some have to wait, `idle` is told when an
    operation starts (1) and ends (-1) waiting for what another one asked. `notes` is where to write, each
    once, what models say beside their answers. `now` is the time answers are stored with, in seconds since
    1970.
    """

    def __init__(
        self,
        ledger: Ledger,
        budget: Budget,
        lane: Lane,
        notes: dict[str, None],
        *,
        cache: Cache | None = None,
        observe: Observer | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.ledger = ledger
        self.budget = budget
        self.lane = lane
        self.store = SampleStore(cache) if cache is not None else None
        self.observe = observe
        self.now = now
        self.urgency: Callable[[Operation], Any] = _no_urgency
        self.idle: Callable[[int], None] = _no_matter
        self.stopping: str | None = None
        """Set to a reason, no further request is sent; those under way are finished."""
        self.refused = False
        """Whether the budget did not allow a request."""
        self.notes = notes
        self.asked = 0
        """Answers that operations asked for, shared ones counted each time."""
        self._process: dict[tuple[str, int], Found | _Wanted] = {}

    def room(self, answers: int) -> None:
        """Raises EvaluationError where so many more answers are more than a run may ask for."""
        if self.asked + answers > MAX_ANSWERS:
            raise EvaluationError(f"this run asks for more than {MAX_ANSWERS:,} answers")

    async def sample(
        self,
        model: Model,
        request: Request,
        key: str,
        numbers: Sequence[int],
        operation: Operation | None,
        *,
        fused: bool = True,
    ) -> tuple[list[Sample], frozenset[int]]:
        """The draws of a request with these numbers, in their order, and which of them were stored before.

        `key` is the request's, `operation` what the draws are for (None where no operation of a graph is).
        `fused` asks for all that are missing in one request, where the endpoint takes `n`. Never raises but
        when cancelled: a draw that could not be had is a MissingSample.
        """
        # At temperature 0 equal requests are equal calls: every draw is the first.
        if request.settings.temperature == 0:
            numbers = [0] * len(numbers)
        process = self._process
        mine: list[int] = []
        wanted = _Wanted(model, request, key, operation, mine)
        for number in numbers:
            if (key, number) not in process:
                process[key, number] = wanted
                mine.append(number)
        persistent = NONE_STORED
        if mine:
            try:
                persistent = await self._obtain(wanted, fused)
            finally:
                wanted.give_up(mine, "the run was stopped", cut_off=True)
                for number, found in wanted.found.items():
                    process[key, number] = found
        if len(mine) < len(numbers):
            self.ledger.shared = True
        draws: list[Sample] = []
        for number in numbers:
            there = process[key, number]
            if isinstance(there, _Wanted):
                there = await self._wait(there, number)
            if isinstance(there, MissingSample):
                draws.append(there)
            else:
                draws.append((there, wanted.sources.pop(number, "process")))
        if self.observe is not None:
            self.observe(Asked(request, key, tuple(numbers), tuple(draws), model.name, operation))
        return draws, persistent

    def finish(self) -> None:
        """Save what could not be saved before, or note that it is not."""
        if self.store is not None:
            self._told(self.store.save())
            if (note := self.store.note()) is not None:
                self.notes[note] = None

    async def _wait(self, wanted: _Wanted, number: int) -> Found:
        """Wait for what another operation asked, without taking a place from those that ask themselves."""
        self.idle(1)
        try:
            return await wanted.wait(number)
        finally:
            self.idle(-1)

    async def _obtain(self, wanted: _Wanted, fused: bool) -> frozenset[int]:
        """Get what is wanted; which draws were stored before."""
        if self.store is None:
            await self._ask_all(wanted, fused)
            return NONE_STORED
        try:
            self._look(self.store, wanted, wanted.numbers)
        except CacheError as error:
            wanted.give_up(wanted.numbers, error.in_words())
            return NONE_STORED
        await self._ask_all(wanted, fused)
        return frozenset(number for number, source in wanted.sources.items() if source == "persistent")

    def _look(self, store: SampleStore, wanted: _Wanted, numbers: Sequence[int]) -> bool:
        """Take what is stored of these draws; whether there is any. Raises CacheError."""
        stored = store.get(wanted.key, numbers)
        wanted.looked = asyncio.get_running_loop().time()
        for number, found in stored.items():
            wanted.sources[number] = "persistent"
            wanted.give(number, found)
        return bool(stored)

    def _again(self, store: SampleStore, wanted: _Wanted, numbers: Sequence[int]) -> Callable[[], None]:
        """Looks once more for what another process may have got meanwhile; then raises AlreadyCached."""

        def look() -> None:
            if asyncio.get_running_loop().time() - wanted.looked >= AT_ONCE_S:
                with suppress(CacheError):
                    if self._look(store, wanted, numbers):
                        raise AlreadyCached

        return look

    async def _ask_all(self, wanted: _Wanted, fused: bool) -> None:
        """Ask for what is missing, until nothing is."""
        while missing := wanted.missing():
            chunks = _chunks(missing, max(1, wanted.model.batch) if fused else 1)
            if len(chunks) == 1:
                await self._ask(wanted, chunks[0])
            else:
                async with asyncio.TaskGroup() as group:
                    for chunk in chunks:
                        group.create_task(self._ask(wanted, chunk))

    async def _ask(self, wanted: _Wanted, numbers: list[int]) -> None:
        """Send one request for these draws; those it gives no answer for stay missing, to be asked again."""
        model, lane = wanted.model, self.lane
        if not lane.enter_at_once(model.name):
            await lane.enter(model.name, lambda: self._urgency(wanted.operation), self.idle)
        try:
            if self.stopping is not None:
                return wanted.give_up(numbers, self.stopping, cut_off=True)
            try:
                allowance = await Allowance.of(self.budget, wanted.request, len(numbers), model)
            except BudgetExceeded as error:
                self.refused = True
                return wanted.give_up(numbers, error.message, cut_off=True)
            except GotError as error:
                return wanted.give_up(numbers, error.in_words())
            if self.stopping is not None:
                allowance.returned()
                return wanted.give_up(numbers, self.stopping, cut_off=True)
            reply = await self._send(wanted, numbers, allowance)
            if reply is not None:
                self._keep(wanted, numbers, reply)
        finally:
            lane.leave(model.name)
        return None

    async def _send(self, wanted: _Wanted, numbers: list[int], allowance: Allowance) -> Reply | None:
        model, paid = wanted.model, self.ledger.paid
        look = self._again(self.store, wanted, numbers) if self.store is not None else None
        permit = Permit(retry=allowance.again) if look is None else Permit(look, allowance.again)
        try:
            if look is not None:
                look()
            reply = await model.ask(wanted.request, allowance.answers, numbers[0], permit)
            answered = len(reply.completions)
            if not answered:
                raise ModelError(f"`{model.name}` gave no answer and did not say why", requests=1, lost=1)
            allowance.answered(answered, reply.usage, reply.lost)
        except AlreadyCached:
            allowance.returned()
        except BudgetExceeded as error:
            allowance.returned()
            self.refused = True
            paid.requests += allowance.repeats
            wanted.give_up(numbers, error.message, cut_off=True)
        except ModelError as error:
            allowance.failed(error.lost)
            paid.requests += error.requests
            wanted.give_up(numbers, error.in_words())
        except asyncio.CancelledError:
            allowance.abandoned()
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            wanted.give_up(numbers, f"`{model.name}` gave up without saying why")
        except Exception as error:
            # A model is foreign code; what it raises against its contract ends this request, not the others.
            allowance.abandoned()
            wanted.give_up(numbers, f"`{model.name}` raised {type(error).__name__}: {error}")
        else:
            paid.add(answered, reply.requests, reply.usage, model.price, reply.latency_s)
            if reply.notes:
                self.notes.update(dict.fromkeys(reply.notes))
            return reply
        finally:
            paid.lost += allowance.lost
        # What is known to have been charged without an answer.
        paid.add(0, 0, allowance.charged, model.price, 0.0)
        return None

    def _keep(self, wanted: _Wanted, numbers: list[int], reply: Reply) -> None:
        """Hand out the answers; what is paid is kept before anything else may go wrong."""
        made, answered = self.now(), len(reply.completions)
        seconds = reply.latencies_s if len(reply.latencies_s) == answered else (reply.latency_s,) * answered
        stored = {
            number: StoredSample(answer, reply.usage, took, answered, position, made)
            for position, (number, answer, took) in enumerate(
                zip(numbers, reply.completions, seconds, strict=False)
            )
        }
        if self.store is not None:
            self._told(self.store.put(wanted.key, wanted.request, stored))
        for number, answer in stored.items():
            wanted.sources[number] = "model"
            wanted.give(number, answer)

    def _told(self, unsaved: int) -> None:
        """Tell at once of paid answers that could not be written, or that could be after all."""
        if unsaved and self.store is not None and self.observe is not None:
            self.observe(Unsaved(unsaved, self.store.trouble))

    def _urgency(self, operation: Operation | None) -> Any:
        return (self.urgency(operation), operation.sequence) if operation is not None else ()


def _chunks(numbers: list[int], batch: int) -> list[list[int]]:
    """The draws by request: a request's draws follow one another, so that each keeps its number."""
    if len(numbers) <= batch and numbers[-1] - numbers[0] == len(numbers) - 1:
        return [numbers]
    chunks: list[list[int]] = []
    for number in numbers:
        if chunks and len(chunks[-1]) < batch and chunks[-1][-1] == number - 1:
            chunks[-1].append(number)
        else:
            chunks.append([number])
    return chunks


def _no_urgency(operation: Operation) -> int:
    return 0


def _no_matter(change: int) -> None:
    return None
