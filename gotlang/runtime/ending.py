"""When a response is ended early: `stop when` of a prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gotlang.errors import EvaluationError
from gotlang.ir.evaluate import Layer
from gotlang.ir.text import value_text
from gotlang.operations.names import free_names
from gotlang.syntax import expressions as e
from gotlang.syntax.format import format_expression


def ending(
    condition: e.Expression, names: Mapping[str, Any], evaluate: Callable[[e.Expression, Layer], Any]
) -> tuple[str, Callable[[str], bool]]:
    """The condition with the values that it knows, as a part of the request's identity, and what says of a
    text so far that it holds. One that fails on a part of a text does not hold there."""
    known = []
    for name in free_names(condition):
        if name != "it":
            try:
                known.append(f"{name} = {value_text(names[name])}")
            except KeyError:
                continue  # a function

    def enough(text: str) -> bool:
        try:
            return evaluate(condition, Layer({"it": text}, names)) is True
        except EvaluationError:
            return False

    return "; ".join([format_expression(condition), *known]), enough
