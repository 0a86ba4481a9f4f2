"""Stand-ins for the prompts of the program beside this file: what a model might write, drawn with `rng`."""

from __future__ import annotations

import random


def answer(rng: random.Random, question: str) -> str:
    """One sentence."""
    *_, last = question.split() or ["nothing"]
    return f"That depends on what is meant by {last.rstrip('?')}."
