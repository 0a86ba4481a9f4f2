"""Checks on the values that expressions of an operation give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gotlang.errors import EvaluationError

MOST = 10_000
"""The largest `k`, `n`, number of tries or rounds; a larger one is taken for a mistake."""

_FLOAT_BITS = 1_023
"""What a float holds of a whole number without being too large."""


def count(value: Any, what: str, least: int = 0) -> int:
    """A whole number from `least` to 10,000, for a setting. Raises EvaluationError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise EvaluationError(f"`{what}` must be a whole number of at least {least}, not {value!r:.60}")
    if value > MOST:
        raise EvaluationError(f"`{what}` of {value} is more than {MOST:,}")
    return value


def position(value: Any, thoughts: Sequence[object]) -> int:
    """A position among thoughts. Raises EvaluationError where it is none."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise EvaluationError(f"a position must be a whole number, not {value!r:.60}")
    if not -len(thoughts) <= value < len(thoughts):
        raise EvaluationError(f"position {value} of {len(thoughts)} thoughts")
    return value


def number(value: Any, what: str) -> float:
    """A score as a number. Raises EvaluationError where it is none, or NaN, or beyond all that can be added
    up with others."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise EvaluationError(f"{what} returned {value!r:.60}, which is not a number")
    if isinstance(value, int) and value.bit_length() > _FLOAT_BITS:
        raise EvaluationError(f"{what} returned a number of more than {_FLOAT_BITS:,} bits")
    if math.isnan(value):
        raise EvaluationError(f"{what} returned NaN")
    return value


def mean(numbers: Sequence[float], what: str) -> float:
    """The mean of the numbers that a score gave. Raises EvaluationError where there is none."""
    try:
        return math.fsum(numbers) / len(numbers)
    except (OverflowError, ValueError):  # too large together, or infinities of both signs
        return number(sum(found / len(numbers) for found in numbers), what)


def frozen(value: Any) -> Any:
    """A value that can be counted: equal ones for equal values only, `1` and `1.0` among them."""
    if isinstance(value, list):
        return ("list", *map(frozen, value))
    if isinstance(value, dict):
        return ("dict", *sorted((k, frozen(v)) for k, v in value.items()))
    return ("bool", value) if isinstance(value, bool) else value
