"""Dead steps: what nothing uses is not computed, and above all not requested.

    a = Generate @closed(...) from %start, k 5
    b = Generate @opened(...) from %start, k 5    →    b = Generate @opened(...) from %start, k 5
    yield b                                            yield b

A step is dead where neither the region's result nor a living step needs what it gives. Dropping one changes
no answer: samples are numbered by what a step's ancestors asked, and a dead step is no step's ancestor. It
may turn a run that failed at a response that nothing needed into one that does not.

What stays, needed or not: `GroundTruth`, which measures, `Call`, which may be there for what the function
does, and what may skip an element; so does a block or a scheme's call with one of them inside. A Python
function in an expression is called for its value only, and goes with the step.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from gotlang.ir import program as ir
from gotlang.ir.effects import NOTED, Effects
from gotlang.operations.names import free_names, used_names
from gotlang.operations.skip import skipped_by
from gotlang.passes.rewrite import with_bodies
from gotlang.syntax.expressions import Expression


def drop_dead_steps(program: ir.Program) -> ir.Program:
    """Take away the steps that no result and no measurement needs."""
    effects = Effects(program)

    def alive(declared: ir.Scheme | ir.ScoreFunction) -> ir.Region:
        needed = free_names(declared.value) if isinstance(declared, ir.ScoreFunction) else ()
        return _alive(declared.body, needed, effects)

    return with_bodies(program, alive)


def _alive(region: ir.Region, needed_outside: Iterable[str], effects: Effects) -> ir.Region:
    """A region with its living steps; those inside blocks were looked through first."""
    needed = {region.result, *needed_outside}
    kept: list[ir.Step] = []
    for old in reversed(region.steps):
        step = old.with_regions(lambda inner: _alive(inner, _names_read(old), effects))  # noqa: B023
        if step.result in needed or effects.of(step) & NOTED or skipped_by(step):
            needed |= used_names(step)
            kept.append(step)
    return replace(region, steps=tuple(reversed(kept)))


def _names_read(step: ir.Step) -> Iterable[str]:
    """The names that a block reads from its own body beside the result: `repeat` and `first` test them."""
    conditions: list[Expression] = []
    if isinstance(step, ir.Repeat) and step.until is not None:
        conditions = [step.until]
    elif isinstance(step, ir.First):
        conditions = [condition for condition, _ in step.branches]
    return [name for condition in conditions for name in free_names(condition)]
