"""Known arguments of calls, followed into the schemes and scores that they are given to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, final

from msgspec import Struct, field

from gotlang.analysis.worlds import MOST_WORLDS, Data, Env, Known, World
from gotlang.span import NOWHERE, Span
from gotlang.syntax import expressions as e

_CALL: Final = "%call"
"""The name of what a call gives: a list of values."""

_MOST_WAYS: Final = 8
"""So many choices of known inputs are followed into one declaration, so that the time is linear."""


@final
class _Way(Struct):
    """Values that calls give to some names, together, as lists; and of each list the places of its values."""

    values: dict[str, list[Any]] = field(default_factory=dict)
    places: dict[str, tuple[Span, ...]] = field(default_factory=dict)

    def add(self, values: list[Any], places: tuple[Span, ...]) -> None:
        key = json.dumps(values)
        if len(self.values) < MOST_WORLDS:
            self.values.setdefault(key, values)
            self.places.setdefault(key, places)


@final
class KnownCalls:
    """What calls give, by the declaration that is called and by the names that get a known value. A param
    that an argument depends on is one of these names, with the value that it has there."""

    def __init__(self) -> None:
        self._ways: dict[str, dict[tuple[str, ...], _Way]] = {}

    def add(self, name: str, places: Mapping[str, Span], given: Iterable[list[Any]]) -> None:
        """Note what a call of `name` gives to the names in `places`."""
        ways = self._ways.setdefault(name, {})
        if len(ways) < _MOST_WAYS or tuple(places) in ways:
            for values in given:
                ways.setdefault(tuple(places), _Way()).add(values, tuple(places.values()))

    def of(self, name: str, inputs: Iterable[str], params: Env) -> Iterator[Env]:
        """The names in scope in a declaration that is called, once for each choice of known ones."""
        for names, way in tuple(self._ways.get(name, {}).items()):
            call = Known(_CALL, NOWHERE, tuple(way.values.values()))
            inside = params.inside({_CALL: call})
            found: dict[str, Known | Data] = {each: Data() for each in inputs}
            for position, each in enumerate(names):
                part = e.Index(NOWHERE, e.Reference(NOWHERE, _CALL), e.Constant(NOWHERE, position))
                found[each] = Known(
                    each, _Place(way, call, position), of=(part, inside), needs=frozenset([call])
                )
            yield params.inside(found)


@final
class _Place(Struct, frozen=True):
    """The place of a value that a call gives."""

    way: _Way
    call: Known
    position: int

    def __call__(self, world: World) -> Span:
        return self.way.places[json.dumps(world[self.call])][self.position]
