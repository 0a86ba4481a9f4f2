"""What one rendering of a template may cost, counted as it goes."""

from __future__ import annotations

from typing import Any, final

from gotlang.errors import TemplateError

TURNS = 100_000
"""Turns of all loops of one rendering together."""

OUTPUT = 10_000_000
"""Characters that one rendering may give."""

WORK = 20_000_000
"""Characters and values (a value counts as eight characters) that one rendering may touch."""

_VALUE = 8


@final
class Budget:
    """Counts down; each method raises TemplateError when nothing is left."""

    __slots__ = ("output", "turns", "work")

    def __init__(self) -> None:
        self.turns = TURNS
        self.output = OUTPUT
        self.work = WORK

    def loop(self, turns: int, weight: int) -> None:
        """Pay for a loop before it starts; `weight` is the size of its body in nodes."""
        self.turns -= turns
        if self.turns < 0:
            raise TemplateError(f"the loops of this template take more than {TURNS:,} turns")
        self.spend(turns * weight)

    def spend(self, amount: int) -> None:
        """Pay for work of a known size."""
        self.work -= amount
        if self.work < 0:
            raise TemplateError("this template is too much work: it goes over too many values")

    def read(self, *values: Any) -> None:
        """Pay for going over values, with all that is in them."""
        for value in values:
            self.spend(size(value, self.work))

    def write(self, amount: int) -> None:
        """Pay for characters of the rendered text."""
        self.output -= amount
        if self.output < 0:
            raise TemplateError(f"this template gives more than {OUTPUT:,} characters")


def size(value: Any, limit: int) -> int:
    """How much there is in a value; stops counting above the limit, so a shared part costs what it costs."""
    if isinstance(value, str):
        return _VALUE + len(value)
    total = 0
    waiting = [value]
    while waiting and total <= limit:
        value = waiting.pop()
        total += _VALUE
        if isinstance(value, str):
            total += len(value)
        elif isinstance(value, list | tuple | dict):
            total += _VALUE * len(value)
            if total > limit:
                break
            waiting.extend(value)
            if isinstance(value, dict):
                waiting.extend(value.values())
    return total
