"""Simulators of the prompts of sets.got: they intersect sets as gpt-3.5-turbo does, with mistakes.

A simulator overlooks some of the numbers that are in both sets and writes some that are in one only. Only
the constants at the top set how often: fitted, not published, so that the schemes come out
in the order of Figure 6 of "Graph of Thoughts" (Besta et al., 2024): the longer the sets, the more is
overlooked. Above temperature 1 there are more mistakes, below it answers differ less; the model `small` makes
more of them. Lists that hold a number twice are no sets, and not simulated.
"""

from __future__ import annotations

import json
import math
import random

from gotlang.models.simulated import NotSimulated, typical

MODELS = {"small": {"input_per_million": 0.05, "output_per_million": 0.15, "per_token_s": 0.003}}
WORSE = {"small": 2.5}
"""The mistakes of a model for each of the model that the shares below are fitted to; made up."""

OVERLOOKED = 0.008
"""The share of numbers in both sets that an answer overlooks, for two sets of 16; it grows with the square
root of the product of their sizes, since each number has to be looked for in the whole other set."""
GROWTH = 2.2
"""The power of that growth."""
MOST = 0.45
"""It never grows beyond this."""
ADDED = 0.25
"""Numbers of only one set in an answer, for each number overlooked."""
STEPS = 0.55
"""What is left of these mistakes where the model goes through the second set number by number in writing."""
LOST = 0.0015
"""The share of numbers that copying a list loses."""
TWICE = 0.001
"""The share of numbers that copying writes twice."""
STUBBORN = 0.6
"""The share of mistakes that come back whenever the same two sets are intersected."""
SEEN = 0.5
"""The share of numbers that a repair looks at, the same whenever the same two sets are intersected."""
MENDED = 0.3
"""The share of what is missing or wrong that one repair mends."""
SPOILED = 0.15
"""New mistakes of a repair, as a share of those of a fresh answer."""


def split(
    rng: random.Random,
    numbers: list[int],
    parts: int,
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """The numbers in `parts` lists of equal length, as the JSON that the prompt asks for."""
    _check(numbers)
    rng, factor = _mind(rng, model, temperature, numbers)
    kept = [n for n in numbers if rng.random() > LOST / 5 * factor]
    count = max(1, parts)
    bounds = [len(kept) * i // count for i in range(count + 1)]
    lists = {f"List {i + 1}": kept[bounds[i] : bounds[i + 1]] for i in range(count)}
    return "{\n" + ",\n".join(f'"{name}": {part}' for name, part in lists.items()) + "\n}"


def intersect(
    rng: random.Random,
    first: list[int],
    second: list[int],
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """What is in both sets, in one go."""
    _check(first, second)
    rng, factor = _mind(rng, model, temperature, first, second)
    return json.dumps(_intersection(rng, first, second, factor))


def intersect_in_steps(
    rng: random.Random,
    first: list[int],
    second: list[int],
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """The same, number by number in writing: fewer mistakes, more tokens."""
    _check(first, second)
    rng, factor = _mind(rng, model, temperature, first, second)
    found = _intersection(rng, first, second, STEPS * factor)
    walked = ", ".join(f"{n} {'yes' if n in found else 'no'}" for n in second)
    return f"{walked}\nIn both: {json.dumps(found)}"


def merge(
    rng: random.Random,
    left: list[int],
    right: list[int],
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """Two lists made one."""
    rng, factor = _mind(rng, model, temperature, left, right)
    answer: list[int] = []
    for number in left + right:
        if rng.random() >= LOST * factor:
            answer.extend([number] * (2 if rng.random() < TWICE * factor else 1))
    return json.dumps(answer)


def repair(
    rng: random.Random,
    first: list[int],
    second: list[int],
    attempt: list[int],
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """An attempt with part of its mistakes mended, and a few new ones."""
    _check(first, second)
    rng, factor = _mind(rng, model, temperature, first, second)
    other = set(second)
    wanted = [n for n in first if n in other]
    habit = random.Random(f"repair {first} {second}")
    seen = {n for n in sorted({*wanted, *attempt}) if habit.random() < SEEN}
    answer = [n for n in dict.fromkeys(attempt) if n in wanted or n not in seen or rng.random() > MENDED]
    answer += [n for n in wanted if n not in attempt and n in seen and rng.random() < MENDED]
    rate = _rate(first, second) * SPOILED * factor
    answer = [n for n in answer if rng.random() > rate]
    if rng.random() < len(wanted) * rate * ADDED:
        answer.append(rng.choice(first))
    return f"Reason: I looked for each number again.\nIn both: {json.dumps(answer)}"


def _mind(
    rng: random.Random, model: str, temperature: float | None, *asked: list[int]
) -> tuple[random.Random, float]:
    """What an answer is drawn with, and how many mistakes are made for each at temperature 1."""
    heat = 1.0 if temperature is None else max(1.0, temperature)
    return typical(rng, temperature, model, asked), WORSE.get(model, 1.0) * heat**2


def _check(*sets: list[int]) -> None:
    if any(len(set(one)) < len(one) for one in sets):
        raise NotSimulated("only sets are, and one of these lists holds a number twice")


def _rate(first: list[int], second: list[int]) -> float:
    return min(MOST, OVERLOOKED * (math.sqrt(len(first) * len(second)) / 16) ** GROWTH)


def _intersection(rng: random.Random, first: list[int], second: list[int], factor: float) -> list[int]:
    rate = _rate(first, second) * factor
    habit = random.Random(f"{first} {second}")
    other = set(second)
    mood = rng.gammavariate(6, 1 / 6)
    answer = []
    for number in first:
        stubborn = habit.random() < rate * STUBBORN
        overlooked = stubborn or rng.random() < rate * (1 - STUBBORN) * mood
        if (number in other and not overlooked) or (
            number not in other and rng.random() < rate * ADDED * len(other) / max(1, len(first)) * mood
        ):
            answer.append(number)
    return answer
