"""Dead steps: what no one takes is not computed, and above all not asked for.

    a = Generate @closed(...) from %start, k 5
    b = Generate @opened(...) from %start, k 5    →    b = Generate @opened(...) from %start, k 5
    yield b                                            yield b

A step is dead where neither the region's result nor a living step needs what it gives. Dropping one changes
no answer: draws are numbered by what a step's ancestors asked, and a dead step is nobody's ancestor. It may
turn a run that failed at an answer nobody needed into one that does not.

What stays, needed or not: `GroundTruth`, which measures, and `Call`, which may be there for what the function
does; so does a block or a scheme's call with one of them inside. A Python function in an expression is
called for its value only, and goes with the step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gotlang.ir import program as ir
from gotlang.ir.names import free_names, used_names
from gotlang.passes.rewrite import all_steps, rewrite_inside


def drop_dead_steps(program: ir.Program) -> ir.Program:
    """Take away the steps that no answer and no measurement needs."""
    acting = _acting(program)
    return replace(
        program,
        schemes=tuple(replace(s, body=_alive(s.body, (), acting)) for s in program.schemes),
        scores=tuple(replace(s, body=_alive(s.body, free_names(s.value), acting)) for s in program.scores),
    )


def _alive(region: ir.Region, needed_outside: Iterable[str], acting: set[str]) -> ir.Region:
    """A region with its living steps; those inside blocks were looked through first."""
    needed = {region.result, *needed_outside}
    kept: list[ir.AnyStep] = []
    for old in reversed(region.steps):
        step = rewrite_inside(old, lambda inner: _alive(inner, _names_read(old), acting))  # noqa: B023
        if step.result in needed or _acts(step, acting):
            needed |= used_names(step)
            kept.append(step)
    return replace(region, steps=tuple(reversed(kept)))


def _names_read(step: ir.AnyStep) -> Iterable[str]:
    """The names that a block reads from its own body beside the result: a `repeat` may test them."""
    return free_names(step.until) if isinstance(step, ir.Repeat) and step.until is not None else ()


def _acts(step: ir.AnyStep, acting: set[str]) -> bool:
    """Whether a step does something beside giving thoughts."""
    inside = (inner for region in ir.regions(step) for inner in all_steps(region))
    return any(_acts_itself(one, acting) for one in (step, *inside))


def _acts_itself(step: ir.AnyStep, acting: set[str]) -> bool:
    match step:
        case ir.GroundTruth() | ir.Call():
            return True
        case ir.Invoke(scheme=name) | ir.Score(score=str(name)):
            return name in acting
    return False


def _acting(program: ir.Program) -> set[str]:
    """The schemes and scores that act, by themselves or through those they call."""
    bodies = {scheme.name: scheme.body for scheme in program.schemes}
    bodies |= {score.name: score.body for score in program.scores}
    acting: set[str] = set()
    while True:
        more = {
            name
            for name, body in bodies.items()
            if name not in acting and any(_acts_itself(step, acting) for step in all_steps(body))
        }
        if not more:
            return acting
        acting |= more
