"""What a check learns about places of a program, for editors: types of expressions, and names in scope."""

from __future__ import annotations

from typing import NamedTuple, final

from msgspec import Struct, field

from gotlang.scope import PoolType, Scope
from gotlang.semantics.symbols import Symbols
from gotlang.span import Span
from gotlang.types import Type


class Place(NamedTuple):
    """A statement or an expression with the names in scope there; `pool` are the thoughts before a statement.

    The scope goes on to grow below it: a name belongs to the place if it was bound above.
    """

    span: Span
    scope: Scope
    pool: PoolType | None


@final
class Seen(Struct):
    """Filled by a check, also of a program with errors. What is looked at twice, as in a loop, is there
    twice: the last time counts."""

    types: dict[tuple[str, int, int], Type] = field(default_factory=dict)
    """By source, start and end of an expression."""
    places: list[Place] = field(default_factory=list)
    symbols: Symbols = field(default_factory=Symbols)
    """The declarations of the program and of what it imports."""
