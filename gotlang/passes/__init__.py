"""The optimizer: a tuple of passes, functions from program to program, none of which changes a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from gotlang.ir.program import Program, Region, Scheme
from gotlang.ir.verify import verify
from gotlang.passes.batches import batch_requests
from gotlang.passes.common_steps import share_equal_steps
from gotlang.passes.constants import fold_constants
from gotlang.passes.dead_steps import drop_dead_steps
from gotlang.passes.early_stop import stop_early
from gotlang.types import ANY

Pass = Callable[[Program], Program]

PASSES: tuple[tuple[int, str, Pass], ...] = (
    (1, "constant folding", fold_constants),
    (1, "sharing", share_equal_steps),
    (1, "dead steps", drop_dead_steps),
    (1, "request batching", batch_requests),
    (2, "early stopping", stop_early),
)
"""Each pass with the optimization level from which it runs, in order."""


def optimize(program: Program, level: int = 2, skip: frozenset[str] = frozenset()) -> Program:
    """The program after all passes of a level, except those named in `skip`; verified after each."""
    return next(reversed([program, *(after for _, after in stages(program, level, skip))]))


def stages(
    program: Program, level: int = 2, skip: frozenset[str] = frozenset()
) -> Iterator[tuple[str, Program]]:
    """The name of each pass of a level, and the program after it, which was verified."""
    for least, name, run in PASSES:
        if level >= least and name not in skip:
            program = run(program)
            verify(program)
            yield name, program


def optimize_region(
    program: Program, region: Region, level: int = 2, skip: frozenset[str] = frozenset()
) -> Region:
    """Steps that are added to a run of `program`, after the same passes."""
    scheme = Scheme("%added", (), ANY, True, False, ANY, region)
    program = replace(program, schemes=(*program.schemes, scheme))
    for least, name, run in PASSES:
        if level >= least and name not in skip:
            program = run(program)
    return program.schemes[-1].body
