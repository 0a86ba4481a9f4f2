"""How fast and how many at a time, found out from what an endpoint refuses.

Limits that nobody told us of show in refusals alone, and each costs a request. So three things are adapted:

- Until the first refusal, requests go out the faster the more of them were let in: few are then on their way
  into it, whatever the limit is.
- After refusals for want of allowance, requests go out with a space between them: at first the one in which
  those let in before would have been spread evenly over the period, then wider with each refusal and a
  little narrower with each answer. A limit that showed again and again is tried less often; one that no
  longer shows, ever more.
- Concurrency rises by one for each answer until the endpoint first says that it cannot keep up, then by one
  a round; each time it says so it halves, though not below what the endpoint has lately been working on.

Endpoints count by the period (then many seconds pass until the next request is let in) or let one in after
the other, as a bucket that refills. Which it is shows in how long a pause they ask for.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from typing import final

FIRST_CONCURRENCY = 32.0
LARGEST_CONCURRENCY = 1000.0
AT_ONCE = 4
"""Requests that go out unspaced before anything is known of the endpoint."""
ROUND_TRIP_S = 0.05
"""Seconds that a refusal is expected to take, until an answer took less."""
UNDER_WAY = 0.04
"""Share of the requests so far that may be on their way into the first refusal."""
NARROWER, LEAST_NARROWER, MOST_NARROWER, UNSURE = 0.001, 0.0002, 0.05, 0.02
"""Shares by which an answer makes the space narrower: usually, where the limit showed often, where it has
long not shown, and at first where it may be a guess."""
ANSWERS_COUNTED = 60.0
"""Answers in a period that make the space narrower; more of them do so less each. Endpoints that count by the
period refuse up to a period late, and the space must not be far off by then."""
WIDER, SOMEWHAT_WIDER, MUCH_WIDER = 1.08, 1.4, 2.0
"""Factors by which a refusal makes the space wider: at least, at most where little was let in since the one
before, and at most."""
SURE = 1.2
"""A factor above this says that the space was nowhere near."""
ENOUGH = 1.1
"""How much wider the space gets at most than that in which the last period's requests would be spread."""
SOON = 30
"""Answers after a refusal within which the next one says nothing new about the limit."""
IN_VAIN = 1.4
"""How much wider the space gets by refusals that do not come at once, before it is given up: one in four
refused needs a third."""
PROMPT = 3
"""Requests since the last refusal up to which the next one came at once."""
QUIET = 130
"""Answers, over a period at least, after which a limit that does not show is tried twice as hard."""
BY_PERIOD = 4.0
"""An endpoint that asks to wait as long as for so many requests counts by the period."""


