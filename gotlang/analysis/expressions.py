"""Finds expressions that fail before anything runs: their constant parts are computed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, assert_never, final

from msgspec import Struct, field

from gotlang.analysis.worlds import (
    MOST_WORLDS,
    Bound,
    Condition,
    DataName,
    Env,
    KnownName,
    TooLong,
    World,
    Worlds,
    bases,
)
from gotlang.diagnostics import Label, Report
from gotlang.errors import EvaluationError
from gotlang.ir.evaluate import is_literal
from gotlang.operations.names import free_names
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.semantics.builtins import BUILTINS, CONSTANTS
from gotlang.semantics.symbols import Symbols
from gotlang.span import NOWHERE, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n

_CALL: Final = "%call"
"""The name of a call's result: a list of values."""

_MOST_WAYS: Final = 8
"""Maximum number of combinations of known inputs that are followed into one declaration, so that the time is
linear."""


@final
class _Way(Struct):
    """Values that calls pass to some names, together, as lists; and for each list the places of its
    values."""

    values: dict[str, list[Any]] = field(default_factory=dict)
    places: dict[str, tuple[Span, ...]] = field(default_factory=dict)

    def add(self, values: list[Any], places: tuple[Span, ...]) -> None:
        key = json.dumps(values)
        if len(self.values) < MOST_WORLDS:
            self.values.setdefault(key, values)
            self.places.setdefault(key, places)


@final
class KnownCalls:
    """Known arguments of calls, by the declaration that is called and by the names that get a known value. A
    param that an argument depends on is one of these names, with its value there."""

    def __init__(self) -> None:
        self._ways: dict[str, dict[tuple[str, ...], _Way]] = {}

    def add(self, name: str, places: Mapping[str, Span], given: Iterable[list[Any]]) -> None:
        """Record the values that a call of `name` passes to the names in `places`."""
        ways = self._ways.setdefault(name, {})
        if len(ways) < _MOST_WAYS or tuple(places) in ways:
            for values in given:
                ways.setdefault(tuple(places), _Way()).add(values, tuple(places.values()))

    def of(self, name: str, inputs: Iterable[str], params: Env) -> Iterator[Env]:
        """The names in scope in a declaration that is called, once for each combination of known
        arguments."""
        for names, way in tuple(self._ways.get(name, {}).items()):
            call = KnownName(_CALL, NOWHERE, tuple(way.values.values()))
            inside = params.inside({_CALL: call})
            found: dict[str, KnownName | DataName] = {each: DataName() for each in inputs}
            for position, each in enumerate(names):
                part = e.Index(NOWHERE, e.Reference(NOWHERE, _CALL), e.Constant(NOWHERE, position))
                found[each] = KnownName(
                    each, _Place(way, call, position), of=(part, inside), needs=frozenset([call])
                )
            yield params.inside(found)


@final
class _Place(Struct, frozen=True):
    """The place of a value that a call passes."""

    way: _Way
    call: KnownName
    position: int

    def __call__(self, world: World) -> Span:
        return self.way.places[json.dumps(world[self.call])][self.position]


Needs = frozenset[KnownName]
NOTHING: Final[Needs] = frozenset()

_PAIR = "%pair"
"""The name of a pair whose parts have names."""

_USUAL: Final[Mapping[str, tuple[Any, ...]]] = {
    "chunks": ([], None), "range": (0, 1, None), "split": ("", None), "hmean": (1.0,) * 9,
}  # fmt: skip
"""Built-ins that may fail by one argument alone, with harmless values of the others."""


