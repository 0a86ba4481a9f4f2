"""Samples of a model's completions, numbered per request; each is requested at most once.

A sample is looked up in the process cache (waiting for equal requests in flight), then in the persistent one,
and only then requested from the model: all missing ones in as few requests as possible.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, final

from msgspec import Struct

from gotlang.cache.base import Cache, StoredSample
from gotlang.cache.coordination import Coordination, sample_name
from gotlang.errors import (
    BudgetExceeded,
    CacheError,
    GotError,
    LimitExceeded,
    ModelError,
    OutsideSimulation,
    Waiting,
)
from gotlang.models.base import AlreadyCached, Completion, Listener, Model, Permit, Reply, Request, Usage
from gotlang.runtime.sampler.budget import Allowance, Budget
from gotlang.runtime.sampler.events import (
    Asked,
    MissingSample,
    Observer,
    Retry,
    Sample,
    Streamed,
    Unsaved,
)
from gotlang.runtime.sampler.ledger import Ledger
from gotlang.runtime.sampler.limits import RequestQueue
from gotlang.runtime.sampler.store import SampleStore
from gotlang.runtime.stop_when import Enough

if TYPE_CHECKING:
    from gotlang.runtime.graph import Operation

MAX_SAMPLES = 250_000
"""The maximum number of samples of a run; a program that needs more is assumed to be wrong."""
FIRST_LOOK_S, LOOK_S = 0.02, 0.25
"""Seconds between two checks whether another process has obtained a sample: at first, and at most."""

Found = StoredSample | MissingSample
ABANDONED = MissingSample("it was no longer needed", True, 0.0, False)
"""The result of waiting for a sample that its requesting operation no longer needs."""


@final
class _Pending(Struct, eq=False):
    """Samples of one request that an operation obtains, and the waiters for them."""

    model: Model
    request: Request
    key: str
    operation: Operation | None
    timeout_s: float | None = None
    enough: Enough | None = None
    hedge: float | None = None
    ahead: int = 0
    """Samples before these that may show that they are not needed."""
    spare: bool = False
    """Whether another equal request is in flight, so that nothing is lost without this one."""
    numbers: list[int] = []
    found: dict[int, Sample] = {}
    waiting: dict[int, list[asyncio.Future[Found]]] | None = None

    @property
    def alone(self) -> bool:
        """Whether it is not coordinated with other processes: nobody claims requests to a simulated model, so
        a stored response need not be this request's."""
        return self.model.simulated or self.spare

    def give(self, number: int, found: Sample) -> None:
        """Provide a sample, or report that it will not come."""
        self.found[number] = found
        if self.waiting is not None:
            for waiter in self.waiting.pop(number, ()):
                if not waiter.done():
                    waiter.set_result(_alone(found))

    def give_up(
        self,
        numbers: Iterable[int],
        reason: str,
        *,
        cut_off: bool = False,
        seconds: float = 0.0,
        retryable: bool = False,
    ) -> None:
        """Report that the missing ones of these samples will not come."""
        for number in numbers:
            if number not in self.found:
                self.give(number, MissingSample(reason, cut_off, seconds, retryable))

    async def wait(self, number: int) -> Found:
        """Wait for a sample that another operation obtains."""
        if number in self.found:
            return _alone(self.found[number])
        if self.waiting is None:
            self.waiting = {}
        waiter: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        self.waiting.setdefault(number, []).append(waiter)
        return await waiter


def _alone(found: Sample) -> Found:
    """A sample without its source."""
    return found if isinstance(found, MissingSample) else found[0]


