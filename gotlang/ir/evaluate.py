"""Evaluates expressions: each is compiled once to nested Python functions, never to Python text.

A compiled expression takes the names in scope (a mapping to thoughts or plain values) and returns a plain
value, or raises EvaluationError.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, final

from gotlang.errors import EvaluationError, GotError, LimitExceeded
from gotlang.ir.declarations import NUMBER, ScoreFunction
from gotlang.ir.foreign import call_python
from gotlang.operations.checks import claimed, pair
from gotlang.scope import THOUGHT_FUNCTIONS
from gotlang.semantics.builtins import BUILTINS, CONSTANTS
from gotlang.semantics.limits import MAX_BITS, MAX_ELEMENTS, MAX_STEPS, Fuel, bounded
from gotlang.span import NOWHERE, Span
from gotlang.syntax import expressions as e
from gotlang.thought import (
    Thought,
    Thoughts,
    confidence,
    entry_confidence,
    field_confidence,
    plain,
    raise_beyond,
    tokens,
)
from gotlang.types import DYNAMIC, Type

Names = Mapping[str, Any]
Compiled = Callable[[Names], Any]

MAX_CALLS = 50
"""Maximum nesting depth of calls between scores."""
_MOST_KEPT = 20_000
"""Maximum number of cached expressions; calls of tools make new ones in each run."""


@final
class Evaluator:
    """Compiles expressions of one program; `functions` are its imports from Python, `results` their result
    types, and `steps` the maximum number of elements that one expression may iterate over."""

    def __init__(
        self,
        scores: Mapping[str, ScoreFunction] | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        results: Mapping[str, Type] | None = None,
        steps: int = MAX_STEPS,
    ) -> None:
        self.scores = scores or {}
        self.functions = functions or {}
        self.results = results or {}
        self._compiled: dict[int, tuple[e.Expression, Compiled]] = {}
        self._depth = 0
        self._steps = steps
        self._fuel = Fuel()
        self._lists: dict[int, tuple[Thoughts, list[Any]]] = {}
        self._items: tuple[str, ...] = ()  # names of the comprehensions that are being compiled

    def __call__(self, node: e.Expression, names: Names) -> Any:
        """The value of an expression. Raises EvaluationError, also for errors of Python's operators."""
        found = self._compiled.get(id(node))
        if found is None:
            if len(self._compiled) >= _MOST_KEPT:
                self._compiled.clear()
            found = self._compiled[id(node)] = (node, self._compile(node))
        if self._depth == 0:
            self._fuel.left = self._steps
            if self._lists:
                self._lists.clear()
        try:
            return found[1](names)
        except GotError:
            raise
        except ZeroDivisionError:
            raise EvaluationError("division by zero") from None
        except OverflowError:
            raise EvaluationError("a number too large") from None
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
            raise EvaluationError(_reason(error)) from None
        except RecursionError:
            raise LimitExceeded("nested too deeply") from None

    @property
    def exhausted(self) -> bool:
        """Whether the last expression exceeded the maximum number of elements."""
        return self._fuel.left < 0

    # ---------------------------------------------------------------- one function a node

    def _compile(self, node: e.Expression) -> Compiled:
        match node:
            case e.Constant(value=value):
                return lambda _: value
            case e.Reference(name=name):
                return self._reference(name)
            case e.Unary(operator=sign):
                operand = self._compile(node.operand)
                if sign == "not":
                    return lambda names: not operand(names)
                return (lambda names: -operand(names)) if sign == "-" else operand
            case e.Binary():
                return self._binary(node)
            case e.Compare():
                return self._comparison(node)
            case e.Conditional():
                then, condition, otherwise = map(self._compile, (node.then, node.condition, node.otherwise))
                return lambda names: then(names) if condition(names) else otherwise(names)
            case e.Index():
                return self._index(node)
            case e.Slice():
                return self._slice(node)
            case e.Field(name=name):
                record = self._compile(node.value)
                return lambda names: _field(record(names), name)
            case e.ListDisplay(elements=elements):
                if (known := _constants(node)) is not None:
                    return lambda _: self._fuel.made(list(known))
                parts = [self._compile(x) for x in elements]
                return lambda names: self._fuel.made([part(names) for part in parts])
            case e.RecordDisplay(entries=entries) | e.Case(entries=entries):
                fields = [(key, self._compile(x)) for key, x in entries]
                if isinstance(node, e.Case):
                    tag = ("type", self._compile(e.Constant(node.span, node.case.text)))
                    fields = [tag, *fields, tag]
                if any(key is None for key, _ in fields):
                    return lambda names: self._fuel.made(_merged(fields, names))
                return lambda names: self._fuel.made({key: part(names) for key, part in fields})
            case e.Comprehension():
                return self._comprehension(node)
            case e.Call():
                return self._call(node)

    def _reference(self, name: str) -> Compiled:
        if name in self._items:
            return operator.itemgetter(name)  # a plain value

        def run(names: Names) -> Any:
            try:
                bound = names[name]
            except KeyError:
                if name in CONSTANTS:
                    return CONSTANTS[name]
                if name not in THOUGHT_FUNCTIONS:
                    raise EvaluationError(f"`{name}` has no value here") from None
                return self._fuel.made(thought_function(name, thought(names, "it", name)))
            if isinstance(bound, Thought):
                return bound.value
            return self._values_of(bound) if isinstance(bound, Thoughts) else bound

        return run

    def _values_of(self, thoughts: Thoughts) -> list[Any]:
        """The values of thoughts; one list per evaluation, however often it is used."""
        found = self._lists.get(id(thoughts))
        if found is None:
            found = self._lists[id(thoughts)] = (thoughts, bounded(plain(thoughts)))
        return found[1]

    def _binary(self, node: e.Binary) -> Compiled:
        left, right = self._compile(node.left), self._compile(node.right)
        if node.operator == "and":
            return lambda names: bool(left(names) and right(names))
        if node.operator == "or":
            return lambda names: bool(left(names) or right(names))
        apply = _arithmetic(node.operator, self._fuel)
        return lambda names: apply(left(names), right(names))

    def _comparison(self, node: e.Compare) -> Compiled:
        first = self._compile(node.first)
        rest = [(_compared(word, self._fuel), self._compile(x)) for word, x in node.rest]
        (word, other), *further = node.rest
        if word == "in" and not further and (known := _constants(other)) is not None:
            found, spend = known.__contains__, self._fuel.spend
            count = 2 * len(known)  # to make the list, and to search it

            def search(names: Names) -> bool:
                left = first(names)
                spend(count)
                return found(left)

            return search
        if len(rest) == 1:
            compare, right = rest[0]
            return lambda names: compare(first(names), right(names))

        def run(names: Names) -> bool:
            left = first(names)
            for compare, part in rest:
                right = part(names)
                if not compare(left, right):
                    return False
                left = right
            return True

        return run

    def _index(self, node: e.Index) -> Compiled:
        value, index = self._compile(node.value), self._compile(node.index)

        def run(names: Names) -> Any:
            whole, at = value(names), index(names)
            if isinstance(whole, dict):
                if at not in whole:
                    raise EvaluationError(f"there is no entry `{at}`")
                return whole[at]
            if not -len(whole) <= at < len(whole):
                raise EvaluationError(f"position {at} of {len(whole)} elements")
            return whole[at]

        return run

    def _slice(self, node: e.Slice) -> Compiled:
        value = self._compile(node.value)
        start = self._compile(node.start) if node.start is not None else None
        stop = self._compile(node.stop) if node.stop is not None else None

        def run(names: Names) -> Any:
            whole = value(names)
            if not isinstance(whole, list | str):
                raise EvaluationError("only a list or a text can be sliced")
            ends = slice(start(names) if start else None, stop(names) if stop else None)
            self._fuel.spend(len(range(*ends.indices(len(whole)))))
            return whole[ends]

        return run

    def _comprehension(self, node: e.Comprehension) -> Compiled:
        iterable, outer = self._compile(node.iterable), self._items
        name, *second = (name.text for name in node.names)
        self._items = name, *second, *outer
        try:
            element = self._compile(node.element)
            condition = self._compile(node.condition) if node.condition is not None else None
        finally:
            self._items = outer

        def run(names: Names) -> Any:
            items = iterable(names)
            if not isinstance(items, list):
                raise EvaluationError("only a list can be iterated over")
            self._fuel.spend(len(items))
            out = []
            inner = Layer({}, names)
            for item in items:
                if second:
                    inner[name], inner[second[0]] = pair(item)
                else:
                    inner[name] = item
                if condition is None or condition(inner):
                    out.append(element(inner))
            return bounded(out)

        return run

    # ---------------------------------------------------------------- calls

    def _call(self, node: e.Call) -> Compiled:
        name = node.function.text
        if name in THOUGHT_FUNCTIONS:
            return self._thought_call(name, *(argument.value for argument in node.arguments))
        parts = [(a.name.text if a.name else None, self._compile(a.value)) for a in node.arguments]
        if name == NUMBER:
            value, owner = parts[0][1], self.scores[str(parts[1][1]({}))]
            return lambda names: claimed(owner, value(names))
        if name in self.scores:
            return self._score(self.scores[name], parts)
        if (function := self.functions.get(name)) is not None:
            return lambda names: call_python(
                function,
                name,
                [part(names) for key, part in parts if key is None],
                {key: part(names) for key, part in parts if key is not None},
                self.results.get(name, DYNAMIC),
            )
        if name not in BUILTINS:
            raise EvaluationError(f"`{name}` is not a function here")
        call, values, fuel = BUILTINS[name].call, [part for _, part in parts], self._fuel

        def run(names: Names) -> Any:
            given = [value(names) for value in values]
            for argument in given:
                fuel.spend_reading(argument)
            return fuel.made(call(*given))

        return run

    def _score(self, score: ScoreFunction, parts: list[tuple[str | None, Compiled]]) -> Compiled:
        if score.body.steps:
            raise EvaluationError(f"score `{score.name}` calls a model, so it needs a `Score()` step")
        keys = [key or score.parameters[i][0] for i, (key, _) in enumerate(parts)]

        def run(names: Names) -> Any:
            inner = {key: part(names) for key, (_, part) in zip(keys, parts, strict=True)}
            if self._depth >= MAX_CALLS:
                raise LimitExceeded(f"scores call each other more than {MAX_CALLS} deep")
            self._depth += 1
            try:
                return claimed(score, self(score.value, Layer(inner, names)))
            finally:
                self._depth -= 1

        return run

    def _thought_call(self, name: str, argument: e.Expression, note: e.Expression | None = None) -> Compiled:
        if isinstance(note, e.Constant):
            asked = str(note.value)
            return lambda names: thought(names, "it", name).noted(asked)
        if isinstance(argument, e.Index) and isinstance(argument.value, e.Reference):
            list_name, index = argument.value.name, self._compile(argument.index)

            def pick(names: Names) -> Any:
                thoughts = names[list_name]
                if isinstance(thoughts, Thought) and name == "confidence":
                    return entry_confidence(thoughts, index(names))
                if not isinstance(thoughts, Thoughts):
                    raise EvaluationError(f"`{name}` takes one thought")
                return self._fuel.made(thought_function(name, thoughts[index(names)]))

            return pick
        if isinstance(argument, e.Field) and isinstance(argument.value, e.Reference):
            owner, field = argument.value.name, argument.name
            return lambda names: field_confidence(thought(names, owner, name), field)
        assert isinstance(argument, e.Reference)
        owner = argument.name
        return lambda names: self._fuel.made(thought_function(name, thought(names, owner, name)))


