"""Makes the pages and questions about a made-up country: `python programs/data/make_towns.py`.

`towns.jsonl` has a page for each of its towns, rivers, people and bands, to look things up in; `towns.csv`
has 40 questions of several hops with their answers. The seed is fixed, so the same files come out every
time.
"""

from __future__ import annotations

import csv
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from towns import pages, questions

ROWS = 40


def rows() -> list[tuple[int, str, str]]:
    """Number, question, answer."""
    return [(number, *pair) for number, pair in enumerate(questions(random.Random("questions"), ROWS))]


def main() -> None:
    """Write the files beside this script."""
    with Path(__file__).with_name("towns.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("ID", "Question", "Answer"))
        writer.writerows(rows())
    lines = "".join(json.dumps(page) + "\n" for page in pages())
    Path(__file__).with_name("towns.jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
