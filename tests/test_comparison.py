"""Contenders: baselines made from a program. Comparisons: paired, also at equal cost."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Collection, Sequence

import pytest

from gotlang.api import compile
from gotlang.errors import UsageError
from gotlang.evaluate.comparison import (
    MATCHED,
    ComparedScheme,
    Comparison,
    Contender,
    assemble,
    comparable,
    contenders,
    run_contenders,
    with_samples,
)
from gotlang.evaluate.equal_cost import combine
from gotlang.evaluate.evaluation import Evaluation, RowRun
from gotlang.evaluate.rows import Row
from gotlang.ir import program as ir
from gotlang.ir.program import Program, Scheme
from gotlang.metric import ScoreKind

PROMPTS = """
param tries = 4
prompt halve(n: int) -> many int:
    "halve {{ n }}"
prompt guess(n: int) -> int:
    "guess {{ n }}"
score distance(got: int, n: int) -> lower, best 0:
    abs(got - n)
"""
TEXT = f"""{PROMPTS}
scheme other(word: str) -> int:
    Map() len(word)
scheme tree(n: int) -> int:
    Generate(k=tries) guess(n)
    Score() distance(it, n)
    KeepBestN(1)
    GroundTruth() it == n
scheme io(n: int) -> int:
    Generate() guess(n)
"""
BLIND = f"""{PROMPTS}
scheme io(n: int) -> int:
    Generate() guess(n)
scheme deep(n: int) -> int:
    m = Generate() guess(n)
    Generate() guess(n)
    Score() distance(it, m)
    KeepBestN(1)
"""


def program(text: str = TEXT) -> Program:
    return compile(text, "main.got").ir(0)


def kinds(scheme: Scheme) -> list[str]:
    return [type(step).__name__ for step in scheme.body.steps]


def test_baselines_are_made_from_the_prompt_that_answers_in_one_go() -> None:
    _, single, best, vote = contenders(program(), ["tree", "single", "best-of-5", "vote-of-7"])
    assert kinds(single.scheme) == ["Generate", "Score", "GroundTruth"]
    assert kinds(best.scheme) == ["Generate", "Score", "KeepBestN", "GroundTruth"]
    assert kinds(vote.scheme) == ["Generate", "Vote", "Score", "GroundTruth"]
    asks = [side.scheme.body.steps[0] for side in (single, best, vote)]
    assert all(isinstance(ask, ir.SampledStep) and ask.prompt == "guess" for ask in asks)
    assert [side.samples for side in (single, best, vote)] == [1, 5, 7]
    assert with_samples(program(), best, 9).name == "best-of-9"
    assert contenders(program(), ["io", "vote-of-n"])[1].samples == MATCHED


SEVERAL = f"""{PROMPTS}
score rough(got: int, n: int) -> lower, best 0:
    abs(got - n) // 10
scheme words(n: int) -> str:
    Map() str(n)
scheme coarse(n: int) -> int:
    Generate() guess(n)
    Score() rough(it, n)
scheme fine(n: int) -> int:
    Generate() guess(n)
    Score() distance(it, n)
