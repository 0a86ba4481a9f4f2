"""Simulators of the prompts about stories: they calculate as a small model does, with mistakes.

Each calculation of a chain goes wrong now and then, the more often the longer the chain already is: that is
what makes decomposing, voting and checking pay. Only the constants at the top set how often.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

from stories import Change, changes, start

SLIP = 0.03
"""The chance that one calculation goes wrong."""
FATIGUE = 0.02
"""By how much that chance grows with each calculation before it in the same answer."""
UNAIDED = 1.6
"""How much more often it goes wrong without examples to follow."""
PLANNED = 0.6
"""How much more often with a plan to follow."""
BLIND = 0.25
"""The chance that a mistake is overlooked when an answer is checked."""


# ---------------------------------------------------------------- one chain


def solve(rng: random.Random, story: str) -> str:
    """A chain of thought after examples."""
    return _chain(rng, story, 1.0)


def think(rng: random.Random, story: str) -> str:
    """A chain of thought without any."""
    return "Let us see.\n" + _chain(rng, story, UNAIDED)


# ---------------------------------------------------------------- least to most


def decompose(rng: random.Random, story: str) -> str:
    """A question for each change but the last, then the story's own."""
    questions = [f"How many are there after this: {c.sentence}" for c in changes(story)[:-1]]
    return "\n".join(f"{i}. {q}" for i, q in enumerate([*questions, _question(story)], 1))


def answer(rng: random.Random, story: str, asked: list[str], answers: list[int], question: str) -> str:
    """One calculation from the answer before."""
    todo = changes(story)
    before = answers[-1] if answers else start(story)
    if len(asked) >= len(todo):
        return f"The answer is {before}."
    change = todo[len(asked)]
    after = _slipped(rng, change.apply(before), SLIP)
    return f"{change.written(before, after)}. The answer is {after}."


# ---------------------------------------------------------------- self-discover


def select(rng: random.Random, tasks: list[str]) -> str:
    """Two ways of reasoning."""
    return "- Keep a record of every quantity as it changes.\n- Check the result against what was asked."


def adapt(rng: random.Random, ways: list[str], tasks: list[str]) -> str:
    """The same for stories."""
    return (
        "- Write how many there are after each sentence.\n- Check that the last number is the one asked for."
    )


def implement(rng: random.Random, ways: list[str], tasks: list[str]) -> str:
    """A plan of three steps."""
    return "1. Number at first\n2. Number after each sentence\n3. Number asked for"


def follow(rng: random.Random, plan: list[str], story: str) -> str:
    """A chain along the plan."""
    return _chain(rng, story, PLANNED)


# ---------------------------------------------------------------- forest of thought


