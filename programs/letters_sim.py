"""Simulators of the prompts of decomposed_prompting.got: they take names apart, nearly without mistakes."""

from __future__ import annotations

import json
import random
import re

WRONG = 0.01
"""The chance that the letter before the last is taken for the last."""


def plan(rng: random.Random, question: str) -> str:
    """The three sub-tasks."""
    quoted = re.search(r'"(.+)"', question)
    name = quoted[1] if quoted else question
    tasks = [("words", name), ("letters", "<1>"), ("join", "<2>")]
    return json.dumps([{"handler": handler, "about": about} for handler, about in tasks])


def words(rng: random.Random, name: str) -> str:
    """The words of a name."""
    return json.dumps(name.split())


def last_letter(rng: random.Random, word: str) -> str:
    """The last letter of a word."""
    return word[-2] if len(word) > 1 and rng.random() < WRONG else word[-1]
