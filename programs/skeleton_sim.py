"""Simulators of the prompts of skeleton_of_thought.got: points about anything, written out in a sentence.

They give the same point twice, write about another point, or take a question for one of another kind, now and
then. Questions about numbers are refused, since these words would answer none.
"""

from __future__ import annotations

import random
import re

from gotlang.models.simulated import NotSimulated

POINTS = (
    "Begin with a plan",
    "Ask those who know",
    "Take small steps",
    "Keep notes as you go",
    "Leave time for mistakes",
    "Look at what went well",
    "Rest before the end",
)
TWICE = 0.1
"""The chance that a point of the skeleton comes twice."""
ANOTHER = 0.05
"""The chance that what is written out is another point."""
MISTAKEN = 0.1
"""The chance that a question is taken for one of another kind."""


def route(rng: random.Random, question: str) -> str:
    """Whether the answer is a list of points; it is for "how do I" and "what", not for "why" and "write"."""
    kinds = {
        "independent": "how|what|which",
        "dependent": "write|tell|explain|prove",
        "none": "why|who|when|is",
    }
    first = (question.split() or [""])[0].lower()
    right = next((kind for kind, words in kinds.items() if re.fullmatch(words, first)), "none")
    return rng.choice(list(kinds)) if rng.random() < MISTAKEN else right


def answer_at_once(rng: random.Random, question: str) -> str:
    """An answer that is no list."""
    _about_words(question)
    return f"It depends. {rng.choice(POINTS)}, and see."


def skeleton(rng: random.Random, question: str) -> str:
    """Three to six points, numbered."""
    _about_words(question)
    chosen = rng.sample(POINTS, rng.randint(3, 6))
    if rng.random() < TWICE:
        chosen.append(rng.choice(chosen))
    return "\n".join(f"{number}. {point}" for number, point in enumerate(chosen, 1))


def expand(rng: random.Random, question: str, points: list[str], number: int) -> str:
    """One point in one or two sentences."""
    more = " It pays more often than one thinks." if rng.random() < 0.5 else ""
    point = rng.choice(points) if rng.random() < ANOTHER else points[number - 1]
    return f"To {point.lower()} is worth the time it takes.{more}"


def _about_words(question: str) -> None:
    if re.search(r"\d", question):
        raise NotSimulated(f"{question!r:.80} is about numbers, and not like 'How do I learn to draw?'")
