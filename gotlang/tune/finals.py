"""The end of a search: the likely winners meet again, with new draws on rows that they have seen.

All trials are measured on the same rows with the same draws. That tells them apart for little money, but
what those draws favour by chance looks like merit, the more so the more trials there are. So the few that are
worth most, and that the race cannot tell from the first of them, run on some of the train rows anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from gotlang.errors import BudgetExceeded
from gotlang.tune.evaluation import Evaluation
from gotlang.tune.objective import Measured, mean
from gotlang.tune.plan import Plan
from gotlang.tune.pooled import noise, pooled
from gotlang.tune.racing import Race
from gotlang.tune.records import Record
from gotlang.tune.rows import Row
from gotlang.tune.search import best_of
from gotlang.tune.space import Space

SHARE = 0.5
"""The part of the train rows that finalists run on again."""


@final
@dataclass(frozen=True, slots=True)
class Finalist:
    """A trial in the finals: its mean on the train rows, its mean with new draws on `rows` of them, and the
    mean of all. `again` is None where it did not run again."""

    record: Record
    before: float
    again: float | None
    rows: int
    mean: float

    def as_json(self) -> dict[str, Any]:
        """As documents show it."""
        return {
            "trial": self.record.number,
            "train": self.before,
            "again": self.again,
            "rows": self.rows,
            "mean": self.mean,
        }


async def finals(
    plan: Plan, space: Space, evaluation: Evaluation, records: Mapping[int, Record], rows: Sequence[Row]
) -> list[Finalist]:
    """Those of the finals, the winner first; none where no trial is allowed, one where nobody contests it.

    Where the money does not last for all of them, what was known before decides.
    """
    chosen = candidates(plan, space, records)
    if len(chosen) < 2:
        return [_finalist(plan, record, ()) for record in chosen]
    some = rows[: math.ceil(SHARE * len(rows))]
    try:
        measured = [await evaluation.rows(record.point, some, again=1) for record in chosen]
    except BudgetExceeded:
        return [_finalist(plan, record, ()) for record in chosen]
    met = [_finalist(plan, record, again) for record, again in zip(chosen, measured, strict=True)]
    sign = -1.0 if plan.objectives[0].maximize else 1.0
    return sorted(met, key=lambda f: (sign * f.mean, f.record.number))


def candidates(plan: Plan, space: Space, records: Mapping[int, Record]) -> list[Record]:
    """The trials that may be the best: of those that saw every row and break no constraint, the `finals` ones
    that are worth most when all trials are believed together, but for those surely worse than the first.

    With several objectives it is the best in the first one alone.
    """
    able = {n: r for n, r in records.items() if best_of(plan, [r]) is not None}
    if not able:
        return []
    best = best_of(plan, able.values())
    assert best is not None
    if len(plan.objectives) > 1:
        return [best]
    worth = pooled(space, records)
    sign = -1.0 if plan.objectives[0].maximize else 1.0
    order: list[Record] = []
    for number in sorted(able, key=lambda n: (sign * worth[n], n)):
        if all(dict(able[number].point) != dict(other.point) for other in order):
            order.append(able[number])
    if plan.finals < 2 or noise(records) == 0:
        return order[:1]
    behind = {record.number: _behind(record, order[0], sign) for record in order[1 : plan.finals]}
    # Who did the same on every row has nothing to win, who is surely worse nothing to hope for.
    contest = [
        r for r in order[1 : plan.finals] if any(behind[r.number]) and not Race().worse(behind[r.number])
    ]
    return [order[0], *contest]


def _behind(record: Record, other: Record, sign: float) -> list[float]:
    return [
        sign * (a.objectives[0] - b.objectives[0])
        for a, b in zip(record.rows, other.rows, strict=True)
        if a.objectives[0] is not None and b.objectives[0] is not None
    ]


def _finalist(plan: Plan, record: Record, again: Sequence[Measured]) -> Finalist:
    before = [row.objectives[0] for row in record.rows]
    after = [row.objectives[0] for row in again]
    whole = mean([*before, *after])
    first = mean(before)
    assert whole is not None and first is not None
    return Finalist(record, first, mean(after), len(again), whole)
