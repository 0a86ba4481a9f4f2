"""Simulator of the prompts of the program next to this file: some steps are better, and the judge knows."""

from __future__ import annotations

import random

STEPS = {
    "ask someone who has done it before": 3,
    "write down what is known": 2,
    "make a list of what is missing": 2,
    "try the smallest part first": 3,
    "buy a new notebook": 0,
    "wait and see": 0,
}
"""What a plan may be made of, and what each step is worth."""


def next_step(rng: random.Random, goal: str, steps: list[str]) -> str:
    """A step that is not in the plan yet."""
    return rng.choice([step for step in STEPS if step not in steps] or ["done"])


def promise(rng: random.Random, goal: str, steps: list[str]) -> str:
    """What the steps are worth together, judged with some noise."""
    return f"{min(10.0, max(0.0, sum(STEPS.get(step, 0) for step in steps) + rng.gauss(0, 0.5))):.1f}"
