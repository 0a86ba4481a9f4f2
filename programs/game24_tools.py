"""The game of 24 in exact arithmetic: what a step does, and whether an expression is a solution."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

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


_SIGNS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def solves(numbers: list[int], answer: str) -> bool:
    """Whether the last line of an answer is an expression, such as `(1 + 2 + 3) * 4 = 24`, that uses each
    number once and is 24: the rule of Tree of Thoughts. What follows the `=` does not count, and powers are
    no signs of the game."""
    written = read_answer(answer).split("=")[0].strip()
    if sorted(re.findall(r"\d+", written)) != sorted(map(str, numbers)):
        return False
    try:
        return _value(ast.parse(written, mode="eval").body) == 24
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
        return False


def read_answer(answer: str) -> str:
    """The last line of an answer, without `Answer: `."""
    return re.sub("answer: ", "", answer.strip().split("\n")[-1], flags=re.IGNORECASE).strip()


def expression(steps: list[str]) -> str:
    """Steps such as `2 + 8 = 10` as one expression, in which results stand for what they were made from."""
    made: dict[Fraction, list[str]] = {}

    def taken(number: str) -> str:
        known = made.get(Fraction(number))
        return known.pop() if known else number

    written, result = "", ""
    for step in steps:
        match = _STEP.match(step)
        if match is None:
            return "; ".join(steps)
        a, sign, b, result = match.groups()
        written = f"{taken(a)} {sign} {taken(b)}"
        made.setdefault(Fraction(result), []).append(f"({written})")
    return f"{written} = {result}"


def _value(node: ast.expr) -> Fraction:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS:
            return _SIGNS[type(op)](_value(left), _value(right))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return Fraction(str(number))
    raise ValueError("only numbers, brackets and the signs + - * /")


def shown(number: Fraction) -> str:
    """A number as the game writes it: `4`, `2/3`."""
    return str(number)


@lru_cache(maxsize=2**15)
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
