"""Simulators of the programs over the standard library: stories that are calculated, lists that are sorted,
and moves of an agent. A model slips now and then, sees some of its mistakes when it looks again, and is
swayed by what others say. Only the constants at the top set how often.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

from stories import Change, read
from towns_sim import next_step

from gotlang.models.simulated import NotSimulated

SLIP = 0.08
"""The chance that one calculation goes wrong."""
MISPLACED = 0.05
"""The chance that a number of a list is lost or changes places with the next, for each of its numbers."""
SEEN = 0.7
"""The chance that a mistake is seen, or mended, when the model looks again."""
SWAYED = 0.6
"""The chance that an agent goes over to what most others say."""
CAREFUL = 0.4
"""How much more seldom mistakes are with a lesson, a template or a proposal to go by."""


def _answer(rng: random.Random, story: str, factor: float = 1.0) -> int:
    told = read(story)
    now = told.start
    for change in told.changes:
        now = change.apply(now) + (rng.choice((-10, -1, 1, 10)) if rng.random() < SLIP * factor else 0)
    return now


def _story(text: str) -> str:
    """The story that a text begins with."""
    found = re.match(r".*?How many \w+ does \w+ have\?", text, re.DOTALL)
    if found is None:
        raise NotSimulated(f"there is no story in {text!r:.80}")
    return found[0]


# ---------------------------------------------------------------- stories


def solve(rng: random.Random, story: str) -> str:
    """An answer at once."""
    return f"The answer is {_answer(rng, story)}."


def hear(rng: random.Random, story: str, own: int, answers: list[int]) -> str:
    """The answer again, with those of others as advice."""
    most = max(answers, key=answers.count)
    if answers.count(most) > 1 and rng.random() < SWAYED:
        return f"The answer is {most}."
    return f"The answer is {_answer(rng, story) if rng.random() < SEEN else own}."


def propose(rng: random.Random, story: str, others: list[int]) -> str:
    """An answer that goes by earlier ones, if there are any."""
    found = _answer(rng, story, CAREFUL if others else 1.0)
    near = min(others, key=lambda one: abs(one - found), default=found)
    return f"The answer is {near if rng.random() < SWAYED else found}."


def questions(rng: random.Random, story: str, answer: int) -> str:
    """A question for each calculation."""
    told, lines = read(story), list[str]()
    now = told.start
    for change in told.changes:
        lines.append(f"- What is {now} {change.sign} {change.number}?")
        now = change.apply(now)
    return "\n".join(lines)


def compute(rng: random.Random, question: str) -> str:
    """One calculation, which is easier alone."""
    found = re.fullmatch(r"What is (\d+) ([-+*/]) (\d+)\?", question)
    if found is None:
        raise NotSimulated(f"{question!r:.80} is no calculation")
    right = Change("", found[2], int(found[3])).apply(int(found[1]))
    return f"{right + (rng.random() < SLIP * CAREFUL)}"


def mend(rng: random.Random, story: str, answer: int, questions: list[str], findings: list[str]) -> str:
    """The answer that the findings give, or the first one again."""
    return f"The answer is {findings[-1] if findings and rng.random() < SEEN else answer}."


def distil(rng: random.Random, story: str) -> str:
    """What kind of problem a story is."""
    return "a quantity that changes step by step, by gains and losses, shares and multiples"


def follow(rng: random.Random, problem: str, templates: list[str]) -> str:
    """A story worked through along a template; one that does not fit is of no use."""
    fits = any("step by step" in template for template in templates)
    return f"The answer is {_answer(rng, _story(problem), CAREFUL if fits else 1.0)}."


# ---------------------------------------------------------------- lists


def _sorted(rng: random.Random, numbers: list[int], factor: float = 1.0) -> str:
    found = sorted(numbers)
    for at in range(len(found) - 1):
        if rng.random() < MISPLACED * factor:
            found[at], found[at + 1] = found[at + 1], found[at]
    return str([x for x in found if rng.random() >= MISPLACED * factor / 4])


def sort(rng: random.Random, numbers: list[int]) -> str:
    """A list in order, with mistakes."""
    return _sorted(rng, numbers)


def try_to_sort(rng: random.Random, numbers: list[int], lessons: list[str]) -> str:
    """The same; each lesson helps."""
    return _sorted(rng, numbers, CAREFUL ** len(lessons))


def learn(rng: random.Random, numbers: list[int], attempt: list[int]) -> str:
    """What went wrong."""
    return f"I lost {len(numbers) - len(attempt)} numbers, or neighbours changed places: count each digit."


def look(rng: random.Random, attempt: list[int], numbers: list[int]) -> str:
    """What is wrong with an attempt, as far as it is seen."""
    wrong = attempt != sorted(numbers)
    return "Some numbers are lost or misplaced." if wrong and rng.random() < SEEN else "It looks right."


def better(rng: random.Random, attempt: list[int], numbers: list[int], note: str) -> str:
    """An attempt mended by a note."""
    return str(attempt) if "right" in note else _sorted(rng, numbers, CAREFUL)


# ---------------------------------------------------------------- an agent


def next_move(rng: random.Random, task: str, tools: str, past: list[dict[str, Any]]) -> str:
    """The next page to read, or the answer."""
    turns = [{"thought": one["thought"], "query": one["input"], "found": [one["found"]]} for one in past]
    step = json.loads(next_step(rng, task, turns))
    if step["type"] == "Search":
        step = {"type": "Act", "thought": step["thought"], "tool": "search", "input": step["query"]}
    return json.dumps(step)
