"""How large what a program computes by itself may get: programs come from strangers."""

from __future__ import annotations

from typing import Any

from gotlang.errors import EvaluationError

MAX_ELEMENTS = 1_000_000
"""Elements of a list, characters of a text that an expression makes."""
MAX_BITS = 4_096
"""Bits of a whole number."""
MAX_STEPS = 5_000_000
"""Elements that one expression may go through in its comprehensions and built-ins."""


class Fuel:
    """What one evaluation may still spend; one object an expression, so that nesting multiplies nothing."""

    __slots__ = ("left",)

    def __init__(self, left: int = MAX_STEPS) -> None:
        self.left = left

    def spend(self, amount: int) -> None:
        """Count `amount` elements, or raise EvaluationError where too many were gone through."""
        self.left -= amount
        if self.left < 0:
            raise EvaluationError(f"this goes through more than {MAX_STEPS:,} elements")


def bounded(value: Any) -> Any:
    """The value, or an EvaluationError where it is larger than an expression may make."""
    if isinstance(value, str) and len(value) > MAX_ELEMENTS:
        raise _too_large()
    if isinstance(value, list | dict):
        _weigh(value)
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise EvaluationError(f"this number would have more than {MAX_BITS:,} bits")
    return value


_CONTAINERS = frozenset({list, dict})


def _weigh(value: Any) -> None:
    """Count the elements at all depths, those that stand in several places each time: `[x, x]` takes no room,
    but writing it down or comparing it takes twice that of `x`. Stops at the limit."""
    left, rest = MAX_ELEMENTS, [value]
    while rest:
        part = rest.pop()
        left -= len(part)
        if left < 0:
            raise _too_large()
        inside = part.values() if isinstance(part, dict) else part
        if not _CONTAINERS.isdisjoint(map(type, inside)):
            rest += [child for child in inside if isinstance(child, list | dict)]


def _too_large() -> EvaluationError:
    return EvaluationError(f"this would have more than {MAX_ELEMENTS:,} elements")
