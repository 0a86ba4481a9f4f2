"""Simulators of the prompts of egot_lake.got and egot_lake_baselines.got: they cross frozen lakes as GPT-4o
does, with mistakes.

A simulator overlooks holes, fewer where hints name them and where the temperature is low, takes ice for a
hole where hints say so, and finds the shortest way over the rest; where it sees none it forgets the hints.
Rating a route overlooks holes and sees others that are none. Only the constants at the top set how often:
fitted, not published, to the paper's Table 4.
"""

from __future__ import annotations

import json
import math
import random
import re

from lake_tools import shortest

from gotlang.models.simulated import NotSimulated, Simulated
from gotlang.models.tokens import estimate_tokens

OVERLOOKED = 0.28
"""The share of holes that are taken for ice at temperature 1."""
CALM = 0.85
"""What is left of it at temperature 0."""
HEEDED = 0.5
"""The chance that a tile that a hint names is taken for a hole."""
CONFUSED = 0.2
"""How much more is overlooked for each rejected route that is shown."""
MISSED = 0.3
"""The share of holes on a route that rating it overlooks."""
SUSPECTED = 0.1
"""The share of tiles of ice on a route that rating it takes for holes."""


def methods(rng: random.Random, task: str) -> str:
    """A method and three checks."""
    checks = ["No tile of the route is a hole.", "Each step goes to the next tile.", "It ends at G."]
    return json.dumps({"method": "breadth-first search", "checks": checks})


def solve(
    rng: random.Random, lake: list[str], method: str, hints: list[str], temperature: float | None = None
) -> str:
    """A shortest route over what is taken for ice."""
    warmth = 1.0 if temperature is None else min(1.0, temperature)
    rejected = sum("route is wrong" in hint for hint in hints)
    share = OVERLOOKED * (CALM + (1 - CALM) * warmth) * (1 + CONFUSED * rejected)
    named = {tile for hint in hints for tile in _tiles(hint)}
    own = {tile for tile in _tiles_of(lake, "H") if rng.random() >= share}
    told = {tile for tile in _tiles_of(lake, "HF") if tile in named and rng.random() < HEEDED}
    for holes in (own | told, own, set[tuple[int, int]]()):
        if route := shortest(_lake(len(lake), holes)):
            break
    return json.dumps({"answer": route, "rationale": "I wrote down the holes and went round them."})


def rate(rng: random.Random, lake: list[str], answer: list[list[int]], checks: list[str]) -> Simulated:
    """A rating, then the tiles on the route that are taken for holes."""
    holes = set(_tiles_of(lake, "H"))
    route = [(tile[0], tile[1]) for tile in answer]
    seen = [tile for tile in route[1:-1] if rng.random() < (1 - MISSED if tile in holes else SUSPECTED)]
    rating = max(0, 100 - 40 * len(seen)) if answer else 0
    named = " ".join(f"({row}, {column})" for row, column in seen) or "none"
    text = f"Rating: {rating}\nRationale: holes on the route: {named}"
    probability = rng.uniform(0.8, 0.999) if not seen else rng.uniform(0.5, 0.95)
    return Simulated(text, estimate_tokens(text) * math.log(probability))


def gather(rng: random.Random, answered: str, rated: str) -> str:
    """The holes that the rating names, with what it takes for one."""
    tiles = " ".join(f"({row}, {column})" for row, column in sorted(set(_tiles(rated)))) or "none found"
    return f"Wrong: holes: {tiles}\nTo look at again: {tiles}"


def _tiles_of(lake: list[str], kinds: str) -> list[tuple[int, int]]:
    if not lake or any(len(row) != len(lake) or set(row) - set("SFHG") for row in lake):
        raise NotSimulated("only square lakes of the tiles S, F, H and G are")
    return [(r, c) for r, row in enumerate(lake) for c, tile in enumerate(row) if tile in kinds]


def _lake(size: int, holes: set[tuple[int, int]]) -> list[str]:
    return ["".join("H" if (r, c) in holes else "F" for c in range(size)) for r in range(size)]


def _tiles(text: str) -> list[tuple[int, int]]:
    return [(int(row), int(column)) for row, column in re.findall(r"\((\d+), (\d+)\)", text)]
