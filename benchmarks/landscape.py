"""Quality of every allowed setting of a study on the simulated model.

    python benchmarks/landscape.py studies/sort128.got --seeds 3

Each setting within the study's cost bound runs on all rows of the data, train and test, with seeds that
`benchmarks/tuning.py` does not use. Settings larger than one that is far beyond the bound are skipped. Each
setting appends a line to `--out`, so that the benchmark can be interrupted and continued.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any, final

from measurement import RESULTS

from gotlang.api import Options, Session, run_to_end
from gotlang.cache.memory import MemoryCache
from gotlang.tune.plan import StudyPlan, read_plan
from gotlang.tune.points import PointRunner, excess
from gotlang.tune.space import Point, space_of
from gotlang.tune.study import split

FIRST_SEED = 101
SURELY = 0.05
"""How far a mean must be beyond the bound, as a share of it, before larger settings are skipped."""


@final
class Landscape:
    """The means of all settings, from the lines of a file."""

    def __init__(self, lines: Iterable[dict[str, Any]]) -> None:
        by_point: dict[str, list[dict[str, Any]]] = {}
        for line in lines:
            by_point.setdefault(json.dumps(line["point"], sort_keys=True), []).append(line)
        # Not all settings have run with all seeds: what is averaged is the difference from the original.
        originals = {x["seed"]: x["value"] for some in by_point.values() for x in some if x["original"]}
        middle = fmean(originals.values())
        self.value = {
            key: middle + fmean(x["value"] - originals[x["seed"]] for x in some)
            for key, some in by_point.items()
        }
        self.allowed = {key for key, some in by_point.items() if fmean(x["excess"] for x in some) <= 0}
        self.original = next(key for key, some in by_point.items() if some[0]["original"])
        # The minimum of many noisy means is biased: the mean of the five least is a better estimate.
        self.best = fmean(sorted(self.value[key] for key in self.allowed)[:5])
        half = (self.best + self.value[self.original]) / 2
        self.region = {key for key in self.allowed if self.value[key] <= half}
        """Settings with at least half of the best allowed improvement over the original."""

    @classmethod
    def read(cls, path: Path) -> Landscape:
        """From a file."""
        return cls(map(json.loads, path.read_text().splitlines()))

    def holds(self, point: Point) -> bool:
        """Whether a setting is in the best region."""
        return json.dumps(dict(point), sort_keys=True) in self.region

    def worth(self, point: Point) -> float | None:
        """The mean of a setting; None if it was skipped."""
        return self.value.get(json.dumps(dict(point), sort_keys=True))


def measure(plan: StudyPlan, seed: int, out: Path) -> None:
    """Run all settings with one seed that are not in the file yet."""
    parts = split(plan)
    rows = plan.read_rows(parts.train + parts.test).rows
    space = space_of(plan)
    names = list(space.grid())
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    known = {json.dumps(x["point"], sort_keys=True): x for x in lines if x["seed"] == seed}
    (constraint,) = plan.constraints
    baseline = 0.0

    async def run(points: list[dict[str, Any]]) -> None:
        nonlocal baseline
        options = Options(seed=seed, cache=MemoryCache(), batching=plan.batching, early_stop=plan.early_stop)
        async with Session(plan.program, options) as session:
            evaluation = PointRunner(plan, space, session)
            for point in points:
                key = json.dumps(point, sort_keys=True)
                if key not in known:
                    if any(_larger(point, x) for x in known.values()):
                        continue
                    started = time.monotonic()
                    measured = await evaluation.rows(point, rows)
                    cost = fmean(m.quantities[0] or 0.0 for m in measured)
                    line = {
                        "seed": seed,
                        "point": point,
                        "value": fmean(m.objectives[0] or 0.0 for m in measured),
                        "cost": cost,
                        "excess": excess(constraint, cost, baseline or cost),
                        "original": point == space.start,
                        "seconds": round(time.monotonic() - started, 1),
                    }
                    with out.open("a") as file:
                        file.write(json.dumps(line) + "\n")
                    known[key] = line
                if point == space.start:
                    baseline = known[key]["cost"]

    def _larger(point: dict[str, Any], other: dict[str, Any]) -> bool:
        return other["excess"] > SURELY * baseline and all(point[n] >= other["point"][n] for n in names)

    run_to_end(run([dict(space.start)]), virtual=True)
    # Settings that differ in the last dimension only share most samples; one cache for all is too large.
    for most in itertools.product(*list(space.grid().values())[:-1]):
        last = space.grid()[names[-1]]
        run_to_end(run([dict(zip(names, (*most, value), strict=True)) for value in last]), virtual=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", nargs="?", default="studies/sort128.got")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS / "landscape.jsonl")
    given = parser.parse_args()
    for seed in range(FIRST_SEED, FIRST_SEED + given.seeds):
        measure(read_plan(given.study), seed, given.out)
    found = Landscape.read(given.out)
    print(f"{len(found.allowed)} settings allowed, {len(found.region)} in the best region")
    for key in sorted(found.region, key=lambda key: found.value[key]):
        print(f"  {found.value[key]:.2f}  {key}")
    print(f"the best {found.best:.2f}, the original {found.value[found.original]:.2f}")


if __name__ == "__main__":
    main()
