"""How fast and how many at a time, found out from what an endpoint refuses.

Limits that nobody told us of show in refusals alone. Two things are adapted to them:

- Concurrency rises by one for each answer until the endpoint first says that it cannot keep up, then by one
  a round; each time it says so it halves, though not below what the endpoint has lately been working on.
- After a refusal for want of allowance, requests go out with a space between them: wider after each refusal,
  a little narrower after each answer, gone after a while without refusals. A refusal comes back fast, so
  that with a space few more are on their way into the next one.
"""

from __future__ import annotations

from typing import final

FIRST_CONCURRENCY = 32.0
LARGEST_CONCURRENCY = 1000.0
NARROWER = 0.998
WIDER = 1.15
MUCH_WIDER = 1.5
SOON = 30
"""Answers since the last refusal under which the next one widens the space much."""


@final
class Pace:
    """`period_s` is what endpoints count over. Twice as long without a refusal, and the space is gone."""

    def __init__(self, period_s: float, requests: float | None = None) -> None:
        # Where the user says what is allowed, a tenth of it at a time is no adventure.
        self.concurrency = min(LARGEST_CONCURRENCY, max(FIRST_CONCURRENCY, (requests or 0.0) / 10))
        self._period = period_s
        self._doubling = True
        self._space = 0.0
        self._next = 0.0
        self._changed_at = float("-inf")
        self._refused_at = float("-inf")
        self._answers = 0
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
        self._next = max(self._next, now) + (min(self._space, even_s) if even_s else self._space)

    def answered(self, sent: float, now: float, in_flight: int) -> None:
        """A request sent at `sent` was answered, with so many on the wire."""
        self._answers += 1
        self._work += now - sent
        if self._elapsed(now) > self._period:
            self._working, self._work, self._counted_since = self._work / self._elapsed(now), 0.0, now
        if in_flight >= self.concurrency / 2:
            step = 1.0 if self._doubling else 1.0 / self.concurrency
            self.concurrency = min(LARGEST_CONCURRENCY, self.concurrency + step)
        self._space *= NARROWER
        if now - self._refused_at > 2 * self._period:
            self._space = 0.0

    def congested(self, sent: float, now: float, *, refused: bool) -> bool:
        """The endpoint could not keep up with a request sent at `sent`; `refused` for want of allowance.
        Whether that was news: what was sent before the last change was not yet sent with it in mind."""
        if refused:
            self._refused_at = now
        if sent <= self._changed_at:
            return False
        self._changed_at = now
        self._doubling = False
        # Work done a second is how many were at work on the average.
        working = max(self._working, self._work / max(self._elapsed(now), 1e-3)) if refused else 0.0
        self.concurrency = max(1.0, min(self.concurrency, max(self.concurrency / 2, working)))
        if refused:
            self._widen(now, now - sent)
        return True

    def _widen(self, now: float, round_trip: float) -> None:
        """At first to the pace it went on the whole; always so that few go out before a refusal is back."""
        if self._space == 0.0:
            self._space = max(round_trip, self._elapsed(now) / (self._answers + 1))
        else:
            self._space = max(round_trip / 2, self._space * (MUCH_WIDER if self._answers < SOON else WIDER))
        self._answers = 0

    def _elapsed(self, now: float) -> float:
        return 0.0 if self._counted_since is None else now - self._counted_since
