"""The end of a search: the likely winners meet again, with new draws on the rows that they have seen.

All trials are measured on the same rows with the same draws. That tells them apart for little money, but
what those draws favour by chance looks like merit, the more so the more trials there are. So the few that are
worth most, and that the race cannot tell from the first of them, run on the train rows anew. A trial that was
stopped against a lucky one may be among them: it then sees the rows that it missed as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from gotlang.errors import BudgetExceeded
from gotlang.tune.evaluation import Evaluation
from gotlang.tune.objective import Measured, mean
from gotlang.tune.plan import Plan
from gotlang.tune.pooled import noise, pooled
from gotlang.tune.racing import Race
from gotlang.tune.records import Record
from gotlang.tune.rows import Row
from gotlang.tune.search import best_of, told
from gotlang.tune.space import Space


@final
@dataclass(frozen=True, slots=True)
class Finalist:
    """A trial in the finals: its mean on the train rows, with new draws on them, and of both. `again` is
    None where it did not run again."""

    record: Record
    before: float
    again: float | None
    mean: float

    def as_json(self) -> dict[str, Any]:
        """As documents show it."""
        return {
            "trial": self.record.number,
            "train": self.before,
            "again": self.again,
            "mean": self.mean,
        }


async def finals(
    plan: Plan, space: Space, evaluation: Evaluation, records: Mapping[int, Record], rows: Sequence[Row]
) -> list[Finalist]:
    """Those of the finals, the winner first; none where no trial is allowed, one where nobody contests it.

    Where the money does not last for all of them, what was known before decides.
    """
    before = candidates(plan, space, records, stopped=False)
    chosen = candidates(plan, space, records, stopped=True)
    if len(chosen) > 1:
        try:
            seen = [await _completed(plan, evaluation, record, records[0], rows) for record in chosen]
            able = [record for record in seen if best_of(plan, [record]) is not None]
            again = [await evaluation.rows(record.point, rows, again=1) for record in able]
        except BudgetExceeded:
            pass
        else:
            met = [_finalist(record, new) for record, new in zip(able, again, strict=True)]
            sign = -1.0 if plan.objectives[0].maximize else 1.0
            if met:
                return sorted(met, key=lambda f: (sign * f.mean, f.record.number))
    return [_finalist(record, ()) for record in before]


async def _completed(
    plan: Plan, evaluation: Evaluation, record: Record, baseline: Record, rows: Sequence[Row]
) -> Record:
    """A trial with all rows, those included that it was stopped before."""
    if record.ended == "full":
        return record
    rest = await evaluation.rows(record.point, rows[len(record.rows) :])
    whole = (*record.rows, *rest)
    return replace(record, rows=whole, told=told(plan, whole, baseline.rows), ended="full")


def candidates(plan: Plan, space: Space, records: Mapping[int, Record], *, stopped: bool) -> list[Record]:
    """The trials that may be the best, likeliest first: of those that break no constraint, the `finals` ones
    that are worth most when all trials are believed together, but for those surely worse than the first.

    `stopped` ones, which did not see every row because others seemed better, count too or not. With several
    objectives it is the best in the first one alone.
    """
    ended = {"full", "worse"} if stopped else {"full"}
    able = {n: r for n, r in records.items() if r.ended in ended and r.feasible and r.told.values is not None}
    if not able:
        return []
    if len(plan.objectives) > 1:
        best = best_of(plan, able.values())
        return [best] if best is not None else []
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
        for a, b in zip(record.rows, other.rows, strict=False)
        if a.objectives[0] is not None and b.objectives[0] is not None
    ]


def _finalist(record: Record, again: Sequence[Measured]) -> Finalist:
    before = [row.objectives[0] for row in record.rows]
    after = [row.objectives[0] for row in again]
    whole = mean([*before, *after])
    first = mean(before)
    assert whole is not None and first is not None
    return Finalist(record, first, mean(after), whole)
