"""Simulator of the prompts of the program next to this file: what a model might write."""

from __future__ import annotations

import random


def answer(rng: random.Random, question: str) -> str:
    """One sentence."""
    *_, last = question.split() or ["nothing"]
    return f"That depends on what is meant by {last.rstrip('?')}."
