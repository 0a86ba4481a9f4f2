"""Plain values as expressions, and back: what constants, lists and records of them stand for."""

from __future__ import annotations

import math
from typing import Any

from gotlang.span import NOWHERE, Span
from gotlang.syntax import expressions as e


def literal(value: Any, span: Span = NOWHERE) -> e.Expression:
    """The expression that a plain value is written as. Raises ValueError where there is none (NaN, infinity,
    what is not of JSON's kinds)."""
    match value:
        case float() if not math.isfinite(value):
            raise ValueError("a number that cannot be written")
        case None | bool() | int() | float() | str():
            return e.Constant(span, value)
        case list():
            return e.ListDisplay(span, tuple(literal(item, span) for item in value))
        case dict() if all(isinstance(key, str) for key in value):
            return e.RecordDisplay(span, tuple((key, literal(item, span)) for key, item in value.items()))
    raise ValueError(f"{type(value).__name__} cannot be written")


def is_literal(node: e.Expression) -> bool:
    """Whether an expression is written as the value it has."""
    match node:
        case e.Constant():
            return True
        case e.ListDisplay(elements=elements):
            return all(is_literal(element) for element in elements)
        case e.RecordDisplay(entries=entries):
            return all(is_literal(value) for _, value in entries)
    return False


def literal_value(node: e.Expression) -> Any:
    """The value of a literal. Raises ValueError for any other expression."""
    match node:
        case e.Constant(value=value):
            return value
        case e.ListDisplay(elements=elements):
            return [literal_value(element) for element in elements]
        case e.RecordDisplay(entries=entries):
            return {key: literal_value(value) for key, value in entries}
    raise ValueError("not a literal")
