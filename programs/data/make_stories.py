"""Makes the stories that several programs are tried on: `python programs/data/make_stories.py`.

50 stories of three to seven changes with their answers. The seed is fixed, so the same file comes out every
time.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from stories import story

ROWS = 50


def rows() -> list[tuple[int, str, int]]:
    """Number, story, answer."""
    return [(number, *story(random.Random(f"story {number}"), 3 + number % 5)) for number in range(ROWS)]


def main() -> None:
    """Write the file beside this script."""
    with Path(__file__).with_name("stories.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("ID", "Story", "Answer"))
        writer.writerows(rows())


if __name__ == "__main__":
    main()
