"""Simulators of refunds.got: a model that sometimes pays back too much, and a person who looks at the price.
Only the constant at the top sets how often.
"""

from __future__ import annotations

import random
import re

from gotlang.models.simulated import NotSimulated

GENEROUS = 0.2
"""The chance that the model wants to pay back twice the price."""


def _price(letter: str) -> int:
    found = re.search(r"\$(\d+)", letter)
    if found is None:
        raise NotSimulated(f"the letter {letter!r}")
    return int(found[1])


def decide(rng: random.Random, letter: str) -> str:
    """A thought, a sum, and more than was asked for."""
    sum_ = _price(letter) * (2 if rng.random() < GENEROUS else 1)
    more = "I would also send a card, and ask how the parcel was packed. " * 3
    return f"It came broken, so it cannot be used.\nRefund: {sum_}\n{more}"


def approve(rng: random.Random, letter: str, refund: int) -> str:
    """A person pays the price at most."""
    return str(min(refund, _price(letter)))


def write(rng: random.Random, letter: str, paid: int) -> str:
    """A letter."""
    return f"We are sorry. We pay back ${paid}."
