"""Makes the commands of dynamic_least_to_most.got: `python programs/data/make_commands.py`.

`commands.csv` has 30 commands of two to four clauses with their moves; `commands.jsonl` has 60 solved
examples of one to three clauses, with their parses. The seed is fixed, so the same files come out every time.
"""

from __future__ import annotations

import csv
import json
import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from commands import VERBS, command, moves, shape

ROWS = 30
EXAMPLES = 60


def rows() -> list[tuple[int, str, str]]:
    """Number, command, moves."""
    chance = random.Random("commands")
    commands = [command(chance, 2 + number % 3) for number in range(ROWS)]
    return [(number, text, json.dumps(moves(text))) for number, text in enumerate(commands)]


def examples() -> list[dict[str, object]]:
    """Solved commands with their parses, each verb alone first."""
    chance = random.Random("solved")
    texts = [*VERBS, *(command(chance, 1 + number % 3) for number in range(EXAMPLES - len(VERBS)))]
    return [
        {
            "text": f"{text} = {json.dumps(moves(text))}",
            "shape": shape(text, clauses),
            "phrases": [" ".join(one.split()[: n + 1]) for one in clauses for n in range(len(one.split()))],
        }
        for text in texts
        for clauses in [re.split(" and | after ", text)]
    ]


def main() -> None:
    """Write the files beside this script."""
    with Path(__file__).with_name("commands.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("ID", "Command", "Moves"))
        writer.writerows(rows())
    lines = "".join(json.dumps(entry) + "\n" for entry in examples())
    Path(__file__).with_name("commands.jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
