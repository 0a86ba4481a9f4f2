"""Savings of request batching and early stopping: sort128 with neither, each and both, on the same rows.

    python benchmarks/saving.py [--rows 50] [--first-rounds 2 4]

The model is simulated, the prices are those of gpt-3.5-turbo. A response depends on its request and sample
number only, so all arms get equal responses to equal requests and differ in the requests they make.
`--first-rounds` adds arms with both in which early stopping starts with so many calls.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from statistics import fmean
from typing import Any

from measurement import PROGRAMS, options, report

from gotlang.api import Options, Session, load, run_to_end
from gotlang.result import Result
from gotlang.statistics import difference_interval

PROGRAM = PROGRAMS / "sort128.got"
DATA = PROGRAMS / "data" / "digits128.csv"


def rows(count: int) -> list[list[int]]:
    """The first lists of the data."""
    with DATA.open(newline="") as file:
        return [json.loads(row["Unsorted"]) for row in list(csv.DictReader(file))[:count]]


def arm(lists: list[list[int]], options: Options) -> list[Result]:
    """A run for each list."""

    async def go() -> list[Result]:
        async with Session(load(PROGRAM), options) as session:
            return [await session.run({"numbers": numbers}) for numbers in lists]

    return run_to_end(go(), virtual=True)


COLUMNS = {
    "": "{}",
    "calls": "{:.1f}",
    "requests": "{:.1f}",
    "prompt tokens": "{:,.0f}",
    "completion tokens": "{:,.0f}",
    "cost": "${:.4f}",
    "share of the cost": "{:.1%}",
    "critical path": "{:.1f} s",
    "mistakes": "{:.2f}",
    "difference": "{:+.2f}",
    "95% CI": "{}",
}


def measure(arms: dict[str, Options], lists: list[list[int]]) -> Iterator[tuple[Any, ...]]:
    """Means over the rows for each arm, and its paired difference of mistakes to the first arm."""
    first: list[float] = []
    usd = 0.0
    for name, chosen in arms.items():
        results = arm(lists, chosen)
        spent = [result.outcome.ledger.spent for result in results]
        mistakes = [result.score or 0.0 for result in results]
        cost = fmean(account.usd or 0.0 for account in spent)
        first, usd = first or mistakes, usd or cost
        difference = difference_interval(mistakes, first)
        yield (
            name,
            fmean(account.calls for account in spent),
            fmean(account.requests for account in spent),
            fmean(account.input_tokens for account in spent),
            fmean(account.output_tokens for account in spent),
            cost,
            cost / usd,
            fmean(result.outcome.times[0] for result in results),
            fmean(mistakes),
            difference.mean,
            f"{difference.low:+.2f} to {difference.high:+.2f}",
        )


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--first-rounds", type=int, nargs="+", default=[], metavar="N")
    given = parser.parse_args()
    arms = {
        "neither": Options(batching=False, level=1, cache=None),
        "request batching": Options(batching=True, level=1, cache=None),
        "early stopping": Options(batching=False, prefer="cost", cache=None),
        "both": Options(batching=True, prefer="cost", cache=None),
    }
    arms |= {f"both, first round {count}": Options(wave=count, cache=None) for count in given.first_rounds}
    report(given, COLUMNS, measure(arms, rows(given.rows)))
