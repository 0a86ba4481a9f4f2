"""Socratic questioning: what a question asks of itself, by what is sure, and how hints vote."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.schemes import program_of
from gotlang.api import Options
from gotlang.models.base import PERMITTED, Completion, Model, Permit, Reply, Request, Usage


class Student(Model):
    """Answers what the hint says (`no` without one), as sure as it is told, and raises so many questions."""

    name, simulated, price, batch = "student", False, None, 1

    def __init__(self, confidence: str, raised: int = 2) -> None:
        self.confidence, self.raised = confidence, raised
        self.asked: Counter[str] = Counter()
        self.shown: list[int] = []

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        self.asked[request.prompt] += 1
        given = request.arguments
        if request.prompt == "attempt":
            self.shown.append(len(given["hints"]))
            answer = given["hints"][-1] if given["hints"] else "no"
            text = f"So. [Answer: {answer}; Used hints: none; Confidence: {self.confidence}]"
        elif request.prompt == "raise_questions":
            text = "\n".join(f"{at}. {given['question']} {at}" for at in range(1, self.raised + 1))
        else:
            text = "maybe" if given["question"].endswith(" 1") else "yes"
        return Reply((Completion(text, output_tokens=1),), Usage(1, 1), 0.0)


def run(model: Student, **params: object) -> object:
    options = Options(model=model, cache=None, python=True, params=params)
    return program_of("socratic_questioning").run({"question": "Why?"}, options=options).value


def attempts(turn: int, level: int, depth: int, turns: int) -> int:
    """How often a question is tried that is never sure, with two questions raised each time."""
    if level >= depth:
        return 1
    return 1 + sum(2 * attempts(later, level + 1, depth, turns) + 1 for later in range(turn, turns))


@pytest.mark.parametrize(("depth", "turns"), [(2, 1), (2, 3), (3, 2), (3, 3)])
def test_what_is_never_sure_is_asked_to_the_end(depth: int, turns: int) -> None:
    model = Student("low")
    run(model, depth=depth, turns=turns)
    assert model.asked["attempt"] == attempts(1, 1, depth, turns)
    assert model.asked["as_hint"] == 2 * model.asked["raise_questions"]


def test_what_is_sure_is_answered_at_once() -> None:
    model = Student("high")
    assert run(model) == "no"
    assert model.asked == {"attempt": 1}


def test_only_the_first_questions_count() -> None:
    model = Student("low", raised=8)
    run(model, depth=2, turns=2)
    assert model.asked["as_hint"] == 5


def test_with_vote_the_first_question_is_answered_with_each_hint_alone() -> None:
    model = Student("high", raised=3)
    assert run(model, vote=True) == "yes"  # two hints of three
    assert model.asked == {"attempt": 1 + 3 + 3, "raise_questions": 1, "as_hint": 3}
    assert Counter(model.shown) == {0: 4, 1: 3}
