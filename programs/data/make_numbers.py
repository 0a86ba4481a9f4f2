"""Makes the lists that egot.got is tried on: `python programs/data/make_numbers.py`.

50 lists of 256 random numbers from 1 to 1500, in the columns of the published sorting sets (ID, Unsorted,
Sorted). The seed is fixed, so the same file comes out every time.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

LENGTH, HIGHEST, ROWS = 256, 1500, 50


def rows() -> list[tuple[int, str, str]]:
    """Number, numbers, sorted numbers."""
    chance = random.Random("numbers")
    lists = [[chance.randint(1, HIGHEST) for _ in range(LENGTH)] for _ in range(ROWS)]
    return [(number, str(numbers), str(sorted(numbers))) for number, numbers in enumerate(lists)]


def main() -> None:
    """Write the file beside this script."""
    with Path(__file__).with_name("numbers256.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("ID", "Unsorted", "Sorted"))
        writer.writerows(rows())


if __name__ == "__main__":
    main()
