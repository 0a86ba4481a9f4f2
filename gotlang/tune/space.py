"""What a study varies: the params that its scheme uses, each with its range, and a few settings of the run.

A list with `each` is one dimension for every element, `samples[0]`, `samples[1]`; a param with `when` is a
dimension only where its condition holds. Beside them stand texts that a prompt optimizer proposed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, final

from gotlang.errors import UsageError
from gotlang.ir.evaluate import evaluate
from gotlang.ir.names import free_names
from gotlang.ir.program import Domain, Param
from gotlang.semantics.study_settings import VARIED, constant
from gotlang.semantics.symbols import Symbols
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import walk
from gotlang.tune.plan import Plan
from gotlang.types import FLOAT

Value = int | float | str | bool | None
Point = Mapping[str, Value]
"""One place in a space: a value for each dimension that is in force there."""


_MARK = "json:"
"""What a list, or nothing, among plain choices starts with, as JSON."""
TEXTS = "prompt "
"""What the name of a dimension starts with whose values number texts of a prompt."""


class Suggests(Protocol):
    """What a trial of Optuna offers."""

    def suggest_int(self, name: str, low: int, high: int) -> int:
        """A whole number."""

    def suggest_float(self, name: str, low: float, high: float) -> float:
        """A number."""

    def suggest_categorical(self, name: str, choices: Any) -> Any:
        """One of several."""


@final
@dataclass(frozen=True, slots=True)
class Dimension:
    """One thing that varies. `param` is the param or setting it belongs to, `index` its place in a list."""

    name: str
    param: str
    default: Value
    low: float | int | None = None
    high: float | int | None = None
    choices: tuple[Value, ...] = ()
    index: int | None = None
    whole: bool = False
    guard: e.Expression | None = None

    def suggest(self, trial: Suggests) -> Value:
        """A value from a trial."""
        if self.choices:
            chosen: Value = trial.suggest_categorical(self.name, list(self.choices))
            return chosen
        assert self.low is not None and self.high is not None
        if self.whole:
            return trial.suggest_int(self.name, int(self.low), int(self.high))
        return trial.suggest_float(self.name, float(self.low), float(self.high))


@final
@dataclass(frozen=True, slots=True)
class Space:
    """All dimensions, those first that others depend on, and the defaults of every param."""

    dimensions: tuple[Dimension, ...]
    defaults: Mapping[str, Any]
    settings: frozenset[str] = frozenset()

    @property
    def start(self) -> dict[str, Value]:
        """Where the untuned program stands. Settings are left out: there they are as the program has them."""
        chosen = self._in_force(lambda d: d.default)
        return {d.name: d.default for d in chosen if d.param not in self.settings}

    def suggest(self, trial: Suggests) -> dict[str, Value]:
        """A point from a trial of Optuna."""
        chosen: dict[str, Value] = {}

        def choose(dimension: Dimension) -> Value:
            chosen[dimension.name] = dimension.suggest(trial)
            return chosen[dimension.name]

        for _ in self._in_force(choose):
            pass
        return chosen

    def _in_force(self, choose: Any) -> Iterator[Dimension]:
        """The dimensions that are in force where `choose` says what is chosen for each."""
        values = dict(self.defaults)
        for dimension in self.dimensions:
            if dimension.guard is None or bool(evaluate(dimension.guard, values)):
                _put(values, dimension, choose(dimension))
                yield dimension

    def values(self, point: Point) -> dict[str, Any]:
        """Params and settings at a point, those that do not vary there left out."""
        values = dict(self.defaults)
        touched: dict[str, None] = {}
        for dimension in self.dimensions:
            if dimension.name in point and not dimension.name.startswith(TEXTS):
                _put(values, dimension, point[dimension.name])
                touched[dimension.param] = None
        return {name: values[name] for name in touched}

    @property
    def combinations(self) -> int:
        """How many points the grid has, the untuned program's counted where it is none of them."""
        values, start = self.grid(), self.start
        inside = all(name in start and start[name] in known for name, known in values.items())
        return math.prod(map(len, values.values())) + (not inside)

    def grid(self) -> dict[str, list[Value]]:
        """Every value of every dimension. Raises UsageError where one is not countable."""
        out: dict[str, list[Value]] = {}
        for dimension in self.dimensions:
            if dimension.choices:
                out[dimension.name] = list(dimension.choices)
            elif dimension.whole:
                assert dimension.low is not None and dimension.high is not None
                out[dimension.name] = list(range(int(dimension.low), int(dimension.high) + 1))
            else:
                raise UsageError(
                    f"`{dimension.name}` has infinitely many values, so there is no grid",
                    help="give it choices: `vary " + dimension.name + " in [0.1, 0.5, 1.0]`",
                )
        return out