"""


@pytest.mark.parametrize("kind", ["best", "vote"])
def test_a_baseline_with_more_answers_is_the_same_but_for_them(kind: str) -> None:
    found = program(SEVERAL)
    _, few = contenders(found, ["fine", f"{kind}-of-n"])
    many = with_samples(found, few, 7)
    assert many.name == f"{kind}-of-7"
    assert many.scheme.result == few.scheme.result
    scores = [[s.score for s in side.scheme.body.steps if isinstance(s, ir.Score)] for side in (few, many)]
    assert scores == [["distance"], ["distance"]]


def test_a_best_of_needs_a_score_that_looks_at_the_inputs_alone() -> None:
    other = BLIND.replace("n: int) -> lower", "other: int) -> lower").replace("- n)", "- other)")
    with pytest.raises(UsageError, match="needs a score"):
        contenders(program(other), ["io", "best-of-3"])
    assert kinds(contenders(program(BLIND), ["io", "vote-of-3"])[1].scheme) == ["Generate", "Vote", "Score"]
    assert kinds(contenders(program(BLIND), ["io", "best-of-3"])[1].scheme)[1:] == ["Score", "KeepBestN"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["tree", "oi"], "no scheme `oi`"),
        (["tree", "best-of-0"], "no scheme `best-of-0`"),
        (["tree", "other"], "has other inputs"),
        (["tree", "tree"], "duplicate scheme"),
        (["other", "single"], "no prompt"),
    ],
)
def test_what_cannot_be_compared_is_said(names: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        contenders(program(), names)


def test_schemes_that_can_be_compared() -> None:
    assert comparable(program(), program().scheme("io")) == ["tree", "io"]


LOWER = ScoreKind("distance", lower=True)


def evaluation(scores: Sequence[float | None], cost: float = 1.0, kind: ScoreKind = LOWER) -> Evaluation:
    runs = [
        RowRun(Row(place, {}), 0, "failed", reason="no answer")
        if score is None
        else RowRun(Row(place, {}), 0, "done", score, score, score == 0, cost, 1, 1.0)
        for place, score in enumerate(scores)
    ]
    return Evaluation("x", kind, runs)


def two(first: Sequence[float | None], second: Sequence[float | None]) -> Comparison:
    return assemble(
        [ComparedScheme("a", evaluation(first)), ComparedScheme("b", evaluation(second, cost=2.0))], "a"
    )


def test_a_difference_is_paired_over_the_rows_that_both_have() -> None:
    found = two([5, 90, 7, 40, 60, 20, None, 80], [4, 89, 6, 39, 59, 19, 100, None])
    difference = found.entries[1].to_baseline["score"]
    assert (difference.mean, difference.low, difference.high, difference.rows) == (-1, -1, -1, 6)
    assert found.entries[1].verdict == "better"
    assert found.entries[1].to_baseline["cost"].mean == 1.0


def test_what_is_not_shown_is_not_claimed() -> None:
    assert two([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5]).entries[1].verdict == "not significant"
    assert two([5, 5, 5], [0, 0, 0]).entries[1].verdict == "not significant"


def test_the_pareto_front_holds_what_nothing_beats_in_both() -> None:
    entries = [
        ComparedScheme("cheap", evaluation([9, 9], 1.0)),
        ComparedScheme("beaten", evaluation([9, 9], 2.0)),
        ComparedScheme("good", evaluation([1, 1], 3.0)),
        ComparedScheme("dear", evaluation([2, 2], 9.0)),
    ]
    assert [entry.name for entry in assemble(entries, "cheap").front()] == ["cheap", "good"]


@pytest.mark.parametrize("price", [None, 0.0])
def test_without_prices_as_many_answers_are_equal_cost(price: float | None) -> None:
    def runs(calls: int, score: float) -> list[RowRun]:
        return [RowRun(Row(n, {}), 0, "done", 1, score, None, price, calls, 1.0) for n in range(6)]

    asked: list[tuple[str, int]] = []

    async def run(side: Contender, first: int, repeats: int, rows: Collection[int] | None) -> Evaluation:
        asked.append((side.name, repeats))
        calls = 8 if side.name == "tree" else 1
        made = [
            dataclasses.replace(one, repeat=first + i) for one in runs(calls, 3.0) for i in range(repeats)
        ]
        return Evaluation(side.name, LOWER, made, repeats)

    sides = contenders(program(), ["tree", "io"])
    found = asyncio.run(run_contenders(program(), sides, run, "io", equal_cost=True))
    assert asked[:2] == [("tree", 1), ("io", 1)]
    assert sum(repeats for _, repeats in asked[2:]) == 7
    assert found.cost_metric == "calls"
    assert [entry.repeats for entry in found.entries] == [1, 8]
    assert found.point(found.entries[1]) == (8.0, 3.0)


def test_without_a_score_in_common_right_and_wrong_are_compared() -> None:
    other = evaluation([0, 1], kind=ScoreKind("other"))
    assert (
        assemble([ComparedScheme("a", evaluation([0, 1])), ComparedScheme("b", other)], "a").metric
        == "correct"
    )
    unjudged = [RowRun(Row(0, {}), 0, "done", 1, None, None, 1.0, 1, 1.0)]
    with pytest.raises(UsageError, match="no metric in common"):
        assemble([ComparedScheme("a", Evaluation("x", LOWER, unjudged)), ComparedScheme("b", other)], "a")


def run_of(value: object, score: float | None, usd: float = 1.0, seconds: float = 1.0) -> RowRun:
    return RowRun(Row(0, {}), 0, "done", value, score, None, usd, 2, seconds)


def test_repeats_count_by_their_best_and_cost_their_sum() -> None:
    runs = [run_of("a", 5), run_of("b", 3, seconds=4.0), run_of("c", 3)]
    best = combine([*runs, RowRun(Row(0, {}), 3, "failed", reason="x")], LOWER)
    assert (best.value, best.usd, best.calls, best.seconds) == ("b", 3.0, 6, 4.0)
    assert combine(runs, ScoreKind("s", lower=False)).value == "a"
    votes = [run_of([1], None), run_of([2], None), run_of([2], None)]
    assert combine(votes, LOWER).value == [2]
    lost = RowRun(Row(0, {}), 0, "failed", reason="x", usd=2.0, calls=3)
    assert (combine([*runs, lost], LOWER).usd, combine([*runs, lost], LOWER).calls) == (5.0, 9)
    assert (combine([lost, lost], LOWER).state, combine([lost, lost], LOWER).usd) == ("failed", 4.0)
    assert combine([RowRun(Row(0, {}), 0, "failed", reason="x")], LOWER).state == "failed"


async def compared(
    names: list[str], costs: dict[str, float], *, equal_cost: bool = False
) -> tuple[Comparison, list[str]]:
    """A comparison whose contenders cost what is said here, a baseline 0.1 and each answer 0.1 more."""
    asked: list[str] = []

    async def run(side: Contender, first: int, repeats: int, rows: Collection[int] | None) -> Evaluation:
        asked.append(f"{side.name} {first}+{repeats}")
        cost = costs[side.name] if side.kind is None else 0.1 + 0.1 * (side.samples or 1)
        runs = [
            RowRun(Row(number, {}), first + repeat, "done", number, 5 - repeat, False, cost, 1, 1.0)
            for number in (range(6) if rows is None else rows)
            for repeat in range(repeats)
        ]
        return Evaluation(side.name, LOWER, runs)

    sides = contenders(program(), names)
    found = await run_contenders(program(), sides, run, names[0], equal_cost=equal_cost)
    return found, asked


async def _matched() -> None:
    found, _ = await compared(["tree", "io", "best-of-n"], {"tree": 2.1, "io": 0.3})
    assert [entry.name for entry in found.entries] == ["tree", "io", "best-of-20"]
    found, asked = await compared(["tree", "io"], {"tree": 2.1, "io": 0.3}, equal_cost=True)
    assert [entry.repeats for entry in found.entries] == [1, 7]
    assert asked == ["tree 0+1", "io 0+1", "io 1+4", "io 5+1", "io 6+1"]
    cost = found.entries[1].evaluation.interval("cost")
    assert cost is not None
    assert cost.mean == pytest.approx(2.1)
    with pytest.raises(UsageError, match="matched to another"):
        await compared(["best-of-n", "vote-of-n"], {})


def test_answers_and_repeats_are_matched_to_the_dearest() -> None:
    import asyncio

    asyncio.run(_matched())
