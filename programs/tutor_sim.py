"""Simulators of the prompts of tutor.got: a tutor who asks for the ones, the tens and the sum, and a student
who adds digits with slips. Only the constants at the top set how often.
"""

from __future__ import annotations

import random
import re
from typing import Any

SLIP = 0.2
"""The chance that the student adds wrongly."""
LISTENS = 0.9
"""The chance that the student answers what was asked, and does not guess."""

_SUM = re.compile(r"(\d+) \+ (\d+)")


def hint(rng: random.Random, problem: str, talk: list[dict[str, Any]]) -> str:
    """The next question: from the ones to the tens to both."""
    a, b = map(int, _SUM.findall(problem)[0])
    asked = sum(turn["role"] == "assistant" for turn in talk) % 3
    if asked == 0:
        return f"What do the ones make, {a % 10} + {b % 10}?"
    if asked == 1:
        return f"And the tens, {a // 10 * 10} + {b // 10 * 10}?"
    ones, tens = (re.findall(r"\d+", turn["content"])[-1] for turn in (talk[-3], talk[-1]))
    return f"What do you get if you put both together, {tens} + {ones}?"


def reply(rng: random.Random, talk: list[dict[str, Any]]) -> str:
    """The sum that was asked for last, now and then a wrong one."""
    question = talk[-1]["content"]
    if rng.random() >= LISTENS:
        return "I am not sure, is it 7?"
    a, b = map(int, _SUM.findall(question)[-1])
    found = a + b + (rng.choice((-10, -1, 1, 10)) if rng.random() < SLIP else 0)
    return f"The answer is {found}." if "together" in question else f"That makes {found}."
