"""How many requests may be under way, and which of those that wait goes next."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, final


@final
class Gate:
    """A semaphore that lets the most urgent waiter through first. `limit` None means no limit.

    Urgency is any ordered value, the smallest first; equal ones in order of arrival.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.inside = 0
        self._arrivals = 0
        self._waiting: list[tuple[Any, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def slot(self, urgency: Any) -> AsyncIterator[None]:
        """Hold one of the slots; cancelling a waiter loses none."""
        if self.limit is not None and self.inside >= self.limit:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._arrivals += 1
            heapq.heappush(self._waiting, (urgency, self._arrivals, waiter))
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._leave()
                raise
        else:
            self.inside += 1
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        """Hand the slot to the next waiter, or give it back."""
        while self._waiting:
            _, _, waiter = heapq.heappop(self._waiting)
            if not waiter.done():
                waiter.set_result(None)
                return
        self.inside -= 1
