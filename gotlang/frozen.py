"""Frozen data with fields that do not count in comparisons."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar

from msgspec import Struct


class Frozen(Struct, frozen=True):
    """Frozen data. Two values are equal if their types and fields are equal, except for the `incidental`
    fields."""

    incidental: ClassVar = frozenset({"span"})

    def _meaning(self) -> object:
        """The values that are compared."""
        return _compared(type(self))(self)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._meaning() == other._meaning()

    def __hash__(self) -> int:
        return hash(self._meaning())

    def __repr__(self) -> str:
        shown = (name for name in self.__struct_fields__ if name not in self.incidental)
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


@cache
def _compared(kind: type[Frozen]) -> Callable[[Any], object]:
    """A function that reads the fields that count."""
    names = [name for name in kind.__struct_fields__ if name not in kind.incidental]
    return attrgetter(*names) if names else lambda _: ()
