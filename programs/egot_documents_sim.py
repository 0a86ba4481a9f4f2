"""Simulators of the prompts of egot_documents.got; those of documents.got rate the result.

A simulator takes each line for one thing that an agreement says. Merging loses some lines and says others
twice; judging names some of both, and now and then a line that is right, and hints bring some of it back.
Only the constants at the top set how often: fitted, not published, to the paper's 76.01% (EGoT) and 74.98%
(EGoT*).
"""

from __future__ import annotations

import json
import math
import random

from gotlang.models.simulated import Simulated
from gotlang.models.tokens import estimate_tokens

LOST = 0.205
"""The share of lines that an answer loses at temperature 1."""
TWICE = 0.1
"""The share of lines that it says twice."""
CALM = 0.85
"""What is left of both at temperature 0."""
HEEDED = 0.15
"""The chance that a hint about a line is followed."""
SEEN = 0.5
"""The chance that judging sees what is wrong with a line."""
SUSPECTED = 0.05
"""The chance that it takes a right line for one that is said twice."""
ROUGH = 8.0
"""The standard deviation of a rating, in points of a hundred."""


def methods(rng: random.Random, task: str) -> str:
    """A method and three checks."""
    checks = ["Everything is in one of the agreements.", "Nothing is missing.", "Nothing is said twice."]
    return json.dumps({"method": "merging clause by clause", "checks": checks})


def solve(
    rng: random.Random,
    documents: list[str],
    method: str,
    hints: list[str],
    temperature: float | None = None,
) -> str:
    """One agreement of several."""
    factor = CALM + (1 - CALM) * (1.0 if temperature is None else min(1.0, temperature))
    told = "\n".join(hints)
    lines: list[str] = []
    for line in _wanted(documents):
        heeded = line in told and rng.random() < HEEDED
        if rng.random() >= LOST * factor or heeded:
            lines += [line] * (1 + (rng.random() < TWICE * factor and not heeded))
    return json.dumps(
        {"answer": "\n".join(lines), "rationale": "I wrote down each agreement and merged them."}
    )


def judge(rng: random.Random, documents: list[str], answer: str, checks: list[str]) -> Simulated:
    """A rating, then some of the lines that are missing or said twice."""
    wanted, lines = _wanted(documents), _lines(answer)
    wrong = [line for line in wanted if lines.count(line) != 1]
    seen = [line for line in wanted if rng.random() < (SEEN if line in wrong else SUSPECTED)]
    right = 1 - len(wrong) / max(1, len(wanted))
    rating = round(min(100.0, max(0.0, 100 * right + rng.gauss(0, ROUGH))))
    text = f"Rating: {rating}\nRationale: missing or twice: {' | '.join(seen)}"
    probability = rng.uniform(0.45, 0.95) if rating not in (0, 100) else rng.uniform(0.9, 1.0)
    return Simulated(text, estimate_tokens(text) * math.log(probability))


def gather(rng: random.Random, answered: str, rated: str) -> str:
    """What the judgement names as wrong."""
    return f"Wrong: {rated.partition('twice: ')[2]}\nTo look at again: nothing"


def _lines(document: str) -> list[str]:
    return [line.strip() for line in document.splitlines() if line.strip()]


def _wanted(documents: list[str]) -> list[str]:
    return list(dict.fromkeys(line for document in documents for line in _lines(document)))
