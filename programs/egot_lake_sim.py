"""Simulators of the prompts of egot_lake.got: they cross frozen lakes as a small model does, with mistakes.

A simulator overlooks holes, fewer of those that hints name and fewer where the temperature is low, and finds
the shortest way over what it takes for ice; rating a route overlooks holes too. Only the constants at
the top set how often.
"""

from __future__ import annotations

import json
import math
import random
import re

from lake_tools import shortest

from gotlang.models.simulated import Simulated
from gotlang.models.tokens import estimate_tokens

OVERLOOKED = 0.45
"""The share of holes that are taken for ice at temperature 1."""
CALM = 0.6
"""What is left of it at temperature 0."""
HEEDED = 0.85
"""The chance that a hole is seen where a hint names it."""
MISSED = 0.25
"""The share of holes on a route that rating it overlooks."""


def methods(rng: random.Random, task: str) -> str:
    """A method and three checks."""
    checks = ["No tile of the route is a hole.", "Each step goes to the next tile.", "It ends at G."]
    return json.dumps({"method": "breadth-first search", "checks": checks})


def solve(
    rng: random.Random, lake: list[str], method: str, hints: list[str], temperature: float | None = None
) -> str:
    """A shortest route over what is not seen to be a hole."""
    warmth = 1.0 if temperature is None else min(1.0, temperature)
    share = OVERLOOKED * (CALM + (1 - CALM) * warmth)
    named = {tile for hint in hints for tile in _tiles(hint)}
    seen = [list(row) for row in lake]
    for tile in _holes(lake):
        known = tile in named and rng.random() < HEEDED
        if not known and rng.random() < share:
            seen[tile[0]][tile[1]] = "F"
    route = shortest(["".join(row) for row in seen])
    return json.dumps({"rationale": "I wrote down the holes and went round them.", "answer": route})


def rate(rng: random.Random, lake: list[str], answer: list[list[int]], checks: list[str]) -> Simulated:
    """A rating, then the holes on the route that were seen."""
    holes = [tuple(tile) for tile in answer if tuple(tile) in set(_holes(lake))]
    seen = [tile for tile in holes if rng.random() >= MISSED]
    rating = max(0, 100 - 40 * len(seen)) if answer else 0
    named = " ".join(f"({row}, {column})" for row, column in seen) or "none"
    text = f"Rating: {rating}\nRationale: holes on the route: {named}"
    probability = rng.uniform(0.8, 0.999) if not seen else rng.uniform(0.5, 0.95)
    return Simulated(text, estimate_tokens(text) * math.log(probability))


def gather(rng: random.Random, reasons: list[str]) -> str:
    """The holes that the rationales name."""
    tiles = sorted({tile for reason in reasons for tile in _tiles(reason)})
    return "Holes: " + (" ".join(f"({row}, {column})" for row, column in tiles) or "none found")


def _holes(lake: list[str]) -> list[tuple[int, int]]:
    return [(r, c) for r, row in enumerate(lake) for c, tile in enumerate(row) if tile == "H"]


def _tiles(text: str) -> list[tuple[int, int]]:
    return [(int(row), int(column)) for row, column in re.findall(r"\((\d+), (\d+)\)", text)]
