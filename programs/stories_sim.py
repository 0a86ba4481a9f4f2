"""Simulators of the prompts about stories: they calculate as a small model does, with mistakes.

Each calculation of a chain goes wrong now and then, the more often the longer the chain already is, the
warmer the temperature, and without worked examples in the text: that is what makes decomposing, voting and
checking pay. So do mistakes of all other kinds: questions are cut in the wrong places, checks overlook
mistakes, a new finding is ignored or used where it does not belong. Only the constants at the top set how
often. A text that is no story of this kind is not simulated.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Sequence
from typing import Any

from stories import Change, read

from gotlang.models.base import Message
from gotlang.models.simulated import NotSimulated, Simulated
from gotlang.models.tokens import estimate_tokens

MODELS = {
    "small": {"input_per_million": 0.05, "output_per_million": 0.15, "per_token_s": 0.003},
    "medium": {"input_per_million": 0.5, "output_per_million": 1.5, "per_token_s": 0.01},
    "large": {"input_per_million": 5.0, "output_per_million": 15.0, "per_token_s": 0.03},
}
CARELESS = {"small": 5.0, "medium": 1.6, "large": 0.4}
"""How much more often a calculation goes wrong that one of these models makes; made up."""
SLIP = 0.03
"""The chance that one calculation goes wrong, at temperature 0.7 and with examples to follow."""
FATIGUE = 0.02
"""By how much that chance grows with each calculation before it in the same answer."""
UNAIDED = 1.6
"""How much more often it goes wrong where the text asks for steps and has no examples."""
HASTY = 4.0
"""How much more often where it asks for the answer only."""
PLANNED = 0.6
"""How much more often with a plan to follow that fits."""
BLIND = 0.25
"""The chance that a mistake is overlooked when an answer is checked."""
SUSPICIOUS = 0.05
"""The chance that something right is taken for a mistake."""
MISCUT = 0.1
"""The chance that a question is cut in the wrong place, so that a part of it is missing."""
MISPLACED = 0.08
"""The chance that a new finding is used where it does not belong, or is not used where it does."""
STUBBORN = 0.12
"""The chance that an answer ignores what it is shown."""
MISREAD = 0.02
"""The chance that the wrong number of a text is read as its answer."""
SURE, UNSURE, SPREAD = 0.93, 0.78, 0.07
"""The probability of a token of a calculation that is right, and of one that is not, and its deviation."""


# ---------------------------------------------------------------- one chain


def solve(rng: random.Random, story: str, temperature: float | None, messages: Sequence[Message]) -> str:
    """A chain of thought, after examples if the text has any."""
    return _chain(rng, story, _care(messages, story) * _heat(temperature))


def think(
    rng: random.Random, story: str, trigger: str, temperature: float | None, messages: Sequence[Message]
) -> str:
    """A chain of thought without any."""
    return "Let us see.\n" + _chain(rng, story, _care(messages, story) * _heat(temperature))


def extract_answer(rng: random.Random, story: str, trigger: str, reasoning: str) -> str:
    """The last number of the reasoning, or another one."""
    read(story)
    numbers = re.findall(r"-?\d+", reasoning)
    return f"{(rng.choice(numbers) if rng.random() < MISREAD else numbers[-1]) if numbers else 0}."


# ---------------------------------------------------------------- least to most


def decompose(rng: random.Random, story: str) -> str:
    """A question for each change but the last, then the story's own; now and then one is left out."""
    questions = [f"How many are there after this: {c.sentence}" for c in read(story).changes[:-1]]
    if questions and rng.random() < MISCUT:
        questions.pop(rng.randrange(len(questions)))
    return "\n".join(f"{i}. {q}" for i, q in enumerate([*questions, read(story).question], 1))


def answer(rng: random.Random, story: str, asked: list[str], answers: list[int], question: str) -> str:
    """The calculations from the answer before on; a question that was left out is made up for."""
    first = _end(story, asked[-1]) if asked else 0
    before = answers[-1] if answers and rng.random() >= STUBBORN / 4 else read(story).start
    if answers and before != answers[-1]:
        first = 0
    lines = _lines(rng, before, read(story).changes[first : _end(story, question)], 0)
    return ". ".join([*lines, f"The answer is {_result(lines, before)}."])


