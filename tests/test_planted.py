"""The benchmark of the optimizer: planted programs are what their simulators say, and studies are judged."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import arms
import nulls
import planted

from gotlang.api import Session, run_to_end
from gotlang.tune.points import PointRunner
from gotlang.tune.space import space_of

ROWS = 60


@pytest.mark.parametrize("name", planted.ERRORS)
def test_what_is_called_true_is_what_runs_measure(name: str) -> None:
    truth, plan = planted.truth(name), planted.planted_plan(name, 3)
    best = next(k for k, v in truth.value.items() if v == truth.best and truth.excess[k] <= 0)
    assert best != truth.start
    margin = min(abs(over) for k, over in truth.excess.items() if k != truth.start)
    assert margin > 0.001  # no setting is at the bound, where a claim would be a toss of a coin

    async def lead() -> tuple[float, float]:
        async with Session(plan.program, arms.options_of(plan)) as session:
            runner, rows = PointRunner(plan, space_of(plan), session), plan.read_rows(range(1, ROWS + 1)).rows
            before, after = [await runner.rows(json.loads(k), rows) for k in (truth.start, best)]
            pairs = [
                (a.objectives[0] or 0) - (b.objectives[0] or 0) for a, b in zip(after, before, strict=True)
            ]
            ratio = fmean(r.usd or 0 for r in after) / fmean(r.usd or 0 for r in before)
            return fmean(pairs), ratio

    measured, ratio = run_to_end(lead(), virtual=True)
    assert measured == pytest.approx(truth.lead(json.loads(best)), abs=4 * 10 / ROWS**0.5)
    assert truth.gain(json.loads(best)) == 1.0
    assert ratio < 1.5


def test_arms_share_rows_and_draws_and_are_judged_by_the_truth(tmp_path: Path) -> None:
    out = tmp_path / "studies.jsonl"
    command = ["arms.py", "--programs", "branches", "--seeds", "1", "--out", str(out)]
    lines = _lines(arms, command, out)
    assert {line["arm"] for line in lines} == {*arms.ARMS}
    assert _lines(arms, command, out) == lines  # what is in the file is not run again
    truth = planted.truth("branches")
    for line in lines:
        assert line["usd"] > 0
        found = arms.judged(line, truth)
        assert found["best"] == (line["point"] == {"method": "refine", "form": "json", "rounds": 3})
    start = json.loads(truth.start)
    wrong = {"point": start, "verdict": "better", "lead": [-2.0, -1.0]}
    assert arms.judged(wrong, truth)["false"]
    assert arms.judged(wrong, truth)["held"] is False
    expensive = next(json.loads(k) for k, over in truth.excess.items() if over > arms.TOLERANCE)
    assert arms.judged({**wrong, "point": expensive}, truth)["gain"] is None


def test_null_studies_are_of_each_kind_and_go_on_where_they_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(nulls.studies(quick=False)) == 200
    assert {study["kind"] for study in nulls.studies(quick=True)} == {*nulls.STUDIES}
    monkeypatch.setattr(nulls, "STUDIES", {"right or wrong": 10, "structure": 5})
    out = tmp_path / "nulls.jsonl"
    lines = _lines(nulls, ["nulls.py", "--quick", "--out", str(out)], out)
    assert sorted(line["kind"] for line in lines) == ["right or wrong", "right or wrong", "structure"]
    last = next(line for line in lines if line["kind"] == "right or wrong")
    rest = [line for line in lines if line is not last]
    out.write_text("".join(json.dumps(line) + "\n" for line in rest))
    again = _lines(nulls, ["nulls.py", "--quick", "--out", str(out)], out)
    assert again[:-1] == rest
    assert {**again[-1], "seconds": 0} == {**last, "seconds": 0}


def _lines(benchmark: ModuleType, command: list[str], out: Path) -> list[dict[str, Any]]:
    before, sys.argv = sys.argv, command
    try:
        benchmark.main()
    finally:
        sys.argv = before
    return [json.loads(line) for line in out.read_text().splitlines()]
