"""Makes the texts that keywords.got is tried on: `python programs/data/make_countries.py`.

50 travel stories of 14 to 20 sentences that name countries again and again, in the columns of the published
set (ID, Text, Countries, Sentences, Characters). The seed is fixed, so the same file comes out every time.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from countries import COUNTRIES, mentions

ROWS = 50
FORMS = (
    "On the train from {a} to {b} she read a book about {c}.",
    "He had grown up in {a}, and he still compared every street with those of {a}.",
    "The cook in {a} swore that his soup came from {b}, not from {a}.",
    "Nobody at the table had been to {a}, though two of them were born in {b}.",
    "Letters from {a} took a week, letters from {b} took two, and those from {c} never came.",
    "In {a} it rained, in {b} it snowed, and in {c} the sun shone all day.",
    "They crossed {a} by bus and {b} by bicycle.",
    "The museum lent its oldest map of {a} to a school in {b}.",
    "A friend from {a} had taught her the songs of {b}.",
    "After the tea of {a} and the coffee of {b}, plain water was a relief.",
    "That winter the markets of {a}, {b} and {c} smelt of oranges.",
    "The guide spoke of nothing but the mountains and the rivers.",
)


def story(chance: random.Random) -> str:
    """One text. A few countries come up often, as in a story about a journey."""
    known = chance.sample(COUNTRIES, 12)
    sentences = []
    for _ in range(chance.randint(14, 20)):
        a, b, c = chance.sample(known, 3)
        sentences.append(chance.choice(FORMS).format(a=a, b=b, c=c))
    return " ".join(sentences)


def rows() -> list[tuple[int, str, str, int, int]]:
    """Number, text, each mention of a country in order, sentences, characters."""
    out = []
    for number in range(ROWS):
        text = story(random.Random(f"countries {number}"))
        named = [name for name, count in mentions(text).items() for _ in range(count)]
        out.append((number, text, "[" + ", ".join(named) + "]", text.count("."), len(text)))
    return out


def main() -> None:
    """Write the file beside this script."""
    with Path(__file__).with_name("countries.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("ID", "Text", "Countries", "Sentences", "Characters"))
        writer.writerows(rows())


if __name__ == "__main__":
    main()
