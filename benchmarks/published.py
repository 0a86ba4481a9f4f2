"""Graph of thoughts on the published files of digits: as it is, and with the merges of version 0.1.0.

    python benchmarks/published.py FOLDER [--rows 100] [--seeds 5]

FOLDER holds sorting_032.csv, sorting_064.csv and sorting_128.csv of Graph of Thoughts. Merges are scored and
repaired against the unsorted parts; in 0.1.0 they were against their two sorted halves. Both graphs make the
paper's calls. Counted are the mistakes of the result against the input; a row's are the mean over the seeds
from 0 on, and the difference, paired by row, has its 95% CI.
"""

from __future__ import annotations

import argparse
from functools import cache
from itertools import pairwise
from pathlib import Path
from shutil import copy
from statistics import fmean
from tempfile import mkdtemp

from gotlang.api import Options, Program, load
from gotlang.statistics import Interval, difference_interval

ROOT = Path(__file__).parents[1]
CALLS = {32: 31, 64: 71, 128: 151}
"""The paper's calls for each number of digits."""
OLD = """
scheme merge_parts(numbers: list[int], repairs: int, last_repairs: int) -> list[int]:
    Generate(k=1) split(numbers, max(1, len(numbers) // 16))
    foreach part:
        Generate(k=sort_tries) sort(part)
        Score() mistakes(it, part)
        KeepBestN(1)
    reduce left, right as step:
        Aggregate(merge_tries) merge(left, right)
        Score() mistakes(it, left + right)
        KeepBestN(1)
        Improve(k=last_repairs if step.last else repairs, keep=true) repair(left + right, it)
        Score() mistakes(it, left + right)
        KeepBestN(1)

scheme got(numbers: list[int]) -> list[int]:
    merge_parts(numbers, repair_tries, final_tries)
    GroundTruth() it == sorted(numbers)
"""


@cache
def program(old: bool) -> Program:
    """programs/sorting.got, or what its graph was in 0.1.0."""
    folder = Path(mkdtemp())
    text = (ROOT / "programs" / "sorting.got").read_text(encoding="utf-8")
    if old:
        text = text[: text.index("scheme ")] + OLD
    (folder / "sorting.got").write_text(text, encoding="utf-8")
    for name in ("sorting_sim.py", "readers.py"):
        copy(ROOT / "programs" / name, folder)
    return load(folder / "sorting.got")


def mistakes(found: list[int], numbers: list[int]) -> int:
    """Descents, and the differences in the counts of the digits."""
    return sum(a > b for a, b in pairwise(found)) + sum(
        abs(found.count(digit) - numbers.count(digit)) for digit in range(10)
    )


def run(path: Path, rows: int, seeds: int, old: bool = False) -> list[float]:
    """Mistakes of the results against the inputs, row by row, each the mean over the seeds."""

    def mistaken(seed: int) -> list[int]:
        options = Options(model="simulated", cache=None, python=True, level=1, seed=seed)
        found = program(old).evaluate(path, scheme="got", limit=rows, options=options)
        return [mistakes(run.value, run.row.inputs["numbers"]) for run in found.runs]

    return [fmean(row) for row in zip(*map(mistaken, range(seeds)), strict=True)]


def difference(now: list[float], before: list[float]) -> Interval:
    """Mistakes now less those of 0.1.0, paired by row."""
    return difference_interval(now, before)


def measure(folder: Path, size: int, rows: int = 100, seeds: int = 5) -> tuple[str, Interval]:
    """A row of the table in docs/schemes/graph_of_thoughts.md, and the difference."""
    path = folder / f"sorting_{size:03}.csv"
    now, before = (run(path, rows, seeds, old) for old in (False, True))
    by = difference(now, before)
    cells = f"{fmean(now):.2f} | {fmean(before):.2f} | {by.mean:+.2f} ({by.low:+.2f} to {by.high:+.2f})"
    return f"| {size} | {CALLS[size]} | {cells} |", by


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=5)
    chosen = parser.parse_args()
    print("| digits | calls | now | 0.1.0 | difference (95% CI) |")
    for size in CALLS:
        print(measure(chosen.folder, size, chosen.rows, chosen.seeds)[0], flush=True)
