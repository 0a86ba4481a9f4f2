"""The direction of an expression in which scores stand: what it rises with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gotlang.operations.names import is_own_score
from gotlang.scope import PoolType, Scope
from gotlang.semantics.symbols import Symbols
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n

_RISING: Final = frozenset(
    {"max", "min", "sum", "mean", "median", "hmean", "round", "floor", "ceil", "int", "float", "sqrt", "log"}
)
"""Built-in functions that rise with each of their arguments."""


def rises_with(node: e.Expression, rises: bool = True) -> Iterator[e.Expression]:
    """The names and calls that a number rises with, as far as that shows: factors that are no constants count
    as positive, and of other functions and of conditions nothing is said."""
    match node:
        case e.Unary(operator="-", operand=operand):
            yield from rises_with(operand, not rises)
        case e.Binary(operator="+" | "-" as sign, left=left, right=right):
            yield from rises_with(left, rises)
            yield from rises_with(right, rises is (sign == "+"))
        case e.Binary(operator="*" | "/" | "//" as sign, left=left, right=right):
            yield from rises_with(left, rises is not _negative(right))
            yield from rises_with(right, rises is not _negative(left) if sign == "*" else not rises)
        case e.Binary(operator="**", left=left):
            yield from rises_with(left, rises)
        case e.Conditional(then=then, otherwise=otherwise):
            yield from rises_with(then, rises)
            yield from rises_with(otherwise, rises)
        case e.Call(function=e.Identifier(text=name), arguments=arguments) if name in _RISING:
            for argument in arguments:
                yield from rises_with(argument.value, rises)
        case e.ListDisplay(elements=elements):
            for element in elements:
                yield from rises_with(element, rises)
        case e.Reference() | e.Call() if rises:
            yield node
        case _:
            pass


def _negative(node: e.Expression) -> bool:
    if isinstance(node, e.Unary) and node.operator == "-":
        return not _negative(node.operand)
    return isinstance(node, e.Constant) and isinstance(node.value, int | float) and node.value < 0


def is_lower(node: e.Expression, symbols: Symbols, pool: PoolType, scope: Scope) -> bool:
    """Whether a name or a call is a score of which lower is better: a declared one, or that of thoughts."""
    if is_own_score(node) and isinstance(node, e.Call):
        named = node.arguments[0].value if node.arguments else None
        while isinstance(named, e.Index):
            named = named.value
        variable = scope.find(named.name) if isinstance(named, e.Reference) else None
        return variable is not None and any(score.lower for score in variable.facts.scores)
    if isinstance(node, e.Reference):
        return node.name == "score" and any(score.lower for score in pool.facts.scores)
    declared = symbols.nodes.get(node.function.text) if isinstance(node, e.Call) else None
    return isinstance(declared, n.Score) and declared.direction == "lower"
