"""Resolution of rows: how well the best settings of sort128 can be distinguished, and at what cost.

    python -m benchmarks resolution --write

An oracle that knows the best 2, 4, 8 or 16 feasible settings runs only these, on the same rows with one
cache, and takes the one with the fewest mistakes. The cells of `benchmarks/landscape.py` are taken for all
that there are: those that a choice is made by are drawn from them with replacement, and their means are the
truth. A search has to find these settings first, and is helped by what the others say of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from statistics import fmean

from arms import SORTING, options_of, plan_of
from landscape import Landscape
from measurement import options, report

from gotlang.api import Session, run_to_end
from gotlang.tune.points import PointRunner
from gotlang.tune.space import Point, space_of

PRICED_ROWS = 10
"""Rows on which settings run to learn what they cost together."""


async def price(points: Sequence[Point], rows: int) -> float:
    """The cost of these settings on a row, in US dollars, where all of them share a cache."""
    plan = plan_of(SORTING, seed=101)
    async with Session(plan.program, options_of(plan)) as session:
        runner = PointRunner(plan, space_of(plan), session)
        for point in points:
            await runner.rows(point, plan.read_rows(range(1, rows + 1)).rows)
        return (session.spent.usd or 0.0) / rows


def regret(land: Landscape, settings: Sequence[int], rows: int, draws: int) -> float:
    """The mean regret of the setting with the fewest mistakes on so many cells; the first of `settings` is
    the best one."""
    chance, found = random.Random(rows), []
    way = land.value[land.start] - land.best
    means = [fmean(cell[place] for cell in land.cells) for place in settings]
    for _ in range(draws):
        cells = chance.choices(land.cells, k=rows)
        seen = [sum(cell[place] for cell in cells) for place in settings]
        found.append((means[seen.index(min(seen))] - means[0]) / way)
    return fmean(found)


def table(draws: int) -> Iterator[tuple[int, int, float, float]]:
    """A row for each number of settings and of rows."""
    land = Landscape()
    names = [*land.value]
    ordered = sorted(land.allowed, key=lambda name: land.value[name])
    for count in (2, 4, 8, 16):
        settings = [names.index(name) for name in ordered[:count]]
        usd = run_to_end(price([land.points[place] for place in settings], PRICED_ROWS), virtual=True)
        for rows in (25, 50, 75, 100, 150):
            yield count, rows, regret(land, settings, rows, draws), usd * rows


if __name__ == "__main__":
    given = options(__doc__, rounds=2000, quick=200).parse_args()
    columns = {"settings": "{}", "rows": "{}", "regret": "{:.0%}", "spent": "${:.2f}"}
    report(given, columns, table(given.rounds))
