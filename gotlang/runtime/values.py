"""What an operation's expressions see, and the checks on what they give."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gotlang.errors import EvaluationError
from gotlang.ir.evaluate import Layer
from gotlang.runtime.frame import Frame
from gotlang.runtime.graph import Operation
from gotlang.thought import Thought, Thoughts

MOST = 10_000
"""The largest `k`, `n`, number of tries or rounds; a larger one is taken for a mistake."""

_FLOAT_BITS = 1_023
"""What a float holds of a whole number without being too large."""


def each(operation: Operation, thought: Thought) -> Mapping[str, Any]:
    """The names for what is evaluated once a thought."""
    return operation.frame if thought.empty else Layer({"it": thought}, operation.frame)


def whole(frame: Frame, thoughts: Sequence[Thought]) -> Mapping[str, Any]:
    """The names for what is evaluated once for all current thoughts."""
    if not thoughts or thoughts[0].empty:
        return frame
    names: dict[str, Any] = {"thoughts": Thoughts(thoughts)}
    if len(thoughts) == 1:
        names["it"] = thoughts[0]
    return Layer(names, frame)


def real(thoughts: Sequence[Thought]) -> tuple[Thought, ...]:
    """The thoughts but for the empty one that a pipeline starts with."""
    if len(thoughts) == 1:  # as they mostly are
        return tuple(thoughts) if not thoughts[0].empty else ()
    return tuple([t for t in thoughts if not t.empty])


def derived(operation: Operation, value: Any, index: int, parents: Sequence[Thought]) -> Thought:
    """A thought that was computed, not asked for; the empty thought is nobody's parent."""
    return Thought(value, operation, index, real(parents))


def count(value: Any, what: str, least: int = 0) -> int:
    """A whole number from `least` to 10,000, for a setting. Raises EvaluationError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise EvaluationError(f"`{what}` must be a whole number of at least {least}, not {value!r:.60}")
    if value > MOST:
        raise EvaluationError(f"`{what}` of {value} is more than {MOST:,}")
    return value


def position(value: Any, thoughts: Sequence[Thought]) -> int:
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
        raise EvaluationError(f"{what} gave {value!r:.60}, which is no number")
    if isinstance(value, int) and value.bit_length() > _FLOAT_BITS:
        raise EvaluationError(f"{what} gave a number of more than {_FLOAT_BITS:,} bits")
    if math.isnan(value):
        raise EvaluationError(f"{what} gave NaN")
    return value


def mean(numbers: Sequence[float], what: str) -> float:
    """The mean of the numbers that a score gave. Raises EvaluationError where there is none."""
    try:
        return math.fsum(numbers) / len(numbers)
    except (OverflowError, ValueError):  # too large together, or infinities of both signs
        return number(sum(found / len(numbers) for found in numbers), what)
