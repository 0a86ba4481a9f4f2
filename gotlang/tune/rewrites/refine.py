"""`refine`: rounds in which a prompt improves the thought, and the best of old and new is kept."""

from __future__ import annotations

from collections.abc import Iterator

from gotlang.tune.rewrites.record import Rewrite
from gotlang.tune.rewrites.stage import MENDERS, SCORE, Change, Number, Stage


def _changes(stage: Stage) -> Iterator[Change]:
    if not stage.single or stage.has(MENDERS | {"Vote"}):
        return
    for name, call in stage.menders():
        last, rounds = stage.statements[-1], stage.number(f"{name}_rounds", 1, 0, 3)
        numbers: tuple[Number, ...] = (rounds,)
        if stage.score is None:
            added = stage.parsed(f"repeat {rounds.name}:", f"    Improve() {call}", after=last)
            most = f"1 + {rounds.name}"
        else:
            tries = stage.number(f"{name}_tries", 3, 1, 10)
            added = stage.parsed(
                "" if stage.has(SCORE) else stage.scoring,
                f"repeat {rounds.name}:",
                f"    Improve(k={tries.name}, keep=true) {call}",
                f"    {stage.scoring}",
                "    KeepBestN(1)",
                after=last,
            )
            numbers, most = (rounds, tries), f"1 + {rounds.name} * ({tries.name} + 1)"
        yield Change(name, (*stage.statements, *added), numbers, "1", most, (rounds.name, 0))


REFINE = Rewrite(
    "refine",
    "adds rounds in which a prompt improves the thought, and keeps the best of old and new",
    "from as many to 1 + rounds * (n + 1) times as many",
    "a prompt that gives the same type and is shown the thought",
    _changes,
)