@final
class _RequestPermit(Permit, eq=False):
    """One request with its retries. `limit` is its deadline, `claimed` whether no other process sends it,
    `late` whether it missed its deadline."""

    sampler: Sampler
    pending: _Pending
    numbers: list[int]
    allowance: Allowance
    limit: asyncio.Timeout | None = None
    claimed: bool = False
    late: bool = False

    async def in_time(self, asked: Awaitable[Reply], seconds: float) -> Reply:
        """A reply that must arrive within this number of seconds after the request was sent. Raises
        TimeoutError."""
        async with asyncio.timeout(None) as self.limit:
            reply = await asked
        # A simulated model does not take the time that it reports.
        self.late = reply.latency_s > seconds
        if self.late:
            raise TimeoutError
        return reply

    @property
    def over(self) -> bool:
        """Whether its deadline passed before it arrived."""
        return self.late or (self.limit is not None and self.limit.expired())

    async def send(self) -> None:
        """Called before it is sent. Raises AlreadyCached if another process sends it, or has, and
        BudgetExceeded."""
        pending, numbers, sampler = self.pending, self.numbers, self.sampler
        shared = sampler.shared(pending)
        if self.claimed:
            needed = shared is None or not await shared.soon(partial(shared.expired, pending.key, numbers))
        else:
            self.claimed = shared is None or await sampler.claim(shared, pending, numbers)
            # Another process may have obtained them between the last check and this claim.
            needed = self.claimed and (
                pending.model.simulated or not await sampler.look_again(pending, numbers)
            )
        if not needed:
            raise AlreadyCached
        if not self.allowance.requests and self.limit is not None and pending.timeout_s is not None:
            self.limit.reschedule(asyncio.get_running_loop().time() + pending.timeout_s)
        await self.allowance.sending("" if pending.alone else sample_name(pending.key, numbers[0]))

    def failed(self, usage: Usage | None) -> None:
        """Record that the last request had no completion."""
        self.allowance.failed(usage)

    async def again(self) -> None:
        """Reserve again what the last request used up. Raises BudgetExceeded."""
        await self.allowance.again()

    def waiting(self, reason: str, number: int, most: int, seconds: float) -> None:
        """A retry follows after a wait."""
        if self.sampler.observe is not None:
            self.sampler.observe(Retry(self.pending.model.name, reason, number, most, seconds))


