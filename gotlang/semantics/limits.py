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

    def made(self, value: Any) -> Any:
        """A value that was made: bounded, and paid for by its size."""
        if isinstance(value, str):
            self.spend(len(bounded(value)))
        elif isinstance(value, list | dict):
            self.spend(_weighed(value))
        else:
            bounded(value)
        return value

    def gone_through(self, value: Any) -> None:
        """Pay for a list, a mapping or a text that a function goes through, with all that is in it."""
        if isinstance(value, str):
            self.spend(len(value))
        elif isinstance(value, list | dict):
            self.spend(_weight(value, self.left))

    def searched(self, value: Any) -> None:
        """The same for one that is compared or searched, which is much faster with texts."""
        if isinstance(value, str):
            self.spend(len(value) // _TEXT)
        else:
            self.gone_through(value)


_TEXT = 100
"""Characters that cost as much as one element where a text is compared or searched."""


def bounded(value: Any) -> Any:
    """The value, or an EvaluationError where it is larger than an expression may make."""
    if isinstance(value, str) and len(value) > MAX_ELEMENTS:
        raise _too_large()
    if isinstance(value, list | dict):
        _weighed(value)
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise EvaluationError(f"this number would have more than {MAX_BITS:,} bits")
    return value


_CONTAINERS = frozenset({list, dict})


def _weighed(value: Any) -> int:
    """The number of elements in a value; EvaluationError where it is larger than an expression may make."""
    weight = _weight(value, MAX_ELEMENTS)
    if weight > MAX_ELEMENTS:
        raise _too_large()
    return weight


def _weight(value: Any, most: int) -> int:
    """The number of elements at all depths, those that stand in several places each time: `[x, x]` takes no
    room, but writing it down or comparing it takes twice that of `x`. Stops counting above `most`."""
    found, rest = 0, [value]
    while rest and found <= most:
        part = rest.pop()
        found += len(part)
        inside = part.values() if isinstance(part, dict) else part
        if found <= most and not _CONTAINERS.isdisjoint(map(type, inside)):
            rest += [child for child in inside if isinstance(child, list | dict)]
    return found


def _too_large() -> EvaluationError:
    return EvaluationError(f"this would have more than {MAX_ELEMENTS:,} elements")
