"""Dead code elimination: unused steps are not computed, and above all not requested.

    a = Generate @closed(...) from %start, k 5
    b = Generate @opened(...) from %start, k 5    →    b = Generate @opened(...) from %start, k 5
    yield b                                            yield b

A step is dead if neither the region's result nor a live step needs its output. Removing it does not change a
result: samples are numbered by the requests of a step's ancestors, and a dead step is not an ancestor of any
step. A run that failed at an unneeded response may then succeed.

Some steps always stay: `GroundTruth`, which measures, `Call`, whose function may have side effects, and steps
that may skip an element; so does a block or a scheme's call that contains one of them. A Python function in
an expression is called for its value only, and is removed with the step.
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
    """Remove the steps that no result and no measurement needs."""
    effects = Effects(program)

    def alive(declared: ir.Scheme | ir.ScoreFunction) -> ir.Region:
        needed = free_names(declared.value) if isinstance(declared, ir.ScoreFunction) else ()
        return _alive(declared.body, needed, effects)

    return with_bodies(program, alive)


def _alive(region: ir.Region, needed_outside: Iterable[str], effects: Effects) -> ir.Region:
    """A region with its live steps; those inside blocks were processed first."""
    needed = {region.result, *needed_outside}
    kept: list[ir.Step] = []
    for old in reversed(region.steps):
        step = old.with_regions(lambda inner: _alive(inner, _names_read(old), effects))  # noqa: B023
        if step.result in needed or effects.of(step) & NOTED or skipped_by(step):
            needed |= used_names(step)
            kept.append(step)
    return replace(region, steps=tuple(reversed(kept)))


def _names_read(step: ir.Step) -> Iterable[str]:
    """The names that a block reads from its own body besides the result: `repeat` and `first` test them."""
    conditions: list[Expression] = []
    if isinstance(step, ir.Repeat) and step.until is not None:
        conditions = [step.until]
    elif isinstance(step, ir.First):
        conditions = [condition for condition, _ in step.branches]
    return [name for condition in conditions for name in free_names(condition)]
