"""Makes the stories that several programs are tried on: `python programs/data/make_stories.py`.

`stories.csv` has 50 stories of three to seven changes with their answers; `solved_stories.jsonl` has 30 other
ones of one to four changes with their calculations. The seeds are fixed, so the same files come out every
time.
"""

from __future__ import annotations

import csv
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from stories import read, story

ROWS = 50
SOLVED = 30


def rows() -> list[tuple[int, str, int]]:
    """Number, story, answer."""
    return [(number, *story(random.Random(f"story {number}"), 3 + number % 5)) for number in range(ROWS)]


def solved() -> list[dict[str, str]]:
    """Other stories, each with its solution."""
    found = []
    for number in range(SOLVED):
        text, answer = story(random.Random(f"solved {number}"), 1 + number % 4)
        now, lines = read(text).start, []
        for change in read(text).changes:
            lines.append(change.written(now, change.apply(now)))
            now = change.apply(now)
        found.append({"text": f"{text}\n{chr(10).join(lines)}\nThe answer is {answer}."})
    return found


def main() -> None:
    """Write the files beside this script."""
    with Path(__file__).with_name("stories.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("ID", "Story", "Answer"))
        writer.writerows(rows())
    lines = "".join(json.dumps(entry) + "\n" for entry in solved())
    Path(__file__).with_name("solved_stories.jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
