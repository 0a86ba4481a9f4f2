"""A simulator of the prompts: moves are often good, and the judge looks ahead most of the way."""

from __future__ import annotations

import random
from functools import cache
from itertools import product

MOVES = ("double", "add 3", "take 5")


def after(number: int, moves: tuple[str, ...]) -> int:
    """The number that moves lead to."""
    for move in moves:
        number = 2 * number if move == "double" else number + 3 if move == "add 3" else number - 5
    return number


@cache
def nearest(number: int, target: int, left: int) -> tuple[str, ...]:
    """The moves that lead nearest to the target."""
    return min(product(MOVES, repeat=left), key=lambda moves: abs(after(number, moves) - target))


def solve(rng: random.Random, start: int, target: int) -> str:
    """Four moves, some of which are wrong."""
    best = nearest(start, target, 4)
    chosen = [rng.choice(MOVES) if rng.random() < 0.4 else move for move in best]
    return str(chosen).replace("'", '"')


def next_move(rng: random.Random, target: int, number: int) -> str:
    """The best move in four of ten cases, otherwise a random one."""
    best = min(
        (nearest(number, target, left) for left in (1, 2, 3, 4)), key=lambda m: abs(after(number, m) - target)
    )
    return best[0] if rng.random() < 0.4 else rng.choice(MOVES)


def promise(rng: random.Random, target: int, number: int, left: int) -> str:
    """How near the best remaining moves would lead to the target, with some noise."""
    missing = abs(after(number, nearest(number, target, left)) - target)
    return f"{max(0.0, min(10.0, 9 - missing + rng.gauss(0, 0.7))):.1f}"
