"""Who may send next: request and token limits, pace, and a queue in the order of arrival."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import final

from gotlang.models.pace import ROUND_TRIP_S, Pace
from gotlang.models.retries import duration, number
from gotlang.models.windows import Taken, Window

Cost = Callable[[], tuple[float, float]]
"""The tokens a request will likely take, and the most it may. Asked again while it waits."""


HEADROOM = 1.5
"""How many times the tokens that a request will likely take must be left: some take more."""


LEAST_WAIT_S = 1e-6
"""Less would not move a clock that has run for long."""


@final
@dataclass(frozen=True, slots=True)
class Pass:
    """Leave to send one request, to be handed back with `Limits.leave`."""

    entered: float
    request: Taken
    tokens: Taken


@final
class Limits:
    """The gate in front of one endpoint.

    `requests` and `tokens` are allowed per `period_s` seconds; None is learned from the endpoint's headers,
    or from its refusals, which take `round_trip_s` to come back. `clock` gives seconds, `sleep` waits for
    some. `unlimited` lets everything through at once.
    """

    def __init__(
        self,
        requests: float | None = None,
        tokens: float | None = None,
        *,
        period_s: float = 60.0,
        round_trip_s: float = ROUND_TRIP_S,
        unlimited: bool = False,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._requests = Window(period_s, requests)
        self._tokens = Window(period_s, tokens, headroom=HEADROOM)
        self._pace = Pace(period_s, requests, round_trip_s=round_trip_s)
        self._unlimited = unlimited
        self._clock = clock
        self._sleep = sleep
        self._tickets = itertools.count()
        self._queue: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._busy = False
        self._changed = asyncio.Event()
        self._paused_until = 0.0
        self._in_flight = 0

    @property
    def in_flight(self) -> int:
        """How many requests are on the wire."""
        return self._in_flight

    @property
    def concurrency(self) -> int:
        """How many may be."""
        return int(self._pace.concurrency)

    def ticket(self) -> int:
        """A place in the queue. A request that is sent again keeps its own: it goes before younger ones."""
        return next(self._tickets)

    async def enter(self, ticket: int, cost: Cost) -> Pass:
        """Wait until a request may be sent."""
        await self._turn(ticket)
        try:
            while not self._unlimited and (delay := self._delay(*cost())) > 0:
                await self._wait(delay)
            now = self._clock()
            self._in_flight += 1
            tokens = cost()
            self._pace.sent(now, self._even(*tokens))
            return Pass(now, self._requests.take(1, 1, now), self._tokens.take(*tokens, now))
        finally:
            self._next_turn()

    def leave(self, entered: Pass, tokens: float | None, headers: Mapping[str, str]) -> None:
        """Hand back leave to send. `tokens` is what the request took: 0 where it was refused, None where that
        is not known, so that what was expected stays counted."""
        now = self._clock()
        if tokens is not None:
            self._tokens.settle(entered.tokens, tokens, entered.tokens.ceiling if tokens else 0.0)
        if tokens:
            self._pace.answered(entered.entered, now, self._in_flight)
        self._in_flight -= 1
        for window, kind in ((self._requests, "requests"), (self._tokens, "tokens")):
            limit = number(headers.get(f"x-ratelimit-limit-{kind}"))
            remaining = number(headers.get(f"x-ratelimit-remaining-{kind}"))
            window.told(limit, remaining, duration(headers.get(f"x-ratelimit-reset-{kind}")), now)
            if limit:
                self._pace.told(self._even(entered.tokens.amount, entered.tokens.ceiling))
        self._changed.set()

    def congested(self, entered: Pass, wait_s: float, *, refused: bool) -> None:
        """The endpoint could not keep up with a request: nobody sends for `wait_s` seconds, and fewer
        after that. `refused`: it refused for want of allowance."""
        now = self._clock()
        self._paused_until = max(self._paused_until, now + wait_s)
        news = self._pace.congested(entered.entered, now, wait_s, refused=refused)
        if news and refused:
            self._tokens.refused(now)

    def _even(self, tokens: float, ceiling: float) -> float:
        """The space between requests like this one that uses up the known limits evenly; 0 without limits."""
        return max(self._requests.space(1, 1), self._tokens.space(tokens, ceiling))

    def _delay(self, tokens: float, ceiling: float) -> float:
        if self._in_flight >= self.concurrency:
            return float("inf")
        now = self._clock()
        return max(
            self._paused_until - now,
            self._pace.delay(now),
            self._requests.delay(1, 1, now),
            self._tokens.delay(tokens, ceiling, now),
        )

    async def _wait(self, delay: float) -> None:
        """Until the delay is over, or something changed that may shorten it."""
        self._changed.clear()
        if delay == float("inf"):
            await self._changed.wait()
            return
        delay = max(delay, LEAST_WAIT_S)
        waits = [asyncio.ensure_future(self._sleep(delay)), asyncio.ensure_future(self._changed.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _turn(self, ticket: int) -> None:
        if not self._busy:
            self._busy = True
            return
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._queue, (ticket, next(self._order), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The turn was handed to us just before we were cancelled: hand it on, or all wait for ever.
                self._next_turn()
            raise

    def _next_turn(self) -> None:
        """Hand the turn to the eldest that still waits. The turn stays taken while it changes hands, so that
        nobody who comes in between can go before the one at the head."""
        while self._queue:
            turn = heapq.heappop(self._queue)[2]
            if not turn.done():
                turn.set_result(None)
                return
        self._busy = False
