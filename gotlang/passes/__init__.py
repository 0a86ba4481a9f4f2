"""The optimizer: a tuple of passes, each a function from program to program, none of which changes an answer."""

from __future__ import annotations

from collections.abc import Callable

from gotlang.ir.program import Program
from gotlang.passes.early_stop import stop_early
from gotlang.passes.fusion import fuse_samples

Pass = Callable[[Program], Program]

PASSES: tuple[tuple[int, str, Pass], ...] = (
    (1, "sample fusion", fuse_samples),
    (2, "early stop", stop_early),
)
"""Each pass with the optimization level from which it runs, in order."""


def optimize(program: Program, level: int = 2, skip: frozenset[str] = frozenset()) -> Program:
    """The program after all passes of a level, but for those named in `skip`."""
    for least, name, run in PASSES:
        if level >= least and name not in skip:
            program = run(program)
    return program
