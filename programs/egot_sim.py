"""Simulators of the prompts of egot.got and egot_baselines.got: they sort hundreds of numbers as GPT-4o mini
does, with mistakes.

A simulator leaves numbers out and invents others, the more the longer the list, by the way it is asked; fewer
where hints name them and where the temperature is low. Rating an answer is rough, and now and then hints are
not looked at. Only the constants at the top set how often: fitted, not published, to the accuracies of the
paper's Table 1.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Iterable

from gotlang.models.simulated import Simulated
from gotlang.models.tokens import estimate_tokens

LOST = {"sort": (0.265, 1.6), "solve": (0.15, 0.8), "sort_in_parts": (0.468, 0.9), "merge": (0.076, 0.7)}
"""The share of 256 numbers that an answer leaves out at temperature 1, and how it grows: with the length to
the power of the second number."""
INVENTED = 0.2
"""Numbers that are made up, for each one that is left out."""
CALM = 0.9
"""What is left of both at temperature 0."""
HEEDED = 0.42
"""The chance that a number is not left out again where a hint names it."""
HEEDLESS = 0.1
"""The chance that an answer does not look at its hints."""
WARNED = 0.95
"""What is left of the mistakes for each wrong answer that is shown."""
NAMED = 60
"""Numbers at most that one rationale names."""
ROUGH = 6.0
"""The standard deviation of a rating, in points of a hundred."""


def methods(rng: random.Random, task: str) -> str:
    """A method and three checks."""
    checks = ["Each number is at least the one before it.", "No number is missing.", "No number is new."]
    return json.dumps({"method": "merge sort", "checks": checks})


def _sorted(
    rng: random.Random,
    prompt: str,
    numbers: list[int],
    temperature: float | None,
    hints: Iterable[str] = (),
    factor: float = 1.0,
) -> list[int]:
    share, power = LOST[prompt]
    warmth = 1.0 if temperature is None else min(1.0, temperature)
    share *= (len(numbers) / 256) ** power * (CALM + (1 - CALM) * warmth) * factor
    named = {int(word) for hint in hints for word in hint.split() if word.isdigit()}
    if rng.random() < HEEDLESS:
        named = set()

    def slips(number: int, chance: float) -> bool:
        return rng.random() < chance and not (number in named and rng.random() < HEEDED)

    answer = [number for number in numbers if not slips(number, share)]
    made_up = [number + rng.choice((-3, -1, 1, 2)) for number in numbers if rng.random() < INVENTED * share]
    return sorted([*answer, *(number for number in made_up if slips(number, 1.0))])


def solve(
    rng: random.Random, numbers: list[int], method: str, hints: list[str], temperature: float | None = None
) -> str:
    """The numbers in order, with mistakes, and a rationale."""
    answer = _sorted(rng, "solve", numbers, temperature, hints)
    rationale = f"First the numbers of the input: {' '.join(map(str, numbers))}. Then I sorted them."
    return json.dumps({"answer": answer, "rationale": rationale})


def sort_in_parts(rng: random.Random, numbers: list[int], temperature: float | None = None) -> str:
    """The same by four parts, in which more is lost."""
    answer = _sorted(rng, "sort_in_parts", numbers, temperature)
    return json.dumps({"rationale": "I sorted four parts and combined them.", "answer": answer})


def sort(
    rng: random.Random, numbers: list[int], tried: list[list[int]], temperature: float | None = None
) -> str:
    """The list only, a little better for each wrong one that is known."""
    return str(_sorted(rng, "sort", numbers, temperature, factor=WARNED ** len(tried)))


def merge(rng: random.Random, left: list[int], right: list[int], temperature: float | None = None) -> str:
    """Two sorted lists as one."""
    return str(_sorted(rng, "merge", [*left, *right], temperature))


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


def gather(rng: random.Random, answered: str, rated: str) -> str:
    """What the rating names as wrong."""
    named = " ".join(word for word in rated.split() if word.isdigit())
    return f"Wrong: missing or new: {named}\nTo look at again: {named}"
