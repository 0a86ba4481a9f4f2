"""Many rows on one session: failures counted, limits kept, repeats with seeds of their own; thresholds."""

from __future__ import annotations

import asyncio
import dataclasses
from contextlib import aclosing
from typing import Any

import pytest
from msgspec import structs

from gotlang.api import Options, Program, Session, compile, run_to_end
from gotlang.data.selection import RowSelection
from gotlang.errors import RunError, UsageError
from gotlang.evaluate.comparison import ComparedScheme, assemble
from gotlang.evaluate.evaluation import Evaluation, RowRun, run_each
from gotlang.evaluate.evaluation import evaluate as evaluate_rows
from gotlang.evaluate.rows import ColumnMatch, Dataset, Row, looks_at_truth, read_dataset
from gotlang.evaluate.threshold import threshold
from gotlang.metric import LARGEST, ScoreKind, metric_of
from gotlang.models.simulated import SimulatedModel

TEXT = """
prompt guess(n: int) -> int:
    "guess {{ n }}"
score distance(got: int, n: int) -> lower, best 0:
    abs(got - n)
scheme main(n: int) -> int:
    Generate() guess(n)
    Score() distance(it, n)
    GroundTruth() it == truth
scheme outer(n: int) -> int:
    main(n)
scheme blind(n: int) -> int:
    Generate() guess(n)
"""


def guess(rng: Any, n: int) -> str:
    """Right for even numbers, one off for odd ones, nothing that can be read for 13, chance above 100."""
    if n == 13:
        return "who knows"
    return str(rng.randrange(1000) if n > 100 else n + n % 2)


def program() -> Program:
    return compile(TEXT, "main.got")


def dataset(rows: list[Row]) -> Dataset:
    return Dataset("rows", tuple(rows), ColumnMatch({}, ()))


def evaluate(
    numbers: list[int], how: dict[str, Any] | None = None, scheme: str = "main", **options: Any
) -> Evaluation:
    async def go() -> Evaluation:
        chosen = Options(model=SimulatedModel({"guess": guess}), **options)
        async with Session(program(), chosen) as session:
            rows = [Row(place, {"n": n}, n) for place, n in enumerate(numbers)]
            return await evaluate_rows(session, dataset(rows), scheme=scheme, **(how or {}))

    return run_to_end(go(), virtual=True)


def test_every_row_is_run_and_a_failed_one_ends_no_other() -> None:
    found = evaluate([2, 3, 13, 4])
    assert [run.state for run in found.runs] == ["done", "done", "failed", "done"]
    assert found.values("score") == {0: 0.0, 1: 1.0, 3: 0.0}
    assert found.values("correct") == {0: 1.0, 1: 0.0, 2: 0.0, 3: 1.0}
    assert found.values("calls") == {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}  # what fails is paid for too
    assert set(found.values("seconds")) == {0, 1, 3}
    ((reason, number),) = found.failures().items()
    assert number == 1
    assert "who knows" in (found.runs[2].reason or "")
    assert "who knows" not in reason  # so that other answers that fail alike count with it
    assert found.stopped is None


def test_too_many_failures_stop_the_rest() -> None:
    found = evaluate([13] * 10, {"parallel": 1, "max_failed": 0.2})
    assert len(found.runs) == 3
    assert found.not_run == 7
    assert found.stopped is not None


def test_a_limit_stops_the_rest_and_says_so() -> None:
    found = evaluate([2, 4, 6, 8], {"parallel": 1}, max_calls=2)
    assert [run.state for run in found.runs] == ["done", "done", "partial"]
    assert found.not_run == 1
    assert found.stopped is not None
    assert "budget" in found.stopped
    assert list(found.values("score")) == [0, 1]


def test_repeats_have_seeds_of_their_own() -> None:
    found = evaluate([500], {"repeat": 3})
    assert [run.repeat for run in found.runs] == [0, 1, 2]
    assert len({run.value for run in found.runs}) == 3
    first = evaluate([500], {"repeat": 1})
    assert first.runs[0].value == found.runs[0].value
    later = evaluate([500], {"repeat": 1, "first_repeat": 2})
    assert later.runs[0].value == found.runs[2].value
    mean = sum(run.score or 0.0 for run in found.runs) / 3
    assert found.values("score") == {0: mean}


def test_a_mistake_in_the_inputs_is_said_once() -> None:
    async def go() -> None:
        async with Session(program(), Options(model=SimulatedModel({"guess": guess}))) as session:
            rows = [Row(0, {"m": 1}), Row(1, {"m": 2})]
            await evaluate_rows(session, dataset(rows), scheme="main")

    with pytest.raises(UsageError, match="no input `m`"):
        run_to_end(go(), virtual=True)


