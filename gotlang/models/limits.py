"""Rate limiting: limits per minute, adaptive pace and concurrency, a fair queue.

Three parts decide. `Window` counts what was sent against the limits that are known, from the user or from the
endpoint's headers. `Pace` infers unknown limits from refusals. `EndpointGate` is the queue in front of both.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, final

from msgspec import Struct

from gotlang.errors import UsageError
from gotlang.models.base import Request, Usage, token_bound
from gotlang.models.failures import reported_limit

Tokens = Callable[[], tuple[float, float]]
"""The likely and the maximum tokens of a request. Called again while the request waits."""

MIN_WAIT_S = 1e-6
"""A shorter wait would not advance a clock that has run for long."""
HEADROOM = 1.5
"""Multiple of a request's likely tokens that must be left: some requests use more."""

# Window
MARGIN = 0.02
"""Share of a period added to it, since requests do not arrive in the order and at the time they were sent."""
BURST = 0.5
"""Share of the limit that may be used at once."""
SPACING = 0.95
"""Minimum distance of requests as a share of even spacing; the count itself enforces the limit."""
SLACK = 0.02
"""Share of a period that a late request may catch up on."""
MAX_REPORTED_LIMIT = 1e12
"""A limit in a header above this is ignored."""
MIN_RESET_S = 1e-3

# Pace
FIRST_CONCURRENCY, MAX_CONCURRENCY = 32.0, 1000.0
UNSPACED = 4
"""Requests that are sent without spacing before anything is known of the endpoint."""
ROUND_TRIP_S = 0.05
"""Seconds that a refusal is expected to take, until a response was faster."""
UNDER_WAY = 0.04
"""Share of the requests so far that may be in flight when the first refusal comes."""
NARROWER, MIN_NARROWER, MAX_NARROWER, UNSURE = 0.001, 0.0002, 0.05, 0.02
"""Shares by which a response narrows the spacing: usually, if the limit showed often, if it has not shown for
long, and at first if the spacing may be a wrong guess."""
COUNTED_RESPONSES = 60.0
"""Responses per period that narrow the spacing; of more, each narrows it less. Endpoints that count by the
period refuse up to a period late, and the spacing must not be far off by then."""
WIDER, SOMEWHAT_WIDER, MUCH_WIDER = 1.08, 1.4, 2.0
"""Factors by which a refusal widens the spacing: at least, at most if little was accepted since the last one,
and at most."""
SURE = 1.2
"""A larger factor shows that the spacing was far off."""
ENOUGH = 1.1
"""Maximum width of the spacing relative to an even spread of the last period's requests."""
SOON = 30
"""Responses after a refusal within which the next refusal provides no new information about the limit."""
IN_VAIN = 1.4
"""How much refusals that do not come at once may widen the spacing before it is given up: one refused in four
needs a third."""
BY_CHANCE, REFUSALS = 3.0, 7
"""If the spacing at this number of consecutive refusals grew by that factor, and as many requests are
accepted between them, the refusals are not caused by the pace."""
TOO_WIDE = 3
"""Consecutive refusals, each at a spacing `BY_CHANCE` times wider than one that was accepted, after which
they are not caused by the pace either."""
PROMPT = 3
"""Requests since the last refusal up to which the next one counts as coming at once."""
QUIET = 130
"""Responses, over a period at least, after which a limit that does not show is probed twice as hard."""
BY_PERIOD = 4.0
"""An endpoint that asks to wait as long as for this many requests counts by the period."""

# Outages
OUTAGE = 5
"""Consecutive requests without a completion that may have been charged, after which one at a time is sent."""
PROBES = 6
"""Of those that are then sent one at a time, how many may fail until the endpoint is given up."""
GIVEN_UP_S = 30.0
"""Seconds for which nothing is sent to an endpoint that was given up; then one request tries it again."""


class Outage(Exception):
    """The endpoint was given up for now: the request is not sent."""


