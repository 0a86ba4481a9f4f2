"""Values that are known before a run: constants, possible values of params, names bound to these. A world
assigns each of these names one value, so expressions that depend on several of them are exact."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, final

from msgspec import Struct

from gotlang.errors import EvaluationError
from gotlang.ir.evaluate import Evaluator
from gotlang.span import Span
from gotlang.syntax import expressions as e

MOST_WORLDS = 300
"""Maximum number of combinations of values that are tried for one expression."""

ALL_OF_RANGE = 64
"""The width of a range of whole numbers up to which every value is tried; of a wider one, its ends."""

_STEPS = 20_000
"""Elements that one expression may iterate over before it counts as unknown."""


@final
class KnownName(Struct, frozen=True, eq=False):
    """A name with known values: `values` themselves, or those of an expression `of`, or `each` element of
    them. `needs` are the names that it depends on. `span` is its place, which may differ in each world."""

    name: str
    span: Span | Callable[[World], Span]
    values: tuple[Any, ...] = ()
    of: tuple[e.Expression, Env] | None = None
    each: bool = False
    needs: frozenset[KnownName] = frozenset()

    def place(self, world: World) -> Span:
        """The place that gives it the value of a world."""
        return self.span if isinstance(self.span, Span) else self.span(world)


World = Mapping[KnownName, Any]


@final
class Bound(Struct, frozen=True):
    """The maximum length of a list that is known only in a run, in each world."""

    of: Callable[[World], float]
    needs: frozenset[KnownName] = frozenset()


ONE = Bound(lambda world: 1)


@final
class DataName(Struct, frozen=True):
    """A name with a value that is known only in a run; of a list, with its maximum length. `of` is the
    expression that it is bound to, if any; of `thoughts`, each is one in a pool."""

    most: Bound | None = None
    of: tuple[e.Expression, Env] | None = None
    thoughts: bool = False


@final
class Condition(Struct, frozen=True):
    """A condition that is true at a place, or false."""

    node: e.Expression
    env: Env
    holds: bool
    needs: frozenset[KnownName]


@final
class Env:
    """Names in scope at a place, and the enclosing conditions; `guarded` are the names that conditions on
    data use."""

    __slots__ = ("conditions", "guarded", "names", "parent")

    def __init__(
        self,
        names: dict[str, KnownName | DataName],
        parent: Env | None = None,
        conditions: tuple[Condition, ...] = (),
        guarded: frozenset[str] = frozenset(),
    ) -> None:
        self.names = names
        self.parent = parent
        self.conditions = conditions
        self.guarded = guarded

    def find(self, name: str) -> KnownName | DataName | None:
        """The entry of a name; None if it is not bound here."""
        env: Env | None = self
        while env is not None:
            if (found := env.names.get(name)) is not None:
                return found
            env = env.parent
        return None

    def local(self) -> Iterator[str]:
        """The names that are bound inside the outermost block."""
        env = self
        while env.parent is not None:
            yield from env.names
            env = env.parent

    def inside(
        self,
        names: dict[str, KnownName | DataName] | None = None,
        *conditions: Condition,
        guarded: Iterable[str] = (),
    ) -> Env:
        """A nested block."""
        return Env(names or {}, self, (*self.conditions, *conditions), self.guarded.union(guarded))


@final
class _WorldValues(dict[str, Any]):
    """The values of names in a world."""

    __slots__ = ("_env", "_world")

    def __init__(self, env: Env, world: World) -> None:
        super().__init__()
        self._env = env
        self._world = world

    def __missing__(self, name: str) -> Any:
        found = self._env.find(name)
        if not isinstance(found, KnownName):
            raise KeyError(name)
        return self._world[found]


@final
class Worlds:
    """Evaluates expressions in worlds; everything is computed by the run's own evaluator."""

    def __init__(self) -> None:
        self._evaluator = Evaluator(steps=_STEPS)

    def value(self, node: e.Expression, env: Env, world: World) -> Any:
        """The value of an expression. Raises EvaluationError; TooLong if it takes too long."""
        try:
            return self._evaluator(node, _WorldValues(env, world))
        except EvaluationError:
            if self._evaluator.exhausted:
                raise TooLong from None
            raise

    def of(self, needs: frozenset[KnownName], env: Env) -> Iterator[World]:
        """The worlds in which the enclosing conditions of a place are true, for the names that are needed."""
        conditions = []
        wanted = set(needs)
        for condition in env.conditions:
            if needs and not bases(condition.needs).isdisjoint(bases(needs)):
                wanted |= condition.needs
                conditions.append(condition)
        order: list[KnownName] = []
        for known in wanted:
            _in_order(known, order)
        found = 0
        for world in self._worlds(order, 0, {}):
            if all(self._holds(condition, world) for condition in conditions):
                yield world
                found += 1
                if found >= MOST_WORLDS:
                    return

    def _holds(self, condition: Condition, world: World) -> bool:
        try:
            return bool(self.value(condition.node, condition.env, world)) is condition.holds
        except (EvaluationError, TooLong):
            return False

    def _worlds(
        self, order: list[KnownName], at: int, world: dict[KnownName, Any]
    ) -> Iterator[dict[KnownName, Any]]:
        if at == len(order):
            yield world
            return
        known = order[at]
        values = known.values
        if known.of is not None:
            try:
                value = self.value(*known.of, world)
            except (EvaluationError, TooLong):
                return  # reported where it is bound
            if known.each and not isinstance(value, list):
                return  # an element of something that is not a list: reported as a type error
            values = tuple(value[:MOST_WORLDS]) if known.each else (value,)
        for value in values:
            yield from self._worlds(order, at + 1, world | {known: value})


class TooLong(Exception):
    """A value takes too long to compute before a run."""


def _in_order(known: KnownName, order: list[KnownName]) -> None:
    if known not in order:
        for need in known.needs:
            _in_order(need, order)
        order.append(known)


def bases(needs: Iterable[KnownName]) -> set[KnownName]:
    """Names with all that they depend on."""
    found: set[KnownName] = set()
    waiting = list(needs)
    while waiting:
        known = waiting.pop()
        if known not in found:
            found.add(known)
            waiting += known.needs
    return found
