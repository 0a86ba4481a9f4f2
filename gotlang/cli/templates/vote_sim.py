"""Simulator of the prompts of the program next to this file: right more often than not."""

from __future__ import annotations

import random
import re

RIGHT = 0.6
"""The share of answers without a slip."""


def answer(rng: random.Random, question: str) -> str:
    """The sum of the numbers in the question, or near it."""
    numbers = [int(number) for number in re.findall(r"\d+", question)]
    slip = 0 if rng.random() < RIGHT else rng.choice([-10, -1, 1, 10])
    steps = " + ".join(map(str, numbers)) or "0"
    return f"I add up the numbers: {steps}. The answer is {sum(numbers) + slip}."
