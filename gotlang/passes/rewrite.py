"""Rewriting a program's regions and expressions wherever they stand: the shared frame of the passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gotlang.ir import program as ir
from gotlang.operations.names import bound_inside

Rewrite = Callable[[ir.Region], ir.Region]
"""A region, after those inside it were rewritten, to the one it should be."""


def rewrite(program: ir.Program, change: Rewrite) -> ir.Program:
    """The program with every region changed, inner ones first."""
    return replace(
        program,
        schemes=tuple(replace(s, body=rewrite_region(s.body, change)) for s in program.schemes),
        scores=tuple(replace(s, body=rewrite_region(s.body, change)) for s in program.scores),
    )


def rewrite_region(body: ir.Region, change: Rewrite) -> ir.Region:
    """A region changed, those inside it first."""
    return change(
        replace(body, steps=tuple(s.with_regions(lambda r: rewrite_region(r, change)) for s in body.steps))
    )


def schemes_invoked(program: ir.Program) -> set[str]:
    """The schemes that schemes or scores call; any other runs only by itself, on plain inputs."""
    bodies = [*(s.body for s in program.schemes), *(s.body for s in program.scores)]
    return {step.scheme for body in bodies for step in body.all_steps() if isinstance(step, ir.Invoke)}


def values_in(program: ir.Program, owner: ir.Scheme | ir.ScoreFunction, *, plain: bool) -> set[str]:
    """The names that stand for plain values everywhere in a scheme or score, so that nothing waits for them:
    params, and parameters where they are `plain`."""
    bound = {name for step in owner.body.steps for name in (step.result, *bound_inside(step))}
    parameters = {name for name, _ in owner.parameters}
    values = {param.name for param in program.params} - (set() if plain else parameters)
    return (values | parameters if plain else values) - bound
