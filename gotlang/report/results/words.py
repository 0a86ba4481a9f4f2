"""Metrics in the words of people."""

from __future__ import annotations

import math


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
    return f"{value:,g}" if short else f"{value:z,.2f}"


def _dollars(value: float, *, short: bool) -> str:
    sign, amount = "-" if value < 0 else "", abs(value)
    if short:
        return f"{sign}${amount:g}" if amount == 0 or amount >= 1e-4 else f"{sign}${amount:.1e}"
    if 0 < amount < 1e-4:
        return f"{sign}${amount:.1g}"
    return f"{sign}${amount:.{4 if amount < 1 else 2}f}"
