"""`drop`: asks once instead of several times, or leaves out the steps that improve the thought."""

from __future__ import annotations

from collections.abc import Iterator

from gotlang.semantics.params import constant_value
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.tune.rewrites.record import Rewrite
from gotlang.tune.rewrites.stage import CHOOSERS, MENDERS, Change, Stage, within


def _varies(stage: Stage) -> bool:
    """Whether asking once is in the range of a param, or `best_of` makes one."""
    match stage.k:
        case e.Constant():
            return True
        case e.Reference(name=name):
            param = stage.program.checked.symbols.nodes.get(name)
            domain = param.domain if isinstance(param, n.Param) else None
            return isinstance(domain, n.Range) and constant_value(domain.low) <= 1
    return False


def _changes(stage: Stage) -> Iterator[Change]:
    if not stage.single or stage.numbers:  # what a rewrite adds, its params leave out
        return
    mending = [one for one in stage.rest if within(one, MENDERS)]
    if mending:
        # What was scored after it is scored before it.
        kept = stage.rest[: stage.rest.index(mending[0])]
        yield Change("improving", (stage.head, *kept), least="0")
    if stage.k is not None and not mending and stage.has(CHOOSERS) and not _varies(stage):
        scoring = [s for s in stage.rest if isinstance(s, n.Step) and s.operation.text not in CHOOSERS]
        yield Change(stage.prompt.name, (stage.asking(None), *scoring), least="0")


DROP = Rewrite(
    "drop",
    "asks once, without choosing among samples; or improves nothing",
    "at most as many",
    "samples among which one is chosen, or steps that improve",
    _changes,
)
