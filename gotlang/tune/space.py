"""What a study varies: the params that its scheme uses, each with its range, and a few settings of the run.

A list with `each` has a dimension per element, `samples[0]`, `samples[1]`; a param with `when` is a dimension
only if its condition holds. Texts that a prompt optimizer proposed are dimensions too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast, final

from gotlang.errors import UsageError
from gotlang.ir.build import build_domain
from gotlang.ir.evaluate import evaluate
from gotlang.ir.program import Domain, Param, Program
from gotlang.operations.names import free_names
from gotlang.semantics.studies import VARIED
from gotlang.syntax import expressions as e
from gotlang.tune.plan import StudyPlan
from gotlang.types import FLOAT

Value = int | float | str | bool | None
Point = Mapping[str, Value]
"""One point of a space: a value for each dimension that is active there."""

_MARK = "json:"
"""The prefix of a choice that is written as JSON, since Optuna knows plain choices only."""
TEXTS = "prompt "
"""The prefix of a dimension whose values number texts of a part of a prompt."""


@final
@dataclass(frozen=True, slots=True)
class Dimension:
    """One thing that varies, from `low` to `high` or among `choices`. `param` is the param or setting it
    belongs to, `index` its place in a list."""

    name: str
    param: str
    default: Value
    low: float | int = 0
    high: float | int = 0
    choices: tuple[Value, ...] = ()
    index: int | None = None
    whole: bool = False
    guard: e.Expression | None = None

    def suggest(self, trial: Any) -> Value:
        """A value from a trial of Optuna."""
        if self.choices:
            return cast(Value, trial.suggest_categorical(self.name, list(self.choices)))
        suggest = trial.suggest_int if self.whole else trial.suggest_float
        return cast(Value, suggest(self.name, self.low, self.high))

    @property
    def count(self) -> int | None:
        """How many values it has; None if infinitely many."""
        if self.choices:
            return len(self.choices)
        return int(self.high) - int(self.low) + 1 if self.whole else None

    @property
    def values(self) -> Sequence[Value]:
        """All its values, if it has finitely many."""
        return self.choices or range(int(self.low), int(self.high) + 1)

    def scaled(self, value: Value) -> float:
        """Where in its range a number is, from 0 to 1."""
        return (float(value or 0) - self.low) / ((self.high - self.low) or 1)


@final
@dataclass(frozen=True, slots=True)
class Space:
    """All dimensions, those first that others depend on, and the defaults of every param."""

    dimensions: tuple[Dimension, ...]
    defaults: Mapping[str, Any]
    settings: frozenset[str] = frozenset()

    @property
    def start(self) -> dict[str, Value]:
        """The point of the untuned program. Settings are left out: there they are as the program has them."""
        chosen = self._active(lambda d: d.default)
        return {d.name: d.default for d in chosen if d.param not in self.settings}

    def suggest(self, trial: Any) -> dict[str, Value]:
        """A point from a trial of Optuna."""
        chosen: dict[str, Value] = {}

        def choose(dimension: Dimension) -> Value:
            chosen[dimension.name] = dimension.suggest(trial)
            return chosen[dimension.name]

        list(self._active(choose))
        return chosen

    def _active(self, choose: Callable[[Dimension], Value]) -> Iterator[Dimension]:
        """The dimensions that are active if `choose` gives the value of each."""
        values = dict(self.defaults)
        for dimension in self.dimensions:
            if dimension.guard is None or bool(evaluate(dimension.guard, values)):
                _put(values, dimension, choose(dimension))
                yield dimension

    def params_and_settings(self, point: Point) -> tuple[dict[str, Any], dict[str, Any]]:
        """The values at a point: of params, and of settings of the run."""
        values = self.values(point)
        settings = {name: values.pop(name) for name in [*values] if name in self.settings}
        return values, settings

    def values(self, point: Point) -> dict[str, Any]:
        """Params and settings at a point, without those that do not vary there."""
        values = dict(self.defaults)
        touched: dict[str, None] = {}
        for dimension in self.dimensions:
            if dimension.name in point and not dimension.name.startswith(TEXTS):
                _put(values, dimension, point[dimension.name])
                touched[dimension.param] = None
        return {name: values[name] for name in touched}

    def points(self, limit: int) -> list[Point] | None:
        """Every point once, the untuned program's first; None if there are more than `limit` or infinitely
        many."""
        grown: list[tuple[dict[str, Value], dict[str, Any]]] = [({}, dict(self.defaults))]
        for dimension in self.dimensions:
            known, grown = grown, []
            for point, values in known:
                if dimension.guard is not None and not evaluate(dimension.guard, values):
                    grown.append((point, values))
                    continue
                count = dimension.count
                if count is None or len(grown) + count > limit:
                    return None
                for value in dimension.values:
                    below = dict(values)
                    _put(below, dimension, value)
                    grown.append(({**point, dimension.name: value}, below))
        start = self.start
        found: list[Point] = [start, *(point for point, _ in grown if point != start)]
        return found if len(found) <= limit else None

    @property
    def combinations(self) -> int:
        """How many points the grid has, and one more if the untuned program's is not among them."""
        values, start = self.grid(), self.start
        inside = all(name in start and start[name] in known for name, known in values.items())
        return math.prod(map(len, values.values())) + (not inside)

    def grid(self) -> dict[str, list[Value]]:
        """Every value of every dimension. Raises UsageError if one is not countable."""
        out: dict[str, list[Value]] = {}
        for dimension in self.dimensions:
            if dimension.count is None:
                raise UsageError(
                    f"`{dimension.name}` has infinitely many values, so there is no grid",
                    help="give it choices: `vary " + dimension.name + " in [0.1, 0.5, 1.0]`",
                )
            out[dimension.name] = list(dimension.values)
        return out


