"""Rewrites that take several samples, or use several models, and choose."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations

from msgspec.structs import replace

from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.format import format_inline
from gotlang.syntax.texts import quote
from gotlang.tune.rewrites.stage import CHOOSERS, MENDERS, Replacement, Rewrite, Stage


def _vote(stage: Stage) -> Iterator[Replacement]:
    if stage.once and stage.single and stage.varied and not stage.has(CHOOSERS | MENDERS):
        votes = stage.number(f"{stage.prompt.name}_votes", 5, 1, 15)
        voted = stage.asking(votes.name), *stage.parsed("Vote()"), *stage.rest
        yield Replacement(stage.prompt.name, voted, (votes,), "1", votes.name, (votes.name, 1))


VOTE = Rewrite(
    "vote",
    "takes n samples and returns the most frequent value",
    "1 to n times as many",
    "one sample",
    _vote,
)


def _best_of(stage: Stage) -> Iterator[Replacement]:
    if not stage.single or not stage.varied:
        return
    match stage.k:
        case e.Constant(value=int() as known) if known > 1 and stage.has(CHOOSERS):
            tries = stage.number(f"{stage.prompt.name}_tries", known, 1, max(10, 2 * known))
            changed = stage.asking(tries.name), *stage.rest
            yield Replacement(stage.prompt.name, changed, (tries,), f"1 / {known}", tries.name)
        case None if stage.once and not stage.has(CHOOSERS) and stage.score is not None:
            tries = stage.number(f"{stage.prompt.name}_tries", 5, 1, 10)
            head, rest = stage.asking(tries.name), stage.rest
            if rest and isinstance(rest[0], n.Step) and rest[0].operation.text == "Score":
                chosen = rest[0], *stage.parsed("KeepBestN(1)", after=rest[0]), *rest[1:]
            else:
                chosen = *stage.parsed(stage.scoring, "KeepBestN(1)"), *rest
            yield Replacement(stage.prompt.name, (head, *chosen), (tries,), "1", tries.name, (tries.name, 1))


BEST_OF = Rewrite(
    "best_of",
    "takes n samples and keeps the best by its score",
    "1 to n times as many",
    "one sample, and a score; or a constant number of samples",
    _best_of,
)


def _two_models(stage: Stage) -> Iterator[Replacement]:
    first = stage.rest[0].operation.text if stage.rest and isinstance(stage.rest[0], n.Step) else ""
    if stage.k is None or not stage.single or not (stage.has(CHOOSERS) and first in {"Score", *CHOOSERS}):
        return
    for models in combinations(stage.models, 2):
        more = stage.number(f"{stage.prompt.name}_second", 3, 1, 10)
        names, ks = [stage.fresh(word) for word in ("first", "second")], (format_inline(stage.k), more.name)
        bound = tuple(
            n.Bind(
                stage.head.span,
                e.Identifier(stage.head.span, name),
                None,
                stage.asking(k, model=quote(model)),
            )
            for name, k, model in zip(names, ks, models, strict=True)
        )
        statements = *bound, *stage.parsed(f"Pool() {', '.join(names)}"), *stage.rest
        yield Replacement(",".join(models), statements, (more,), "1", f"1 + {more.name}")


TWO_MODELS = Rewrite(
    "two_models",
    "draws the samples of a selection from two models",
    "1 to 1 + n times as many",
    "several samples, and `vary model in [...]` or `vary models in [...]`",
    _two_models,
)


def _escalate(stage: Stage) -> Iterator[Replacement]:
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
        yield Replacement(f"{cheap},{expensive}", changed, (), "1", "3")


ESCALATE = Rewrite(
    "escalate",
    "calls one model, and another one only if the first result is not right",
    "1 to 3 times as many",
    "a score with `best` or a prompt that returns a bool, and models as above",
    _escalate,
)
