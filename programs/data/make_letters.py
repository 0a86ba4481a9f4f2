"""Makes the problems of decomposed_prompting.got: `python programs/data/make_letters.py`.

16 names whose letters are joined, 12 lists of four to eight words to reverse, 12 questions of two hops and
more about the towns. The seed is fixed, so the same file comes out every time.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from towns import questions

NAMES = (
    "Alan",
    "Barbara",
    "Claude",
    "Dorothy",
    "Edsger",
    "Frances",
    "Grace",
    "Hedy",
    "Ivan",
    "Joan",
    "Karen",
)
FAMILY = (
    "Turing",
    "Liskov",
    "Shannon",
    "Vaughan",
    "Dijkstra",
    "Allen",
    "Hopper",
    "Lamarr",
    "Sutherland",
    "Clarke",
)
WORDS = (
    "pen",
    "cup",
    "key",
    "box",
    "map",
    "lamp",
    "coin",
    "ball",
    "fork",
    "leaf",
    "ring",
    "sock",
    "book",
    "jar",
)


def rows() -> list[tuple[int, str, str, str]]:
    """Number, kind, problem, answer."""
    chance = random.Random("letters")
    found = []
    for number in range(16):
        words = [*chance.sample(NAMES, 2 + number % 3), chance.choice(FAMILY)]
        position = (-1, 0, 1, 3)[number % 4]
        which = "last letters" if position < 0 else f"letters at position {position + 1}"
        problem = f'Join the {which} of the words in "{" ".join(words)}" with a space.'
        found.append(("letters", problem, " ".join(word[position] for word in words)))
    for number in range(12):
        words = chance.sample(WORDS, 4 + number % 5)
        found.append(("reverse", f"Reverse: {', '.join(words)}", ", ".join(words[::-1])))
    asked = [(text, answer) for text, answer in questions(chance, 40) if "first" not in text]
    found += [("hops", text, answer) for text, answer in asked[:12]]
    return [(number, *one) for number, one in enumerate(found)]


def main() -> None:
    """Write the file beside this script."""
    with Path(__file__).with_name("letters.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("ID", "Kind", "Question", "Answer"))
        writer.writerows(rows())


if __name__ == "__main__":
    main()