@final
class TokenEstimates:
    """The likely tokens of a request: moving averages per prompt, and over all prompts for a new one."""

    _WEIGHT = 0.2

    def __init__(self) -> None:
        self._per_byte = 0.4
        self._outputs: dict[str, float] = {}
        self._any_output: float | None = None

    def of(self, request: Request, n: int) -> tuple[float, float]:
        """The input and output tokens that n completions are likely to use, and the maximum as providers
        count it: the input, and `max_tokens` for each."""
        most = float(request.settings.max_tokens)
        each = min(most, self._outputs.get(request.prompt, self._any_output or most))
        read = token_bound(request) * self._per_byte
        return read + each * n, read + most * n

    def learn(self, request: Request, n: int, usage: Usage) -> None:
        """Take a reply with n completions into account."""
        self._per_byte += self._WEIGHT * (
            min(1.0, usage.input_tokens / token_bound(request)) - self._per_byte
        )
        each = usage.output_tokens / n
        self._any_output = self._mixed(self._any_output, each)
        self._outputs[request.prompt] = self._mixed(self._outputs.get(request.prompt), each)

    def _mixed(self, average: float | None, latest: float) -> float:
        return latest if average is None else average + self._WEIGHT * (latest - average)


@final
class Take(Struct):
    """What one request uses of a limit until a time: its likely `amount`, and the maximum that may count."""

    until: float
    amount: float
    ceiling: float


@final
class Window:
    """The usage in the last `period_s` seconds, against `limit` (None: unknown, nothing waits).

    The count slides, which satisfies servers that count by fixed minutes, by sliding ones, or by a bucket
    that refills. A part of the limit may be used at once; the rest is spaced evenly, so that late requests
    are not refused in a burst. `headroom` is the multiple of a likely amount that must be left.
    """

    def __init__(self, period_s: float, limit: float | None = None, *, headroom: float = 1.0) -> None:
        self._headroom = headroom
        self._period = period_s
        self._span = period_s * (1 + MARGIN)
        self._own_limit = limit
        self._reported_limit: float | None = None
        self._takes: deque[Take] = deque()
        self._amounts = self._ceilings = 0.0
        self._by_ceiling = False
        self._others_rate = self._others_until = 0.0
        self._next = 0.0
        # Some providers count the maximum cost of a request (its max_tokens), not the actual one. That shows
        # if they refuse although we counted much less, and nothing was dropped that they may still count.
        self._whole = True

    def allow(self, limit: float | None) -> None:
        """Change the user's limit."""
        self._own_limit = limit

    @property
    def limit(self) -> float | None:
        """The lower of the user's limit and the endpoint's."""
        return min(
            (limit for limit in (self._own_limit, self._reported_limit) if limit is not None), default=None
        )

    def used(self, now: float) -> float:
        """The amount that counts against the limit now."""
        self._expire(now)
        others = self._others_rate * max(0.0, self._others_until - now)
        return others + (self._ceilings if self._by_ceiling else self._amounts)

    def delay(self, amount: float, ceiling: float, now: float) -> float:
        """Seconds until this amount may be used, if nothing changes meanwhile."""
        limit = self.limit
        if limit is None:
            return 0.0
        used = self.used(now)
        spaced = max(0.0, self._next - now) if used >= BURST * limit else 0.0
        # An amount above the whole limit may be used when nothing else counts.
        needed = ceiling if self._by_ceiling else min(ceiling, amount * self._headroom)
        excess = used + min(needed, limit) - limit
        if excess <= 0:
            return spaced
        waits = [self._span]
        if self._others_rate * (self._others_until - now) >= excess:
            waits.append(excess / self._others_rate)
        for take in self._takes:
            excess -= take.ceiling if self._by_ceiling else take.amount
            if excess <= 0:
                waits.append(take.until - now)
                break
        return max(spaced, min(waits))

    def space(self, amount: float, ceiling: float) -> float:
        """Seconds between requests of this size that use the limit evenly; 0 without a limit."""
        limit = self.limit
        if limit is None:
            return 0.0
        return SPACING * self._period * min(ceiling if self._by_ceiling else amount, limit) / limit

    def take(self, amount: float, ceiling: float, now: float) -> Take:
        """Count this amount from now on."""
        limit = self.limit
        self._expire(now)
        if limit is not None and self.used(now) >= BURST * limit:
            self._next = max(self._next, now - SLACK * self._period) + self.space(amount, ceiling)
        take = Take(now + self._span, amount, ceiling)
        self._takes.append(take)
        self._amounts += amount
        self._ceilings += ceiling
        return take

    def settle(self, take: Take, amount: float, ceiling: float) -> None:
        """Correct the amount of a request, once it is known."""
        if take.until > 0:
            self._amounts += amount - take.amount
            self._ceilings += ceiling - take.ceiling
        take.amount, take.ceiling = amount, ceiling

    def told(self, limit: float | None, remaining: float | None, reset_s: float | None, now: float) -> None:
        """Process the endpoint's headers. A usage above our own count is that of other clients."""
        if limit is None or not 0 < limit <= MAX_REPORTED_LIMIT:
            return
        self._reported_limit = limit
        if remaining is None:
            return
        self._others_until = now
        # It is restored gradually until the reset: all at once would be a guess, and none a standstill.
        gone_in = max(MIN_RESET_S, min(self._span, reset_s or self._span))
        self._others_rate = max(0.0, limit - remaining - self.used(now)) / gone_in
        self._others_until = now + gone_in

    def refused(self, now: float) -> None:
        """The endpoint refused a request over its limit, though we may have counted much less."""
        limit = self.limit
        if limit is not None and self.used(now) < 0.8 * limit <= self._ceilings:
            self._by_ceiling |= self._whole

    def _expire(self, now: float) -> None:
        while self._takes and self._takes[0].until <= now:
            take = self._takes.popleft()
            self._amounts -= take.amount
            self._ceilings -= take.ceiling
            take.until = 0.0
            self._whole = False
        if not self._takes:
            self._amounts = self._ceilings = 0.0


