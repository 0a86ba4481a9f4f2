"""Limits on computations of a program, because programs may be untrusted."""

from __future__ import annotations

from typing import Any

from gotlang.errors import EvaluationError, LimitExceeded
from gotlang.types import DEEPEST

MAX_ELEMENTS = 1_000_000
"""Maximum number of elements of a list and characters of a text that an expression creates."""
MAX_BITS = 4_096
"""Maximum number of bits of a whole number."""
MAX_STEPS = 5_000_000
"""Maximum number of elements that one expression may iterate over in its comprehensions and built-ins."""


class Fuel:
    """The remaining limit of one evaluation, shared by everything nested in it."""

    __slots__ = ("left",)

    def __init__(self, left: int = MAX_STEPS) -> None:
        self.left = left

    def spend(self, amount: int) -> None:
        """Count `amount` elements, or raise EvaluationError if there were too many."""
        self.left -= amount
        if self.left < 0:
            raise LimitExceeded(f"this iterates over more than {MAX_STEPS:,} elements")

    def made(self, value: Any) -> Any:
        """A new value: within the limits, and counted by its size."""
        if isinstance(value, int):
            bounded(value)
        elif isinstance(value, str):
            self.spend(len(bounded(value)))
        elif isinstance(value, _LARGE):
            self.spend(_weighed(value))
        return value

    def spend_reading(self, value: Any) -> None:
        """Count a list, a mapping or a text that a function reads, with all its parts."""
        if isinstance(value, str):
            self.spend(len(value))
        elif isinstance(value, list | dict):
            self.spend(_weight(value, self.left))

    def searched(self, value: Any) -> None:
        """The same for one that is compared or searched, which is much faster for texts."""
        if isinstance(value, str):
            self.spend(len(value) // _TEXT)
        else:
            self.spend_reading(value)


_TEXT = 100
"""Characters that count as one element when a text is compared or searched."""


def bounded(value: Any) -> Any:
    """The value, or an EvaluationError if it is larger than allowed."""
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise LimitExceeded(f"this number would have more than {MAX_BITS:,} bits")
    elif isinstance(value, str):
        if len(value) > MAX_ELEMENTS:
            raise _too_large()
    elif isinstance(value, _LARGE):
        _weighed(value)
    return value


_LARGE = (list, dict)
_CONTAINERS = frozenset(_LARGE)


def _weighed(value: Any) -> int:
    """The number of elements in a value; EvaluationError if it is larger than allowed."""
    weight = _weight(value, MAX_ELEMENTS)
    if weight > MAX_ELEMENTS:
        raise _too_large()
    return weight


def _weight(value: Any, most: int) -> int:
    """The number of elements at all depths, shared ones each time: `[x, x]` takes little memory, but printing
    or comparing it takes twice the time of `x`. Stops counting above `most`. EvaluationError for one nested
    too deeply."""
    found, level, depth = 0, [value], 0
    while level and found <= most:
        depth += 1
        if depth > DEEPEST:
            raise EvaluationError(f"this would be nested more than {DEEPEST} levels deep")
        inner = []
        for part in level:
            found += len(part)
            inside = part.values() if isinstance(part, dict) else part
            if found > most:
                break
            if not _CONTAINERS.isdisjoint(map(type, inside)):
                inner += [child for child in inside if isinstance(child, list | dict)]
        level = inner
    return found


def _too_large() -> EvaluationError:
    return EvaluationError(f"this would have more than {MAX_ELEMENTS:,} elements")
