"""Limits on concurrent requests, and the order in which waiting requests are sent."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, final

from gotlang.models.limits import FairSemaphore, Waiters

_FEWEST_SEEN, _MOST_SEEN = 10, 1_000
"""The number of responses of a model from which on its latency is known, and the number of latest ones that
are used."""


@final
class RequestLimits:
    """A limit on concurrent requests, and one per model that has its own; None means no limit.

    Runs that share the limits each have a queue, and the queues take turns, so that no row of a dataset waits
    for all requests of another. Raises UsageError for a limit below 1.
    """

    def __init__(self, limit: int | None, models: Mapping[str, int] | None = None) -> None:
        self.total = FairSemaphore(limit, "the number of concurrent requests")
        self.models = {name: FairSemaphore(n, f"the limit of `{name}`") for name, n in (models or {}).items()}
        self.latencies: dict[str, deque[float]] = defaultdict(partial(deque, maxlen=_MOST_SEEN))
        """The latencies of the latest responses of each model, in seconds."""

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
        self._latencies = limits.latencies
        self._models = limits.models
        self._waiting: Waiters = []
        self._waiting_for: dict[str, Waiters] = {name: [] for name in limits.models}

    def took(self, model: str, seconds: float) -> None:
        """Record the latency of a response of a model."""
        self._latencies[model].append(seconds)

    def patience(self, model: str, quantile: float) -> float | None:
        """The quantile of a model's latency in seconds; None for fewer than ten responses."""
        seen = self._latencies[model]
        return sorted(seen)[math.ceil(quantile * len(seen)) - 1] if len(seen) >= _FEWEST_SEEN else None

    def try_acquire(self, model: str) -> bool:
        """Take a slot for one request if one is free; return whether it was."""
        own = self._models.get(model)
        if own is not None and (not self._total.free or not own.try_acquire()):
            return False
        return self._total.try_acquire()

    async def acquire(
        self, model: str, urgency: Callable[[], Any], idle: Callable[[int], None] = lambda change: None
    ) -> None:
        """Wait for a slot for one request; a cancelled wait takes none.

        `urgency` returns any ordered value, the smallest goes first; it is called only if there is a wait.
        `idle` is called with 1 when the wait for the limit of the model alone begins, and with -1 when it
        ends: others may continue meanwhile.
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