def _put(values: dict[str, Any], dimension: Dimension, value: Value) -> None:
    if dimension.index is None:
        values[dimension.param] = decoded(value)
    else:
        whole = list(values[dimension.param])
        whole[dimension.index] = value
        values[dimension.param] = whole


def _encoded(value: Any) -> Value:
    """A value as Optuna accepts it."""
    plain = isinstance(value, int | float | str | bool) and not str(value).startswith(_MARK)
    return value if plain else _MARK + json.dumps(value)


def decoded(value: Value) -> Any:
    """A value of a point as the program has it."""
    marked = isinstance(value, str) and value.startswith(_MARK)
    return json.loads(str(value).removeprefix(_MARK)) if marked else value


def point_text(point: Point, between: str = " ", equals: str = "=") -> str:
    """A point in one line: `sort_tries=2 merge_tries=13`."""
    shown = {n: f"{v:.4g}" if isinstance(v, float) else decoded(v) for n, v in point.items()}
    return between.join(f"{name}{equals}{value}" for name, value in shown.items())


def space_of(plan: StudyPlan) -> Space:
    """The space of a study: what `vary` names, else every param with a range that the scheme depends on.

    Raises UsageError if nothing varies and no prompt is searched.
    """
    program = plan.program.ir(0)
    params = {param.name: param for param in program.params}
    ranges = {vary.name.text: build_domain(vary.domain) for vary in plan.vary}
    used = used_names(program, plan.scheme)
    names = list(ranges) or [name for name in params if name in used and params[name].domain is not None]
    dimensions: list[Dimension] = []
    settings: set[str] = set()
    for name in _in_order(names, params):
        domain = ranges.get(name) or (params[name].domain if name in params else None)
        assert domain is not None  # the checker has seen to it
        if name not in params:
            start = domain.choices[0] if domain.choices else domain.low
            params[name] = Param(name, VARIED[name], start)
            settings.add(name)
        dimensions += _dimensions(params[name], domain)
    if not dimensions and not plan.searches:
        raise UsageError(
            f"nothing varies in the scheme `{plan.scheme}`",
            help="give a param a range, `param tries = 5 in 1..10`, or write `vary tries in 1..10`",
        )
    defaults = {name: param.default for name, param in params.items()}
    return Space(tuple(dimensions), defaults, frozenset(settings))


def with_texts(space: Space, counts: Mapping[str, int]) -> Space:
    """A space with this many texts of each part of a prompt to choose from, the first its own."""
    added = tuple(
        Dimension(TEXTS + name, TEXTS + name, 0, choices=tuple(range(count)))
        for name, count in counts.items()
        if count > 1
    )
    return replace(space, dimensions=(*space.dimensions, *added))


def used_names(program: Program, scheme: str) -> set[str]:
    """Every name that a scheme refers to, itself, through what it calls, or in a condition of a param."""
    found = program.reached(program.scheme(scheme))
    guards = [param.guard for param in program.params if param.name in found and param.guard is not None]
    return found.union(*map(free_names, guards))


def _in_order(names: list[str], params: Mapping[str, Param]) -> list[str]:
    """The names, each after those its condition refers to."""
    out: dict[str, None] = {}

    def visit(name: str, above: tuple[str, ...]) -> None:
        guard = params[name].guard if name in params else None
        for needed in free_names(guard) if guard is not None else ():
            if needed in names and needed not in (*above, name):
                visit(needed, (*above, name))
        out.setdefault(name)

    for name in names:
        visit(name, ())
    return list(out)


def _dimensions(param: Param, domain: Domain) -> list[Dimension]:
    """A param's dimensions. The untuned program takes part, even if the study's range excludes its values."""

    def dimension(name: str, default: Any, index: int | None) -> Dimension:
        known = _encoded(default)
        choices = tuple(_encoded(choice) for choice in domain.choices)
        if choices:
            choices = choices if known in choices else (*choices, known)
            return Dimension(name, param.name, known, choices=choices, index=index, guard=param.guard)
        low, high = domain.low or 0, domain.high or 0
        whole = param.type != FLOAT and isinstance(low, int) and isinstance(high, int)
        low, high = min(low, default), max(high, default)
        return Dimension(name, param.name, known, low, high, (), index, whole, param.guard)

    if param.each and isinstance(param.default, list):
        return [dimension(f"{param.name}[{i}]", value, i) for i, value in enumerate(param.default)]
    return [dimension(param.name, param.default, None)]
