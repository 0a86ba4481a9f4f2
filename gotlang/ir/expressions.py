"""The expressions of a step, changed one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gotlang.ir import program as ir
from gotlang.syntax.expressions import Expression

Change = Callable[[Expression], Expression]
"""An expression that stands by itself in a step to the one that should stand there."""


def with_expressions(step: ir.AnyStep, change: Change) -> ir.AnyStep:
    """A step with its own expressions changed, those of the regions inside it left alone."""
    fields = {name: value for name, value in ir.step_fields(step).items() if name not in {"span", "type"}}
    return replace(step, **{name: _changed(value, change) for name, value in fields.items()})


def _changed(value: Any, change: Change) -> Any:
    if isinstance(value, Expression):
        return change(value)
    match value:
        case ir.Stop():
            arguments = tuple((name, change(argument)) for name, argument in value.arguments)
            return ir.Stop(value.score, arguments, change(value.count))
        case tuple():
            return tuple(_changed(item, change) for item in value)
    return value