@final
class Sampler:
    """Obtains the samples of one run.

    `urgency` orders the operations whose requests wait, `idle` is called when an operation starts (1) and
    ends (-1) waiting for a sample that another one requested. `notes` collects remarks of
    models. `now` is the creation time of stored samples, in seconds since 1970. `on_loss` is called
    with the reason if the persistent cache cannot store a sample or be read. `streaming`: completions are
    observed while they arrive.
    """

    def __init__(
        self,
        ledger: Ledger,
        budget: Budget,
        queue: RequestQueue,
        notes: dict[str, None],
        *,
        cache: Cache | None = None,
        coordination: Coordination | None = None,
        observe: Observer | None = None,
        now: Callable[[], float] = time.time,
        on_loss: Callable[[str], None] | None = None,
        streaming: bool = False,
    ) -> None:
        self.ledger = ledger
        self.budget = budget
        self.queue = queue
        self.store = SampleStore(cache) if cache is not None else None
        self.coordination = coordination
        self.observe = observe
        self.now = now
        self.on_loss = on_loss
        self.streaming = streaming
        self.urgency: Callable[[Operation], Any] = lambda operation: 0
        self.idle: Callable[[int], None] = lambda change: None
        self.stopping: str | None = None
        """A reason once the run stops: no further request is sent, those in flight are finished."""
        self.refused = False
        """Whether the budget did not allow a request."""
        self.outside: OutsideSimulation | None = None
        """The first request that a simulator refused because it does not simulate it."""
        self.notes = notes
        self.waiting: list[Any] = []
        """The questions to people that have no answer yet."""
        self.asked = 0
        """Samples that operations requested; shared ones are counted each time."""
        self._process: dict[tuple[str, int], Found | _Pending] = {}

    def check(self, samples: int) -> None:
        """Raise EvaluationError if a run may not request this number of further samples."""
        if self.asked + samples > MAX_SAMPLES:
            raise LimitExceeded(f"this run needs more than {MAX_SAMPLES:,} model calls")

    def ask(self, samples: int) -> None:
        """Count samples that are requested now. Raises EvaluationError if there are too many."""
        self.check(samples)
        self.asked += samples

    async def sample(
        self,
        model: Model,
        request: Request,
        key: str,
        numbers: Sequence[int],
        operation: Operation | None,
        *,
        batched: bool = True,
        timeout_s: float | None = None,
        enough: Enough | None = None,
        hedge: float | None = None,
        ahead: int = 0,
        own: bool = False,
    ) -> list[Sample]:
        """The samples of a request with these numbers, in their order.

        `key` is the request's, `operation` the operation that requests them (None outside a graph). `batched`
        sends one request for all missing ones, if the endpoint supports `n`. `timeout_s` is the timeout of a
        response in seconds from when its request is sent; `enough` decides for a partial text whether it can
        be ended; `hedge` is the quantile of latency after which a second request is sent; `ahead` is the
        number of samples before these that may show that they are not needed: of equally urgent requests,
        those that are surely needed are sent first. `own` are numbers that no other operation of the run can
        request, so that nothing is kept for others. Raises nothing unless it is cancelled: a sample that
        cannot be obtained is a MissingSample.
        """
        pending = _Pending(model, request, key, operation, timeout_s, enough, hedge, ahead)
        if own:
            pending.numbers += numbers
            if len(numbers) == 1 and self.store is None and hedge is None:  # as most are without a cache
                while not pending.found:
                    await self._ask(pending, pending.numbers)
            else:
                await self._obtain(pending, batched)
            samples = [pending.found[number] for number in numbers]
        else:
            # At temperature 0 equal requests are equal calls: every sample is the first.
            numbers = numbers if request.settings.temperature != 0 else [0] * len(numbers)
            samples = await self._sample_shared(pending, numbers, batched)
        if self.observe is not None:
            self.observe(Asked(request, key, tuple(numbers), tuple(samples), model.name, operation))
        return samples

    async def _sample_shared(
        self, pending: _Pending, numbers: Sequence[int], batched: bool = True
    ) -> list[Sample]:
        """Samples that other operations may request too: each is obtained by the first."""
        process, key = self._process, pending.key
        for number in numbers:
            if (key, number) not in process:
                process[key, number] = pending
                pending.numbers.append(number)
        if len(pending.numbers) < len(numbers):
            self.ledger.shared = True
        if pending.numbers:
            try:
                await self._obtain(pending, batched)
            finally:
                self._share(pending)
        samples: list[Sample] = []
        for number in numbers:
            there = process[key, number]
            if isinstance(there, _Pending):
                self.idle(1)  # it does not block operations that request their own samples
                try:
                    there = await there.wait(number)
                finally:
                    self.idle(-1)
            if there is ABANDONED:
                again = _Pending(pending.model, pending.request, key, pending.operation)
                again.timeout_s, again.enough, again.hedge = pending.timeout_s, pending.enough, pending.hedge
                samples += await self._sample_shared(again, [number])
            elif isinstance(there, MissingSample):
                samples.append(there)
            else:
                samples.append(pending.found.pop(number, (there, "process")))
        return samples

    def _share(self, pending: _Pending) -> None:
        """Keep samples that others may request too; those of a cancelled operation are obtained by them."""
        for number in pending.numbers:
            if number not in pending.found:
                pending.give(number, ABANDONED)
                del pending.found[number], self._process[pending.key, number]
        for number, found in pending.found.items():
            self._process[pending.key, number] = _alone(found)

    async def cached(self, key: str, numbers: Sequence[int]) -> int:
        """How many of these samples, up to the first missing one, are cached."""
        stored: Iterable[int] = ()
        with suppress(CacheError):
            stored = await self.store.cache.aget(key, numbers) if self.store is not None else ()
        known = (n in stored or isinstance(self._process.get((key, n)), StoredSample) for n in numbers)
        return next((at for at, there in enumerate(known) if not there), len(numbers))

    async def noted(self, request: Request) -> str | None:
        """The record under a request that is not for a model, from this run or an earlier one."""
        key = request.key()
        with suppress(CacheError):
            found = await self.store.cache.aget(key, (0,)) if self.store is not None else {}
            if 0 in found:
                self._tell_noted(request, key, found[0])
                return found[0].completion.text
        return None

    async def note(self, request: Request, text: str) -> None:
        """Record a decision that is made once, in the cache and in a recording."""
        key, sample = request.key(), StoredSample(Completion(text), Usage(), 0.0, created=self.now())
        self._tell_noted(request, key, sample)
        if self.store is not None:
            self._tell_unsaved(await self.store.put(key, request, {0: sample}))

    def _tell_noted(self, request: Request, key: str, sample: StoredSample) -> None:
        if self.observe is not None:
            self.observe(Asked(request, key, (0,), ((sample, "persistent"),), request.model, None))

    def forget(self, key: str, number: int) -> None:
        """A sample that could not be obtained is requested again, if it is needed again."""
        self._process.pop((key, number), None)

    def finish(self) -> None:
        """Save pending samples, or note that they are not saved."""
        if self.store is not None:
            self._tell_unsaved(self.store.save())
            if (note := self.store.note()) is not None:
                self.notes[note] = None

    async def _obtain(self, pending: _Pending, batched: bool) -> None:
        """Get samples from the persistent cache or the model."""
        if self.store is not None:
            try:
                await self._look_up(self.store, pending, pending.numbers)
            except CacheError as error:
                self._lost(pending, pending.numbers, error)
        numbers, found = pending.numbers, pending.found
        while len(found) < len(numbers):
            missing = [number for number in numbers if number not in found] if found else numbers
            several = batched and len(missing) > 1
            chunks = _chunks(missing, max(1, pending.model.batch) if several else 1)
            ask = self._ask if pending.hedge is None else self._hedged
            if len(chunks) == 1:
                await ask(pending, chunks[0])
            else:
                async with asyncio.TaskGroup() as group:
                    for chunk in chunks:
                        group.create_task(ask(pending, chunk))

    async def _hedged(self, pending: _Pending, numbers: list[int]) -> None:
        """Send one request for these samples, and a second one if it takes longer than most did; the first
        response counts, the other request is cancelled. Simulated time does not pass, so nothing is late
        there."""
        model, patience = pending.model, None
        if pending.hedge is not None and not model.simulated:
            patience = self.queue.patience(model.name, pending.hedge)
        if patience is None:
            return await self._ask(pending, numbers)
        other = _Pending(model, pending.request, pending.key, pending.operation, pending.timeout_s)
        other.enough, other.spare = pending.enough, True
        tasks = [asyncio.create_task(self._ask(pending, numbers))]
        try:
            await asyncio.wait(tasks, timeout=patience)
            if not tasks[0].done() and self.stopping is None:
                tasks.append(asyncio.create_task(self._ask(other, numbers)))
            while left := [task for task in tasks if not task.done()]:
                await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                if any(isinstance(each.found.get(numbers[0]), tuple) for each in (pending, other)):
                    break
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for number, found in other.found.items():
            if isinstance(found, tuple) and not isinstance(pending.found.get(number), tuple):
                pending.give(number, found)
        return None

    async def _look_up(self, store: SampleStore, pending: _Pending, numbers: Sequence[int]) -> bool:
        """Take stored ones of these samples; returns whether there are any. Raises CacheError."""
        stored = await store.cache.aget(pending.key, numbers)
        for number, found in stored.items():
            pending.give(number, (found, "persistent"))
        await self.budget.found(pending.key, stored, pending.model.price)
        self.ledger.spent.free_calls += len(stored)
        return bool(stored)

    async def _ask(self, pending: _Pending, numbers: list[int]) -> None:
        """Send one request for these samples, unless another process does; those that it does not yield stay
        missing and are requested again."""
        model, queue, shared = pending.model, self.queue, self.shared(pending)
        if pending.ahead:  # other operations that start now may request samples that are needed for certain
            await asyncio.sleep(0)
        if waits := not queue.try_acquire(model.name):
            await queue.acquire(model.name, partial(self._urgency, pending), self.idle)
        try:
            if waits:  # the response whose slot this is may have shown that this request is not needed
                await asyncio.sleep(0)
            if self.stopping is not None:
                return pending.give_up(numbers, self.stopping, cut_off=True)
            if shared is None or not await self._elsewhere(shared, pending, numbers):
                return await self._request(pending, numbers)
        finally:
            queue.release(model.name)
        # It holds no slot meanwhile, and does not block operations that request their own samples.
        self.idle(1)
        try:
            wait = FIRST_LOOK_S
            while self.stopping is None and await self._elsewhere(shared, pending, numbers):
                await asyncio.sleep(wait)
                wait = min(LOOK_S, 1.5 * wait)
        finally:
            self.idle(-1)
        await self.look_again(pending, numbers)
        return None

    def _urgency(self, pending: _Pending) -> Any:
        operation = pending.operation
        return (self.urgency(operation), pending.ahead, operation.sequence) if operation is not None else ()

    def shared(self, pending: _Pending) -> Coordination | None:
        """The coordination with other processes for such a request; None for one that belongs to this run."""
        return None if self.coordination is None or pending.alone else self.coordination

    async def _elsewhere(self, shared: Coordination, pending: _Pending, numbers: list[int]) -> bool:
        """Whether another process, or another run of this one, requests any of these samples."""
        with suppress(CacheError):  # a claim would reveal it
            return await shared.soon(partial(shared.claimed, pending.key, numbers))
        return False

    async def claim(self, shared: Coordination, pending: _Pending, numbers: list[int]) -> bool:
        """Whether no other process requests these samples. Raises CacheError if that cannot be determined and
        the run must stop then."""

        def give_back(claimed: bool) -> None:
            if claimed:
                self._give_back(pending, numbers)

        try:
            return await shared.soon(partial(shared.claim, pending.key, numbers), give_back)
        except CacheError as error:
            if self.on_loss is not None:
                raise
            self.notes[f"other processes may pay for the same requests: {error.in_words()}"] = None
            return True

    def _give_back(self, pending: _Pending, numbers: list[int]) -> None:
        """Release the claims on these samples."""
        if (shared := self.shared(pending)) is not None:
            shared.release(pending.key, numbers)
            shared.flush_soon()

    def _lost(self, pending: _Pending, numbers: list[int], error: CacheError) -> None:
        """Report that these samples cannot be obtained, because the cache cannot be read, or spending cannot
        be recorded."""
        if self.on_loss is not None:
            self.on_loss(error.message)
        pending.give_up(numbers, error.in_words(), cut_off=self.on_loss is not None)

    async def look_again(self, pending: _Pending, numbers: list[int]) -> bool:
        """Take those of these samples that another process has stored meanwhile; returns whether there are
        any."""
        with suppress(CacheError):
            return self.store is not None and await self._look_up(self.store, pending, numbers)
        return False

    async def _request(self, pending: _Pending, numbers: list[int]) -> None:
        """Send one request within the budget, and store its completions."""
        model, budget, most = pending.model, self.budget, len(numbers)
        try:
            allowance = Allowance.at_once(budget, pending.request, most, model)
            if allowance is None:
                allowance = await Allowance.of(budget, pending.request, most, model)
        except BudgetExceeded as error:
            self.refused = self.refused or not pending.spare
            return pending.give_up(numbers, error.message, cut_off=True)
        except CacheError as error:
            return self._lost(pending, numbers, error)
        except GotError as error:
            return pending.give_up(numbers, error.in_words())
        if self.stopping is not None:
            allowance.end()
            return pending.give_up(numbers, self.stopping, cut_off=True)
        sending = _RequestPermit(self, pending, numbers, allowance)
        if pending.enough is not None or (self.streaming and self.observe is not None):
            sending.listen = self._listener(pending, numbers)
        try:
            try:
                asked = model.ask(pending.request, allowance.calls, numbers[0], sending)
                if pending.timeout_s is None:
                    reply = await asked
                else:
                    reply = await sending.in_time(asked, pending.timeout_s)
                if not reply.completions:
                    raise ModelError(f"`{model.name}` returned no completion and no reason why", requests=1)
            except (Exception, asyncio.CancelledError) as error:
                self._failed(sending, error)
            else:
                await self._keep(sending, reply)
        finally:
            allowance.end()
            self.ledger.spent.pay(allowance, model.price)
            if sending.claimed:
                self._give_back(pending, numbers)
        return None

    def _failed(self, sending: _RequestPermit, error: BaseException) -> None:
        """Handle a request without completions. Raises errors that end the run."""
        pending, numbers, sent = sending.pending, sending.numbers, sending.allowance.requests
        model, spent = pending.model, self.ledger.spent
        match error:
            case AlreadyCached():
                pass
            case CacheError():
                self._lost(pending, numbers, error)
            case Waiting():
                self.waiting.append(error.question)
                pending.give_up(numbers, error.message, cut_off=True)
            case BudgetExceeded():
                spent.requests += sent
                self.refused = self.refused or not pending.spare
                pending.give_up(numbers, error.message, cut_off=True)
            case ModelError():
                spent.requests += error.requests
                if isinstance(error, OutsideSimulation):
                    self.outside = self.outside or error
                pending.give_up(numbers, error.in_words(), retryable=error.retryable)
            case asyncio.CancelledError():
                spent.requests += sent
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise error
                pending.give_up(numbers, f"`{model.name}` gave up without a reason")
            case _:
                # A model may be third-party code; an error that violates its contract ends this request
                # alone.
                spent.requests += sent
                seconds = pending.timeout_s or 0.0 if sending.over else 0.0
                reason = f"`{model.name}` raised {type(error).__name__}: {error}"
                if seconds:
                    reason = f"no response within {seconds:g} seconds"
                pending.give_up(numbers, reason, seconds=seconds)

    def _listener(self, pending: _Pending, numbers: list[int]) -> Listener:
        """The listeners of a stream: observers, and the program's own condition."""
        enough, observe = pending.enough, self.observe if self.streaming else None
        due: dict[int, int] = {}

        def listen(at: int, text: str, heard: Callable[[], Completion]) -> bool:
            if observe is not None and at < len(numbers):
                observe(Streamed(pending.operation, pending.request.prompt, pending.key, numbers[at], text))
            if enough is None or 0 < len(text) - due.get(at, 0) <= due.get(at, 0) // enough.pace:
                return False
            due[at] = len(text)
            return enough(text, heard)

        return listen

    async def _keep(self, sending: _RequestPermit, reply: Reply) -> None:
        """Store the completions before anything else can go wrong, and provide them."""
        pending, numbers, listen = sending.pending, sending.numbers, sending.listen
        completions, usage, model, spent = reply.completions, reply.usage, pending.model, self.ledger.spent
        spent.requests += reply.requests
        spent.sequential_s += reply.latency_s
        if reply.notes:
            self.notes.update(dict.fromkeys(reply.notes))
        if pending.enough is not None and reply.first_s is None:
            self.notes[f"`{model.name}` does not stream: `stop when` saves nothing"] = None
            completions = tuple(map(pending.enough.cut, completions))
        elif pending.enough is not None and pending.enough.of_tokens:
            # An event may hold several tokens, and the last one those of all events.
            came, completions = completions, tuple(map(pending.enough.cut, completions))
            if came != completions and reply.usage_known:
                self.notes[f"`{model.name}` sends tokens after its stream: `stop when` saves nothing"] = None
        if listen is not None:
            for at, completion in enumerate(completions[: len(numbers)]):
                listen(at, completion.text, partial(completion.until, len(completion.text)))
        self.queue.took(model.name, reply.latency_s)
        made, answered = self.now(), len(completions)
        seconds = reply.latencies_s if len(reply.latencies_s) == answered else (reply.latency_s,) * answered
        stored = {
            numbers[at]: StoredSample(completion, usage, seconds[at], answered, at, made, reply.first_s)
            for at, completion in enumerate(completions[: len(numbers)])
        }
        try:
            if self.store is not None:
                self._tell_unsaved(await self.store.put(pending.key, pending.request, stored))
        finally:
            for number, sample in stored.items():
                pending.give(number, (sample, "model"))
            billed = usage if reply.usage_known else None
            sending.allowance.answered(answered + reply.extra, billed, reply.told)

    def _tell_unsaved(self, unsaved: int) -> None:
        """Report at once samples that could not be written, or that could be after all."""
        if unsaved and self.store is not None:
            if self.observe is not None:
                self.observe(Unsaved(unsaved, self.store.trouble))
            if unsaved > 0 and self.on_loss is not None:
                self.on_loss(self.store.trouble)


def _chunks(numbers: list[int], batch: int) -> list[list[int]]:
    """Sample numbers per request: those of a request are consecutive, so that each keeps its number."""
    if len(numbers) <= batch and numbers[-1] - numbers[0] == len(numbers) - 1:
        return [numbers]
    chunks: list[list[int]] = []
    for number in numbers:
        if chunks and len(chunks[-1]) < batch and chunks[-1][-1] == number - 1:
            chunks[-1].append(number)
        else:
            chunks.append([number])
    return chunks
