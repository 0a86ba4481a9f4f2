"""Limits on concurrent requests, and the order in which waiting requests are sent."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, final

from gotlang.errors import UsageError

_Waiters = list[tuple[Any, int, "asyncio.Future[None]"]]
"""The waiting requests of one run, as a heap: the most urgent first, equal ones in order of arrival."""


@final
class FairSemaphore:
    """A semaphore with a queue per run: queues take turns, and in each the most urgent request goes first.

    `limit` None means no limit. Raises UsageError for one below 1; `what` names it there.
    """

    def __init__(self, limit: int | None, what: str) -> None:
        if limit is not None and limit < 1:
            raise UsageError(f"{what} is {limit}", help="give at least 1")
        self.limit = limit
        self._taken = 0
        self._arrivals = 0
        self._queues: deque[_Waiters] = deque()

    @property
    def free(self) -> bool:
        """Whether a slot is free."""
        return self.limit is None or self._taken < self.limit

    def try_acquire(self) -> bool:
        """Take a slot if one is free; return whether it was."""
        if not self.free:
            return False
        self._taken += 1
        return True

    async def acquire(self, queue: _Waiters, urgency: Callable[[], Any]) -> None:
        """Take a slot, or wait for one in this queue. A cancelled wait takes none."""
        if self.try_acquire():
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not queue:
            self._queues.append(queue)
        self._arrivals += 1
        heapq.heappush(queue, (urgency(), self._arrivals, waiter))
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release()  # the slot came at the same moment
            raise

    def release(self) -> None:
        """Hand the slot to the next waiter of the next queue, or free it."""
        while self._queues:
            queue = self._queues.popleft()
            while queue:
                _, _, waiter = heapq.heappop(queue)
                if not waiter.done():
                    if queue:
                        self._queues.append(queue)
                    waiter.set_result(None)
                    return
        self._taken -= 1


@final
class RequestLimits:
    """A limit on concurrent requests, and one per model that has its own; None means no limit.

    Runs that share the limits each have a queue, and the queues take turns, so that no row of a dataset waits
    for all requests of another. Raises UsageError for a limit below 1.
    """

    def __init__(self, limit: int | None, models: Mapping[str, int] | None = None) -> None:
        self.total = FairSemaphore(limit, "the number of concurrent requests")
        self.models = {name: FairSemaphore(n, f"the limit of `{name}`") for name, n in (models or {}).items()}

    def with_total(self, limit: int | None) -> RequestLimits:
        """New limits, with this one on all requests and the same ones per model."""
        return RequestLimits(limit, {name: own.limit for name, own in self.models.items() if own.limit})

    def queue(self) -> RequestQueue:
        """The queue of one run."""
        return RequestQueue(self)


@final
class RequestQueue:
    """The requests of one run that wait for a slot of the limits."""

    def __init__(self, limits: RequestLimits) -> None:
        self._total = limits.total
        self._models = limits.models
        self._waiting: _Waiters = []
        self._waiting_for: dict[str, _Waiters] = {name: [] for name in limits.models}

    def try_acquire(self, model: str) -> bool:
        """Take a slot for one request if one is free; return whether it was."""
        own = self._models.get(model)
        if not self._total.free or (own is not None and not own.try_acquire()):
            return False
        return self._total.try_acquire()

    async def acquire(
        self, model: str, urgency: Callable[[], Any], idle: Callable[[int], None] = lambda change: None
    ) -> None:
        """Wait for a slot for one request; a cancelled wait takes none.

        `urgency` returns any ordered value, the smallest goes first; it is called only if there is a wait.
        `idle` is called with 1 when the wait for the limit of the model alone begins, and with -1 when it
        ends: others may go on meanwhile.
        """
        own = self._models.get(model)
        # A request that waits for the limit of its model holds no slot that others could use.
        if own is not None:
            idle(1)
            try:
                await own.acquire(self._waiting_for[model], urgency)
            finally:
                idle(-1)
        try:
            await self._total.acquire(self._waiting, urgency)
        except BaseException:
            if own is not None:
                own.release()
            raise

    def release(self, model: str) -> None:
        """Free the slot of one request."""
        self._total.release()
        if (own := self._models.get(model)) is not None:
            own.release()
