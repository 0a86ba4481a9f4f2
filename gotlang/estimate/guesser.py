"""What is known of values before a run: some are known, of others how many elements or tokens they have."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gotlang.amounts import Amount, Atom, Polynomial
from gotlang.errors import EvaluationError
from gotlang.flows import UNKNOWN, Guess
from gotlang.ir.evaluate import Evaluator
from gotlang.ir.program import Program
from gotlang.operations.names import free_names
from gotlang.semantics.builtins import BUILTINS
from gotlang.syntax import expressions as e
from gotlang.syntax.format import format_expression
from gotlang.syntax.walk import walk

_LONGEST_NUMBER = 20
"""Tokens of a number, at most."""


Names = Mapping[str, Guess]


class _Values(dict[str, Any]):
    """The values behind names, where they are known."""

    def __init__(self, names: Names) -> None:
        super().__init__()
        self._names = names

    def __missing__(self, name: str) -> Any:
        guess = self._names[name]
        if not guess.known:
            raise KeyError(name)
        return guess.value


class Guesser:
    """Guesses at the values of a program's expressions. `measure` counts a value's tokens in a prompt."""

    def __init__(self, program: Program, measure: Callable[[Any], int]) -> None:
        self._measure = measure
        self._scores = {score.name for score in program.scores if not score.body.steps}
        python = {name for module in program.python for name in module.names}
        self._functions = (BUILTINS.keys() - python) | self._scores
        self._evaluate = Evaluator({score.name: score for score in program.scores})

    def known(self, value: Any, *, chosen: bool = False) -> Guess:
        number = length = element = None
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = Amount.of(value)
        elif isinstance(value, list):
            length = Amount.of(len(value))
        tokens = self._measure(value)
        return Guess(value, number, length, element, (tokens, tokens), chosen)

    def guess(self, node: e.Expression, names: Names) -> Guess:
        match node:
            case e.Reference(name=name) if name in names:
                return names[name]
            case e.Conditional(then=then, otherwise=otherwise):
                holds = self.holds(node.condition, names)
                if holds is not None:
                    return self.guess(then if holds else otherwise, names)
                return self.guess(then, names).or_(self.guess(otherwise, names))
        value = self._value(node, names)
        chosen = any(names[name].chosen for name in free_names(node) if name in names)
        if value is not UNKNOWN:
            known = self.known(value, chosen=chosen)
            if known.number is None or not chosen:
                return known
            return Guess(
                value,
                self._number(node, names) or self._opaque(node, value),
                tokens=known.tokens,
                chosen=True,
            )
        number = self._number(node, names)
        if number is None and _gives_number(node):
            number = self._opaque(node, UNKNOWN)
        length, element = self._list(node, names)
        return Guess(UNKNOWN, number, length, element, self._tokens(node, names, number), chosen)

    def amount(self, node: e.Expression, names: Names) -> Amount:
        found = self.guess(node, names).number
        return found if found is not None else self._opaque(node, UNKNOWN)

    def length(self, node: e.Expression, names: Names) -> Amount:
        found = self.guess(node, names).length
        return found if found is not None else Amount.of(Atom(f"len({format_expression(node)})"))

    def holds(self, node: e.Expression, names: Names) -> bool | None:
        match node:
            case e.Unary(operator="not", operand=operand):
                inner = self.holds(operand, names)
                return None if inner is None else not inner
            case e.Binary(operator="and" | "or", left=left, right=right):
                sides = self.holds(left, names), self.holds(right, names)
                decisive = node.operator == "or"
                if decisive in sides:
                    return decisive
                return None if None in sides else not decisive
        value = self._value(node, names)
        if value is not UNKNOWN:
            return bool(value)
        if isinstance(node, e.Comparison) and len(node.rest) == 1:
            word, other = node.rest[0]
            return self._compared(word, self.guess(node.first, names).number, self.guess(other, names).number)
        return None

    @staticmethod
    def _compared(word: str, left: Amount | None, right: Amount | None) -> bool | None:
        if left is None or right is None:
            return None
        (a, b), (c, d) = left.bounds, right.bounds
        match word:
            case "<" | ">=" if b < c or a >= d:
                return (b < c) == (word == "<")
            case ">" | "<=" if a > d or b <= c:
                return (a > d) == (word == ">")
            case "==" | "!=" if b < c or d < a:
                return word == "!="
        return None

    # ---------------------------------------------------------------- parts

    def _value(self, node: e.Expression, names: Names) -> Any:
        """The value of an expression whose names are all known."""
        free = free_names(node)
        if any(name not in names or not names[name].known for name in free):
            return UNKNOWN
        if any(isinstance(n, e.Call) and n.function.text not in self._functions for n in walk(node)):
            return UNKNOWN
        try:
            return self._evaluate(node, _Values(names))
        except EvaluationError:
            return UNKNOWN

    def _opaque(self, node: e.Expression, value: Any) -> Amount:
        """A number as an atom that its text stands for."""
        if value is UNKNOWN:
            return Amount.of(Atom(format_expression(node)))
        return Amount.of(Atom(format_expression(node), value, value) if value >= 0 else value)

    def _number(self, node: e.Expression, names: Names) -> Amount | None:
        """The number that an expression gives, as a formula or with bounds."""
        match node:
            case e.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return Amount.of(value)
            case e.Reference(name=name):
                return names[name].number if name in names else None
            case e.Binary(operator="+" | "-" | "*" as word, left=left, right=right):
                a, b = self._number(left, names), self._number(right, names)
                return _combined(word, a, b) if a is not None and b is not None else None
            case e.Call(function=function, arguments=(e.Argument(value=of),)) if function.text == "len":
                return self.length(of, names)
            case e.Call(function=function, arguments=(e.Argument(value=a_), e.Argument(value=b_))) if (
                function.text in {"min", "max"}
            ):
                a, b = self._number(a_, names), self._number(b_, names)
                if a is None or b is None:
                    return None
                return a.at_most(b) if function.text == "min" else a.up_to(b)
            case e.Conditional() | e.Index() | e.Field():
                guess = self.guess(node, names) if isinstance(node, e.Conditional) else None
                value = self._value(node, names) if guess is None else UNKNOWN
                if guess is not None:
                    return guess.number
                if value is not UNKNOWN and isinstance(value, int | float) and not isinstance(value, bool):
                    return Amount.of(value)
        return None

    def _list(self, node: e.Expression, names: Names) -> tuple[Amount | None, Guess | None]:
        """The length of a list, and what its elements are like."""
        match node:
            case e.ListDisplay(elements=elements) if elements:
                guesses = [self.guess(element, names) for element in elements]
                first = guesses[0]
                for other in guesses[1:]:
                    first = first.or_(other)
                return Amount.of(len(elements)), first
            case e.Comprehension(iterable=iterable, condition=condition):
                length = self.length(iterable, names)
                return (Amount(Polynomial.of(0), length.high) if condition is not None else length), None
            case e.Binary(operator="+", left=left, right=right):
                a, b = self.guess(left, names), self.guess(right, names)
                if a.length is not None and b.length is not None:
                    return a.length + b.length, a.element.or_(b.element) if a.element and b.element else None
            case e.Call(function=function, arguments=arguments) if arguments:
                first_argument = arguments[0].value
                match function.text:
                    case "range" if len(arguments) == 1:
                        return self.amount(first_argument, names), None
                    case "chunks" if len(arguments) == 2:
                        return self.amount(arguments[1].value, names), None
                    case "sorted" | "reversed" | "enumerate":
                        found = self.guess(first_argument, names)
                        return found.length, found.element if function.text != "enumerate" else None
        return None, None

    def _tokens(self, node: e.Expression, names: Names, number: Amount | None) -> tuple[float, float]:
        """About how many tokens a value has: a number few, a part no more than what it is taken from."""
        if number is not None or isinstance(node, e.Comparison):
            return 1, _LONGEST_NUMBER
        used = [names[name].tokens if name in names else (0, math.inf) for name in free_names(node)]
        own = sum(self._measure(n.value) for n in walk(node) if isinstance(n, e.Constant))
        return 0, own + sum(high for _, high in used)


def _combined(word: str, a: Amount, b: Amount) -> Amount | None:
    if word == "+":
        return a + b
    if word == "*":
        return a * b if a.bounds[0] >= 0 and b.bounds[0] >= 0 else None
    if a.exact is not None and b.exact is not None:
        return Amount.of(a.exact - b.exact)
    return None


def _gives_number(node: e.Expression) -> bool:
    """Whether an expression can give nothing but a number."""
    match node:
        case e.Binary(operator=operator):
            return operator in {"-", "*", "/", "//", "%", "**"}
        case e.Unary(operator="-"):
            return True
        case e.Call(function=function):
            return function.text in {"len", "sum", "min", "max", "round", "abs"} and len(node.arguments) > 0
    return False
