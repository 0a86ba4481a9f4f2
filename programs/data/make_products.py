"""Makes the problems of s1.got: `python programs/data/make_products.py`.

100 questions for a product and a sum of two-digit numbers. The seed is fixed, so the same file comes out
every time.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path


def rows() -> list[tuple[int, str, int]]:
    """Number, question, answer."""
    chance = random.Random("products")
    drawn = [[chance.randint(11, 99) for _ in range(3)] for _ in range(100)]
    return [(number, f"What is {a} * {b} + {c}?", a * b + c) for number, (a, b, c) in enumerate(drawn)]


def main() -> None:
    """Write the file beside this script."""
    with Path(__file__).with_name("products.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("ID", "Question", "Answer"))
        writer.writerows(rows())


if __name__ == "__main__":
    main()
