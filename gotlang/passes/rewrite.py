"""Rewriting a program's steps wherever they stand: the shared frame of the passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gotlang.ir import program as ir

Rewrite = Callable[[tuple[ir.AnyStep, ...]], tuple[ir.AnyStep, ...]]
"""A block's steps, after those inside them were rewritten, to the steps it should have."""


def rewrite(program: ir.Program, change: Rewrite) -> ir.Program:
    """The program with every block's steps changed, inner blocks first."""
    return replace(
        program,
        schemes=tuple(replace(s, body=region(s.body, change)) for s in program.schemes),
        scores=tuple(replace(s, body=region(s.body, change)) for s in program.scores),
    )


def region(body: ir.Region, change: Rewrite) -> ir.Region:
    """A region with its steps changed, inner blocks first."""
    return replace(body, steps=change(tuple(_inside(step, change) for step in body.steps)))


def _inside(step: ir.AnyStep, change: Rewrite) -> ir.AnyStep:
    match step:
        case ir.Foreach() | ir.Reduce() | ir.Loop() | ir.Group():
            return replace(step, body=region(step.body, change))
        case ir.Branch():
            return replace(
                step,
                branches=tuple((condition, region(body, change)) for condition, body in step.branches),
                otherwise=region(step.otherwise, change) if step.otherwise is not None else None,
            )
    return step
