"""Simulators of the planted programs, and what is true of them.

A response is the target plus an error, after as many words as the work took. Its expected error is `BASE`, a
difficulty of the target that is the same at every setting, and what the program's function below says of the
setting: so the true difference of two settings is known without a run.
"""

from __future__ import annotations

import random

BASE = 30.0
DIFFICULTY = 8.0
"""The greatest difficulty of a target; its mean over targets is half of it."""


def peak(a: int, b: int) -> float:
    """The error that two numbers add: none at 4 and 11."""
    return 1.5 * abs(a - 4) + 1.2 * abs(b - 11)


STYLES = {
    ("plain", False): 0.0,
    ("plain", True): 1.5,
    ("formal", False): -1.0,
    ("formal", True): 2.5,
    ("terse", False): 3.0,
    ("terse", True): -5.0,
}


def trap(detail: int, style: str, extra: bool) -> float:
    """The error of one of the tries: more detail always helps and costs more, style and extra interact."""
    return 6.0 - 1.2 * detail + STYLES[style, extra]


def branches(method: str, form: str, votes: int, rounds: int) -> float:
    """Three methods, of which only the last is good, only in one form and for one number of rounds."""
    if method == "direct":
        return 8.0 - 1.0 * (form == "text")
    if method == "vote":
        return 6.5 - 0.3 * votes - 1.0 * (form == "table")
    return 6.0 - 6.0 * (form == "json") + 1.5 * abs(rounds - 3)


PERSONAS = ("teacher", "judge", "clerk", "critic")
ORDERS = ("as_given", "sorted", "reversed")


def persona(who: str, order: str, shots: int) -> float:
    """A choice that is best in one order only and among the worst in the others."""
    found = {"teacher": 3.0, "judge": 2.5, "clerk": 4.0, "critic": 5.0}[who]
    if who == "critic" and order == "reversed":
        found = -0.5
    return found + {"as_given": 0.0, "sorted": -0.5, "reversed": 1.5}[order] + 1.0 * abs(shots - 2)


FAILING, LOSS = 0.05, 200.0
"""The share of responses of a bold guess that are far off, and by how much."""


def sober(depth: int, width: int, bold: bool) -> float:
    """The error of a guess that is not far off: a bold one is better by 2."""
    return abs(depth - 6) + 0.8 * abs(width - 4) - 2.0 * bold


MODELS = {
    "small": {"input_per_million": 0.1, "output_per_million": 0.4},
    "coder": {"input_per_million": 1.0, "output_per_million": 4.0},
    "large": {"input_per_million": 2.0, "output_per_million": 8.0},
}
STEPS = {
    "read": {"small": 0.0, "large": 0.0, "coder": 0.0},
    "plan": {"small": 5.0, "large": 0.0, "coder": 4.0},
    "code": {"small": 4.0, "large": 3.0, "coder": 0.0},
    "check": {"small": 0.0, "large": 1.5, "coder": 1.5},
}
"""The error that each of three models adds in each of four steps."""


def _difficulty(target: int) -> float:
    return random.Random(target).uniform(0, DIFFICULTY)


def _response(rng: random.Random, target: int, added: float, spread: float, words: int) -> str:
    error = BASE + _difficulty(target) + added + rng.uniform(-spread, spread)
    return f"{'word ' * words}Answer: {target + error}"


def guess_peak(rng: random.Random, target: int, a: int, b: int) -> str:
    return _response(rng, target, peak(a, b), 3.0, 10 + 5 * a + 2 * b)


def guess_noisy(rng: random.Random, target: int, a: int, b: int) -> str:
    return _response(rng, target, peak(a, b), 9.0, 10 + 5 * a + 2 * b)


def guess_trap(rng: random.Random, target: int, detail: int, style: str, extra: bool) -> str:
    return _response(rng, target, trap(detail, style, extra), 6.0, 10 + 12 * detail + 10 * extra)


def guess_branch(rng: random.Random, target: int, method: str, form: str, votes: int, rounds: int) -> str:
    words = {"direct": 10, "vote": 10 * votes, "refine": 20 * rounds}[method]
    return _response(rng, target, branches(method, form, votes, rounds), 4.0, words)


def guess_persona(rng: random.Random, target: int, who: str, order: str, shots: int) -> str:
    return _response(rng, target, persona(who, order, shots), 3.0, 20)


def guess_boldly(rng: random.Random, target: int, depth: int, width: int, bold: bool) -> str:
    lost = LOSS if bold and rng.random() < FAILING else 0.0
    return _response(rng, target, sober(depth, width, bold) + lost, 3.0, 10 + 3 * depth + width)


def _step(rng: random.Random, step: str, notes: float, model: str) -> str:
    return f"{'word ' * 20}Answer: {notes + STEPS[step][model] + rng.uniform(-1.5, 1.5)}"


def read(rng: random.Random, target: int, model: str) -> str:
    return _step(rng, "read", target + BASE + _difficulty(target), model)


def plan(rng: random.Random, notes: float, model: str) -> str:
    return _step(rng, "plan", notes, model)


def code(rng: random.Random, notes: float, model: str) -> str:
    return _step(rng, "code", notes, model)


def check(rng: random.Random, notes: float, model: str) -> str:
    return _step(rng, "check", notes, model)


def guess_null(rng: random.Random, target: int, tone: str, number: int) -> str:
    return _response(rng, target, 0.0, 6.0, 20)


def guess_right(rng: random.Random, target: int, tone: str, number: int) -> str:
    return f"{'word ' * 20}Answer: {target if rng.random() < 0.6 else 0}"


def guess_plain(rng: random.Random, target: int) -> str:
    """The third digit, which is what this guess is scored by, has nothing to do with its error."""
    error = BASE + _difficulty(target) + rng.uniform(-6.0, 6.0)
    return f"{'word ' * 20}Answer: {round(target + error, 2) + rng.randrange(10) / 1000:.3f}"


def guess_slowly(rng: random.Random, target: int) -> str:
    return guess_plain(rng, target)


def guess_again(rng: random.Random, target: int, found: float) -> str:
    return guess_plain(rng, target)