@final
class ExpressionConstants:
    """Checks expressions with the known values of their names; every place is reported once."""

    def __init__(self, symbols: Symbols, report: Report) -> None:
        self.symbols = symbols
        self.report = report
        self.worlds = Worlds()
        self.calls = KnownCalls()
        self._told: set[tuple[str, Span]] = set()
        self._looked: dict[tuple[int, int, bool], tuple[e.Expression, Env, Needs | None]] = {}
        self.tried = False
        """Whether a failure for only some values is handled (`try`)."""
        self.wrong = False
        """Whether the declaration has an error, so that its types may be wrong."""
        declared = {*symbols.functions, *symbols.scores, *symbols.prompts, *symbols.schemes}
        params = [node for node in symbols.nodes.values() if isinstance(node, n.Param)]
        self._params = {param.name.text: (rank, param_place(param)) for rank, param in enumerate(params)}
        self._builtin = BUILTINS.keys() - declared

    @cached_property
    def _quiet(self) -> ExpressionConstants:
        """The same without reports."""
        found = ExpressionConstants(self.symbols, Report())
        found._quiet = found
        return found

    def fail(
        self, message: str, span: Span, world: World, needs: Needs, code: str = "GOT0330", at: str = ""
    ) -> None:
        """Report a failure, with the values of the params that cause it."""
        if code in ("GOT0330", "GOT0343") and (self.wrong or (self.tried and needs)):
            return
        if (code, span) in self._told:
            return
        self._told.add((code, span))
        named = sorted((known for known in needs if known in world), key=lambda known: known.name)
        labels = tuple(
            Label(place, f"`{known.name}` may be {json.dumps(world[known])}"[:80])
            for known in named
            if (place := known.place(world)) is not NOWHERE
        )
        self.report.error(code, message, span, at, labels=labels)

    # ---------------------------------------------------------------- values

    def values(self, node: e.Expression, env: Env) -> list[tuple[World, Any]]:
        """The values of an expression that is known before a run, in each world; empty for any other.
        Failures are reported."""
        needs = self.look(node, env)
        return self._settled(node, env, needs) if needs is not None else []

    def known(self, name: str, node: e.Expression, env: Env, *, each: bool = False) -> KnownName | DataName:
        """A name for the value of an expression, or for each element of it."""
        needs = self.look(node, env)
        if needs is None:
            return DataName() if each else DataName(self.bound(node, env), (node, env))
        self._settled(node, env, needs)
        return KnownName(name, NOWHERE, of=(node, env), each=each, needs=needs)

    def check(self, node: e.Expression, env: Env) -> None:
        """Report failures in an expression."""
        if (needs := self.look(node, env)) is not None and not is_literal(node):
            self._settled(node, env, needs)

    def _settled(self, node: e.Expression, env: Env, needs: Needs) -> list[tuple[World, Any]]:
        if isinstance(node, e.Constant):
            return [({}, node.value)]
        found: list[tuple[World, Any]] = []
        try:
            for world in self.worlds.of(needs, env):
                try:
                    found.append((world, self.worlds.value(node, env, world)))
                except EvaluationError as error:
                    self._blame(node, env, world, needs, error.message)
                    return []
        except TooLong:
            return []
        return found

    def _blame(self, node: e.Expression, env: Env, world: World, needs: Needs, message: str) -> None:
        """Report the smallest part of an expression that fails in a world."""
        for part in always_evaluated(node):
            try:
                self.worlds.value(part, env, world)
            except EvaluationError as error:
                self._blame(part, env, world, needs, error.message)
                return
            except TooLong:
                return
        self.fail(message, node.span, world, self._of(node, env) or needs)

    def _of(self, node: e.Expression, env: Env) -> Needs:
        """The names with known values in a part of an expression."""
        return frozenset(found for name in free_names(node) if isinstance(found := env.find(name), KnownName))

    # ---------------------------------------------------------------- what is known

    def look(self, node: e.Expression, env: Env) -> Needs | None:
        """The names with known values that an expression's value depends on; None if it depends on anything
        else. In that case its known parts have been computed, and failures in them are reported."""
        match node:
            case e.Constant():
                return NOTHING
            case e.Reference(name=name):
                found = env.find(name)
                if found is None:
                    return NOTHING if name in CONSTANTS else None
                return frozenset([found]) if isinstance(found, KnownName) else None
            case e.Unary(operand=operand):
                return self._all([operand], env)
            case e.Binary():
                return self._binary(node, env)
            case e.Compare(first=first, rest=rest):
                return self._all([first, *(operand for _, operand in rest)], env)
            case e.Conditional() | e.Index() | e.Comprehension():
                return self._once(node, env)
            case e.Slice():
                return self._all([part for part in (node.value, node.start, node.stop) if part], env)
            case e.Field(value=value):
                return self._all([value], env)
            case e.Call():
                return self._call(node, env)
            case e.ListDisplay(elements=elements):
                return self._all(elements, env)
            case e.RecordDisplay(entries=entries) | e.Case(entries=entries):
                return self._all([value for _, value in entries], env)
        assert_never(node)

    def _once(self, node: e.Conditional | e.Index | e.Comprehension, env: Env) -> Needs | None:
        """The memoized result for expressions that are visited again, or the time would double with each
        level."""
        key = (id(node), id(env), self.wrong or self.tried)
        if key not in self._looked:
            match node:
                case e.Conditional():
                    needs = self._conditional(node, env)
                case e.Index():
                    needs = self._index(node, env)
                case e.Comprehension():
                    needs = self._comprehension(node, env)
            self._looked[key] = (node, env, needs)
        return self._looked[key][-1]

    def _all(self, parts: Iterable[e.Expression], env: Env) -> Needs | None:
        looked = [(part, self.look(part, env)) for part in parts]
        return self._together([(part, env, needs) for part, needs in looked])

    def _together(self, parts: list[tuple[e.Expression, Env, Needs | None]]) -> Needs | None:
        """The names that all parts need; if one part is not known, the others are computed now."""
        if all(needs is not None for _, _, needs in parts):
            return NOTHING.union(*(needs for _, _, needs in parts if needs))
        for part, env, needs in parts:
            if needs is not None and not isinstance(part, e.Constant | e.Reference):
                self._settled(part, env, needs)
        return None

    def _binary(self, node: e.Binary, env: Env) -> Needs | None:
        left = self.look(node.left, env)
        if node.operator in ("and", "or"):
            inner = self.under(node.left, env, node.operator == "and")
            return self._together([(node.left, env, left), (node.right, inner, self.look(node.right, inner))])
        right = self.look(node.right, env)
        if left is None and right is not None and node.operator in ("/", "//", "%"):
            for world, value in self._settled(node.right, env, right):
                if value == 0:
                    self.fail("division by zero", node.right.span, world, right)
                    break
            return None
        return self._together([(node.left, env, left), (node.right, env, right)])

    def _conditional(self, node: e.Conditional, env: Env) -> Needs | None:
        if self.look(node.condition, env) == NOTHING:  # it decides, so that the other side is never computed
            for _, value in self._settled(node.condition, env, NOTHING):
                return self.look(node.then if value else node.otherwise, env)
        then, otherwise = self.under(node.condition, env, True), self.under(node.condition, env, False)
        return self._together(
            [
                (node.condition, env, self.look(node.condition, env)),
                (node.then, then, self.look(node.then, then)),
                (node.otherwise, otherwise, self.look(node.otherwise, otherwise)),
            ]
        )

    def _index(self, node: e.Index, env: Env) -> Needs | None:
        value, index = self.look(node.value, env), self.look(node.index, env)
        if value is None and index is not None:
            guarded = isinstance(node.value, e.Reference) and node.value.name in env.guarded
            self.position(node.index, env, None if guarded else self.bound(node.value, env))
            return None
        return self._together([(node.value, env, value), (node.index, env, index)])

    def position(self, node: e.Expression, env: Env, most: Bound | None) -> None:
        """Report a position, or one of a list of them, beyond the elements of a list."""
        needs = self.look(node, env)
        if needs is None:
            return
        if most is None:
            self._settled(node, env, needs)
            return
        try:
            for world in self.worlds.of(needs | most.needs, env):
                found, count = self.worlds.value(node, env, world), most.of(world)
                for at in found if isinstance(found, list) else [found]:
                    if isinstance(at, int) and not -count <= at < count:
                        there = f"{count:g} element{'s' * (count != 1)}"
                        needs |= most.needs
                        self.fail(f"position {at} of at most {there}", node.span, world, needs)
                        return
        except (EvaluationError, TooLong):
            self._settled(node, env, needs)

    def _call(self, node: e.Call, env: Env) -> Needs | None:
        name = node.function.text
        arguments = [argument.value for argument in node.arguments]
        looked = [(argument, env, self.look(argument, env)) for argument in arguments]
        if name in THOUGHT_FUNCTIONS or name not in self._builtin:
            self._together([*looked, (node, env, None)])
            self._given(node, [needs for *_, needs in looked], env)
            return None
        needs = self._together(looked)
        if needs is None and name in _USUAL:
            for position, (argument, _, part) in enumerate(looked):
                if part is not None and position < len(_USUAL[name]):
                    self._argument(node, position, self._settled(argument, env, part), part)
        return needs

    def _given(self, node: e.Call, looked: list[Needs | None], env: Env) -> None:
        """Record the known arguments of a call of a declaration, to follow them into it."""
        declared = self.symbols.nodes.get(node.function.text)
        if not isinstance(declared, n.Scheme | n.Score | n.Prompt) or self.wrong or self.tried:
            return
        order = [parameter.name.text for parameter in declared.parameters]
        places: dict[str, Span] = {}
        values: list[e.Expression] = []
        depends: set[KnownName] = set()
        for argument, needs, name in zip(node.arguments, looked, order, strict=False):
            if needs is not None:
                places[argument.name.text if argument.name is not None else name] = argument.value.span
                values.append(argument.value)
                depends |= needs
        near = {known.name for known in bases(depends)}.union(env.local() if depends else ())
        for name in sorted(near & self._params.keys(), key=lambda name: self._params[name][0]):
            place = self._params[name][1]
            known = env.find(name)
            if isinstance(known, KnownName) and not bases([known]).isdisjoint(bases(depends)):
                places[name] = place
                values.append(e.Reference(place, name))
                depends.add(known)
        if values:
            listed = e.ListDisplay(node.span, tuple(values))
            found = self._settled(listed, env, frozenset(depends))
            self.calls.add(declared.name.text, places, [given for _, given in found])

    def _argument(self, node: e.Call, position: int, values: list[tuple[World, Any]], needs: Needs) -> None:
        """Report an argument that makes a built-in fail regardless of the others."""
        name = node.function.text
        for world, value in values:
            given = list(_USUAL[name][: len(node.arguments)])
            given[position] = value
            try:
                BUILTINS[name].call(*(other for other in given if other is not None))
            except EvaluationError as error:
                self.fail(error.message, node.arguments[position].value.span, world, needs)
                return
            except (AttributeError, TypeError):
                return  # of a type that it does not accept, in a place where it cannot be called

    def _comprehension(self, node: e.Comprehension, env: Env) -> Needs | None:
        iterable = self.look(node.iterable, env)
        names = self.elements(node.names, node.iterable, iterable, env)
        inner = env.inside(names)
        condition = self.look(node.condition, inner) if node.condition is not None else NOTHING
        if node.condition is not None:
            inner = self.under(node.condition, inner, True)
        parts = [(node.element, inner, self.look(node.element, inner))]
        if node.condition is not None:
            parts.append((node.condition, inner, condition))
        found = self._together([(node.iterable, env, iterable), *parts])
        return found - {*names.values()} if found is not None else None

    def elements(
        self, names: Sequence[e.Identifier], iterable: e.Expression, needs: Needs | None, env: Env
    ) -> dict[str, KnownName | DataName]:
        """The names for each element of a list, or for both parts of each of its pairs."""
        if needs is None:
            return {name.text: DataName() for name in names}
        element = KnownName(names[-1].text, NOWHERE, of=(iterable, env), each=True, needs=needs)
        if len(names) == 1:
            return {names[0].text: element}
        inner, found = env.inside({_PAIR: element}), dict[str, KnownName | DataName]()
        for position, name in enumerate(names):
            part = e.Index(name.span, e.Reference(name.span, _PAIR), e.Constant(name.span, position))
            found[name.text] = KnownName(name.text, NOWHERE, of=(part, inner), needs=frozenset([element]))
        return found

    def under(self, condition: e.Expression, env: Env, holds: bool) -> Env:
        """The names where a condition is true, or false; a condition on data adds nothing."""
        guarded = set[str]()
        conditions = self._conditions(condition, env, holds, guarded)
        return env.inside(None, *conditions, guarded=guarded)

    def _conditions(self, node: e.Expression, env: Env, holds: bool, guarded: set[str]) -> list[Condition]:
        """The known conditions in a condition; the names that others use are added to `guarded`."""
        if isinstance(node, e.Unary) and node.operator == "not":
            return self._conditions(node.operand, env, not holds, guarded)
        if isinstance(node, e.Binary) and node.operator == ("and" if holds else "or"):
            left = self._conditions(node.left, env, holds, guarded)
            return [*left, *self._conditions(node.right, env, holds, guarded)]
        if isinstance(node, e.Reference) and isinstance(named := env.find(node.name), DataName) and named.of:
            return self._conditions(*named.of, holds, guarded)
        needs = self._quiet.look(node, env)
        if needs is None:
            guarded.update(free_names(node))
        return [Condition(node, env, holds, needs)] if needs else []

    # ---------------------------------------------------------------- lengths

    def needs_elements(self, node: e.Expression, env: Env, message: str) -> None:
        """Report failures in a list, and an empty list where an element is needed."""
        for world, found in self.values(node, env):
            if found == []:
                self.fail(message, node.span, world, frozenset(world), "GOT0343", "this is []")
                return

    def bound(self, node: e.Expression, env: Env) -> Bound | None:
        """The maximum length of a list that is known only in a run."""
        match node:
            case e.Reference(name=name):
                found = env.find(name)
                return found.most if isinstance(found, DataName) else None
            case e.ListDisplay(elements=elements):
                return Bound(lambda world: len(elements))
            case e.Call(function=function, arguments=[_, parts]) if function.text == "chunks":
                return self.number(parts.value, env) if "chunks" in self._builtin else None
            case e.Comprehension(iterable=iterable):
                return self.length(iterable, env)
            case e.Slice(start=None, stop=e.Constant(value=int(stop))) if stop >= 0:
                return Bound(lambda world: stop)
            case e.Slice(start=e.Constant(value=int(start)), stop=e.Constant(value=int(stop))):
                return Bound(lambda world: max(0, stop - start)) if start >= 0 and stop >= 0 else None
            case e.Conditional(then=then, otherwise=otherwise):
                one, other = self.bound(then, env), self.bound(otherwise, env)
                return most(one, other) if one is not None and other is not None else None
        return None

    def length(self, node: e.Expression, env: Env) -> Bound | None:
        """The maximum length of a list, known or not."""
        needs = self.look(node, env)
        if needs is None:
            return self.bound(node, env)
        return Bound(lambda world: len(self.worlds.value(node, env, world)), needs)

    def number(self, node: e.Expression, env: Env) -> Bound | None:
        """A known number as a bound."""
        needs = self.look(node, env)
        if needs is None:
            return None
        return Bound(lambda world: self.worlds.value(node, env, world), needs)