# ---------------------------------------------------------------- self-discover


def select(rng: random.Random, tasks: list[str], modules: list[str]) -> str:
    """The ways of reasoning that keep a record, go by steps and check, or what is taken for them."""
    useful = [one for one in modules if re.search("record|step by step|check|smaller parts", one)]
    chosen = [one for one in useful if rng.random() >= MISCUT] + rng.sample(modules, 1)
    return "\n".join(f"- {one}" for one in dict.fromkeys(chosen))


def adapt(rng: random.Random, tasks: list[str], ways: list[str]) -> str:
    """Each way, said for stories where it has to do with them."""
    said = {
        "record": "Keep a record of how many there are after each sentence.",
        "step": "Take the sentences step by step.",
        "check": "Check that the last number is the one that is asked for.",
        "smaller": "Take each sentence by itself.",
    }
    return "\n".join("- " + next((text for word, text in said.items() if word in one), one) for one in ways)


def implement(rng: random.Random, tasks: list[str], ways: list[str]) -> str:
    """A plan of what the ways come to."""
    keys = {"record": "Number after each sentence", "check": "Is it what is asked for?"}
    steps = [key for word, key in keys.items() if any(word in one for one in ways)]
    others = [one.rstrip(".") for one in ways if not re.search("sentence|asked", one)]
    return json.dumps(dict.fromkeys(["Number at first", *steps, *others, "Answer"], ""), indent=1)


def follow(rng: random.Random, plan: dict[str, str], story: str, temperature: float | None) -> str:
    """The plan filled in; a chain that is as careful as the plan is."""
    fits = any("after each sentence" in key for key in plan)
    factor = (PLANNED if fits else UNAIDED) * _heat(temperature)
    lines = _lines(rng, read(story).start, read(story).changes, 0, factor)
    checks = any("asked for" in key for key in plan) and rng.random() >= BLIND
    if checks and (at := _mistake(story, lines)) is not None:
        lines = [*lines[:at], *_again(rng, story, lines, at)]
    found = _result(lines, read(story).start)
    filled = {key: "; ".join(lines) if "after each" in key else str(found) for key in plan}
    return f"{json.dumps(filled)}\nThe answer is {found}."


# ---------------------------------------------------------------- forest of thought


def go_on(
    rng: random.Random, story: str, solved: list[str], work: str, steps: int, temperature: float | None
) -> Simulated:
    """The next calculations: a share of those that are left."""
    done = work.splitlines()
    todo = read(story).changes[len(done) :]
    if not todo:
        return _said(rng, "Nothing is left to calculate.", True)
    factor = (1.0 if solved else UNAIDED) * _heat(temperature)
    before = _result(done, read(story).start)
    lines = _lines(rng, before, todo[: math.ceil(len(todo) / steps)], len(done), factor)
    return _said(rng, "\n".join(lines), _mistake(story, [*done, *lines]) is None)


def correct(rng: random.Random, story: str, work: str, step: str) -> Simulated:
    """The last calculations again, from the first mistake that is seen on."""
    done, lines = work.splitlines(), _calculations(step)
    at = _mistake(story, [*done, *lines], len(done))
    if at is not None and rng.random() >= BLIND:
        lines = [*done, *lines][len(done) : at] + _again(rng, story, [*done, *lines], at)
    elif lines and rng.random() < SUSPICIOUS:
        lines = _again(rng, story, [*done, *lines], len(done))
    return _said(rng, "\n".join(lines) or step, _mistake(story, [*done, *lines]) is None)


def promise(rng: random.Random, story: str, work: str) -> str:
    """The confidence in an answer."""
    right = _mistake(story, _calculations(work)) is None
    if rng.random() < (SUSPICIOUS if right else BLIND):
        right = not right
    return f"{rng.uniform(6, 10) if right else rng.uniform(1, 6):.1f}"


