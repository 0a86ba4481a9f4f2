"""The simulators of sorting against the papers: mean and median mistakes of each scheme.

    python benchmarks/calibration.py [lists]

The schemes are written in plain Python, without the language and its runtime, so that the rates in
programs/sorting_sim.py can be fitted and checked independently.
"""

from __future__ import annotations

import importlib.util
import json
import random
import statistics
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType

Digits = list[int]
Scheme = Callable[[random.Random, Digits], Digits]


def load_simulators() -> ModuleType:
    """programs/sorting_sim.py, which is in no package, as a module."""
    path = Path(__file__).parents[1] / "programs" / "sorting_sim.py"
    spec = importlib.util.spec_from_file_location("sorting_sim", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SIMULATORS = load_simulators()


def mistakes(attempt: Digits, numbers: Digits) -> int:
    """Descents and differences of the digits' counts: the score of sort128.got."""
    descents = sum(a > b for a, b in pairwise(attempt))
    found, wanted = Counter(attempt), Counter(numbers)
    return descents + sum(abs(found[d] - wanted[d]) for d in found.keys() | wanted.keys())


def read(text: str) -> Digits:
    """The last list in an answer."""
    answer: Digits = json.loads(text[text.rindex("[") : text.rindex("]") + 1])
    return answer


def best(answers: list[Digits], numbers: Digits) -> Digits:
    """KeepBestN(1); ties keep the earlier one."""
    return min(answers, key=lambda answer: mistakes(answer, numbers))


def improved(rng: random.Random, k: int, numbers: Digits, attempt: Digits, keep: bool = True) -> Digits:
    """Improve(k, keep=...) repair, Score, KeepBestN(1); a perfect attempt that is kept is left alone."""
    if keep and not mistakes(attempt, numbers):
        return attempt
    new = [read(SIMULATORS.repair(rng, numbers, attempt)) for _ in range(k)]
    return best([attempt, *new] if keep else new, numbers)


def io(rng: random.Random, numbers: Digits) -> Digits:
    return read(SIMULATORS.sort(rng, numbers))


def cot(rng: random.Random, numbers: Digits) -> Digits:
    return read(SIMULATORS.sort_in_steps(rng, numbers))


def tree(branches: int, levels: int, keep: bool = True) -> Scheme:
    """Tree of thoughts; the first level sorts, the others repair. `keep`: a level keeps what it repairs."""

    def scheme(rng: random.Random, numbers: Digits) -> Digits:
        it = best([io(rng, numbers) for _ in range(branches)], numbers)
        for _ in range(levels - 1):
            it = improved(rng, branches, numbers, it, keep)
        return it

    return scheme


def graph(sorts: int, merges: int, repairs: int = 0, final: int = 0, rounds: int | None = None) -> Scheme:
    """Graph of thoughts; `repairs` after a merge, `final` after the last one, against the unsorted parts.

    With `rounds` as in Framework of Thoughts: merges scored against their halves, then single repairs.
    """

    def scheme(rng: random.Random, numbers: Digits) -> Digits:
        lists = json.loads(SIMULATORS.split(rng, numbers, max(1, len(numbers) // 16)))
        level = [(part, best([io(rng, part) for _ in range(sorts)], part)) for part in lists.values()]
        while len(level) > 1:
            level = [
                merged(rng, level[i], level[i + 1], len(level) == 2) if i + 1 < len(level) else level[i]
                for i in range(0, len(level), 2)
            ]
        it = level[0][1]
        for _ in range(rounds or 0):
            it = improved(rng, 1, numbers, it)
        return it

    def merged(
        rng: random.Random, left: tuple[Digits, Digits], right: tuple[Digits, Digits], last: bool
    ) -> tuple[Digits, Digits]:
        source = left[0] + right[0]
        wanted = source if rounds is None else left[1] + right[1]
        it = best([read(SIMULATORS.merge(rng, left[1], right[1])) for _ in range(merges)], wanted)
        return source, improved(rng, final if last else repairs, wanted, it)

    return scheme


CASES: list[tuple[int, str, Scheme, str]] = [
    (32, "io", io, ""),
    (32, "cot", cot, ""),
    (32, "tot  k=20 L=2", tree(20, 2), ""),
    (32, "tot2 k=10 L=3", tree(10, 3), "graph negligibly better"),
    (32, "got  Listing 5", graph(5, 10, 5, 10), ""),
    (64, "io", io, "median: graph 83% lower"),
    (64, "cot", cot, "median: graph 65% lower"),
    (64, "tot  k=20 L=4", tree(20, 4), ""),
    (64, "tot2 k=10 L=7", tree(10, 7), "median: graph 61% lower"),
    (64, "got  Listing 6", graph(5, 10, 5, 10), ""),
    (128, "io", io, ""),
    (128, "cot", cot, ""),
    (128, "tot  k=20 L=4", tree(20, 4), "median: graph 62% lower"),
    (128, "tot2 k=10 L=10", tree(10, 10), "median: graph 69% lower"),
    (128, "got  Listing 7", graph(5, 10, 5, 10), ""),
    (128, "tot  20 branches, 4 improvements", tree(20, 5, keep=False), "18.4"),
    (128, "tot  14 branches, 6 improvements", tree(14, 7, keep=False), "18.2"),
    (128, "got  5 sorts, 10 merges, 1 round", graph(5, 10, rounds=1), "12.7"),
    (128, "got  2 sorts, 13 merges, 2 rounds", graph(2, 13, rounds=2), "12.1"),
    (128, "got  1 sort, 14 merges, 3 rounds", graph(1, 14, rounds=3), ""),
    (128, "got  10 sorts, 5 merges, 1 round", graph(10, 5, rounds=1), ""),
]


def measure(length: int, scheme: Scheme, lists: int, seed: int = 0) -> list[int]:
    """Mistakes of a scheme on so many random lists, each at most the length, as the papers clip them."""
    rng = random.Random(seed)
    counts = []
    for _ in range(lists):
        numbers = [rng.randrange(10) for _ in range(length)]
        counts.append(min(length, mistakes(scheme(rng, numbers), numbers)))
    return counts


if __name__ == "__main__":
    lists = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    medians: dict[int, float] = {}
    rows = []
    for length, name, scheme, published in CASES:
        counts = measure(length, scheme, lists)
        rows.append((length, name, statistics.fmean(counts), statistics.median(counts), published))
        if "Listing" in name:
            medians[length] = statistics.median(counts)
    print(f"{lists} random lists per row; in the last column medians relative to the graph")
    print(f"{'digits':>6}  {'scheme':<34}{'mean':>7}{'median':>8}  {'graph lower by':<15} published")
    for length, name, mean, median, published in rows:
        lower = f"{1 - medians[length] / median:.0%}" if median else ""
        print(f"{length:>6}  {name:<34}{mean:>7.1f}{median:>8.1f}  {lower:<15} {published}")
