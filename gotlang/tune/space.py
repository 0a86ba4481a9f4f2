"""The space of a study: the params that its scheme uses, each with its range, and a few settings of the run.

A list with `each` has a dimension per element, `samples[0]`, `samples[1]`; a param with `when` is a dimension
only if its condition is true. Texts that a prompt optimizer proposed are dimensions too.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast, final

from msgspec import structs

from gotlang.errors import UsageError
from gotlang.ir.evaluate import evaluate
from gotlang.ir.program import Domain, Param, Prompt
from gotlang.ir.prompts import build_domain
from gotlang.operations.names import free_names
from gotlang.operations.record import MODEL_SETTINGS
from gotlang.program import CheckedProgram
from gotlang.semantics.variations import MODELS, SCHEME, STRUCTURE, TEXT_PARTS, reached
from gotlang.span import NOWHERE
from gotlang.syntax import expressions as e
from gotlang.syntax.format import format_expression
from gotlang.tune.plan import StudyPlan
from gotlang.tune.rewrites import Variant
from gotlang.tune.structure import variants_of
from gotlang.tune.tuned import PromptTexts, Shot, used_names
from gotlang.types import FLOAT, INT

Value = int | float | str | bool | None
Point = Mapping[str, Value]
"""One point of a space: a value for each dimension that is active there."""

_MARK = "json:"
"""The prefix of a choice that is written as JSON, since Optuna supports only plain choices."""
TEXTS = "prompt "
"""The prefix of a dimension whose values number texts of a part of a prompt."""


@final
@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension, from `low` to `high` or among `choices`. `default` is the untuned program's value, which
    may be outside: then no other point has it. `param` is the param or setting it belongs to, `index` its
    place in a list, `guard` the condition under which it is relevant. `unset`: the value of the untuned
    program is unknown, and its point leaves it out. Dimensions of one `role` replace each other, such as the
    tries of either of two prompts. `parts` are those of composed choices, which are alike as far as they have
    parts in common."""

    name: str
    param: str
    default: Value
    low: float | int = 0
    high: float | int = 0
    choices: tuple[Value, ...] = ()
    index: int | None = None
    whole: bool = False
    guard: e.Expression | None = None
    unset: bool = False
    role: str = ""
    parts: Mapping[Value, frozenset[str]] = field(default_factory=dict)

    def suggest(self, trial: Any) -> Value:
        """A value from a trial of Optuna."""
        if self.choices:
            return cast(Value, trial.suggest_categorical(self.name, list(self.choices)))
        suggest = trial.suggest_int if self.whole else trial.suggest_float
        return cast(Value, suggest(self.name, self.low, self.high))

    @property
    def recorded(self) -> Dimension:
        """The dimension with the untuned program's value among its values, as a record of all points has
        it."""
        if self.holds(self.default):
            return self
        if self.choices:
            return replace(self, choices=(*self.choices, self.default))
        own = cast(float, self.default)
        return replace(self, low=min(self.low, own), high=max(self.high, own))

    def holds(self, value: Value) -> bool:
        """Whether a value is one of its values."""
        if self.choices:
            return value in self.choices
        return isinstance(value, int | float) and self.low <= value <= self.high

    @property
    def count(self) -> int | None:
        """The number of its values; None if infinite."""
        if self.choices:
            return len(self.choices)
        return int(self.high) - int(self.low) + 1 if self.whole else None

    @property
    def values(self) -> Sequence[Value]:
        """All its values; only if there are finitely many."""
        return self.choices or range(int(self.low), int(self.high) + 1)

    def sample(self, chance: random.Random) -> Value:
        """A random value."""
        if self.choices:
            return chance.choice(self.choices)
        if self.whole:
            return chance.randint(int(self.low), int(self.high))
        return chance.uniform(self.low, self.high)

    def near(self, value: Value, chance: random.Random) -> Value:
        """Another random value; of composed choices rather one with nearly the same parts."""
        if value not in self.parts:
            return self.sample(chance)
        others = [choice for choice in self.choices if choice != value]
        weights = [1 / (1 + len(self.parts[choice] ^ self.parts[value])) for choice in others]
        return chance.choices(others, weights)[0]

    def scaled(self, value: Value) -> float:
        """The position of a number in its range, from 0 to 1; the untuned program's may be outside."""
        return (float(value or 0) - self.low) / ((self.high - self.low) or 1)


