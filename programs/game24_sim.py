"""Simulators of the prompts of game24.got: they play the game of 24 as GPT-4o does, with mistakes.

A simulator knows which numbers can be made into 24, and does not always say so: its proposals are a mixture
of good steps and any, some of them miscalculated, and its verdicts are wrong now and then. Only the
constants at the top set how often: fitted, not published, so that about as many games are won as
Framework of Thoughts reports (63 of 100 with its first settings). Above temperature 0.7 there are more
mistakes, below it answers differ less; the model `small` makes more of them. More than four numbers, and what
is no number, are not simulated.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from game24_tools import expression, moves, shown, solves, steps_to_24

from gotlang.models.simulated import NotSimulated, typical

MODELS = {"small": {"input_per_million": 0.05, "output_per_million": 0.15, "per_token_s": 0.003}}
WORSE = {"small": 2.0}
"""The mistakes of a model for each of the model that the chances below are fitted to; made up."""
USUAL = 0.7
"""The temperature that they are fitted at."""

INSIGHT = 0.13
"""The chance that a proposal is a step towards 24 rather than any step."""
MISCALCULATED = 0.04
"""The share of proposals whose result is wrong."""
RIGHT = {1: 0.95, 2: 0.75, 3: 0.37}
"""How often the verdict on one, two and three numbers is right."""
LIKELY = 0.6
"""The share of the other verdicts that say likely."""
RIGHT_JUDGE = 0.95
"""How often the verdict on a whole solution is right."""
MISWRITTEN = 0.03
"""The share of expressions in which the last step has another sign than in the steps."""


def propose(
    rng: random.Random, left: str, count: int, model: str = "simulated", temperature: float | None = None
) -> str:
    """Some steps, one per line."""
    numbers = _numbers(left)
    rng, factor = _mind(rng, model, temperature, left, count)
    possible = moves(numbers)
    good = [(step, rest) for step, rest in possible if _solvable(rest)]
    chosen: dict[str, tuple[Fraction, ...]] = {}
    for _ in range(count):
        step, rest = rng.choice(good if good and rng.random() < INSIGHT / factor else possible)
        chosen.setdefault(step, rest)
    return "\n".join(_line(rng, step, rest, factor) for step, rest in chosen.items())


def explore(
    rng: random.Random,
    left: str,
    count: int,
    lessons: list[str],
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """Some steps, without those that a lesson names."""
    lines = propose(rng, left, count, model, temperature).splitlines()
    return "\n".join([line for line in lines if not any(_step(line) in one for one in lessons)] or lines)


def reflect(rng: random.Random, node: dict[str, Any]) -> str:
    """The first step, as the one to avoid; it is not always to blame."""
    return f"{node['steps'][0]} left numbers of which I could not make 24."


def _step(line: str) -> str:
    return line.partition(" (left:")[0]


def value(rng: random.Random, left: str, model: str = "simulated", temperature: float | None = None) -> str:
    """A try in words and a verdict."""
    numbers = _numbers(left)
    rng, factor = _mind(rng, model, temperature, left)
    truth = "sure" if _solvable(numbers) else "impossible"
    if rng.random() >= 1 - factor * (1 - RIGHT.get(len(numbers), 0.5)):
        truth = "likely" if rng.random() < LIKELY else "impossible" if truth == "sure" else "sure"
    total = shown(Fraction(sum(numbers)))
    return f"{' + '.join(map(shown, numbers))} = {total}\n{truth}"


def answer(
    rng: random.Random,
    numbers: list[int],
    steps: list[str],
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """The steps as an expression, now and then with a slip."""
    rng, factor = _mind(rng, model, temperature, numbers, steps)
    found = expression(steps)
    if rng.random() < MISWRITTEN * factor:
        found = found.replace("+", "*", 1) if "+" in found else found.replace("*", "+", 1)
    return f"Answer: {found}"


def judge(
    rng: random.Random,
    numbers: list[int],
    answer: str,
    model: str = "simulated",
    temperature: float | None = None,
) -> str:
    """A verdict on a solution."""
    rng, factor = _mind(rng, model, temperature, numbers, answer)
    right = solves(numbers, answer) == (rng.random() < 1 - factor * (1 - RIGHT_JUDGE))
    return "sure" if right else "impossible"


def _solvable(numbers: tuple[Fraction, ...]) -> bool:
    return steps_to_24(numbers) is not None


def _mind(
    rng: random.Random, model: str, temperature: float | None, *asked: object
) -> tuple[random.Random, float]:
    """What an answer is drawn with, and how many mistakes are made for each at the usual temperature."""
    heat = 1.0 if temperature is None else max(1.0, temperature / USUAL)
    return typical(rng, temperature, model, asked, usual=USUAL), WORSE.get(model, 1.0) * heat


def _numbers(left: str) -> tuple[Fraction, ...]:
    try:
        numbers = tuple(sorted(Fraction(word) for word in left.split()))
    except (ValueError, ZeroDivisionError):
        numbers = ()
    if not 1 <= len(numbers) <= 4:
        raise NotSimulated(f"only one to four numbers are, not {left!r:.80}")
    return numbers


def _line(rng: random.Random, step: str, rest: tuple[Fraction, ...], factor: float) -> str:
    if rng.random() < MISCALCULATED * factor:
        calculation, _, result = step.rpartition("= ")
        wrong = Fraction(result) + rng.choice((-2, -1, 1, 2))
        rest = tuple(sorted(wrong if n == Fraction(result) else n for n in rest))
        step = f"{calculation}= {shown(wrong)}"
    return f"{step} (left: {' '.join(map(shown, rest))})"
