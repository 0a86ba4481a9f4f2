"""Metrics in the words of people."""

from __future__ import annotations

import math

from gotlang.result import dollars
from gotlang.statistics import Interval

_LONG = 1e12
"""From here on a number is written with its power of ten."""


def shown(metric: str, value: float | None, *, short: bool = False) -> str:
    """A metric's value: percent of right answers, dollars, seconds; `short` for the ticks of an axis.

    An interval may begin a hair below 0: that is written as 0.
    """
    if value is None:
        return "unknown"
    if not math.isfinite(value):
        return "?"
    match metric:
        case "correct":
            return f"{100 * value:.{0 if short else 1}f}%"
        case "cost":
            return _dollars(value, short=short)
        case "seconds":
            return f"{value:z.1f} s"
    return f"{value:,g}" if short else f"{value:z,.2f}" if abs(value) < _LONG else f"{value:.3g}"


def bounds(metric: str, found: Interval) -> str:
    """The bounds of an interval, as in `1.46 to 2.41`; `unknown` of a single row, which tells of none."""
    if not (math.isfinite(found.low) and math.isfinite(found.high)):
        return "unknown"
    return f"{shown(metric, found.low)} to {shown(metric, found.high)}"


def brief(name: str, most: int) -> str:
    """A name in so many letters."""
    return name if len(name) <= most else f"{name[: max(1, most - 1)]}…"


def _dollars(value: float, *, short: bool) -> str:
    sign, amount = "-" if value < 0 else "", abs(value)
    if short and amount >= 1e-4:
        return f"{sign}${amount:g}"
    words = dollars(amount)
    return sign + (words.rstrip("0").rstrip(".") if short else words)
