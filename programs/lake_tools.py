"""The frozen lake: a grid of frozen tiles (F) and holes (H) to cross from the start (S) to the goal (G).

`lake` makes lakes that can be crossed, `shortest` crosses one, `lake_errors` counts what is wrong with a
route.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))


def lake(chance: random.Random, size: int, holes: int) -> list[str]:
    """The rows of a lake of `size` by `size` tiles with so many holes, that can be crossed."""
    places = [(row, column) for row in range(size) for column in range(size)][1:-1]
    while True:
        broken = set(chance.sample(places, holes))
        rows = ["".join("H" if (r, c) in broken else "F" for c in range(size)) for r in range(size)]
        rows[0] = "S" + rows[0][1:]
        rows[-1] = rows[-1][:-1] + "G"
        if shortest(rows):
            return rows


def shortest(rows: Sequence[str]) -> list[list[int]]:
    """A shortest route over ice: tiles as [row, column] from 0, both ends included; empty for none."""
    size = len(rows)
    goal = (size - 1, size - 1)
    came: dict[tuple[int, int], tuple[int, int] | None] = {(0, 0): None}
    queue = deque([(0, 0)])
    while queue and goal not in came:
        row, column = queue.popleft()
        for down, right in STEPS:
            tile = (row + down, column + right)
            inside = 0 <= tile[0] < size and 0 <= tile[1] < size
            if inside and tile not in came and rows[tile[0]][tile[1]] != "H":
                came[tile] = (row, column)
                queue.append(tile)
    route: list[list[int]] = []
    at: tuple[int, int] | None = goal if goal in came else None
    while at is not None:
        route.insert(0, list(at))
        at = came[at]
    return route


def lake_errors(route: Sequence[Sequence[int]], rows: Sequence[str]) -> int:
    """What is wrong with a route; 0 for a right one.

    Each tile that is a hole or off the lake counts 1, each jump by how far it goes beyond the next tile; what
    is missing at the start and at the goal counts as a jump.
    """
    size = len(rows)
    ends = [[0, 0], *[list(tile[:2]) for tile in route if len(tile) >= 2], [size - 1, size - 1]]
    errors = 0
    for before, tile in pairwise(ends):
        far = abs(tile[0] - before[0]) + abs(tile[1] - before[1])
        errors += max(0, far - 1)
    for row, column in ends[1:-1]:
        inside = 0 <= row < size and 0 <= column < size
        errors += 0 if inside and rows[row][column] != "H" else 1
    return errors
