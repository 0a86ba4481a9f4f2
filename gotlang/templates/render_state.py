"""A rendering of a template: its values, the text so far, and its remaining budget, which is charged by
size."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, final

from gotlang.errors import TemplateError

ITERATIONS = 100_000
"""Maximum iterations of all loops of one rendering together."""

OUTPUT = 10_000_000
"""Maximum characters of one rendered text."""

WORK = 20_000_000
"""Maximum characters and values (a value counts as eight characters) that one rendering may read."""

VALUE = 8
"""The number of characters as which a value counts."""

JSON = json.JSONEncoder(ensure_ascii=False)
FAILURES: Final = (TemplateError, RecursionError, TypeError, ValueError, ArithmeticError)
"""Exceptions of operations on values of wrong types."""
_KINDS: Final = {
    bool: "a bool", int: "an int", float: "a float", str: "a str", list: "a list", dict: "a record",
    type(None): "nothing",
}  # fmt: skip


def kind(value: Any) -> str:
    """The kind of a value in the language's terms."""
    return _KINDS.get(type(value), "an unsupported value")


def short(value: Any) -> str:
    """A name or number for a message."""
    found = str(value) if isinstance(value, str | int | float) else kind(value)
    return found if len(found) <= 40 else found[:37] + "..."


def _size(value: Any, limit: int) -> int:
    """The size of a value in characters, shared parts each time they occur; stops above the limit."""
    if isinstance(value, str):
        return VALUE + len(value)
    total = 0
    waiting = [value]
    while waiting and total <= limit:
        value = waiting.pop()
        total += VALUE
        if isinstance(value, str):
            total += len(value)
        elif isinstance(value, list | tuple | dict):
            total += VALUE * len(value)
            if total > limit:
                break
            waiting.extend(value)
            if isinstance(value, dict):
                waiting.extend(value.values())
    return total


@final
class Rendering:
    """One rendering: the values by name, the parts of the text, and the place that is being rendered.

    Every method raises TemplateError when the budget is exhausted or a value has the wrong type.
    """

    __slots__ = ("iterations", "output", "parts", "place", "values", "work")

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)
        self.parts: list[str] = []
        self.place: int | None = None
        self.iterations = ITERATIONS
        self.output = OUTPUT
        self.work = WORK

    def spend(self, amount: int) -> None:
        """Charge work of a known size."""
        self.work -= amount
        if self.work < 0:
            raise TemplateError("this template does too much work: it reads too many values")

    def read(self, value: Any) -> Any:
        """A value, charged with all its parts."""
        self.spend(_size(value, self.work))
        return value

    def write(self, text: str) -> None:
        """Add to the rendered text."""
        self.output -= len(text)
        if self.output < 0:
            raise TemplateError(f"the text of this template is longer than {OUTPUT:,} characters")
        self.parts.append(text)

    def text(self, value: Any) -> str:
        """A value as a prompt shows it: a text itself, anything else as JSON."""
        if type(value) is int:
            self.spend(VALUE)
            return str(value)
        if isinstance(value, str):
            self.spend(VALUE + len(value))
            return value
        self.read(value)
        try:
            return JSON.encode(value)
        except TypeError:
            raise TemplateError(f"cannot print {kind(value)}") from None

    def each(self, value: Any, weight: int) -> list[Any]:
        """The elements that a loop iterates over; `weight` is the size of its body in nodes."""
        if not isinstance(value, list | tuple | dict | str):
            raise TemplateError(f"a loop iterates over a list, not over {kind(value)}")
        self.iterations -= len(value)
        if self.iterations < 0:
            raise TemplateError(f"the loops of this template run more than {ITERATIONS:,} iterations")
        self.spend(len(value) * weight)
        return list(value)

    def slice(self, value: Any, start: Any, stop: Any, step: Any) -> Any:
        """A part of a list or text."""
        if not isinstance(value, list | str):
            raise TemplateError(f"cannot slice {kind(value)}")
        if any(type(end) is not int and end is not None for end in (start, stop, step)) or step == 0:
            raise TemplateError("a slice takes whole numbers, and no step of 0")
        part = slice(start, stop, step)
        self.spend(VALUE * len(range(*part.indices(len(value)))))
        return value[part]

    def range(self, *bounds: Any) -> list[int]:
        """The whole numbers of a `range`."""
        if any(type(bound) is not int for bound in bounds):
            raise TemplateError("`range` expects whole numbers")
        if len(bounds) == 3 and bounds[2] == 0:
            raise TemplateError("`range` cannot have a step of 0")
        numbers = range(*bounds)
        try:
            self.spend(VALUE * len(numbers))
        except OverflowError:
            raise TemplateError("`range` over too many numbers") from None
        return list(numbers)

    def failure(self, error: Exception) -> TemplateError:
        """The exception for an error at the current place."""
        match error:
            case TemplateError():
                return TemplateError(error.message, line=self.place, help=error.help)
            case ZeroDivisionError():
                message = "a division by zero"
            case RecursionError():
                message = "a value nested too deeply to print"
            case _:
                message = "these values cannot be rendered"
        return TemplateError(message, line=self.place)