def test_the_order_in_which_rows_run_changes_nothing() -> None:
    numbers = [2, 3, 13, 500, 600, 700]
    one, many = evaluate(numbers, {"parallel": 1}), evaluate(numbers, {"parallel": 6})
    assert [(r.row.number, r.value) for r in one.runs] == [(r.row.number, r.value) for r in many.runs]


PARTS = """
prompt guess(n: int) -> int:
    "guess {{ n }}"
score distance(got: int, n: int) -> lower, best 0:
    abs(got - n)
score sure(got: int) -> higher:
    r = Generate() guess(got)
    r
scheme parts(n: int) -> int:
    m = Generate() guess(n)
    Map() m
    Score() distance(it, m)
    KeepBestN(1)
"""
IO = """
scheme io(n: int) -> int:
    Generate() guess(n)
    Score() distance(it, n)
"""


def test_results_are_measured_by_the_inputs_where_the_program_says_how() -> None:
    async def go(text: str) -> Evaluation:
        chosen = Options(model=SimulatedModel({"guess": guess}))
        async with Session(compile(text, "main.got"), chosen) as session:
            rows = [Row(0, {"n": 3})]
            return await evaluate_rows(session, dataset(rows), scheme="parts")

    alone = run_to_end(go(PARTS), virtual=True)
    assert alone.kind.of == "it, n"
    assert alone.values("score") == {0: 1.0}  # not by its own score, which compares with what it made itself
    measured = run_to_end(go(PARTS + IO), virtual=True)
    assert measured.kind.of == "it, n"
    assert measured.values("score") == {0: 1.0}


def test_an_answer_that_runs_away_is_very_wrong_and_no_more() -> None:
    async def go() -> Evaluation:
        endless = SimulatedModel({"guess": lambda rng, n: "7" * 400})
        unscored = PARTS.replace("    Score() distance(it, m)\n    KeepBestN(1)\n", "")
        async with Session(compile(unscored + IO, "main.got"), Options(model=endless)) as session:
            rows = [Row(number, {"n": number}) for number in range(8)]
            return await evaluate_rows(session, dataset(rows), scheme="parts")

    found = run_to_end(go(), virtual=True)
    assert set(found.values("score").values()) == {LARGEST}
    interval = found.interval("score")
    assert interval is not None
    assert interval.mean == LARGEST


def test_what_a_scheme_is_scored_by_and_whether_it_looks_at_the_answer() -> None:
    ir = program().ir(0)
    assert metric_of(ir, ir.scheme("outer")).kind == ScoreKind("distance", lower=True, of="it, n", best=0)
    assert metric_of(ir, ir.scheme("blind")).kind == ScoreKind("distance", lower=True, of="it, n", best=0)
    assert looks_at_truth(ir, ir.scheme("outer"))
    assert not looks_at_truth(ir, ir.scheme("blind"))


KIND = ScoreKind("mistakes", lower=True)


def scored(*scores: float) -> Evaluation:
    runs = [
        RowRun(Row(place, {}), 0, "done", 1, score, score == 0, 0.01, 2, 1.0)
        for place, score in enumerate(scores)
    ]
    return Evaluation("main", KIND, runs)


def test_no_bound_lies_where_no_mean_can_be() -> None:
    scores = [0.0, 0.0, 0.0, 2.0, 0.0, 1.0]
    for kind, low in ((KIND, None), (structs.replace(KIND, best=0.0), 0.0)):
        found = dataclasses.replace(scored(*scores), kind=kind).interval("score")
        assert found is not None
        assert found.low < 0 if low is None else found.low == low
        assert found.mean == 0.5
    higher = ScoreKind("share", best=1.0)
    found = dataclasses.replace(scored(1, 1, 1, 0, 1, 1), kind=higher).interval("score")
    assert found is not None
    assert found.high == 1.0


