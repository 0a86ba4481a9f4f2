"""`vote`: asks several times and takes the value that most samples have."""

from __future__ import annotations

from collections.abc import Iterator

from gotlang.tune.rewrites.record import Rewrite
from gotlang.tune.rewrites.stage import CHOOSERS, MENDERS, Change, Stage


def _changes(stage: Stage) -> Iterator[Change]:
    if stage.once and stage.single and stage.varied and not stage.has(CHOOSERS | MENDERS):
        votes = stage.number(f"{stage.prompt.name}_votes", 5, 1, 15)
        voted = stage.asking(votes.name), *stage.parsed("Vote()"), *stage.rest
        yield Change(stage.prompt.name, voted, (votes,), "1", votes.name, (votes.name, 1))


VOTE = Rewrite(
    "vote",
    "asks n times and takes the most frequent value",
    "from as many to n times as many",
    "one sample",
    _changes,
)
