"""A simulator of the prompt of small_model.got: its sentences forget words as often as a small model does."""

from __future__ import annotations

import random

FORGOTTEN = 0.25
"""The chance that a word is left out: of three, all are there in 42% of the sentences."""


def sentence(rng: random.Random, words: list[str]) -> str:
    """A sentence with most of the words."""
    kept = [word for word in words if rng.random() >= FORGOTTEN]
    return f"There was {' beside '.join(f'the {word}' for word in kept or ['rain'])}."
