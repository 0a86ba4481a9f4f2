"""A simulator of the prompts: it occasionally loses a digit, most often in long lists."""

from __future__ import annotations

import random

LOSES = 0.02
"""The probability that a digit is lost."""


def sort(rng: random.Random, numbers: list[int]) -> str:
    """The sorted list, with errors."""
    return str([number for number in sorted(numbers) if rng.random() > LOSES])


def merge(rng: random.Random, left: list[int], right: list[int]) -> str:
    """The merged list, with errors."""
    return sort(rng, left + right)


def repair(rng: random.Random, numbers: list[int], attempt: list[int]) -> str:
    """Usually the correct list, otherwise the attempt unchanged."""
    return str(sorted(numbers) if rng.random() < 0.6 else attempt)
