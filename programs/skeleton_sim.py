"""Simulators of the prompts of skeleton_of_thought.got: points about anything, written out in a sentence."""

from __future__ import annotations

import random

POINTS = (
    "Begin with a plan",
    "Ask those who know",
    "Take small steps",
    "Keep notes as you go",
    "Leave time for mistakes",
    "Look at what went well",
    "Rest before the end",
)


def skeleton(rng: random.Random, question: str) -> str:
    """Three to six points, numbered."""
    chosen = rng.sample(POINTS, rng.randint(3, 6))
    return "\n".join(f"{number}. {point}" for number, point in enumerate(chosen, 1))


def expand(rng: random.Random, question: str, points: list[str], number: int) -> str:
    """One point in one or two sentences."""
    more = " It pays more often than one thinks." if rng.random() < 0.5 else ""
    return f"To {points[number - 1].lower()} is worth the time it takes.{more}"