def param_place(node: n.Param) -> Span:
    """The place that gives a param its values."""
    return node.default.span if node.domain is None else node.domain.span


def times(left: Bound | None, right: Bound | None) -> Bound | None:
    """The product of two bounds."""
    if left is None or right is None:
        return None
    return Bound(lambda world: left.of(world) * right.of(world), left.needs | right.needs)


def plus(left: Bound | None, right: Bound | None) -> Bound | None:
    """The sum of two bounds."""
    if left is None or right is None:
        return None
    return Bound(lambda world: left.of(world) + right.of(world), left.needs | right.needs)


def least(left: Bound | None, right: Bound | None) -> Bound | None:
    """The smaller of two bounds; None is no bound."""
    if left is None or right is None:
        return left or right
    return Bound(lambda world: min(left.of(world), right.of(world)), left.needs | right.needs)


def most(left: Bound | None, right: Bound | None) -> Bound | None:
    """The larger of two bounds."""
    if left is None or right is None:
        return None
    return Bound(lambda world: max(left.of(world), right.of(world)), left.needs | right.needs)


def always_evaluated(node: e.Expression) -> list[e.Expression]:
    """The parts of an expression that are evaluated whenever it is, in the order of evaluation."""
    match node:
        case e.Conditional(condition=condition):
            return [condition]
        case e.Binary(operator="and" | "or", left=left):
            return [left]
        case e.Comprehension(iterable=iterable):
            return [iterable]
        case e.Compare(first=first, rest=rest):
            return [first, rest[0][1]]
        case e.Call(arguments=arguments):
            return [argument.value for argument in arguments]
        case e.Unary(operand=operand):
            return [operand]
        case e.Binary(left=left, right=right):
            return [left, right]
        case e.Index(value=value, index=index):
            return [value, index]
        case e.Slice():
            return [part for part in (node.value, node.start, node.stop) if part is not None]
        case e.Field(value=value):
            return [value]
        case e.ListDisplay(elements=elements):
            return list(elements)
        case e.RecordDisplay(entries=entries) | e.Case(entries=entries):
            return [value for _, value in entries]
        case e.Constant() | e.Reference():
            return []
    assert_never(node)
