"""The game of 24 in exact arithmetic: what a step does, and whether some steps are a solution."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from functools import cache

_NUMBER = r"-?\d+(?:/\d+|\.\d+)?"
_STEP = re.compile(rf"^\s*({_NUMBER})\s*([-+*/])\s*({_NUMBER})\s*=\s*({_NUMBER})\s*$")


def calculate(a: Fraction, sign: str, b: Fraction) -> Fraction | None:
    """What a sign makes of two numbers; None for a division by zero."""
    match sign:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case _:
            return a / b if b else None


def solves(numbers: list[int], steps: list[str]) -> bool:
    """Whether the steps, such as `2 + 8 = 10`, use each number exactly once and end with 24."""
    left = Counter(map(Fraction, numbers))
    for step in steps:
        match = _STEP.match(step)
        if match is None:
            return False
        a, b, result = Fraction(match[1]), Fraction(match[3]), Fraction(match[4])
        left.subtract([a, b])
        if min(left.values()) < 0 or calculate(a, match[2], b) != result:
            return False
        left[result] += 1
    return left.total() == 1 and left[Fraction(24)] == 1


def shown(number: Fraction) -> str:
    """A number as the game writes it: `4`, `2/3`."""
    return str(number)


@cache
def steps_to_24(numbers: tuple[Fraction, ...]) -> tuple[str, ...] | None:
    """The steps of one solution, or None where there is none."""
    if len(numbers) == 1:
        return () if numbers[0] == 24 else None
    for step, left in moves(numbers):
        rest = steps_to_24(left)
        if rest is not None:
            return (step, *rest)
    return None


def moves(numbers: tuple[Fraction, ...]) -> list[tuple[str, tuple[Fraction, ...]]]:
    """Every step from some numbers, each once, with the numbers it leaves in ascending order."""
    found: dict[str, tuple[Fraction, ...]] = {}
    for i, a in enumerate(numbers):
        for j, b in enumerate(numbers):
            if i == j:
                continue
            rest = [n for k, n in enumerate(numbers) if k not in (i, j)]
            for sign in "+-*/":
                result = calculate(a, sign, b)
                if result is None or (sign in "+*" and (a, i) > (b, j)):
                    continue
                step = f"{shown(a)} {sign} {shown(b)} = {shown(result)}"
                found.setdefault(step, tuple(sorted([*rest, result])))
    return list(found.items())
