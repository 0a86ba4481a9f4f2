"""Estimated against actual cost: what `gotc explain` expects, and runs with other seeds.

    python benchmarks/estimates.py

The estimate of a scheme comes from one simulated run with the default seed. Each row of the table
summarizes, for every scheme of programs/ on one input of its task, the ratio of the cost of runs with five
other seeds to the estimate.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any

from measurement import options, report
from msgspec.structs import replace
from schemes import ROWS, Row, given, program_of

from gotlang.api import Options

SEEDS = range(1, 6)
NEAR = 0.25
COLUMNS = {
    "schemes": "{}",
    "early stopping": "{}",
    "rows": "{}",
    "runs within 25%": "{}",
    "means within 25%": "{}",
    "least mean": "{:.2f}",
    "greatest mean": "{:.2f}",
}


def ratios(row: Row, early_stop: bool) -> list[float]:
    """The cost of each run divided by the estimate."""
    program, (found, _) = program_of(row.program), given(row)
    chosen = Options(params=row.params, level=2 if early_stop else 1, prefer="cost", model="simulated")
    estimate = program.explain(found, scheme=row.scheme, options=chosen)
    costs = (estimate.early if early_stop else estimate.costs).usd
    assert costs is not None and costs.expected
    out = []
    for seed in SEEDS:
        own = replace(chosen, seed=seed)
        spent = program.run(found, scheme=row.scheme, options=own).outcome.ledger.accounts[0].usd
        assert spent is not None
        out.append(spent / costs.expected)
    return out


def near(values: list[float]) -> str:
    """How many ratios are within 25% of 1."""
    return f"{sum(abs(ratio - 1) <= NEAR for ratio in values)} of {len(values)}"


def rows() -> Iterator[tuple[Any, ...]]:
    for early in (False, True):
        for dynamic in (False, True):
            found = {row.name: ratios(row, early) for row in ROWS if row.dynamic == dynamic}
            every = [ratio for some in found.values() for ratio in some]
            means = [fmean(some) for some in found.values()]
            kind, state = "dynamic" if dynamic else "static", "on" if early else "off"
            yield kind, state, len(found), near(every), near(means), min(means), max(means)


if __name__ == "__main__":
    report(options(__doc__).parse_args(), COLUMNS, rows())