def finish(rng: random.Random, story: str, work: str) -> str:
    """What is left to calculate, and the answer."""
    done = _calculations(work)
    before = _result(done, read(story).start)
    more = _lines(rng, before, read(story).changes[len(done) :], len(done))
    return "\n".join([*more, f"The answer is {_result(more, before)}."])


def decide(rng: random.Random, story: str, answers: list[int]) -> str:
    """A second opinion; it goes with an expert where it comes close to one."""
    found = _result(_lines(rng, read(story).start, read(story).changes, 0, PLANNED), read(story).start)
    near = min(answers, key=lambda one: abs(one - found), default=found)
    return f"The answer is {near if rng.random() >= STUBBORN else found}."


# ---------------------------------------------------------------- a cascade of models


def reply(rng: random.Random, story: str, temperature: float | None, model: str) -> str:
    """The calculations and the answer, as well as the model can."""
    before = read(story).start
    factor = CARELESS.get(model, 1.0) * _heat(temperature)
    lines = _lines(rng, before, read(story).changes, 0, factor)
    return json.dumps({"work": "\n".join(lines), "answer": _result(lines, before)})


def reliable(rng: random.Random, story: str, found: dict[str, Any]) -> str:
    """The confidence in an answer."""
    return promise(rng, story, found["work"])


# ---------------------------------------------------------------- decompose, analyse, rethink


