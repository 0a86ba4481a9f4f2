"""`best_of`: asks several times and keeps the best by its score."""

from __future__ import annotations

from collections.abc import Iterator

from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.tune.rewrites.record import Rewrite
from gotlang.tune.rewrites.stage import CHOOSERS, Change, Stage


def _changes(stage: Stage) -> Iterator[Change]:
    if not stage.single or not stage.varied:
        return
    match stage.k:
        case e.Constant(value=int() as known) if known > 1 and stage.has(CHOOSERS):
            tries = stage.number(f"{stage.prompt.name}_tries", known, 1, max(10, 2 * known))
            changed = stage.asking(tries.name), *stage.rest
            yield Change(stage.prompt.name, changed, (tries,), f"1 / {known}", tries.name)
        case None if stage.once and not stage.has(CHOOSERS) and stage.score is not None:
            tries = stage.number(f"{stage.prompt.name}_tries", 5, 1, 10)
            head, rest = stage.asking(tries.name), stage.rest
            if rest and isinstance(rest[0], n.Step) and rest[0].operation.text == "Score":
                chosen = rest[0], *stage.parsed("KeepBestN(1)", after=rest[0]), *rest[1:]
            else:
                chosen = *stage.parsed(stage.scoring, "KeepBestN(1)"), *rest
            yield Change(stage.prompt.name, (head, *chosen), (tries,), "1", tries.name, (tries.name, 1))


BEST_OF = Rewrite(
    "best_of",
    "asks n times and keeps the best by its score",
    "from as many to n times as many",
    "one sample, and a score; or a constant number of samples",
    _changes,
)
