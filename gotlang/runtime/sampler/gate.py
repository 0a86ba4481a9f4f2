"""How many requests may be under way, and which of those that wait goes next."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, final

from gotlang.errors import UsageError


@final
class Gate:
    """A limit on requests under way, and one for each model that has its own. None means no limit.

    The runs that share a gate each have a lane. Lanes take turns, so that no row of a data set waits for all
    of another's requests; within a lane the most urgent request goes first. Raises UsageError for a limit
    below 1.
    """

    def __init__(self, limit: int | None, models: Mapping[str, int] | None = None) -> None:
        self._all = _Slots(limit, "the number of requests at the same time")
        self._models = {name: _Slots(most, f"the limit of `{name}`") for name, most in (models or {}).items()}

    @property
    def inside(self) -> int:
        """Requests under way."""
        return self._all.inside

    def at(self, limit: int | None) -> Gate:
        """Another gate with this limit for all requests, and the same ones for models."""
        return Gate(limit, {name: slots.limit for name, slots in self._models.items() if slots.limit})

    def lane(self) -> Lane:
        """A way through for one run."""
        return Lane(self._all, self._models)


@final
class Lane:
    """One run's way through the gate."""

    def __init__(self, whole: _Slots, models: Mapping[str, _Slots]) -> None:
        self._all = (whole, _Line())
        self._models = {name: (slots, _Line()) for name, slots in models.items()}

    def enter_at_once(self, model: str) -> bool:
        """Whether leave to send one request is to be had without waiting; if so it is taken."""
        whole, own = self._all[0], self._models.get(model)
        if not whole.free or (own is not None and not own[0].free):
            return False
        whole.inside += 1
        if own is not None:
            own[0].inside += 1
        return True

    async def enter(
        self, model: str, urgency: Callable[[], Any], idle: Callable[[int], None] = lambda change: None
    ) -> None:
        """Wait for leave to send one request; cancelling while waiting loses none.

        `urgency` gives any ordered value, the smallest goes first, and equal ones in order of arrival; it is
        called where there is something to wait for. `idle` is told 1 when this begins to wait for the limit
        of its model alone, and -1 when it no longer does: others may go on meanwhile.
        """
        own = self._models.get(model)
        # Whoever waits for a model's limit holds nothing that others could use.
        if own is not None:
            idle(1)
            try:
                await own[0].take(own[1], urgency)
            finally:
                idle(-1)
        try:
            await self._all[0].take(self._all[1], urgency)
        except BaseException:
            if own is not None:
                own[0].give()
            raise

    def leave(self, model: str) -> None:
        """Give the leave back."""
        self._all[0].give()
        own = self._models.get(model)
        if own is not None:
            own[0].give()


@final
class _Line:
    """The requests of one lane that wait, the most urgent first."""

    __slots__ = ("arrivals", "waiting")

    def __init__(self) -> None:
        self.arrivals = 0
        self.waiting: list[tuple[Any, int, asyncio.Future[None]]] = []


@final
class _Slots:
    """A semaphore whose waiters stand in lines; the lines take turns."""

    def __init__(self, limit: int | None, what: str) -> None:
        if limit is not None and limit < 1:
            raise UsageError(f"{what} is {limit}", help="give at least 1")
        self.limit = limit
        self.inside = 0
        self._lines: deque[_Line] = deque()

    @property
    def free(self) -> bool:
        """Whether nobody has to wait."""
        return self.limit is None or self.inside < self.limit

    async def take(self, line: _Line, urgency: Callable[[], Any]) -> None:
        if self.free:
            self.inside += 1
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not line.waiting:
            self._lines.append(line)
        line.arrivals += 1
        heapq.heappush(line.waiting, (urgency(), line.arrivals, waiter))
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.give()  # the slot came in the same moment
            raise

    def give(self) -> None:
        """Hand the slot to the next waiter of the next line, or give it back."""
        while self._lines:
            line = self._lines.popleft()
            while line.waiting:
                _, _, waiter = heapq.heappop(line.waiting)
                if not waiter.done():
                    if line.waiting:
                        self._lines.append(line)
                    waiter.set_result(None)
                    return
        self.inside -= 1
