"""A limit on how much may be taken in any stretch of time: the count behind requests and tokens per minute.

The count slides: what was taken in the last period, and no more than the limit. That holds against servers
that count by fixed minutes, by sliding ones, or by a bucket that fills. A part of the limit may be taken at
once; what is above it is spaced evenly, so that what comes late is not refused in a heap.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import final

MARGIN = 0.02
"""Share of a period that is added to it, since requests do not arrive in the order and the time they left."""
BURST = 0.5
"""Share of the limit that may be taken at once."""
SPACING = 0.95
"""Share of the even distance that is kept between takes; the count itself holds the limit."""
SLACK = 0.02
"""Share of a period that a late take may catch up on."""
LARGEST_SAID = 1e12
"""A limit that headers name above this is none."""
LEAST_RESET_S = 1e-3
"""Nothing is back in less time."""


@final
@dataclass(slots=True)
class Taken:
    """What one request took: `amount` as it is believed to count, `ceiling` the most it may count."""

    until: float
    amount: float
    ceiling: float


@final
class Window:
    """What was taken in the last `period_s` seconds, against `limit` (None: not known, nothing waits).

    `headroom` is how many times what is believed of it must be left for a take: amounts that are only
    believed may turn out higher.
    """

    def __init__(self, period_s: float, limit: float | None = None, *, headroom: float = 1.0) -> None:
        self._headroom = headroom
        self._period = period_s
        self._span = period_s * (1 + MARGIN)
        self._own_limit = limit
        self._said_limit: float | None = None
        self._entries: deque[Taken] = deque()
        self._amounts = 0.0
        self._ceilings = 0.0
        self._by_ceiling = False
        self._others_rate = 0.0
        self._others_until = 0.0
        self._next = 0.0
        # Some providers charge what a request may cost (its max_tokens), not what it did. That shows where
        # they refuse though we counted much less, and nothing was forgotten that they may still count.
        self._whole = True

    @property
    def limit(self) -> float | None:
        """The lower of what the user set and what the endpoint says."""
        known = [limit for limit in (self._own_limit, self._said_limit) if limit is not None]
        return min(known, default=None)

    def used(self, now: float) -> float:
        """How much counts against the limit now."""
        self._forget(now)
        others = self._others_rate * max(0.0, self._others_until - now)
        return others + (self._ceilings if self._by_ceiling else self._amounts)

    def delay(self, amount: float, ceiling: float, now: float) -> float:
        """Seconds until so much may be taken, should nothing change meanwhile."""
        limit = self.limit
        if limit is None:
            return 0.0
        used = self.used(now)
        spaced = max(0.0, self._next - now) if used >= BURST * limit else 0.0
        # What is more than the whole limit may go when nothing else counts.
        needed = ceiling if self._by_ceiling else min(ceiling, amount * self._headroom)
        excess = used + min(needed, limit) - limit
        if excess <= 0:
            return spaced
        waits = [self._span]
        if self._others_rate * (self._others_until - now) >= excess:
            waits.append(excess / self._others_rate)
        for entry in self._entries:
            excess -= entry.ceiling if self._by_ceiling else entry.amount
            if excess <= 0:
                waits.append(entry.until - now)
                break
        return max(spaced, min(waits))

    def space(self, amount: float, ceiling: float) -> float:
        """Seconds between takes of so much that use the limit up evenly; 0 where there is no limit."""
        limit = self.limit
        if limit is None:
            return 0.0
        return SPACING * self._period * min(ceiling if self._by_ceiling else amount, limit) / limit

    def take(self, amount: float, ceiling: float, now: float) -> Taken:
        """Count so much from now on."""
        limit = self.limit
        if limit is not None and self.used(now) >= BURST * limit:
            self._next = max(self._next, now - SLACK * self._period) + self.space(amount, ceiling)
        entry = Taken(now + self._span, amount, ceiling)
        self._entries.append(entry)
        self._amounts += amount
        self._ceilings += ceiling
        return entry

    def settle(self, entry: Taken, amount: float, ceiling: float) -> None:
        """Correct what one request took, once that is known."""
        if entry.until > 0:
            self._amounts += amount - entry.amount
            self._ceilings += ceiling - entry.ceiling
        entry.amount, entry.ceiling = amount, ceiling

    def told(self, limit: float | None, remaining: float | None, reset_s: float | None, now: float) -> None:
        """What the endpoint's headers say. What they count above our own count was taken by others."""
        if limit is None or not 0 < limit <= LARGEST_SAID:
            return
        self._said_limit = limit
        if remaining is None:
            return
        self._others_until = now
        counted = limit - remaining
        # Theirs comes back bit by bit until the reset: all at once would be a guess, and none a standstill.
        gone_in = max(LEAST_RESET_S, min(self._span, reset_s or self._span))
        self._others_rate = max(0.0, counted - self.used(now)) / gone_in
        self._others_until = now + gone_in

    def refused(self, now: float) -> None:
        """The endpoint refused for want of allowance, though we may have counted much less than it allows."""
        limit = self.limit
        if limit is not None and self.used(now) < 0.8 * limit <= self._ceilings:
            self._by_ceiling |= self._whole

    def _forget(self, now: float) -> None:
        while self._entries and self._entries[0].until <= now:
            entry = self._entries.popleft()
            self._amounts -= entry.amount
            self._ceilings -= entry.ceiling
            entry.until = 0.0
            self._whole = False
        if not self._entries:
            self._amounts = self._ceilings = 0.0