@final
@dataclass(frozen=True, slots=True)
class Space:
    """All dimensions, each after those it depends on, and the defaults of every param. `settings` are the
    names of those that are not params, `texts` the texts that the study lists for a part of a prompt."""

    dimensions: tuple[Dimension, ...]
    defaults: Mapping[str, Any]
    settings: frozenset[str] = frozenset()
    texts: Mapping[str, Sequence[PromptTexts]] = field(default_factory=dict)

    @property
    def start(self) -> dict[str, Value]:
        """The point of the untuned program. Settings whose value there is unknown are left out."""
        chosen = self._active(lambda d: d.default)
        return {d.name: d.default for d in chosen if not d.unset}

    def suggest(self, trial: Any) -> dict[str, Value]:
        """A point from a trial of Optuna."""
        return self._chosen(lambda dimension: dimension.suggest(trial))

    def _chosen(self, choose: Callable[[Dimension], Value]) -> dict[str, Value]:
        """The point whose active dimensions have the values that `choose` returns."""
        chosen: dict[str, Value] = {}

        def kept(dimension: Dimension) -> Value:
            chosen[dimension.name] = choose(dimension)
            return chosen[dimension.name]

        list(self._active(kept))
        return chosen

    def _active(self, choose: Callable[[Dimension], Value]) -> Iterator[Dimension]:
        """The dimensions that are active with the values that `choose` returns."""
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

    def sample(self, chance: random.Random) -> dict[str, Value]:
        """A random point."""
        return self._chosen(lambda dimension: dimension.sample(chance))

    def near(self, point: Point, chance: random.Random) -> dict[str, Value]:
        """A point that differs from one in a dimension, and in those that depend on it and replace no
        other."""
        here = [dimension for dimension in self.dimensions if dimension.name in point]
        other = chance.choice(here or self.dimensions)  # none if nothing is known of the untuned program's
        known = {d.role or d.name: point[d.name] for d in here}

        def choose(dimension: Dimension) -> Value:
            value = known.get(dimension.role or dimension.name)
            if dimension is other:
                return dimension.near(value, chance)
            return value if dimension.holds(value) else dimension.sample(chance)

        return self._chosen(choose)

    def points(self, limit: int) -> list[Point] | None:
        """All points without duplicates, the untuned program's first; None if there are more than `limit` or
        infinitely many."""
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
        """The number of points of the grid, plus one if the untuned program's is not among them."""
        return math.prod(map(len, self.grid().values())) + (not self.closed)

    @property
    def closed(self) -> bool:
        """Whether the untuned program's point has a value of each dimension."""
        return all(not d.unset and d.holds(d.default) for d in self.dimensions)

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
    """A value of a point in the program's form."""
    marked = isinstance(value, str) and value.startswith(_MARK)
    return json.loads(str(value).removeprefix(_MARK)) if marked else value


def key_of(point: Point) -> str:
    """A point as a key."""
    return repr(sorted(point.items()))


def point_text(point: Point, between: str = " ", equals: str = "=") -> str:
    """A point on one line: `sort_tries=2 merge_tries=13`."""
    shown = {n: f"{v:.4g}" if isinstance(v, float) else decoded(v) for n, v in point.items()}
    return between.join(f"{name}{equals}{value}" for name, value in shown.items())


