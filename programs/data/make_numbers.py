"""Makes the lists that egot.got is tried on: `python programs/data/make_numbers.py`.

50 lists of 128 random numbers from 1 to 1000 and 50 of 256 from 1 to 1500, in the columns of the published
sorting sets (ID, Unsorted, Sorted). The seeds are fixed, so the same files come out every time.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

HIGHEST, ROWS = {128: 1000, 256: 1500}, 50
SEEDS = {128: "numbers128", 256: "numbers"}


def rows(length: int = 256) -> list[tuple[int, str, str]]:
    """Number, numbers, sorted numbers."""
    chance = random.Random(SEEDS[length])
    lists = [[chance.randint(1, HIGHEST[length]) for _ in range(length)] for _ in range(ROWS)]
    return [(number, str(numbers), str(sorted(numbers))) for number, numbers in enumerate(lists)]


def main() -> None:
    """Write the files beside this script."""
    for length in HIGHEST:
        path = Path(__file__).with_name(f"numbers{length}.csv")
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("ID", "Unsorted", "Sorted"))
            writer.writerows(rows(length))


if __name__ == "__main__":
    main()
