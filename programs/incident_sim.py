"""Simulators of incident.got: a model that overlooks an error now and then. Only the constant at the top sets
how often.
"""

from __future__ import annotations

import random
import re

OVERLOOKED = 0.02
"""The chance that a call does not see what is wrong."""


def _wrong(rng: random.Random, text: str) -> str:
    found = re.search(r"(\w+) does not answer", text)
    return "nothing" if found is None or rng.random() < OVERLOOKED else found[0]


def note(rng: random.Random, lines: list[str]) -> str:
    """The first error of a log."""
    return _wrong(rng, "\n".join(lines))


def join(rng: random.Random, first: str, second: str) -> str:
    """The error of either part."""
    return _wrong(rng, f"{first}\n{second}")


def urgency(rng: random.Random, finding: str) -> str:
    """An error is urgent, mostly."""
    return "later" if finding == "nothing" else rng.choice(["now", "now", "today"])


def message(rng: random.Random, finding: str, due: str) -> str:
    """One sentence."""
    return f"Please look at this {due}: {finding}."
