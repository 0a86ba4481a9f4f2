"""How many tokens the value of an expression takes in a prompt, at most."""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from msgspec.structs import replace

from gotlang.flows import NOTHING_KNOWN, SCATTERED, Guess, Names
from gotlang.syntax import expressions as e

NUMBER: Final = 24
"""Tokens of a fraction or of a small whole number, at most; large ones have as many digits as they have."""
_DIGITS: Final = 310
"""Of the largest fraction as a whole number."""
_BESIDE: Final = 4
"""Tokens of what is written around each element of a list and each entry of a record."""


def _growth(factor: float, words: str) -> dict[str, float]:
    return dict.fromkeys(words.split(), factor)


_GROWTH: Final[Mapping[str, float]] = {
    **_growth(0, "any all starts_with is_json len count mean median hmean exp log sqrt cos similarity"),
    **_growth(0, "exact_match f1 count_difference"),
    **_growth(1, "sorted unique set intersection difference concat get values keys strip min max reversed"),
    **_growth(1, "flatten sum str int float abs round floor ceil"),
    **_growth(_BESIDE, "zip"),
    **_growth(SCATTERED, "split lines matches lower upper"),
    **_growth(2 * _BESIDE, "enumerate counts"),
}
"""By built-in function: how many times as long as its arguments together its value may be. Of others, such as
`replace` and Python, nothing is known."""


def longest(node: e.Expression, names: Names, tokens: Callable[[Any], int]) -> float:
    """The most tokens of a value, infinity where that is not known. `tokens` counts a known value's."""

    def of(part: e.Expression, inside: Names = names) -> float:
        return longest(part, inside, tokens)

    match node:
        case e.Constant(value=value):
            return tokens(value)
        case e.Reference(name=name):
            return names[name].tokens[1] if name in names else math.inf
        case e.Compare() | e.Unary(operator="not") | e.Binary(operator="and" | "or" | "/"):
            return NUMBER
        case e.Unary(operand=operand):
            return of(operand) + 1
        case e.Binary(operator="+" | "-" | "*" | "//" | "%", left=left, right=right):
            return max(NUMBER, of(left) + of(right) + 1)
        case e.Conditional(then=then, otherwise=otherwise):
            return max(of(then), of(otherwise))
        case e.Index(value=value) | e.Field(value=value) | e.Slice(value=value):
            return of(value)
        case e.ListDisplay(elements=elements):
            return sum((of(element) + _BESIDE for element in elements), 2)
        case e.RecordDisplay(entries=entries) | e.Case(entries=entries):
            known = [(tokens(name or ""), of(value)) for name, value in entries]
            case = tokens(node.case.text) + NUMBER if isinstance(node, e.Case) else 2
            return sum((name + value + 2 * _BESIDE for name, value in known), case)
        case e.Comprehension(element=element, iterable=iterable):
            # An element takes a token at least, and no more than the list.
            whole = of(iterable)
            each = dict.fromkeys(
                (name.text for name in node.names), replace(NOTHING_KNOWN, tokens=(0, whole))
            )
            return whole * (of(element, ChainMap(each, cast(dict[str, Guess], names))) + _BESIDE)
        case e.Call(
            function=e.Identifier(text="join"), arguments=(texts, e.Argument(value=e.Constant(value=between)))
        ):
            return of(texts.value) * (1 + tokens(between))
        case e.Call(function=function, arguments=arguments) if function.text in _GROWTH:
            given = sum(of(argument.value) + 2 for argument in arguments)
            least = _DIGITS if function.text in {"int", "round", "floor", "ceil", "abs"} else NUMBER
            return max(least, _GROWTH[function.text] * given)
    return math.inf
