"""`escalate`: asks a cheaper model first, and another one only where what that says is not right."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from msgspec.structs import replace

from gotlang.syntax.format import format_inline
from gotlang.syntax.texts import quote
from gotlang.tune.rewrites.record import Rewrite
from gotlang.tune.rewrites.stage import MENDERS, Change, Stage


def _changes(stage: Stage) -> Iterator[Change]:
    looks_at_pool = stage.head.operation.text != "Generate"
    if not stage.single or stage.right is None or looks_at_pool or stage.has(MENDERS | {"Vote"}):
        return
    condition, prompted = stage.right
    for cheap, expensive in permutations(stage.models, 2):
        last = stage.statements[-1]
        again = format_inline(replace(stage.asking(None, model=quote(expensive)), again=None))
        lines = (
            f"Validate() {condition}" if prompted else "",
            "if not valid:" if prompted else f"if {' != '.join(condition.rsplit(' == ', 1))}:",
            f"    {again}",
            stage.scoring,
        )
        k = format_inline(stage.k) if stage.k is not None else None
        first = stage.asking(k, model=quote(cheap))
        changed = first, *stage.rest, *stage.parsed(*lines, after=last)
        yield Change(f"{cheap},{expensive}", changed, (), "1", "3")


ESCALATE = Rewrite(
    "escalate",
    "asks one model, and another one only where what the first says is not right",
    "from as many to three times as many",
    "a score with `best` or a prompt that gives a bool, and models as above",
    _changes,
)