def space_of(plan: StudyPlan) -> Space:
    """The space of a study: the params that `vary` names, else every param with a range that a scheme depends
    on. Those that only some of the varied schemes use are dimensions only there.

    Raises UsageError if nothing varies and no prompt is searched.
    """
    program = plan.program.ir(0)
    ranges = {vary.text: build_domain(vary.domain) for vary in plan.vary}
    params = {param.name: param for param in program.params}
    if SCHEME in params or (chosen := ranges.pop(SCHEME, None)) is None:
        chosen = Domain()
    schemes = [*dict.fromkeys((plan.scheme, *chosen.choices))]
    word, used = SCHEME, {scheme: used_names(program, scheme) for scheme in schemes}
    introduced: dict[str, Param] = {}
    roles, parts = dict[str, str](), dict[Value, frozenset[str]]()
    if variants := variants_of(plan):
        word, _ = STRUCTURE, ranges.pop(STRUCTURE)
        used = {name: reached(one.compiled.checked.symbols, plan.scheme) for name, one in variants.items()}
        introduced = {
            number.name: Param(number.name, INT, number.default, domain=Domain(number.low, number.high))
            for one in variants.values()
            for number in one.numbers
        }
        params |= introduced
        roles = _roles(variants.values())
        parts = {name: frozenset(re.findall(r"\w+", "+".join(v.rewrites))) for name, v in variants.items()}
    versions = tuple(used)
    found = [Dimension(word, word, plan.scheme, choices=versions, parts=parts)] if len(versions) > 1 else []
    texts: dict[str, tuple[PromptTexts, ...]] = {}

    def where(name: str, guard: e.Expression | None = None) -> e.Expression | None:
        """The condition under which a name is relevant: in the schemes, or variants of one, that use it, and
        if its own condition is true."""
        users = [version for version in versions if name in used[version]]
        if len(users) in (0, len(versions)):
            return guard
        own = _one_of(word, users)
        return own if guard is None else e.Binary(NOWHERE, "and", own, guard)

    every = set[str]().union(*used.values())
    ranged = [name for name in params if name in every and params[name].domain is not None]
    names = [*ranges, *introduced] or ([] if found else ranged)
    for name in _in_order(names, params):
        domain = ranges.get(name) or (params[name].domain if name in params else None)
        assert domain is not None  # the checker ensures this
        if name in params:
            param = params[name]
            some = _dimensions(structs.replace(param, guard=where(name, param.guard)), domain)
            found += [replace(dimension, role=roles.get(name, "")) for dimension in some]
            continue
        asked = [p for p in program.prompts if p.name in every] if name == MODELS else []
        of, _, part = name.rpartition(".")
        if part in TEXT_PARTS:
            prompt = program.prompt(of)
            texts[name] = _own_texts(prompt, part, domain)
            choices = tuple(range(len(texts[name])))
            found.append(Dimension(TEXTS + name, TEXTS + name, 0, choices=choices, guard=where(of)))
            continue
        for prompt in asked or ([program.prompt(of)] if of else []):
            setting = "model" if asked else part
            own = _own_setting(prompt, setting, plan)
            found.append(_setting(f"{prompt.name}.{setting}", domain, own, where(prompt.name)))
        if not asked and not of:
            found.append(_setting(name, domain, None, None))
    settings = {d.name for d in found if d.param not in params and not d.name.startswith(TEXTS)}
    if not found and not plan.searches:
        raise UsageError(
            f"nothing varies in the scheme `{plan.scheme}`",
            help="give a param a range, `param tries = 5 in 1..10`, or write `vary tries in 1..10`",
        )
    defaults: dict[str, Any] = {name: param.default for name, param in params.items()}
    defaults |= {word: plan.scheme} if word in settings else {}
    dimensions = tuple(d for d in found if _matters(d, found, ranges, defaults))
    space = Space(dimensions, defaults, frozenset(settings), texts)
    if plan.sampler.name == "grid" and space.grid() and space.points(plan.trials) is None:
        raise UsageError(
            f"the grid has more points than the {plan.trials} trials of the study",
            help=f"`trials {space.combinations}` is enough; or vary less, or choose another sampler",
        )
    if plan.sampler.name == "cmaes" and all(d.choices for d in space.dimensions):
        raise UsageError(
            "the sampler `cmaes` needs numbers, and only choices vary", help="choose another: `sampler tpe`"
        )
    return space


def _matters(
    dimension: Dimension, others: Sequence[Dimension], named: Container[str], defaults: Mapping[str, Any]
) -> bool:
    """Whether a dimension's condition may be true somewhere. Raises UsageError if the study names it and it
    may not."""
    guard = dimension.guard
    if guard is None or free_names(guard).keys() & {other.param for other in others}:
        return True
    if evaluate(guard, defaults):
        return True
    if dimension.param in named:
        condition = format_expression(guard)
        raise UsageError(
            f"`{dimension.param}` matters only where {condition}, and none of that varies",
            help=f"vary {', '.join(f'`{name}`' for name in free_names(guard))} too, or leave it out",
        )
    return False