@final
class Pace:
    """The spacing of requests and their concurrency, adapted to an endpoint whose limits are unknown.

    Such limits show in refusals only, and each refusal costs a request. So:

    - Until the first refusal, the rate grows with the number of accepted requests: few are then in flight
      when it comes, whatever the limit is.
    - After refusals, requests are spaced: at first as an even spread of those accepted over the period, then
      wider with each refusal and a little narrower with each response. A limit that showed again and again
      is probed less often; one that no longer shows, more and more.
    - Concurrency rises by one per response until the endpoint is first congested, then by one per round; each
      congestion halves it, but not below what the endpoint has lately been processing.

    Endpoints count by the period (then many seconds pass until the next request is accepted) or accept one
    after the other, as a bucket that refills. The pause that they ask for shows which.

    `period_s` is the period over which endpoints count, `requests` the user's limit per period,
    `round_trip_s` the time that a refusal takes.
    """

    def __init__(
        self, period_s: float, requests: float | None = None, *, round_trip_s: float = ROUND_TRIP_S
    ) -> None:
        # A tenth of the user's limit at a time is safe.
        self.concurrency = min(MAX_CONCURRENCY, max(FIRST_CONCURRENCY, (requests or 0.0) / 10))
        self._period = period_s
        self._round_trip = round_trip_s
        self._doubling = True
        self._spaced = self._by_period = False
        self._space = self._held = self._believed = 0.0
        self._accepted_space, self._too_wide = math.inf, 0
        self._next = 0.0
        self._narrower = NARROWER
        self._by_chance_until = float("-inf")
        self._widened: deque[tuple[float, int]] = deque(maxlen=REFUSALS)
        self._refused_at = self._changed_at = float("-inf")
        self._quiet_since = self._started = 0.0
        self._sends: deque[float] = deque()
        self._sent = self._responses = self._quiet_responses = 0
        self._counted_since: float | None = None
        self._work = self._working = 0.0

    def delay(self, now: float) -> float:
        """Seconds until the next request may be sent."""
        return self._next - now

    def sent(self, now: float, even_s: float) -> None:
        """A request is sent. `even_s` is the spacing that uses the known limits evenly (0: none is known)."""
        if self._counted_since is None:
            self._counted_since = now
        self._started = self._started if self._sent else now
        self._sent += 1
        self._sends.append(now)
        while self._sends[0] <= now - self._period:
            self._sends.popleft()
        if self._spaced:
            space = self._space
        elif even_s or self._sent < UNSPACED:
            space = 0.0
        else:
            space = self._round_trip / (UNDER_WAY * self._sent)
        self._next = max(self._next, now) + (min(space, even_s) if even_s else space)

    def answered(self, sent: float, now: float, in_flight: int) -> None:
        """The response to a request sent at `sent` arrived, with this number in flight."""
        self._responses += 1
        self._round_trip = min(self._round_trip, max(now - sent, 1e-4))
        self._work += now - sent
        if self._elapsed(now) > self._period:
            self._working, self._work, self._counted_since = self._work / self._elapsed(now), 0.0, now
        if in_flight >= self.concurrency / 2:
            step = 1.0 if self._doubling else 1.0 / self.concurrency
            self.concurrency = min(MAX_CONCURRENCY, self.concurrency + step)
        if now - self._quiet_since > self._period and self._responses >= self._quiet_responses + QUIET:
            self._narrower = min(MAX_NARROWER, 2 * self._narrower)
            self._quiet_since, self._quiet_responses = now, self._responses
        self._space *= 1 - self._narrower * min(1.0, COUNTED_RESPONSES * self._space / self._period)
        self._believed = min(self._believed, self._space)

    def told(self, even_s: float) -> None:
        """Process the endpoint's limits, which requests with this spacing use evenly: half of the resulting
        number per period may be in flight."""
        if self._doubling and even_s > 0:
            half = self._period / even_s / 2
            self.concurrency = max(self.concurrency, min(MAX_CONCURRENCY, half))

    def congested(self, sent: float, now: float, wait_s: float, *, refused: bool) -> bool:
        """The endpoint could not keep up with a request sent at `sent`, or refused it over a limit, and asks
        for this pause. Returns whether that is new information: it is not if the request was sent before the
        last change."""
        news = sent > self._changed_at
        if news:
            self._changed_at = now
            self._doubling = False
            # By Little's law: work done per second times its duration is the number in progress, on average.
            working = max(self._working, self._work / max(self._elapsed(now), 1e-3)) if refused else 0.0
            self.concurrency = max(1.0, min(self.concurrency, max(self.concurrency / 2, working)))
            if refused:
                self._widen(sent, now, wait_s)
        if refused and sent in self._sends:
            self._sends.remove(sent)
        return news

    def _widen(self, sent: float, now: float, wait_s: float) -> None:
        """Space requests, or space them wider, if the refusal shows that they come too fast."""
        even = self._period / max(1, self._accepted(sent - self._period, sent))
        since = max(self._refused_at, self._started, sent - self._period)
        lately = self._accepted(since, sent)
        seen = (now - since) / max(1, lately)
        again = self._responses < SOON and self._refused_at >= 0
        left = self._period - (now - self._started)
        self._by_period |= wait_s > max(BY_PERIOD * even, left / 2)
        self._accepted_space = min(self._accepted_space, even)
        if self._spaced:
            self._adapt(even, seen, lately)
        elif now >= self._by_chance_until and (
            self._by_period or again or even / BY_PERIOD <= wait_s <= ENOUGH * even
        ):
            # A single refusal may be by chance, unless the pause fits. One that follows soon is not.
            self._spaced = True
            self._space = max(seen, self._round_trip) if again else even
            self._believed = self._space
            self._narrower = NARROWER if self._by_period else UNSURE
        self._held = self._space
        self._responses = self._quiet_responses = 0
        self._refused_at = self._quiet_since = now

    def _adapt(self, even: float, seen: float, lately: int) -> None:
        """Widen the spacing. `even` spreads the requests of the last period, `seen` is the spacing at which
        the `lately` accepted ones since the last refusal came."""
        soon = self._responses < SOON
        # The right spacing is between the one that was refused and the one that worked for long.
        between = 1.0 if soon else math.sqrt(self._held / self._space)
        least, most = WIDER, (MUCH_WIDER if lately > PROMPT else SOMEWHAT_WIDER)
        if self._by_period:
            # It refuses until the period has passed: the spacing that used up the last one is sufficient.
            seen = min(seen, ENOUGH * even) if lately > PROMPT else 0.0
            least = max(1.0, min(WIDER, ENOUGH * even / self._space))
        factor = min(most, max(least, seen / self._space, between))
        self._widened.append((self._space, lately))
        if self._widened[-1][0] > BY_CHANCE * self._widened[0][0] and len(self._widened) == REFUSALS:
            # Doubling the spacing halves the refusals of a limit. If the rate of refusals stays, they are by
            # chance.
            accepted = sorted(count for _, count in self._widened)[1:-1]
            if sum(accepted) >= len(accepted) and max(accepted) <= 4 * PROMPT:
                self._refused_by_chance()
                return
        self._too_wide = self._too_wide + 1 if self._space > BY_CHANCE * self._accepted_space else 0
        if self._too_wide == TOO_WIDE:
            self._accepted_space *= 2  # or the limit was lowered
            self._refused_by_chance()
            return
        if factor > SURE:
            self._narrower = max(NARROWER, self._narrower / 2)
        elif not soon or self._narrower > NARROWER:
            self._narrower = max(MIN_NARROWER, self._narrower / 2)
        self._space *= factor
        if lately <= PROMPT:
            self._believed = self._space
        elif self._space > IN_VAIN * self._believed:
            # Whatever the reason of the refusals is, it is not the pace.
            self._spaced, self._by_period, self._space = False, False, 0.0

    def _refused_by_chance(self) -> None:
        """Drop the spacing for a while."""
        self._spaced, self._by_period, self._space, self._too_wide, self._next = False, False, 0.0, 0, 0.0
        self._widened.clear()
        self._by_chance_until = self._changed_at + self._period / 4

    def _accepted(self, since: float, until: float) -> int:
        """How many requests were sent after `since` and before `until`, without those refused."""
        return bisect_left(self._sends, until) - bisect_right(self._sends, since)

    def _elapsed(self, now: float) -> float:
        return 0.0 if self._counted_since is None else now - self._counted_since


