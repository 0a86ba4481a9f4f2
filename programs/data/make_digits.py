"""Makes the lists of digits that the sorting programs are tried on: `python programs/data/make_digits.py`.

Each file holds 100 random lists of 32, 64 or 128 digits in the columns of the published sorting sets (ID,
Unsorted, Sorted). The seed is fixed, so the same files come out every time.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

LENGTHS = (32, 64, 128)
ROWS = 100


def rows(length: int) -> list[tuple[int, str, str]]:
    """100 lists of a length: number, digits, sorted digits."""
    chance = random.Random(f"digits {length}")
    lists = [[chance.randrange(10) for _ in range(length)] for _ in range(ROWS)]
    return [(number, str(digits), str(sorted(digits))) for number, digits in enumerate(lists)]


def main() -> None:
    """Write the files beside this script."""
    for length in LENGTHS:
        path = Path(__file__).with_name(f"digits{length}.csv")
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("ID", "Unsorted", "Sorted"))
            writer.writerows(rows(length))


if __name__ == "__main__":
    main()
