"""Equal cost is equal: contenders' mean costs are within 3% of each other."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gotlang.api import Options, load
from gotlang.evaluate.equal_cost import at_cost, combine, repeated, spread
from gotlang.evaluate.evaluation import Evaluation, RowRun, cost_metric
from gotlang.evaluate.rows import Row
from gotlang.metric import ScoreKind

ROOT = Path(__file__).parents[1]
LOWER = ScoreKind("mistakes", lower=True)
CLOSE = 0.03

LENGTHS = """
simulate with "sim.py"

prompt answer(text: str) -> int:
    "How many letters? {{ text }}"
prompt explain(text: str) -> int:
    "Explain at length, with an example and all that is known, how many letters this has: {{ text }}"
prompt check(text: str, found: int) -> int:
    "{{ text }} {{ text }} Are these {{ found }} letters? Say how many."

score error(found: int, text: str) -> lower, best 0:
    abs(found - len(text))

scheme short(text: str) -> int:
    Generate() answer(text)
    Score() error(it, text)
scheme long(text: str) -> int:
    Generate() explain(text)
    Score() error(it, text)
scheme checked(text: str) -> int:
    Generate(k=3) explain(text)
    Score() error(it, text)
    KeepBestN(1)
    Improve(k=2, keep=true) check(text, it)
    Score() error(it, text)
    KeepBestN(1)
"""
SIMULATOR = """
def answer(rng, text):
    return str(len(text) + rng.randint(-3, 3))
def explain(rng, text):
    return "There are many. " * rng.randint(1, 9) + answer(rng, text)
def check(rng, text, found):
    return answer(rng, text)
"""


def test_prompts_of_different_length(tmp_path: Path) -> None:
    schemes = ["short", "long", "checked", "best-of-n", "vote-of-n"]
    (tmp_path / "sim.py").write_text(SIMULATOR)
    (tmp_path / "lengths.got").write_text(LENGTHS)
    rows = [{"text": "word " * (1 + number * number)} for number in range(0, 24, 2)]
    options = Options(cache=None)
    found = load(tmp_path / "lengths.got").compare(rows, schemes=schemes, equal_cost=True, options=options)
    costs = {entry.name: entry.evaluation.mean("cost") or 0.0 for entry in found.entries}
    assert max(costs.values()) <= (1 + CLOSE) * min(costs.values()), costs
    assert found.entries[2].repeats == 1
    assert found.entries[0].repeats > found.entries[1].repeats > 1


def test_the_schemes_of_a_paper() -> None:
    program = load(ROOT / "programs" / "sorting.got")
    schemes = ["io", "cot", "got", "got_rounds", "best-of-n", "vote-of-n"]
    data = ROOT / "programs" / "data" / "digits32.csv"
    options = Options(cache=None)
    rows = program.dataset(data, columns={"numbers": "Unsorted"}, limit=12)
    found = program.compare(rows, schemes=schemes, equal_cost=True, options=options)
    costs = {entry.name: entry.evaluation.mean("cost") or 0.0 for entry in found.entries}
    assert max(costs.values()) <= (1 + CLOSE) * min(costs.values()), costs


def evaluation(costs: dict[int, float], level: int = 1) -> Evaluation:
    runs = [RowRun(Row(n, {}), 0, "done", n, 1.0, None, cost * level, 1, 1.0) for n, cost in costs.items()]
    return Evaluation("scheme", LOWER, runs)


@settings(max_examples=30)
@given(
    st.lists(st.floats(0.5, 2.0), min_size=30, max_size=60),
    st.floats(1.0, 40.0),
    st.integers(1, 12),
)
def test_whatever_rows_cost_their_mean_becomes_the_target(
    costs: list[float], factor: float, guess: int
) -> None:
    by_row = dict(enumerate(costs))
    target = factor * sum(costs) / len(costs)
    asked: list[int] = []

    async def at(level: int, rows: Collection[int] | None) -> Evaluation:
        asked.append(level)
        chosen = by_row if rows is None else {row: by_row[row] for row in rows}
        return evaluation(chosen, level)

    found, level = asyncio.run(at_cost(at, evaluation(by_row, guess), guess, target, "cost"))
    assert (found.mean("cost") or 0.0) == pytest.approx(target, rel=CLOSE)
    assert level == pytest.approx(factor, rel=0.15)
    assert [run.row.number for run in found.runs] == list(by_row)
    assert len(asked) < 40


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 8), st.floats(1.0, 9.0), st.integers(1, 9))
def test_the_search_ends_whatever_costs_do(seed: int, rows: int, target: float, guess: int) -> None:
    asked = 0

    def costs(level: int, chosen: Collection[int]) -> dict[int, float]:
        chance = random.Random(f"{seed} {level}")
        made = {row: level * chance.uniform(0.7, 1.3) for row in range(rows)}
        return {row: made[row] for row in chosen}

    async def at(level: int, chosen: Collection[int] | None) -> Evaluation:
        nonlocal asked
        asked += 1
        assert asked < 60
        return evaluation(costs(level, range(rows) if chosen is None else chosen))

    found, _ = asyncio.run(at_cost(at, evaluation(costs(guess, range(rows))), guess, target, "cost"))
    assert found.row_count == rows


def test_a_scheme_that_costs_no_more_at_a_higher_level_ends_the_search() -> None:
    async def at(level: int, rows: Collection[int] | None) -> Evaluation:
        return evaluation(dict.fromkeys(range(6), 1.0))

    found, level = asyncio.run(at_cost(at, evaluation(dict.fromkeys(range(6), 1.0)), 1, 50.0, "cost"))
    assert (level, found.mean("cost")) == (1, 1.0)


def test_rows_are_raised_evenly_and_run_only_what_they_lack() -> None:
    asked: list[tuple[int, int, list[int]]] = []

    async def run(first: int, repeats: int, rows: Collection[int]) -> Evaluation:
        asked.append((first, repeats, list(rows)))
        one = evaluation(dict.fromkeys(rows, 1.0)).runs
        return Evaluation("scheme", LOWER, [*one] * repeats)

    found = evaluation(dict.fromkeys(range(8), 1.0))
    matched, level = asyncio.run(at_cost(repeated(found, run), found, 1, 2.5, "cost"))
    assert (matched.mean("cost"), level) == (2.5, 2.5)
    raised = [row for first, _, rows in asked[1:] for row in rows]
    assert asked[0] == (1, 1, list(range(8)))
    assert all(first == 2 for first, _, _ in asked[1:])
    assert len(raised) == len(set(raised)) == 4
    assert spread(range(8), 4) == [1, 3, 5, 7]


def test_without_a_price_tokens_are_compared_and_without_these_calls() -> None:
    runs = [RowRun(Row(n, {}), 0, "done", 1, 1.0, None, 0.0, 2, 1.0, tokens=30) for n in range(6)]
    assert cost_metric([Evaluation("a", LOWER, runs)]) == "tokens"
    unknown = [dataclasses.replace(run, tokens=None) for run in runs]
    assert cost_metric([Evaluation("a", LOWER, unknown)]) == "calls"
    priced = [dataclasses.replace(run, usd=0.1) for run in runs]
    assert cost_metric([Evaluation("a", LOWER, priced)]) == "cost"
    assert combine(runs, LOWER).tokens == 180
