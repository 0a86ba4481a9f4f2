"""Scales for charts: from values to pixels, with round numbers on the way."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

_SAME = 1e-9
"""Values that differ by less than this part of themselves are one: no tick between them is told apart."""


@final
@dataclass(frozen=True, slots=True)
class Axis:
    """A linear scale from `low` to `high` onto pixels `start` to `end`, with ticks at round values."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]

    def __call__(self, value: float) -> float:
        """Where a value stands."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def axis(values: Iterable[float], start: float, end: float, *, zero: bool = True, ticks: int = 5) -> Axis:
    """A scale that holds all finite values, and 0 where `zero` asks for it, and begins and ends on a tick."""
    known = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= _SAME * max(abs(low), abs(high)):
        high = low + (abs(low) or 1.0)
    step = _round((high - low) / ticks)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Axis(first * step, last * step, start, end, tuple(n * step for n in range(first, last + 1)))


def _round(step: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= step * (1 - 1e-9))
