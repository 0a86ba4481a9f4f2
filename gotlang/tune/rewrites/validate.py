"""`validate`: checks the thought, and lets a prompt improve it until it is right."""

from __future__ import annotations

from collections.abc import Iterator

from gotlang.tune.rewrites.record import Rewrite
from gotlang.tune.rewrites.stage import MENDERS, Change, Stage


def _changes(stage: Stage) -> Iterator[Change]:
    if not stage.single or stage.right is None or stage.has(MENDERS | {"Vote"}):
        return
    for name, call in stage.menders():
        last, tries = stage.statements[-1], stage.number(f"{name}_checks", 1, 0, 5)
        lines = f"ValidateAndImprove({tries.name}) {stage.right[0]}, {call}", stage.scoring
        added = stage.parsed(*lines, after=last)
        # A judge that is a prompt is asked even where nothing may be improved.
        off = None if stage.right[1] else (tries.name, 0)
        most = f"2 + 2 * {tries.name}"
        yield Change(name, (*stage.statements, *added), (tries,), "1", most, off)


VALIDATE = Rewrite(
    "validate",
    "checks the thought, and lets a prompt improve it up to n times, until it is right",
    "from as many to 2 + 2n times as many",
    "such a prompt, and a score with `best` or a prompt that gives a bool",
    _changes,
)
