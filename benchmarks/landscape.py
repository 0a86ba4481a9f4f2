"""Mistakes and cost of the settings of `studies/sort128.got`, row by row, on the simulated model.

    python -m benchmarks landscape --seeds 3

Every setting that costs at most `MARGIN` times as much as the untuned program on the first rows runs on all
rows of the data, with seeds that no study uses. All settings of one row share a cache, as in a study. Each
row appends a line to `--out`, so that the benchmark can be interrupted and continued: first all rows with
the first seed, then with the next one. The first line of the file has the settings.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, final

from measurement import RESULTS, ROOT, Found, resumed

from gotlang.api import Options, Session, run_to_end
from gotlang.cache.memory import MemoryCache
from gotlang.tune.plan import StudyPlan, read_plan
from gotlang.tune.points import Measured, PointRunner
from gotlang.tune.space import Point, space_of

FILE = RESULTS / "landscape.jsonl"
FIRST_SEED = 101
FIRST_ROWS = 3
MARGIN = 1.06
FOLDS = 5
MOST_POINTS = 10_000


def key(point: Mapping[str, Any]) -> str:
    """A setting as text, whatever the order of its params."""
    return json.dumps(dict(point), sort_keys=True)


@final
class Landscape:
    """The true means of all settings, from a file: of mistakes as `value`, of dollars per row as `cost`."""

    def __init__(self, path: Path = FILE) -> None:
        head, *lines = map(json.loads, path.read_text().splitlines())
        self.points: list[dict[str, Any]] = head["points"]
        self.cells = [line["value"] for line in lines]
        keys = [key(point) for point in self.points]
        self.value = dict(zip(keys, map(fmean, zip(*self.cells, strict=True)), strict=True))
        self.cost = dict(zip(keys, map(fmean, zip(*(x["cost"] for x in lines), strict=True)), strict=True))
        self.start = keys[0]
        self.allowed = [name for name in keys if self.cost[name] <= self.cost[self.start]]
        self.best = self._best([keys.index(name) for name in self.allowed])

    def _best(self, allowed: list[int]) -> float:
        """The mean of the best allowed setting: chosen by four fifths of the cells and judged by the others,
        each fifth in turn, for the least of many noisy means is less than the mean of any."""
        cells = random.Random(0).sample(self.cells, len(self.cells))
        judged = []
        for fold in range(FOLDS):
            apart, rest = cells[fold::FOLDS], [c for i, c in enumerate(cells) if i % FOLDS != fold]
            chosen = min(allowed, key=lambda place: fmean(cell[place] for cell in rest))
            judged += [cell[chosen] for cell in apart]
        return fmean(judged)

    def regret(self, point: Point) -> float | None:
        """How far a setting is from the best, as a share of the way there from the untuned program; below 0
        where the best is no better. None for a setting beyond the bound on the cost."""
        if (name := key(point)) not in self.allowed:
            return None
        return (self.value[name] - self.best) / (self.value[self.start] - self.best)


async def measure(plan: StudyPlan, seed: int, number: int, points: list[Point]) -> list[Measured]:
    """A row of the data at these settings, with samples of its own."""
    options = Options(
        seed=seed,
        cache=MemoryCache(),
        batching=plan.batching,
        level=2 if plan.early_stop else 1,
        prefer="cost",
    )
    async with Session(plan.program, options) as session:
        runner, rows = PointRunner(plan, space_of(plan), session), plan.read_rows([number]).rows
        return [(await runner.rows(point, rows))[0] for point in points]


def affordable(plan: StudyPlan) -> list[Point]:
    """The settings to measure, the untuned program's first."""
    points = space_of(plan).points(MOST_POINTS) or []
    costs = [0.0] * len(points)
    for number in range(1, FIRST_ROWS + 1):
        found = run_to_end(measure(plan, FIRST_SEED, number, points), virtual=True)
        costs = [cost + (one.usd or 0.0) for cost, one in zip(costs, found, strict=True)]
    return [point for point, cost in zip(points, costs, strict=True) if cost <= MARGIN * costs[0]]


def measured(study: str, out: Path, seed: int, row: int) -> Found:
    """Mistakes and dollars of all settings on a row."""
    plan, (head, *_) = read_plan(study), out.read_text().splitlines()
    found = run_to_end(measure(plan, seed, row, json.loads(head)["points"]), virtual=True)
    value = [int(one.objectives[0] or 0) for one in found]
    return {"value": value, "cost": [round(one.usd or 0.0, 7) for one in found]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("study", nargs="?", default=str(ROOT / "studies" / "sort128.got"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="rows at a time")
    parser.add_argument("--out", type=Path, default=FILE)
    given = parser.parse_args()
    plan = read_plan(given.study)
    if not given.out.exists():
        given.out.write_text(json.dumps({"points": affordable(plan)}) + "\n")
    rows = sorted(row.number for row in plan.read_rows().rows)
    seeds = range(FIRST_SEED, FIRST_SEED + given.seeds)
    wanted = [{"seed": seed, "row": row} for seed in seeds for row in rows]
    resumed(given.out, wanted, partial(measured, given.study, given.out), given.jobs)
    land = Landscape(given.out)
    print(f"{len(land.points)} settings, {len(land.allowed)} allowed, {len(land.cells)} rows of each")
    print(f"untuned {land.value[land.start]:.2f}, the best {land.best:.2f}")
    for name in sorted(land.allowed, key=lambda name: land.value[name])[:10]:
        print(f"  {land.value[name]:.2f}  ${land.cost[name]:.4f}  {name}")
