"""Gives names other names, in a step and everything inside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gotlang.ir import program as ir
from gotlang.operations.names import with_expressions
from gotlang.syntax import expressions as e
from gotlang.syntax.walk import rebuilt


def renamed(step: ir.Step, names: Mapping[str, str]) -> ir.Step:
    """A step that uses other names. None of them, old or new, may be bound inside it."""
    if not names:
        return step
    step = with_expressions(step, lambda node: renamed_expression(node, names))
    step = replace(step, pool=names.get(step.pool, step.pool))
    if isinstance(step, ir.Block):
        step = replace(step, names=tuple((inner, names.get(outer, outer)) for inner, outer in step.names))
    return step.with_regions(lambda region: _renamed_region(region, names))


def _renamed_region(region: ir.Region, names: Mapping[str, str]) -> ir.Region:
    return ir.Region(
        names.get(region.entry, region.entry),
        tuple(renamed(step, names) for step in region.steps),
        names.get(region.result, region.result),
    )


def renamed_expression(node: e.Expression, names: Mapping[str, str]) -> e.Expression:
    """An expression that uses other names. None of them may be bound inside it."""
    if not names:
        return node
    return rebuilt(node, lambda part: _other_name(part, names))


def _other_name(node: e.Expression, names: Mapping[str, str]) -> e.Expression:
    if isinstance(node, e.Reference) and node.name in names:
        return e.Reference(node.span, names[node.name])
    return node
