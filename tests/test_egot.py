"""Enhancing graph of thoughts: its temperatures by equation 5, its second evaluations, and what it asks."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from support.laws import tried

from benchmarks.schemes import ROWS, given, program_of
from gotlang.api import Options
from gotlang.models.base import PERMITTED, Completion, Model, Permit, Reply, Request, Usage
from gotlang.result import Result
from gotlang.runtime.sampler.events import Asked, Event

NUMBERS = [5, 3, 1, 4]
RATINGS = [0, 30, 55, 80, 100]


class Rater(Model):
    """Answers with another list each time, and rates by the list, with a probability of its own."""

    name, simulated, price, batch = "rater", False, None, 1

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.count = 0

    @staticmethod
    def rating(answer: list[int], again: bool) -> tuple[int, float]:
        at = answer[0] + 2 * again
        return RATINGS[at % len(RATINGS)], 1 - 0.05 * (at % 7)

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        self.asked.append(request)
        tokens: tuple[tuple[str, float], ...]
        if request.prompt == "methods":
            tokens = ((json.dumps({"method": "merge sort", "checks": ["No number is new."]}), -0.1),)
        elif request.prompt == "solve":
            self.count += 1
            tokens = ((json.dumps({"answer": [self.count], "rationale": "done"}), -0.1),)
        elif request.prompt == "rate":
            rating, sure = self.rating(request.arguments["answer"], request.settings.seed is not None)
            tokens = (("Rating: ", -1.0), (str(rating), math.log(sure)), ("\nRationale: so", -1.0))
        else:
            tokens = (("Wrong: nothing", -0.1),)
        text = "".join(token for token, _ in tokens)
        done = Completion(
            text, logprob=sum(one for _, one in tokens), tokens=tokens, output_tokens=len(tokens)
        )
        return Reply((done,), Usage(1, len(tokens)), 0.0)


def run(scheme: str, **params: Any) -> tuple[Rater, Result]:
    model = Rater()
    options = Options(model=model, cache=None, python=True, params=params)
    return model, program_of("egot").run({"numbers": NUMBERS}, scheme=scheme, options=options)


def equation_5(rating: int, sure: float, progress: float, turn: float) -> float:
    confidence = rating / 100 * sure ** (1 / math.e)
    least = 1 - math.sqrt(1 - (confidence - 1) ** 2)
    return least + 0.5 * (0.7 - least) * (1 + math.cos(turn * progress))


@pytest.mark.parametrize(("cosine", "turn"), [("printed", 1.0), ("with pi", math.pi)])
def test_temperatures_are_those_of_equation_5(cosine: str, turn: float) -> None:
    model, result = run("egot", cosine=cosine)
    values = [thought["value"] for thought in result.thoughts()]
    found = {v["answer"][0]: v["temperature"] for v in values if isinstance(v, dict) and "temperature" in v}
    assert len(found) == 21
    # Which answer stands where: the roots first, then each level in its order.
    order = list(found)
    for at, first in enumerate(order, 1):
        rating, sure = model.rating([first], False)
        if sure < (0.99 if rating in (0, 100) else 0.5):
            rating, sure = model.rating([first], True)
        assert found[first] == pytest.approx(equation_5(rating, sure, at / 21, turn)), at
    asked = [one.settings.temperature for one in model.asked if one.prompt == "solve"]
    expected = Counter([1.0] * 3)
    for first in order[:9]:
        expected[round(found[first], 9)] += 2
    expected[round(sum(found[first] for first in order[9:]) / 12, 9)] += 1
    assert Counter(round(one or 0.0, 9) for one in asked) == expected


def test_egot_star_answers_at_temperature_1() -> None:
    model, _ = run("egot_star")
    assert {one.settings.temperature for one in model.asked if one.prompt == "solve"} == {1.0}
    assert {one.settings.temperature for one in model.asked if one.prompt != "solve"} == {0.0}


def test_an_improbable_rating_is_requested_again_by_a_separate_call() -> None:
    model, _ = run("egot")
    rated = {one.arguments["answer"][0] for one in model.asked if one.prompt == "rate"}
    again = [one.arguments["answer"][0] for one in model.asked if one.settings.seed is not None]
    assert sorted(again) == sorted(
        answer
        for answer in rated
        if model.rating([answer], False)[1] < (0.99 if model.rating([answer], False)[0] in (0, 100) else 0.5)
    )
    assert 0 < len(again) < len(rated)


@pytest.mark.parametrize("scheme", ["egot", "egot_lake"])
def test_where_no_rating_is_probable_enough_each_answer_is_rated_twice(scheme: str) -> None:
    row = next(row for row in ROWS if row.scheme == scheme)
    ratings: dict[str, set[int | None]] = {}

    def note(event: Event) -> None:
        if isinstance(event, Asked) and event.request.prompt == "rate":
            answer = str(event.request.arguments["answer"])
            ratings.setdefault(answer, set()).add(event.request.settings.seed)

    params = {"sure_of_rest": 1.0, "sure_of_ends": 1.0}
    options = Options(model="simulated", cache=None, python=True, params=params, observe=note)
    program_of(row.program).run(given(row)[0], scheme=scheme, options=options)
    assert set(map(frozenset, ratings.values())) == {frozenset({None, 1})}


class Repeater(Model):
    """Answers with one list, whatever it is asked."""

    name, simulated, price, batch = "repeater", False, None, 1

    def __init__(self, answer: list[int]) -> None:
        self.answer = answer

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        return Reply((Completion(str(self.answer), output_tokens=1),), Usage(1, 1), 0.0)


@drawn(st.lists(st.integers(1, 9)), st.lists(st.integers(1, 9), min_size=1))
@tried(15)
def test_overlap_is_what_both_lists_share_of_what_either_has(answer: list[int], numbers: list[int]) -> None:
    options = Options(model=Repeater(answer), cache=None, python=True)
    found = program_of("egot_baselines").evaluate([{"numbers": numbers}], scheme="io", options=options)
    one, other = Counter(answer), Counter(numbers)
    assert found.mean("overlap") == pytest.approx(100 * (one & other).total() / (one | other).total())