@pytest.mark.parametrize(
    ("text", "crossed"),
    [
        ("mean(mistakes) > 2", True),
        ("mean(score) > 4", False),
        ("mean(correct) < 0.5", True),
        ("sum(cost) > 0.05 or max(calls) > 1", True),
        ("rows < 3", False),
        ("failed > 0", False),
        ("count([m for m in mistakes if m > 3], 4) > 0", True),
        ("mistakes[2] > 4", True),
        ("rows / partial > 1 if partial > 0 else false", False),
    ],
)
def test_thresholds(text: str, crossed: bool) -> None:
    assert threshold(text, KIND).crossed(scored(0, 4, 5)) is crossed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mean(mistake) > 2", "unknown value `mistake`"),
        ("average(score) > 2", "unknown function `average`"),
        ("mean(score)", "not a condition"),
        ("mean(score >", "not a condition"),
        ("score > 2", "not a condition: .*list"),
        ('mean(score) > "a"', "not a condition: .*str"),
        ("mean(score) / 0 > 1", "not a condition: division by zero"),
    ],
)
def test_what_is_no_threshold_is_refused_before_anything_runs(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        threshold(text, KIND)


def test_a_threshold_that_cannot_be_told_is_not_passed_over() -> None:
    with pytest.raises(RunError, match=r"cannot evaluate .*: no row has `score`"):
        threshold("mean(score) > 2", KIND).crossed(Evaluation("main", KIND, []))
    unjudged = [RowRun(Row(0, {}), 0, "done", 1, 2.0, None, 0.01, 2, 1.0)]
    with pytest.raises(RunError, match="no row has `correct`") as caught:
        threshold("mean(correct) < 0.5", KIND).crossed(Evaluation("main", KIND, unjudged))
    assert "--map truth=COLUMN" in str(caught.value.help)


def test_results_have_short_reprs_html_and_data_frames() -> None:
    found = evaluate([2, 3, 13, 4])
    assert len(repr(found)) < 300
    assert repr(found).startswith("<Evaluation of main: 4 rows, distance 0.3333 (95% CI")
    assert "<th>distance</th>" in found._repr_html_()
    assert [line["input_n"] for line in found.rows()] == [2, 3, 13, 4]
    assert found.to_dict()["metrics"]["score"]["rows"] == 3
    compared = assemble([ComparedScheme("a", found), ComparedScheme("b", evaluate([3, 3, 13, 4]))], "a")
    assert len(repr(compared)) < 300
    assert "not significant" in compared._repr_html_()
    assert {line["scheme"] for line in compared.rows()} == {"a", "b"}


def test_rows_in_memory_are_data_too_with_inferred_columns() -> None:
    ir = program().ir(0)
    found = read_dataset([{"amount": 2, "answer": 2}, {"amount": 3, "answer": 4}], ir, ir.scheme("main"))
    assert found.matching.inferred == ("n", "truth")
    assert [(row.inputs, row.truth) for row in found.rows] == [({"n": 2}, 2), ({"n": 3}, 4)]
    assert len(read_dataset([{"n": 1}] * 5, ir, ir.scheme("blind"), selection=RowSelection(limit=3))) == 3
    with pytest.raises(UsageError, match="no rows"):
        read_dataset([], ir, ir.scheme("main"))


def test_rows_come_as_they_end_and_leave_nothing_running_where_nobody_waits() -> None:
    async def go() -> tuple[int, int]:
        async with Session(program(), Options(model=SimulatedModel({"guess": guess}))) as session:
            scheme = session.ir.scheme("main")
            rows = [Row(place, {"n": place}) for place in range(20)]
            running = run_each(session.runner, scheme, rows, metric=metric_of(session.ir, scheme), parallel=4)
            seen = 0
            async with aclosing(running):
                async for _ in running:
                    seen += 1
                    if seen == 5:
                        break
            return seen, len(asyncio.all_tasks())

    assert run_to_end(go(), virtual=True) == (5, 1)


@pytest.mark.parametrize(
    ("body", "of"),
    [
        ("    Generate() guess(n)\n    Score() sure(it)\n    KeepBestN(1)\n", "it"),
        (
            "    Pool() n\n    repeat 2:\n        Generate() guess(it)\n        Score() sure(it)\n",
            "it",
        ),
        ("    Generate() guess(n)\n    Score() sure(it)\n    Generate() guess(it)\n", None),
        ("    m = Generate() guess(n)\n    Pool() m\n    Score() sure(m)\n    KeepBestN(1)\n", None),
    ],
)
def test_a_score_of_a_model_is_the_result_s_if_only_judging_follows(body: str, of: str | None) -> None:
    head = (
        PARTS[: PARTS.index("score distance")]
        + PARTS[PARTS.index("score sure") : PARTS.index("scheme parts")]
    )
    ir = compile(f"{head}scheme parts(n: int) -> int:\n{body}", "main.got").ir(0)
    found = metric_of(ir, ir.scheme("parts"))
    assert (found.kind.of if found.known else None) == of
    assert found.known or found.help == (
        "end scheme `parts` with a score against its inputs, such as `Score() sure(it)`"
    )
