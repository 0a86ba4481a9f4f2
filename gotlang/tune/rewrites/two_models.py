"""`two_models`: asks a second model too for the samples among which one is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.format import format_inline
from gotlang.syntax.texts import quote
from gotlang.tune.rewrites.record import Rewrite
from gotlang.tune.rewrites.stage import CHOOSERS, Change, Stage


def _changes(stage: Stage) -> Iterator[Change]:
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
        yield Change(",".join(models), statements, (more,), "1", f"1 + {more.name}")


TWO_MODELS = Rewrite(
    "two_models",
    "asks two models for the samples among which one is chosen",
    "from as many to 1 + n times as many",
    "several samples, and `vary model in [...]` or `vary models in [...]`",
    _changes,
)
