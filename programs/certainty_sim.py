"""A simulator of `reckon`: a chain of calculations, each token of which comes with the likeliest ones.

A calculation goes wrong now and then, and the numbers of a wrong one are mostly, not always, those that the
model was less sure of; that is all that choosing by certainty can use. Only the constants set how often.
"""

from __future__ import annotations

import math
import random

from stories import read

from gotlang.models.simulated import Simulated
from gotlang.models.tokens import split_tokens

SLIP = 0.12
"""The chance that one calculation goes wrong."""
SURE, UNSURE, SPREAD = 0.93, 0.72, 0.1
"""The probability of a number that is right, and of one that is not, and its deviation."""
PLAIN = 0.96
"""The probability of any other token."""
SHOWN = 20
"""The likeliest tokens at a place: more than that are not given."""


def reckon(rng: random.Random, story: str, least: float = 0.0) -> Simulated:
    """A chain of thought, one calculation a line."""
    told = read(story)
    number, tokens = told.start, []
    for change in told.changes:
        after = change.apply(number)
        slipped = rng.random() < SLIP
        if slipped:
            after += rng.choice((-10, -2, -1, 1, 2, 10))
        tokens += _written(rng, f"{change.written(number, after)}\n", UNSURE if slipped else SURE)
        number = after
    tokens += _written(rng, f"The answer is {number}", SURE)
    return Simulated(
        "".join(token for token, _, _ in tokens), math.fsum(p for _, p, _ in tokens), tuple(tokens)
    )


def _written(
    rng: random.Random, text: str, sure: float
) -> list[tuple[str, float, tuple[tuple[str, float], ...]]]:
    """The tokens of a text; its numbers have about the probability `sure`."""
    found = []
    for token in split_tokens(text):
        usual = sure if token.strip().isdigit() else PLAIN
        share = min(0.995, max(0.3, rng.gauss(usual, SPREAD if token.strip().isdigit() else 0.02)))
        rest = [(1 - share) * 2.0**-k for k in range(1, SHOWN)]
        likeliest = ((token, math.log(share)), *((f"~{k}", math.log(p)) for k, p in enumerate(rest)))
        found.append((token, math.log(share), likeliest))
    return found
