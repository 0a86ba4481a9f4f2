"""What the operators of expressions do: functions of two values, which pay for what they go through."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import isfinite
from typing import Any

from gotlang.errors import EvaluationError
from gotlang.semantics.limits import MAX_BITS, MAX_ELEMENTS, Fuel

_NUMERIC = (int, float)
_LARGE = (str, list, dict)


def _divide(a: float, b: float) -> float:
    return a / b


def _power(a: float, b: float) -> float:
    if isinstance(a, int) and isinstance(b, int) and abs(b) * a.bit_length() > MAX_BITS:
        raise EvaluationError(f"this number would have more than {MAX_BITS:,} bits")
    result: float | complex = a**b
    if isinstance(result, complex):
        raise EvaluationError("this power is not a real number")
    return result


def _plus(a: Any, b: Any) -> Any:
    if isinstance(a, list | str) and len(a) + len(b) > MAX_ELEMENTS:
        raise EvaluationError(f"this would have more than {MAX_ELEMENTS:,} elements")
    return a + b


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": _plus,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": _power,
}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}


def arithmetic(sign: str, fuel: Fuel) -> Callable[[Any, Any], Any]:
    """What an operator such as `+` or `**` gives; EvaluationError for what is no number, or too large."""
    apply, plus = _ARITHMETIC[sign], sign == "+"

    def run(a: Any, b: Any) -> Any:
        if not plus and not (isinstance(a, _NUMERIC) and isinstance(b, _NUMERIC)):
            raise EvaluationError(f"`{sign}` needs numbers")
        made = fuel.made(apply(a, b))
        if isinstance(made, float) and not isfinite(made) and isfinite(a) and isfinite(b):
            raise EvaluationError("a number too large")
        return made

    return run


def comparison(word: str, fuel: Fuel) -> Callable[[Any, Any], bool]:
    """Whether a comparison holds; a name is found in a mapping at once, anything else is searched for."""
    compare, search = _COMPARE[word], word in {"in", "not in"}

    def run(a: Any, b: Any) -> bool:
        if isinstance(b, _LARGE) and (not isinstance(b, dict) if search else type(a) is type(b)):
            fuel.searched(b)
        return compare(a, b)

    return run
