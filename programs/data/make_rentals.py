"""Makes the table of queries.got and the questions about it: `python programs/data/make_rentals.py`.

60 rentals of bicycles, and 30 questions with a condition or two. The answers are calculated here, and not by
query_tools.py. The seed is fixed, so the same files come out every time.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

TOWNS, KINDS = ("Tarn", "Weller", "Osby"), ("city", "cargo", "electric")
RATES = {"city": 9, "cargo": 15, "electric": 24}


def rentals() -> list[tuple[str, str, int, int]]:
    """Town, kind, days, price."""
    chance = random.Random("rentals")
    drawn = [(chance.choice(TOWNS), chance.choice(KINDS), chance.randint(1, 14)) for _ in range(60)]
    return [(town, kind, days, days * RATES[kind]) for town, kind, days in drawn]


def rows() -> list[tuple[str, int]]:
    """Question, answer."""
    chance, made = random.Random("questions about rentals"), []
    for number in range(30):
        town, kind, limit = chance.choice(TOWNS), chance.choice(KINDS), chance.randint(3, 9)
        fits, words = [row for row in rentals() if row[1] == kind], f"{kind} bicycles"
        if chance.random() < 0.7:
            fits, words = [row for row in fits if row[0] == town], f"{words} in {town}"
        if chance.random() < 0.5:
            longer = chance.random() < 0.5
            fits = [row for row in fits if (row[2] > limit if longer else row[2] < limit)]
            words = f"{words} for {'more' if longer else 'less'} than {limit} days"
        kinds = (
            (f"How many rentals were there of {words}?", len(fits)),
            (f"How many dollars came from rentals of {words}?", sum(row[3] for row in fits)),
            (
                f"How many days was the longest of the rentals of {words}?",
                max((r[2] for r in fits), default=0),
            ),
        )
        made.append(kinds[number % 3])
    return made


def main() -> None:
    """Write the files beside this script."""
    tables = {
        "rentals.csv": (("Town", "Kind", "Days", "Price"), rentals()),
        "rental_questions.csv": (("Question", "Answer"), rows()),
    }
    for name, (header, lines) in tables.items():
        with Path(__file__).with_name(name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(lines)


if __name__ == "__main__":
    main()