def _roles(variants: Iterable[Variant[CheckedProgram]]) -> dict[str, str]:
    """What the params that rewrites introduce are for, by name: those of the same kind of rewrite that count
    the same replace each other, unless a variant has several."""
    found, several = dict[str, str](), set[str]()
    for one in variants:
        own = {number.name: f"{number.by.partition('(')[0]} {number.counts}" for number in one.numbers}
        found |= own
        several |= {role for role in own.values() if [*own.values()].count(role) > 1}
    return {name: role for name, role in found.items() if role not in several}


def _own_setting(prompt: Prompt, setting: str, plan: StudyPlan) -> Value:
    """The setting of a prompt in the untuned program; None if that is not a constant, or not known."""
    value = dict(prompt.settings).get(setting)
    if value is None:
        return plan.model if setting == "model" else None
    return _encoded(value.value) if isinstance(value, e.Constant) else None


def _setting(name: str, domain: Domain, own: Value, guard: e.Expression | None) -> Dimension:
    """The dimension of a setting, whose value in the untuned program may be unknown."""
    rule = MODEL_SETTINGS.get(name.rpartition(".")[2])
    whole = FLOAT not in rule.types if rule is not None else True
    if domain.choices:
        choices = tuple(_encoded(choice) for choice in domain.choices)
        first = choices[0] if own is None else own
        return Dimension(name, name, first, choices=choices, guard=guard, unset=own is None)
    low, high = domain.low or 0, domain.high or 0
    first = low if own is None else own
    return Dimension(name, name, first, low, high, whole=whole, guard=guard, unset=own is None)


def _own_texts(prompt: Prompt, part: str, domain: Domain) -> tuple[PromptTexts, ...]:
    """The texts of a prompt that a study lists, or its first examples by number; the prompt's own come
    first."""
    if part == "instruction":
        own = prompt.instruction or prompt.asking
        given = dict.fromkeys(choice for choice in domain.choices if own is None or choice != own.text)
        return (PromptTexts(), *(PromptTexts(instruction=text) for text in given))
    counts = domain.choices or range(int(domain.low or 0), int(domain.high or 0) + 1)
    shots = tuple(Shot(dict(example.inputs), example.output) for example in prompt.examples)
    return (PromptTexts(), *(PromptTexts(examples=shots[:count]) for count in counts if count < len(shots)))


def _one_of(name: str, values: Sequence[str]) -> e.Expression:
    """The condition that a name has one of these values."""
    listed = e.ListDisplay(NOWHERE, tuple(e.Constant(NOWHERE, value) for value in values))
    return e.Compare(NOWHERE, e.Reference(NOWHERE, name), (("in", listed),))


def with_texts(space: Space, counts: Mapping[str, int]) -> Space:
    """A space with this many texts of each part of a prompt to choose from, the first its own, in addition to
    those that the study lists."""
    dimensions = {dimension.name: dimension for dimension in space.dimensions}
    for part, count in counts.items():
        name = TEXTS + part
        known = dimensions.get(name, Dimension(name, name, 0, choices=(0,)))
        total = len(known.choices) + count - 1
        if total > 1:
            dimensions[name] = replace(known, choices=tuple(range(total)))
    return replace(space, dimensions=tuple(dimensions.values()))


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
    """A param's dimensions."""

    def dimension(name: str, default: Any, index: int | None) -> Dimension:
        known = _encoded(default)
        choices = tuple(_encoded(choice) for choice in domain.choices)
        if choices:
            return Dimension(name, param.name, known, choices=choices, index=index, guard=param.guard)
        low, high = domain.low or 0, domain.high or 0
        whole = param.type != FLOAT and isinstance(low, int) and isinstance(high, int)
        return Dimension(name, param.name, known, low, high, (), index, whole, param.guard)

    if param.each and isinstance(param.default, list):
        return [dimension(f"{param.name}[{i}]", value, i) for i, value in enumerate(param.default)]
    return [dimension(param.name, param.default, None)]