def begin(rng: random.Random, story: str, hint: str) -> str:
    """The first half of the calculations."""
    todo = changes(story)
    return "\n".join(_lines(rng, start(story), todo[: (len(todo) + 1) // 2], 0))


def go_on(rng: random.Random, story: str, hint: str, work: str) -> str:
    """The work so far and the rest of the calculations."""
    done = _calculations(work)
    before = done[-1][3] if done else start(story)
    more = _lines(rng, before, changes(story)[len(done) :], len(done))
    return "\n".join([*work.splitlines(), *more])


def promise(rng: random.Random, story: str, work: str) -> str:
    """The confidence in an answer."""
    right = _first_mistake(story, work) is None or rng.random() < BLIND
    return f"{rng.uniform(6, 10) if right else rng.uniform(1, 6):.1f}"


def consistent(rng: random.Random, story: str, work: str) -> str:
    """Whether there is no mistake."""
    return "Yes." if _first_mistake(story, work) is None or rng.random() < BLIND else "No."


def correct(rng: random.Random, story: str, work: str) -> str:
    """The work again from the first mistake on."""
    mistake = _first_mistake(story, work)
    done = _calculations(work)
    if mistake is None:
        return work
    kept = work.splitlines()[:mistake]
    before = done[mistake - 1][3] if mistake else start(story)
    return "\n".join([*kept, *_lines(rng, before, changes(story)[mistake : len(done)], 0)])


def finish(rng: random.Random, story: str, work: str) -> str:
    """What is left to calculate, and the answer."""
    done = _calculations(work)
    before = done[-1][3] if done else start(story)
    more = _lines(rng, before, changes(story)[len(done) :], len(done))
    last = _calculations("\n".join(more))
    return "\n".join([*more, f"The answer is {last[-1][3] if last else before}."])


def decide(rng: random.Random, story: str, answers: list[int]) -> str:
    """A second check."""
    return _chain(rng, story, PLANNED)


# ---------------------------------------------------------------- decompose, analyse, rethink


def analyse(rng: random.Random, story: str, question: str) -> str:
    """A rationale and an answer."""
    return _analysis(rng, story, _reach(story, question), 1.0)


def decompose_question(rng: random.Random, story: str, question: str) -> str:
    """Two halves of the way, where it is more than one step."""
    first, last = _reach(story, question)
    if last - first < 2:
        return "[]"
    middle = (first + last) // 2
    todo = changes(story)
    return json.dumps([f"How many are there after this: {todo[n - 1].sentence}" for n in (middle, last)])


def rethink(
    rng: random.Random,
    story: str,
    question: str,
    rationale: str,
    parts: list[str],
    found: list[dict[str, Any]],
) -> str:
    """The second half again, from the answer to the first."""
    middle, last = _reach(story, parts[0])[1], _reach(story, parts[-1])[1]
    lines = _lines(rng, int(found[0]["answer"]), changes(story)[middle:last], 0)
    result = lines[-1].rpartition("= ")[2] if lines else found[0]["answer"]
    return f"Rationale: {found[0]['rationale']}, then {', then '.join(lines)}\nAnswer: {result}"


# ---------------------------------------------------------------- calculating


def _question(story: str) -> str:
    return re.split(r"(?<=[.?])\s+", story.strip())[-1]


def _slipped(rng: random.Random, value: int, chance: float) -> int:
    return value + rng.choice((-10, -2, -1, 1, 2, 10)) if rng.random() < chance else value


def _lines(rng: random.Random, before: int, todo: list[Change], done: int, factor: float = 1.0) -> list[str]:
    lines = []
    for position, change in enumerate(todo, done):
        after = _slipped(rng, change.apply(before), (SLIP + FATIGUE * position) * factor)
        lines.append(change.written(before, after))
        before = after
    return lines


def _chain(rng: random.Random, story: str, factor: float) -> str:
    lines = _lines(rng, start(story), changes(story), 0, factor)
    last = lines[-1].rpartition("= ")[2] if lines else start(story)
    return ". ".join([*lines, f"The answer is {last}."])


def _calculations(work: str) -> list[tuple[int, str, int, int]]:
    found = re.findall(r"(-?\d+) ([-+*/]) (\d+) = (-?\d+)", work)
    return [(int(a), sign, int(b), int(result)) for a, sign, b, result in found]


def _first_mistake(story: str, work: str) -> int | None:
    before = start(story)
    for position, (written, change) in enumerate(zip(_calculations(work), changes(story), strict=False)):
        if written[0] != before or written[3] != change.apply(before):
            return position
        before = written[3]
    return None


def _reach(story: str, question: str) -> tuple[int, int]:
    """From which change to which a question goes."""
    todo = changes(story)
    for position, change in enumerate(todo):
        if change.sentence in question:
            return (0, position + 1)
    return (0, len(todo))


def _analysis(rng: random.Random, story: str, reach: tuple[int, int], factor: float) -> str:
    lines = _lines(rng, start(story), changes(story)[reach[0] : reach[1]], 0, factor)
    last = lines[-1].rpartition("= ")[2] if lines else start(story)
    return f"Rationale: {', then '.join(lines) or 'nothing happens'}\nAnswer: {last}"
