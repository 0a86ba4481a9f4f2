"""Simulators of the prompts of s1.got: a model that multiplies with slips, and finds some of them when it has
to look again. Only the constants at the top set how often.
"""

from __future__ import annotations

import random
import re

from gotlang.models.simulated import NotSimulated

SLIP = 0.5
"""The chance that a product is wrong at first."""
SEEN = 0.5
"""The chance that looking again finds the mistake."""
MISTAKEN = 0.02
"""The chance that looking again makes one."""

_TASK = re.compile(r"What is (\d+) \* (\d+) \+ (\d+)\?")


def _slipped(rng: random.Random, product: int) -> int:
    return product + rng.choice((-20, -10, -2, 2, 10, 20))


def think(rng: random.Random, question: str, so_far: str) -> str:
    """What comes next in the model's turn: a first try, or another look at the last one."""
    task = _TASK.fullmatch(question)
    if task is None:
        raise NotSimulated(f"the question {question!r}")
    a, b, c = map(int, task.groups())
    tried = re.findall(r"makes (-?\d+)", so_far)
    if not tried:
        product = a * b if rng.random() >= SLIP else _slipped(rng, a * b)
        return f" {a} * {b} is {product}, and {c} more makes {product + c}."
    found, right = int(tried[-1]), a * b + c
    if found != right and rng.random() < SEEN:
        found = right
    elif found == right and rng.random() < MISTAKEN:
        found = _slipped(rng, right)
    return f", let me multiply again: {found - c}, and {c} more makes {found}."


def conclude(rng: random.Random, question: str, so_far: str) -> str:
    """The last number that the thoughts arrived at."""
    return f" {re.findall(r'makes (-?[0-9]+)', so_far)[-1]}"
