"""What the rendering of a template may cost, and how values are shown: paid for by size, as text or JSON."""

from __future__ import annotations

import json
from typing import Any, Final

from gotlang.errors import TemplateError

ITERATIONS = 100_000
"""Iterations of all loops of one rendering together."""

OUTPUT = 10_000_000
"""Characters of one rendered text."""

WORK = 20_000_000
"""Characters and values (a value counts as eight characters) that one rendering may read."""

VALUE = 8
"""Characters that a value counts as."""

JSON = json.JSONEncoder(ensure_ascii=False)
_KINDS: Final = {
    bool: "a bool", int: "an int", float: "a float", str: "a str", list: "a list", dict: "a record",
    type(None): "nothing",
}  # fmt: skip


def kind(value: Any) -> str:
    """The kind of a value in the language's words."""
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


class Budget:
    """The budget of one rendering.

    Every method raises TemplateError when it is exhausted or a value has the wrong type.
    """

    __slots__ = ("iterations", "output", "work")

    def __init__(self) -> None:
        self.iterations = ITERATIONS
        self.output = OUTPUT
        self.work = WORK

    def spend(self, amount: int) -> None:
        """Pay for work of a known size."""
        self.work -= amount
        if self.work < 0:
            raise TemplateError("this template does too much work: it reads too many values")

    def read(self, value: Any) -> Any:
        """A value, paid for with all its parts."""
        self.spend(_size(value, self.work))
        return value

    def write(self, amount: int) -> None:
        """Pay for characters of the rendered text."""
        self.output -= amount
        if self.output < 0:
            raise TemplateError(f"the text of this template is longer than {OUTPUT:,} characters")

    def text(self, value: Any) -> str:
        """A value as it is shown in a prompt: a text itself, anything else as JSON."""
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
