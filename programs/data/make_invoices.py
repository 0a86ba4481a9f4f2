"""Makes the invoices of invoices.got: `python programs/data/make_invoices.py`.

12 pictures of a number, one to four lines of a count and a price, and the total. The seed is fixed, so the
same files come out every time.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from pictures import draw

HERE = Path(__file__).parent


def invoices() -> list[tuple[int, list[tuple[int, int]]]]:
    """The number of each, and its counts and prices."""
    chance = random.Random("invoices")
    return [
        (
            1000 + chance.randrange(9000),
            [(chance.randint(1, 9), chance.randint(2, 80)) for _ in range(1 + n % 4)],
        )
        for n in range(12)
    ]


def rows() -> list[tuple[str, int, int]]:
    """The picture, the number and the total of each."""
    found = enumerate(invoices())
    return [
        (f"invoices/invoice{n}.png", number, sum(count * price for count, price in items))
        for n, (number, items) in found
    ]


def main() -> None:
    """Write the file and the pictures beside this script."""
    (HERE / "invoices").mkdir(exist_ok=True)
    for (path, number, total), (_, items) in zip(rows(), invoices(), strict=True):
        lines = [f"# {number}", "", *(f"{count} x {price}" for count, price in items), "", f"= {total}"]
        (HERE / path).write_bytes(draw(lines))
    with (HERE / "invoices.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("invoice", "number", "total"))
        writer.writerows(rows())


if __name__ == "__main__":
    main()
