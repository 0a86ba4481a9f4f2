"""Makes the games that game24.got is tried on: `python programs/data/make_game24.py`.

All 1,362 sets of four numbers from 1 to 13 that can be made into 24, those first that can be in most
ways. The file of Tree of Thoughts has the same games in the order of how long people take for them.
"""

from __future__ import annotations

import csv
import sys
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from game24_tools import moves, steps_to_24

HIGHEST = 13


def rows() -> list[tuple[int, str]]:
    """Rank from 1, and the numbers as the game writes them: `1 1 4 6`."""
    games = [
        numbers
        for numbers in combinations_with_replacement(range(1, HIGHEST + 1), 4)
        if steps_to_24(tuple(map(Fraction, numbers))) is not None
    ]
    games.sort(key=lambda numbers: (-ways(tuple(map(Fraction, numbers))), numbers))
    return [(rank, " ".join(map(str, numbers))) for rank, numbers in enumerate(games, 1)]


@cache
def ways(numbers: tuple[Fraction, ...]) -> int:
    """In how many ways steps make 24 of some numbers."""
    return sum(ways(left) for _, left in moves(numbers)) if len(numbers) > 1 else int(numbers[0] == 24)


def main() -> None:
    """Write the file beside this script."""
    with Path(__file__).with_name("game24.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("Rank", "Puzzles"))
        writer.writerows(rows())


if __name__ == "__main__":
    main()
