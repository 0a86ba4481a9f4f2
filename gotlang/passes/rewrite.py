"""Rewriting of a program's regions, expressions and names: common functions of the passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from gotlang.ir import program as ir
from gotlang.operations.names import bound_inside, with_expressions
from gotlang.syntax import expressions as e
from gotlang.syntax.walk import rebuilt

Rewrite = Callable[[ir.Region], ir.Region]
"""Maps a region, after those inside it were rewritten, to its replacement."""


def with_bodies(program: ir.Program, body: Callable[[ir.Scheme | ir.ScoreFunction], ir.Region]) -> ir.Program:
    """The program with another body for each scheme and score."""
    return replace(
        program,
        schemes=tuple(replace(scheme, body=body(scheme)) for scheme in program.schemes),
        scores=tuple(replace(score, body=body(score)) for score in program.scores),
    )


def rewrite(program: ir.Program, change: Rewrite) -> ir.Program:
    """The program with every region changed, inner ones first."""
    return with_bodies(program, lambda declared: rewrite_region(declared.body, change))


def rewrite_region(body: ir.Region, change: Rewrite) -> ir.Region:
    """A region changed, those inside it first."""
    return change(
        replace(body, steps=tuple(s.with_regions(lambda r: rewrite_region(r, change)) for s in body.steps))
    )


def schemes_invoked(program: ir.Program) -> set[str]:
    """The schemes that schemes or scores call; any other runs only by itself, on plain inputs."""
    return {step.scheme for step in program.steps if isinstance(step, ir.Invoke)}


def values_in(program: ir.Program, owner: ir.Scheme | ir.ScoreFunction, *, plain: bool) -> set[str]:
    """The names that are plain values everywhere in a scheme or score, so that nothing waits for them:
    params, and parameters if they are `plain`."""
    bound = {name for step in owner.body.steps for name in (step.result, *bound_inside(step))}
    parameters = {name for name, _ in owner.parameters}
    values = {param.name for param in program.params} - (set() if plain else parameters)
    return (values | parameters if plain else values) - bound


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
