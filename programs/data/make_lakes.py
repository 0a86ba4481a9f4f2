"""Makes the frozen lakes of egot_lake.got: `python programs/data/make_lakes.py`.

40 lakes of 5 by 5 tiles that can be crossed, 20 with 8 holes and 20 with 10, each with a shortest route.
The seed is fixed, so the same file comes out every time.
"""

from __future__ import annotations

import csv
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from lake_tools import lake, shortest

SIZE, EACH, HOLES = 5, 20, (8, 10)


def rows() -> list[tuple[int, str, str]]:
    """Number, rows of the lake, a shortest route."""
    chance = random.Random("lakes")
    lakes = [lake(chance, SIZE, holes) for holes in HOLES for _ in range(EACH)]
    return [(number, json.dumps(tiles), json.dumps(shortest(tiles))) for number, tiles in enumerate(lakes)]


def main() -> None:
    """Write the file beside this script."""
    with Path(__file__).with_name("lakes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("ID", "Lake", "Route"))
        writer.writerows(rows())


if __name__ == "__main__":
    main()
