"""Simulators of the prompts of egot.got: they sort hundreds of numbers as GPT-4o mini does, with mistakes.

A simulator leaves numbers out and invents others, fewer where hints name them and where the temperature is
low; rating an answer is rough. Only the constants at the top set how often: fitted, not
published, so that 256 numbers come out about as well as the paper's Table 1 says (88% of them with EGoT,
71% with one prompt).
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter

from gotlang.models.simulated import Simulated
from gotlang.models.tokens import estimate_tokens

LOST = 0.25
"""The share of numbers that an answer leaves out at temperature 1."""
INVENTED = 0.05
"""The share of numbers that it makes up."""
CALM = 0.75
"""What is left of both at temperature 0."""
HEEDED = 0.8
"""The chance that a number is not left out again where a hint names it."""
NAMED = 60
"""Numbers at most that one rationale names."""
ROUGH = 6.0
"""The standard deviation of a rating, in points of a hundred."""


def methods(rng: random.Random, task: str) -> str:
    """A method and three checks."""
    checks = ["Each number is at least the one before it.", "No number is missing.", "No number is new."]
    return json.dumps({"method": "merge sort", "checks": checks})


def solve(
    rng: random.Random, numbers: list[int], method: str, hints: list[str], temperature: float | None = None
) -> str:
    """The numbers in order, with mistakes, and a rationale."""
    warmth = 1.0 if temperature is None else min(1.0, temperature)
    share = CALM + (1 - CALM) * warmth
    named = Counter(int(word) for hint in hints for word in hint.split() if word.isdigit())
    answer = []
    for number in sorted(numbers):
        lost = rng.random() < LOST * share
        if lost and number in named:
            lost = rng.random() > HEEDED
        if not lost:
            answer.append(number)
    invented = [n + rng.choice((-3, -1, 1, 2)) for n in numbers if rng.random() < INVENTED * share]
    answer = sorted([*answer, *(n for n in invented if n not in named)])
    return json.dumps(
        {"rationale": f"I wrote down {len(numbers)} numbers and sorted them.", "answer": answer}
    )


def rate(rng: random.Random, numbers: list[int], answer: list[int], checks: list[str]) -> Simulated:
    """A rating, then some of the numbers that are wrong."""
    wanted, found = Counter(numbers), Counter(answer)
    together = sum((wanted & found).values()) / max(1, sum((wanted | found).values()))
    rating = round(min(100.0, max(0.0, 100 * together + rng.gauss(0, ROUGH))))
    wrong = [str(n) for n in ((wanted - found) + (found - wanted)).elements()]
    seen = rng.sample(wrong, min(NAMED, len(wrong)))
    text = f"Rating: {rating}\nRationale: these are missing or new: {' '.join(seen)}"
    probability = rng.uniform(0.45, 0.95) if rating not in (0, 100) else rng.uniform(0.9, 1.0)
    return Simulated(text, estimate_tokens(text) * math.log(probability))


def gather(rng: random.Random, reasons: list[str]) -> str:
    """What the rationales name as wrong."""
    named = [word for reason in reasons[1:] for word in reason.split() if word.isdigit()]
    return f"Missing or new: {' '.join(named)}"