def _put(values: dict[str, Any], dimension: Dimension, value: Value) -> None:
    if dimension.index is None:
        values[dimension.param] = decoded(value)
        return
    whole = list(values[dimension.param])
    whole[dimension.index] = value
    values[dimension.param] = whole


def _encoded(value: Any) -> Value:
    """A value as Optuna takes it, which knows plain choices only."""
    plain = isinstance(value, int | float | str | bool) and not str(value).startswith(_MARK)
    return value if plain else _MARK + json.dumps(value)


def decoded(value: Value) -> Any:
    """A value of a point as the program has it."""
    return (
        json.loads(value.removeprefix(_MARK)) if isinstance(value, str) and value.startswith(_MARK) else value
    )


def space_of(plan: Plan) -> Space:
    """The space of a study: what `vary` names, else every param with a range that the scheme depends on.

    Raises UsageError where nothing varies and no prompt is searched.
    """
    program = plan.program.ir(0)
    params = {param.name: param for param in program.params}
    checked = plan.program.compilation.checked
    used = used_names(checked.symbols, plan.scheme)
    ranges = {vary.name.text: _domain(vary.domain) for vary in plan.vary}
    names = list(ranges) or [name for name in params if name in used and params[name].domain is not None]
    dimensions: list[Dimension] = []
    for name in _in_order(names, params):
        domain = ranges.get(name) or (params[name].domain if name in params else None)
        assert domain is not None
        if name in params:
            dimensions += _dimensions(params[name], domain)
        else:
            dimensions.append(_setting(name, domain))
    if not dimensions and not plan.searches:
        raise UsageError(
            f"nothing varies in the scheme `{plan.scheme}`",
            help="give a param a range, `param tries = 5 in 1..10`, or write `vary tries in 1..10`",
        )
    defaults = {name: param.default for name, param in params.items()}
    settings = frozenset(name for name in names if name not in params)
    return Space(
        tuple(dimensions),
        {**defaults, **{d.param: d.default for d in dimensions if d.param in settings}},
        settings,
    )


def with_texts(space: Space, counts: Mapping[str, int]) -> Space:
    """A space where so many texts of each prompt are to choose from, the first its own."""
    added = tuple(
        Dimension(TEXTS + name, TEXTS + name, 0, choices=tuple(range(count)))
        for name, count in counts.items()
        if count > 1
    )
    return replace(space, dimensions=(*space.dimensions, *added))


def used_names(symbols: Symbols, start: str) -> set[str]:
    """Every name that a scheme refers to, itself or through what it calls."""
    found, pending = {start}, [start]
    while pending:
        node = symbols.nodes.get(pending.pop())
        for part in walk(node) if node is not None else ():
            name = None
            if isinstance(part, e.Reference):
                name = part.name
            elif isinstance(part, e.Call):
                name = part.function.text
            if name is not None and name not in found:
                found.add(name)
                pending.append(name)
    return found


def _in_order(names: list[str], params: Mapping[str, Param]) -> list[str]:
    """The names so that each comes after those its condition asks for."""
    out: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in out or name in above:
            return
        guard = params[name].guard if name in params else None
        for needed in free_names(guard) if guard is not None else ():
            if needed in names:
                visit(needed, (*above, name))
        out.append(name)

    for name in names:
        visit(name, ())
    return out


def _domain(node: n.Range | n.Choices | None) -> Domain | None:
    if node is None:
        return None
    if isinstance(node, n.Range):
        return Domain(constant(node.low), constant(node.high))
    return Domain(choices=tuple(constant(value) for value in node.values))


def _dimensions(param: Param, domain: Domain) -> list[Dimension]:
    if param.each and isinstance(param.default, list):
        return [
            _dimension(f"{param.name}[{i}]", param, domain, value, i) for i, value in enumerate(param.default)
        ]
    return [_dimension(param.name, param, domain, param.default, None)]


def _dimension(name: str, param: Param, domain: Domain, default: Any, index: int | None) -> Dimension:
    whole = param.type != FLOAT and isinstance(domain.low, int) and isinstance(domain.high, int)
    low, high = domain.low, domain.high
    choices = tuple(_encoded(choice) for choice in domain.choices)
    # The untuned program takes part, also where the study's range leaves its values out.
    if choices and _encoded(default) not in choices:
        choices = (*choices, _encoded(default))
    if low is not None and high is not None:
        low, high = min(low, default), max(high, default)
    return Dimension(name, param.name, _encoded(default), low, high, choices, index, whole, param.guard)


def _setting(name: str, domain: Domain) -> Dimension:
    whole = VARIED[name] != FLOAT
    default: Value = domain.choices[0] if domain.choices else domain.low
    return Dimension(name, name, default, domain.low, domain.high, domain.choices, None, whole)
