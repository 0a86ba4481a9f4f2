"""Checks on the values of an operation's expressions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from gotlang.errors import BeyondBest, EvaluationError, LimitExceeded
from gotlang.span import Span

MOST = 10_000
"""Maximum of `k`, `n`, numbers of tries and rounds; a larger one is assumed to be an error."""


class DeclaredScore(Protocol):
    """A score of the program."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def lower(self) -> bool:
        """Whether lower is better."""

    @property
    def best(self) -> float | None:
        """The best possible value, or None."""

    @property
    def span(self) -> Span:
        """The place of its declaration."""


_FLOAT_BITS = 1_023
"""Maximum bits of a whole number that can be converted to a float."""


def count(value: Any, what: str, least: int = 0) -> int:
    """A whole number from `least` to 10,000, for a setting. Raises EvaluationError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise EvaluationError(f"`{what}` must be a whole number of at least {least}, not {value!r:.60}")
    if value > MOST:
        raise LimitExceeded(f"`{what}` of {value} is more than {MOST:,}")
    return value


def position(value: Any, thoughts: Sequence[object]) -> int:
    """A position among thoughts. Raises EvaluationError for an invalid one."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise EvaluationError(f"a position must be a whole number, not {value!r:.60}")
    if not -len(thoughts) <= value < len(thoughts):
        raise EvaluationError(f"position {value} of {len(thoughts)} thoughts")
    return value


def number(value: Any, what: str) -> float:
    """A score as a number. Raises EvaluationError if it is not a number, is NaN, or is too large to be added
    to others."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise EvaluationError(f"{what} returned {value!r:.60}, which is not a number")
    if isinstance(value, int) and value.bit_length() > _FLOAT_BITS:
        raise EvaluationError(f"{what} returned a number of more than {_FLOAT_BITS:,} bits")
    if math.isnan(value):
        raise EvaluationError(f"{what} returned NaN")
    return value


def claim(score: DeclaredScore, value: float) -> BeyondBest | bool:
    """Whether a score reaches its `best`; the error of a run if it exceeds it. Rounding errors are
    tolerated."""
    best = score.best
    if best is None or (value > best if score.lower else value < best):
        return False
    if math.isclose(value, best, rel_tol=1e-9, abs_tol=1e-12):
        return True
    worse = "lower" if score.lower else "higher"
    message = f"score `{score.name}` returned {value}, which is {worse} than its `best {best}`"
    return BeyondBest(message, score.span)


def claimed(score: DeclaredScore, value: float) -> float:
    """The value of a score. Raises BeyondBest if it is better than `best`."""
    if isinstance(found := claim(score, value), BeyondBest):
        raise found
    return value


def mean(numbers: Sequence[float], what: str) -> float:
    """The mean of the values of a score. Raises EvaluationError if it is not finite."""
    try:
        return math.fsum(numbers) / len(numbers)
    except (OverflowError, ValueError):  # too large together, or infinities of both signs
        return number(sum(found / len(numbers) for found in numbers), what)


def frozen(value: Any) -> Any:
    """A hashable value: equal for equal values only, `1` and `1.0` among them."""
    if isinstance(value, list):
        return ("list", *map(frozen, value))
    if isinstance(value, dict):
        return ("dict", *sorted((k, frozen(v)) for k, v in value.items()))
    return ("bool", value) if isinstance(value, bool) else value


def pair(value: Any) -> tuple[Any, Any]:
    """The two parts of a value that two names unpack. Raises EvaluationError if it is not a pair."""
    if not isinstance(value, list) or len(value) != 2:
        raise EvaluationError(f"expected a pair to unpack, not {value!r:.60}")
    return value[0], value[1]