@final
class Layer(dict[str, Any]):
    """A few names over others, without copying those."""

    __slots__ = ("_outer",)

    def __init__(self, inner: Mapping[str, Any], outer: Names) -> None:
        self.update(inner)
        self._outer = outer

    def __missing__(self, name: str) -> Any:
        return self._outer[name]


def thought(names: Names, name: str, function: str) -> Thought:
    """The thought that a name is bound to; EvaluationError if it is not one."""
    try:
        bound = names[name]
    except KeyError:
        bound = None
    if not isinstance(bound, Thought):
        raise EvaluationError(f"`{function}` takes one thought")
    return bound


def thought_function(name: str, subject: Thought) -> Any:
    """`score`, `valid`, `confidence`, `tokens` or `cost` of a thought; EvaluationError if it is not known."""
    match name:
        case "score":
            if subject.score is None:
                raise EvaluationError("this thought has no score")
            raise_beyond((subject,))
            return subject.score
        case "valid":
            return bool(subject.valid)
        case "cost":
            if subject.call is None:
                return 0.0  # it was computed
            if subject.usd is None:
                raise EvaluationError("the cost of this thought is not known")
            return subject.usd
        case "confidence":
            return confidence(subject)
        case "tokens":
            return tokens(subject)
    raise AssertionError(name)