def decompose_question(rng: random.Random, story: str, question: str, most: int) -> str:
    """The way to the answer in two or three parts, where it is long enough; a part may be missing."""
    end, whole = _end(story, question), question in (story, read(story).question)
    if end < (2 if whole else 3):
        return "[]"
    count = min(most, end, rng.choice((2, 2, 3)))
    cuts = [end * (n + 1) // count for n in range(count)]
    if rng.random() < MISCUT:
        cuts.pop(rng.randrange(len(cuts)))
    changes = read(story).changes
    asked = [f"How many are there after this: {changes[cut - 1].sentence}" for cut in cuts]
    return json.dumps([one for one in asked if one != question])


def analyse(
    rng: random.Random, story: str, question: str, asked: list[str], known: list[dict[str, Any]]
) -> str:
    """A rationale from the nearest known answer on."""
    first, before = 0, read(story).start
    if known and rng.random() >= STUBBORN:
        first, before = _end(story, asked[-1]), int(known[-1]["answer"])
    return _reply(before, _lines(rng, before, read(story).changes[first : _end(story, question)], 0))


def self_check(rng: random.Random, story: str, question: str, reply: dict[str, Any]) -> str:
    """The rationale again, from the first mistake that is seen on."""
    lines, end = _calculations(reply["rationale"]), _end(story, question)
    at = _mistake(story, lines, end=end)
    if at is None or rng.random() < BLIND:
        return f"Rationale: {reply['rationale']}\nAnswer: {reply['answer']}"
    return _reply(int(reply["answer"]), [*lines[:at], *_again(rng, story, lines, at, end)])


def rate(rng: random.Random, story: str, question: str, reply: dict[str, Any]) -> str:
    """A high number for a rationale without a mistake that is seen."""
    right = _mistake(story, _calculations(reply["rationale"]), end=_end(story, question)) is None
    if rng.random() < (SUSPICIOUS if right else BLIND):
        right = not right
    return str(rng.randint(7, 10) if right else rng.randint(2, 6))


def who_can_use(rng: random.Random, story: str, node: dict[str, Any], questions: list[str]) -> str:
    """The questions whose answer lies further on, give or take one."""
    here = _end(story, node["question"])
    uses = [(_end(story, q) >= here) != (rng.random() < MISPLACED) for q in questions]
    return str([i for i, use in enumerate(uses, 1) if use and questions[i - 1] != node["question"]])


def update(rng: random.Random, story: str, node: dict[str, Any], found: dict[str, Any]) -> str:
    """The rationale of `node`, gone through anew from where `found` says something else."""
    lines, end = _calculations(node["rationale"]), _end(story, node["question"])
    here, told = _end(story, found["question"]), int(found["answer"])
    first = end - len(lines)
    stays = f"Rationale: {node['rationale']}\nAnswer: {node['answer']}"
    if here > end:  # it does not belong here
        return stays if rng.random() >= STUBBORN else f"Rationale: {found['rationale']}\nAnswer: {told}"
    if here < first or rng.random() < STUBBORN:
        return stays
    had = _numbers(lines[here - first - 1])[1] if here > first else _numbers(lines[0])[0] if lines else told
    if had == told:
        return stays
    return _reply(told, _lines(rng, told, read(story).changes[here:end], 0))


# ---------------------------------------------------------------- calculating


def _care(messages: Sequence[Message], story: str) -> float:
    """How much more often a chain goes wrong, by what the text shows and asks for."""
    text = "\n".join(message.content for message in messages)
    before, _, after = text.rpartition(story)
    if re.search(r"\d = \d", before):
        return 1.0
    return UNAIDED if "step" in (before + after).lower() else HASTY


def _heat(temperature: float | None) -> float:
    return 0.7 + 0.3 * (0.7 if temperature is None else temperature) / 0.7


def _said(rng: random.Random, text: str, right: bool) -> Simulated:
    probability = min(0.999, max(0.05, rng.gauss(SURE if right else UNSURE, SPREAD)))
    return Simulated(text, estimate_tokens(text) * math.log(probability))


def _slipped(rng: random.Random, value: int, chance: float) -> int:
    return value + rng.choice((-10, -2, -1, 1, 2, 10)) if rng.random() < chance else value


def _lines(
    rng: random.Random, before: int, todo: Sequence[Change], done: int, factor: float = 1.0
) -> list[str]:
    lines = []
    for position, change in enumerate(todo, done):
        after = _slipped(rng, change.apply(before), (SLIP + FATIGUE * position) * factor)
        lines.append(change.written(before, after))
        before = after
    return lines


def _chain(rng: random.Random, story: str, factor: float) -> str:
    lines = _lines(rng, read(story).start, read(story).changes, 0, factor)
    return ". ".join([*lines, f"The answer is {_result(lines, read(story).start)}."])


def _reply(before: int, lines: list[str]) -> str:
    return f"Rationale: {', then '.join(lines) or 'nothing happens'}\nAnswer: {_result(lines, before)}"


def _calculations(text: str) -> list[str]:
    return re.findall(r"-?\d+ [-+*/] \d+ = -?\d+", text)


def _numbers(line: str) -> tuple[int, int]:
    """What a calculation starts from, and its result."""
    return int(line.split()[0]), int(line.rpartition("= ")[2])


def _result(lines: Sequence[str], otherwise: int) -> int:
    return _numbers(lines[-1])[1] if lines and _calculations(lines[-1]) else otherwise


def _end(story: str, question: str) -> int:
    """How many changes there are up to the one a question is about."""
    told = read(story)
    if question in (story, told.question):
        return len(told.changes)
    found = [number for number, change in enumerate(told.changes, 1) if change.sentence in question]
    if not found:
        raise NotSimulated(f"{question!r} is no question about a sentence of the story")
    return found[0]


def _mistake(story: str, lines: Sequence[str], first: int = 0, end: int | None = None) -> int | None:
    """The position of the first calculation, from `first` on, that is not right in itself. They lead to the
    change `end`, or start at the first; what they start from is only known there."""
    changes = read(story).changes
    offset = 0 if end is None else end - len(lines)
    before = read(story).start if offset == 0 else None
    for position, line in enumerate(lines):
        if not _calculations(line) or not 0 <= offset + position < len(changes):
            return position
        start, result = _numbers(line)
        wrong = (before is not None and start != before) or result != changes[offset + position].apply(start)
        if wrong and position >= first:
            return position
        before = result
    return None


def _again(
    rng: random.Random, story: str, lines: Sequence[str], at: int, end: int | None = None
) -> list[str]:
    """The calculations from one on, once more."""
    offset = 0 if end is None else max(0, end - len(lines))
    before = _numbers(lines[at - 1])[1] if at else read(story).start
    if not at and offset:
        before = _numbers(lines[0])[0]
    return _lines(rng, before, read(story).changes[offset + at : offset + len(lines)], 0)