@final
class Pace:
    """`period_s` is what endpoints count over; `requests` are allowed in it as far as the user says;
    `round_trip_s` is how long a refusal takes to come back."""

    def __init__(
        self, period_s: float, requests: float | None = None, *, round_trip_s: float = ROUND_TRIP_S
    ) -> None:
        # Where the user says what is allowed, a tenth of it at a time is no adventure.
        self.concurrency = min(LARGEST_CONCURRENCY, max(FIRST_CONCURRENCY, (requests or 0.0) / 10))
        self._period = period_s
        self._round_trip = round_trip_s
        self._doubling = True
        self._spaced = False
        self._by_period = False
        self._space = 0.0
        self._held = self._believed = 0.0
        self._next = 0.0
        self._narrower = NARROWER
        self._refused_at = float("-inf")
        self._quiet_since = 0.0
        self._started = 0.0
        self._changed_at = float("-inf")
        self._sends: deque[float] = deque()
        self._sent = 0
        self._answers = self._quiet_answers = 0
        self._counted_since: float | None = None
        self._work = 0.0
        self._working = 0.0

    def delay(self, now: float) -> float:
        """Seconds until the next request may go."""
        return self._next - now

    def sent(self, now: float, even_s: float) -> None:
        """A request goes out. `even_s` is the space that uses up the known limits evenly, which is enough; 0
        where none are known."""
        if self._counted_since is None:
            self._counted_since = now
        self._started = self._started if self._sent else now
        self._sent += 1
        self._sends.append(now)
        while self._sends[0] <= now - self._period:
            self._sends.popleft()
        space = self._space if self._spaced else self._cautious(even_s)
        self._next = max(self._next, now) + (min(space, even_s) if even_s else space)

    def answered(self, sent: float, now: float, in_flight: int) -> None:
        """A request sent at `sent` was answered, with so many on the wire."""
        self._answers += 1
        self._round_trip = min(self._round_trip, max(now - sent, 1e-4))
        self._work += now - sent
        if self._elapsed(now) > self._period:
            self._working, self._work, self._counted_since = self._work / self._elapsed(now), 0.0, now
        if in_flight >= self.concurrency / 2:
            step = 1.0 if self._doubling else 1.0 / self.concurrency
            self.concurrency = min(LARGEST_CONCURRENCY, self.concurrency + step)
        if now - self._quiet_since > self._period and self._answers >= self._quiet_answers + QUIET:
            self._narrower = min(MOST_NARROWER, 2 * self._narrower)
            self._quiet_since, self._quiet_answers = now, self._answers
        self._space *= 1 - self._narrower * min(1.0, ANSWERS_COUNTED * self._space / self._period)
        self._believed = min(self._believed, self._space)

    def told(self, even_s: float) -> None:
        """The endpoint says what it allows, which requests with this space between them would use up evenly:
        half of what that is in a period may be under way."""
        if self._doubling and even_s > 0:
            half = self._period / even_s / 2
            self.concurrency = max(self.concurrency, min(LARGEST_CONCURRENCY, half))

    def congested(self, sent: float, now: float, wait_s: float, *, refused: bool) -> bool:
        """The endpoint could not keep up with a request sent at `sent`, and asks for so long a pause;
        `refused` for want of allowance. Whether that was news: what was sent before the last change was not
        yet sent with it in mind."""
        news = sent > self._changed_at
        if news:
            self._changed_at = now
            self._doubling = False
            # Work done a second is how many were at work on the average.
            working = max(self._working, self._work / max(self._elapsed(now), 1e-3)) if refused else 0.0
            self.concurrency = max(1.0, min(self.concurrency, max(self.concurrency / 2, working)))
            if refused:
                self._widen(sent, now, wait_s)
        if refused and sent in self._sends:
            self._sends.remove(sent)
        return news

    def _cautious(self, even_s: float) -> float:
        """The space before the first refusal; none where limits are known."""
        if even_s or self._sent < AT_ONCE:
            return 0.0
        return self._round_trip / (UNDER_WAY * self._sent)

    def _widen(self, sent: float, now: float, wait_s: float) -> None:
        """Put a space between requests, or a wider one, where the refusal tells that they come too fast."""
        even = self._period / max(1, self._let_in(sent - self._period, sent))
        since = max(self._refused_at, self._started, sent - self._period)
        lately = self._let_in(since, sent)
        seen = (now - since) / max(1, lately)
        again = self._answers < SOON and self._refused_at >= 0
        left = self._period - (now - self._started)
        self._by_period |= wait_s > max(BY_PERIOD * even, left / 2)
        if self._spaced:
            self._adapt(even, seen, lately)
        elif self._by_period or again or even / BY_PERIOD <= wait_s <= ENOUGH * even:
            # One refusal alone may be by chance, unless the pause fits. One that follows soon is not.
            self._spaced = True
            self._space = max(seen, self._round_trip) if again else even
            self._believed = self._space
            self._narrower = NARROWER if self._by_period else UNSURE
        self._held = self._space
        self._answers = self._quiet_answers = 0
        self._refused_at = self._quiet_since = now

    def _adapt(self, even: float, seen: float, lately: int) -> None:
        """Make the space wider. `even` is that in which the last period's requests would have been spread,
        `seen` that in which the `lately` ones since the last refusal were let in."""
        soon = self._answers < SOON
        # Between the space that was refused and the one that held for long lies the right one.
        between = 1.0 if soon else math.sqrt(self._held / self._space)
        least, most = WIDER, (MUCH_WIDER if lately > PROMPT else SOMEWHAT_WIDER)
        if self._by_period:
            # It waits for a whole period to pass: that space is enough in which the last one was used up.
            seen = min(seen, ENOUGH * even) if lately > PROMPT else 0.0
            least = max(1.0, min(WIDER, ENOUGH * even / self._space))
        factor = min(most, max(least, seen / self._space, between))
        if factor > SURE:
            self._narrower = max(NARROWER, self._narrower / 2)
        elif not soon or self._narrower > NARROWER:
            self._narrower = max(LEAST_NARROWER, self._narrower / 2)
        self._space *= factor
        if lately <= PROMPT:
            self._believed = self._space
        elif self._space > IN_VAIN * self._believed:
            # Whatever they refuse for, it is not the pace.
            self._spaced, self._by_period, self._space = False, False, 0.0

    def _let_in(self, since: float, until: float) -> int:
        """How many requests were sent after `since` and before `until`, without those refused."""
        return bisect_left(self._sends, until) - bisect_right(self._sends, since)

    def _elapsed(self, now: float) -> float:
        return 0.0 if self._counted_since is None else now - self._counted_since