def _merged(fields: list[tuple[str | None, Compiled]], names: Names) -> dict[str, Any]:
    """A record that takes over fields of others; later ones win, in the order of the first."""
    found: dict[str, Any] = {}
    for name, part in fields:
        found |= part(names) if name is None else {name: part(names)}
    return found


def _field(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        raise EvaluationError(f"only a record has a field `{name}`")
    if name not in value:
        raise EvaluationError(f"there is no field `{name}`")
    return value[name]


def _reason(error: Exception) -> str:
    text = str(error)
    return text if len(text) <= 200 else text[:197] + "..."


_plain_evaluator = Evaluator()


def evaluate(node: e.Expression, names: Names) -> Any:
    """The value of an expression that calls only built-ins."""
    return _plain_evaluator(node, names)


# ---------------------------------------------------------------- operators

_NUMERIC = (int, float)
_LARGE = (str, list, dict)


def _power(a: float, b: float) -> float:
    if isinstance(a, int) and isinstance(b, int) and abs(b) * a.bit_length() > MAX_BITS:
        raise LimitExceeded(f"this number would have more than {MAX_BITS:,} bits")
    result: float | complex = a**b
    if isinstance(result, complex):
        raise EvaluationError("this power is not a real number")
    return result


def _constants(node: e.Expression) -> list[Any] | None:
    """The values of a short list of constants; None for any other expression."""
    if isinstance(node, e.ListDisplay) and len(node.elements) <= MAX_ELEMENTS:
        values = [part.value for part in node.elements if isinstance(part, e.Constant)]
        return values if len(values) == len(node.elements) else None
    return None


def _plus(a: Any, b: Any) -> Any:
    if isinstance(a, list | str) and len(a) + len(b) > MAX_ELEMENTS:
        raise LimitExceeded(f"this would have more than {MAX_ELEMENTS:,} elements")
    return a + b


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": _plus, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": _power,
}  # fmt: skip
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}  # fmt: skip


