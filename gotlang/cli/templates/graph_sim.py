"""Simulator of the prompts of the program next to this file: misses a fact now and then."""

from __future__ import annotations

import json
import random

MISSES = 0.15
"""The chance that a fact is missed."""


def facts(rng: random.Random, paragraph: str) -> str:
    """The sentences of a paragraph, but for those that are missed."""
    sentences = [sentence.strip() for sentence in paragraph.split(".") if sentence.strip()]
    return json.dumps([sentence for sentence in sentences if rng.random() > MISSES])


def together(rng: random.Random, left: list[str], right: list[str]) -> str:
    """Both lists as one."""
    return json.dumps(list(dict.fromkeys(left + right)))


def write(rng: random.Random, facts: list[str]) -> str:
    """The facts as sentences, but for those that are missed."""
    kept = [fact for fact in facts if rng.random() > MISSES]
    return " ".join(f"{fact}." for fact in kept) or "Nothing is known."


def complete(rng: random.Random, summary: str, facts: list[str]) -> str:
    """Whether every fact is there."""
    return "yes" if all(fact in summary for fact in facts) else "no"
