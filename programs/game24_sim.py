"""Simulators of the prompts of game24.got: they play the game of 24 as GPT-4o does, with mistakes.

A simulator knows which numbers can be made into 24, and does not always say so: its proposals are a mixture
of good steps and any, some of them miscalculated, and its verdicts are wrong now and then. Only the
constants at the top set how often: fitted, not published, so that about as many games are won as
Framework of Thoughts reports (63 of 100 with its first settings).
"""

from __future__ import annotations

import random
from fractions import Fraction

from game24_tools import expression, moves, shown, solves, steps_to_24

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


def propose(rng: random.Random, left: str, count: int) -> str:
    """Some steps, one per line."""
    numbers = _numbers(left)
    possible = moves(numbers)
    good = [(step, rest) for step, rest in possible if _solvable(rest)]
    chosen: dict[str, tuple[Fraction, ...]] = {}
    for _ in range(count):
        step, rest = rng.choice(good if good and rng.random() < INSIGHT else possible)
        chosen.setdefault(step, rest)
    return "\n".join(_line(rng, step, rest) for step, rest in chosen.items())


def value(rng: random.Random, left: str) -> str:
    """A try in words and a verdict."""
    numbers = _numbers(left)
    truth = "sure" if _solvable(numbers) else "impossible"
    if rng.random() >= RIGHT.get(len(numbers), 0.5):
        truth = "likely" if rng.random() < LIKELY else "impossible" if truth == "sure" else "sure"
    total = shown(Fraction(sum(numbers)))
    return f"{' + '.join(map(shown, numbers))} = {total}\n{truth}"


def answer(rng: random.Random, numbers: list[int], steps: list[str]) -> str:
    """The steps as an expression, now and then with a slip."""
    found = expression(steps)
    if rng.random() < MISWRITTEN:
        found = found.replace("+", "*", 1) if "+" in found else found.replace("*", "+", 1)
    return f"Answer: {found}"


def judge(rng: random.Random, numbers: list[int], answer: str) -> str:
    """A verdict on a solution."""
    right = solves(numbers, answer) == (rng.random() < RIGHT_JUDGE)
    return "sure" if right else "impossible"


def _solvable(numbers: tuple[Fraction, ...]) -> bool:
    return steps_to_24(numbers) is not None


def _numbers(left: str) -> tuple[Fraction, ...]:
    return tuple(sorted(Fraction(word) for word in left.split()))


def _line(rng: random.Random, step: str, rest: tuple[Fraction, ...]) -> str:
    if rng.random() < MISCALCULATED:
        calculation, _, result = step.rpartition("= ")
        wrong = Fraction(result) + rng.choice((-2, -1, 1, 2))
        rest = tuple(sorted(wrong if n == Fraction(result) else n for n in rest))
        step = f"{calculation}= {shown(wrong)}"
    return f"{step} (left: {' '.join(map(shown, rest))})"
