"""A simulator of the prompts: it loses a digit now and then, so most often in long lists."""

from __future__ import annotations

import random

LOSES = 0.02
"""The chance that one digit is lost."""


def sort(rng: random.Random, numbers: list[int]) -> str:
    """The list sorted, with mistakes."""
    return str([number for number in sorted(numbers) if rng.random() > LOSES])


def merge(rng: random.Random, left: list[int], right: list[int]) -> str:
    """Both lists as one, with mistakes."""
    return sort(rng, left + right)


def repair(rng: random.Random, numbers: list[int], attempt: list[int]) -> str:
    """The right list more often than not, else the attempt as it was."""
    return str(sorted(numbers) if rng.random() < 0.6 else attempt)
