"""Makes the questions of stock.got from the list of things in stock: `python programs/data/make_stock.py`.

30 questions about a sum to pay, a number in stock, or a difference of two. The seed is fixed, so the same
file comes out every time.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

STOCK = Path(__file__).with_name("stock.csv")


def rows() -> list[tuple[str, int]]:
    """Question, answer."""
    chance = random.Random("stock")
    with STOCK.open(newline="", encoding="utf-8") as file:
        stock = list(csv.DictReader(file))
    made = []
    for number in range(30):
        one, other = sorted(chance.sample(stock, 2), key=lambda thing: -int(thing["Count"]))
        wanted = chance.randint(2, 9)
        name, less = f"{one['Thing']}s", f"{other['Thing']}s"
        count, fewer = int(one["Count"]), int(other["Count"])
        kinds = (
            (f"What do {wanted} {name} cost?", wanted * int(one["Price"])),
            (f"How many {name} are in stock?", count),
            (f"How many more {name} than {less} are in stock?", count - fewer),
        )
        made.append(kinds[number % 3])
    return made


def main() -> None:
    """Write the file beside this script."""
    with Path(__file__).with_name("stock_questions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("Question", "Answer"))
        writer.writerows(rows())


if __name__ == "__main__":
    main()
