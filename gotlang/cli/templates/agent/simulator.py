"""A simulator of the prompts: one looks up products, calculates and answers; the other guesses."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any


def wanted(question: str) -> list[tuple[int, str]]:
    """The ordered products with their numbers."""
    found = re.findall(r"(\d+) ([a-z]+)", question)
    return [(int(count), "shelf" if name == "shelves" else name.rstrip("s")) for count, name in found]


def guess(rng: random.Random, question: str) -> str:
    """A number that is approximately right."""
    return str(10 * sum(count * rng.randint(3, 9) for count, _ in wanted(question)))


def work_out(rng: random.Random, question: str, messages: Sequence[Any]) -> str:
    """One turn: a price lookup, a calculation, or the answer."""
    order = wanted(question)
    told = [m.content for m in messages if m.role in ("tool", "user")][1:]
    numbers = [int(found[-1]) for text in told if (found := re.findall(r"-?\d+", text))]
    if len(told) < len(order):
        return f'I look it up.\nCall: find_price {{"product": "{order[len(told)][1]}"}}'
    if len(told) == len(order) and len(numbers) == len(order):
        terms = " + ".join(f"{count}*{price}" for (count, _), price in zip(order, numbers, strict=True))
        return f'Call: calculate {{"terms": "{terms}"}}'
    return f"Answer: {numbers[-1] if numbers else 0}"
