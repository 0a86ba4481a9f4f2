"""The end of a search: the likely winners meet again, with new draws on the rows that they have seen.

All trials are measured on the same rows with the same draws. That tells them apart for little money, but
what those draws favour by chance looks like merit, the more so the more trials there are. So the few that are
worth most, and that the race cannot tell from the first of them, run on the train rows anew. A trial that was
stopped against a lucky one may be among them: it then sees the rows that it missed as well.

What both measurements say together decides. So whoever is so far behind that what is left to run is unlikely
to turn it round leaves the finals, and the first stops running when nobody is left beside it.
"""

from __future__ import annotations

import math
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

UNLIKELY = 0.25
"""Who comes back from behind with at most this probability leaves the finals."""


@final
@dataclass(frozen=True, slots=True)
class Finalist:
    """A trial in the finals: its mean on the train rows, with new draws on as many of them as `rows` says,
    and of both. `again` is None where it did not run again.

    `mean` compares: of one that did not see all rows again it is as far from the winner's as the two were
    apart where both ran.
    """

    record: Record
    before: float
    again: float | None
    mean: float
    rows: int = 0

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
    before = candidates(plan, space, records, stopped=False)
    chosen = candidates(plan, space, records, stopped=True)
    if len(chosen) > 1:
        try:
            seen = [await _completed(plan, evaluation, record, records[0], rows) for record in chosen]
            able = [record for record in seen if best_of(plan, [record]) is not None]
            met = await _met(plan, evaluation, able, rows)
        except BudgetExceeded:
            pass
        else:
            if met:
                return met
    return [_finalist(record, ()) for record in before]


async def _met(
    plan: Plan, evaluation: Evaluation, able: Sequence[Record], rows: Sequence[Row]
) -> list[Finalist]:
    """Run those again in waves, until all rows are seen or one is left; the winner first, then who was left
    with it, then the others, who left last before who left first."""
    sign = -1.0 if plan.objectives[0].maximize else 1.0
    again: dict[int, list[Measured]] = {record.number: [] for record in able}
    left, gone = list(able), list[Record]()

    def behind(record: Record) -> list[float]:
        """By how much it is worse than the first, wherever both ran."""
        first, mine = ([*_values(r.rows), *_values(again[r.number])] for r in (left[0], record))
        return [sign * (b - a) for a, b in zip(first, mine, strict=False) if a is not None and b is not None]

    for look in (0, *Race().waves(len(rows))):
        for record in left:
            again[record.number] += await evaluation.rows(
                record.point, rows[len(again[record.number]) : look], again=1
            )
        left.sort(key=lambda r: (sign * _finalist(r, again[r.number]).mean, r.number))
        out = [r for r in left[1:] if not may_win(behind(r), len(rows) - look)]
        gone = [r for r in left if r in out] + gone
        left = [r for r in left if r not in out]
        if len(left) < 2:
            break
    met = [_finalist(record, again[record.number]) for record in left]
    for record in gone:
        apart = sign * (mean(list(behind(record))) or 0.0)
        met.append(replace(_finalist(record, again[record.number]), mean=met[0].mean + apart))
    return met


def may_win(leads: Sequence[float], left: int) -> bool:
    """Whether who trails by these may still end first when `left` more rows have run, which favour nobody
    but by chance.

    That their sum turns round is as probable as for a normal distribution with the spread of the leads.
    """
    behind = math.fsum(leads)
    if left == 0 or len(leads) < Race().first:
        return True
    spread = math.sqrt(math.fsum((x - behind / len(leads)) ** 2 for x in leads) / (len(leads) - 1))
    if spread == 0:
        return False
    return 0.5 * math.erfc(behind / (spread * math.sqrt(2 * left))) > UNLIKELY


def _values(rows: Sequence[Measured]) -> list[float | None]:
    return [row.objectives[0] for row in rows]


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
    first, whole = mean(_values(record.rows)), mean(_values([*record.rows, *again]))
    assert whole is not None and first is not None
    return Finalist(record, first, mean(_values(again)), whole, len(again))