def _arithmetic(sign: str, fuel: Fuel) -> Callable[[Any, Any], Any]:
    """An operator such as `+` or `**`; EvaluationError for operands of other types and large results."""
    apply, plus = _ARITHMETIC[sign], sign == "+"

    def run(a: Any, b: Any) -> Any:
        if type(a) is int and type(b) is int:  # as in most cases
            return fuel.made(apply(a, b))
        if not plus and not (isinstance(a, _NUMERIC) and isinstance(b, _NUMERIC)):
            raise EvaluationError(f"`{sign}` needs numbers")
        made = fuel.made(apply(a, b))
        if isinstance(made, float) and not isfinite(made) and isfinite(a) and isfinite(b):
            raise EvaluationError("a number too large")
        return made

    return run


def _compared(word: str, fuel: Fuel) -> Callable[[Any, Any], bool]:
    """A comparison; a name is found in a mapping at once, anything else is searched for."""
    compare, search = _COMPARE[word], word in {"in", "not in"}

    def run(a: Any, b: Any) -> bool:
        if isinstance(b, _LARGE) and (not isinstance(b, dict) if search else type(a) is type(b)):
            fuel.searched(b)
        return compare(a, b)

    return run


# ---------------------------------------------------------------- values as expressions


def literal(value: Any, span: Span = NOWHERE) -> e.Expression:
    """The expression of a plain value. Raises ValueError if there is none (NaN, infinity, not of JSON's
    kinds)."""
    match value:
        case float() if not isfinite(value):
            raise ValueError("a number that cannot be written")
        case None | bool() | int() | float() | str():
            return e.Constant(span, value)
        case list() | tuple():
            return e.ListDisplay(span, tuple(literal(item, span) for item in value))
        case dict() if all(isinstance(key, str) for key in value):
            return e.RecordDisplay(span, tuple((key, literal(item, span)) for key, item in value.items()))
    raise ValueError(f"{type(value).__name__} cannot be written")


def is_literal(node: e.Expression) -> bool:
    """Whether an expression is its own value."""
    match node:
        case e.Constant():
            return True
        case e.ListDisplay(elements=elements):
            return all(is_literal(element) for element in elements)
        case e.RecordDisplay(entries=entries) | e.Case(entries=entries):
            return all(name is not None and is_literal(value) for name, value in entries)
    return False