@final
class SendSlot(Struct, frozen=True):
    """Permission to send one request, returned with `EndpointGate.release`."""

    sent: float
    request: Take
    tokens: Take


Waiters = list[tuple[Any, int, "asyncio.Future[None]"]]
"""The waiting requests of one queue, as a heap: the most urgent first, equal ones in order of arrival."""


@final
class FairSemaphore:
    """A semaphore with queues that take turns, and in each the most urgent request goes first.

    `limit` None means no limit. Raises UsageError for one below 1; `what` names it there.
    """

    def __init__(self, limit: int | None, what: str) -> None:
        if limit is not None and limit < 1:
            raise UsageError(f"{what} is {limit}", help="give at least 1")
        self.limit = limit
        self._taken = 0
        self._arrivals = 0
        self._queues: deque[Waiters] = deque()

    @property
    def free(self) -> bool:
        """Whether a slot is free."""
        return self.limit is None or self._taken < self.limit

    def try_acquire(self) -> bool:
        """Take a slot if one is free; return whether it was."""
        if self.limit is not None and self._taken >= self.limit:
            return False
        self._taken += 1
        return True

    async def acquire(self, queue: Waiters, urgency: Callable[[], Any]) -> None:
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
class EndpointGate:
    """The gate in front of one endpoint.

    `requests` and `tokens` are allowed per `period_s` seconds; if None, they are learned from the endpoint's
    headers or refusals, which take `round_trip_s`. `clock` returns seconds, `sleep` waits for some.
    `unlimited` lets everything through at once.
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
        self._turn = FairSemaphore(1, "the turn")
        self._queue: Waiters = []
        self._changed = asyncio.Event()
        self._paused_until = self._given_up_until = 0.0
        self._in_vain = self._probes = 0
        self._out_since = 0.0
        self._refused_at = -math.inf
        self.refusals = 0
        """Number of consecutive congestions of the endpoint."""
        self.in_flight = 0
        """Number of requests in flight."""

    @property
    def concurrency(self) -> int:
        """The maximum number of requests in flight."""
        return int(self._pace.concurrency)

    def allow(self, requests: float | None, tokens: float | None) -> None:
        """Change the limits per period from now on; earlier requests count against them."""
        self._requests.allow(requests)
        self._tokens.allow(tokens)
        self._changed.set()

    def ticket(self) -> int:
        """A place in the queue. A request that is sent again keeps its own: it goes before younger ones."""
        return next(self._tickets)

    async def acquire(self, ticket: int, tokens: Tokens) -> SendSlot:
        """Wait until a request may be sent. Raises Outage if the endpoint does not work."""
        await self._turn.acquire(self._queue, lambda: ticket)
        try:
            while not self._unlimited and (delay := self._delay(*tokens())) > 0:
                if self._clock() < self._given_up_until:
                    raise Outage
                await self._wait(delay)
            now = self._clock()
            self.in_flight += 1
            likely, most = tokens()
            self._pace.sent(now, self._even(likely, most))
            return SendSlot(now, self._requests.take(1, 1, now), self._tokens.take(likely, most, now))
        finally:
            self._turn.release()

    def release(self, slot: SendSlot, tokens: float | None, headers: Mapping[str, str]) -> None:
        """Return a slot. `tokens` is the usage of the request: 0 if it was refused, None if unknown, so that
        the expected amount stays counted."""
        now = self._clock()
        if tokens is not None:
            self._tokens.settle(slot.tokens, tokens, slot.tokens.ceiling if tokens else 0.0)
        if tokens:
            self._pace.answered(slot.sent, now, self.in_flight)
        self.in_flight -= 1
        for window, kind in ((self._requests, "requests"), (self._tokens, "tokens")):
            limit, remaining, reset = reported_limit(headers, kind)
            window.told(limit, remaining, reset, now)
            if limit:
                self._pace.told(self._even(slot.tokens.amount, slot.tokens.ceiling))
        self._changed.set()

    def congested(self, slot: SendSlot, wait_s: float, *, refused: bool) -> None:
        """The endpoint could not keep up with a request: nothing is sent for `wait_s` seconds, and less after
        that. `refused`: it refused the request over a limit."""
        now = self._clock()
        self._paused_until = max(self._paused_until, now + wait_s)
        if slot.sent > self._refused_at:
            self.refusals += 1
            self._refused_at = now
        if self._pace.congested(slot.sent, now, wait_s, refused=refused) and refused:
            self._tokens.refused(now)

    @property
    def outage(self) -> bool:
        """Whether requests are sent one at a time to find out if the endpoint works again."""
        return self._in_vain >= OUTAGE

    def in_vain(self, slot: SendSlot, wait: Callable[[int], float]) -> None:
        """A request had no completion, and may have been charged. `wait` returns the seconds until the next
        try, from its number."""
        now = self._clock()
        if not self.outage:
            self._in_vain += 1
            self._probes, self._out_since = 0, now
        elif slot.sent > self._out_since:
            self._probes += 1
        if self.outage:
            self._paused_until = max(self._paused_until, now + wait(self._probes + 1))
        if self._probes >= PROBES:
            self._given_up_until = self._paused_until = now + GIVEN_UP_S

    def worked(self) -> None:
        """A request was answered."""
        self._in_vain = self._probes = self.refusals = 0

    def _even(self, tokens: float, ceiling: float) -> float:
        """The spacing of requests of this size that uses the known limits evenly; 0 without limits."""
        return max(self._requests.space(1, 1), self._tokens.space(tokens, ceiling))

    def _delay(self, tokens: float, ceiling: float) -> float:
        if self.in_flight >= (1 if self.outage else self.concurrency):
            return math.inf
        now = self._clock()
        return max(
            self._paused_until - now,
            self._pace.delay(now),
            self._requests.delay(1, 1, now),
            self._tokens.delay(tokens, ceiling, now),
        )

    async def _wait(self, delay: float) -> None:
        """Wait until the delay is over, or until a change that may shorten it."""
        self._changed = asyncio.Event()  # of this run's event loop: a model may serve several, one by one
        if delay == math.inf:
            await self._changed.wait()
            return
        waits = [
            asyncio.ensure_future(self._sleep(max(delay, MIN_WAIT_S))),
            asyncio.ensure_future(self._changed.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
