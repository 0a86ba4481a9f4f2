"""Makes the pairs of sets that sets.got is tried on: `python programs/data/make_sets.py`.

Each file holds 50 pairs of random sets of 32, 64 or 128 numbers, of which 25% to 75% are in both, in the
columns of the published sets (ID, SET1, SET2, INTERSECTION). The seed is fixed, so the same files come out
every time.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

SIZES = (32, 64, 128)
ROWS = 50


def rows(size: int) -> list[tuple[int, str, str, str]]:
    """50 pairs of a size: number, first set, second set, the numbers in both in the order of the first."""
    chance = random.Random(f"sets {size}")
    out = []
    for number in range(ROWS):
        shared = chance.randint(size // 4, 3 * size // 4)
        drawn = chance.sample(range(2 * size), 2 * size - shared)
        first, second = drawn[:size], drawn[size - shared :]
        chance.shuffle(second)
        both = [n for n in first if n in set(second)]
        out.append((number, str(first), str(second), str(both)))
    return out


def main() -> None:
    """Write the files beside this script."""
    for size in SIZES:
        path = Path(__file__).with_name(f"sets{size}.csv")
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("ID", "SET1", "SET2", "INTERSECTION"))
            writer.writerows(rows(size))


if __name__ == "__main__":
    main()
