"""The benchmark of the optimizer: planted programs are what their simulators say, and studies are judged."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import planted
import tuning

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
        async with Session(plan.program, tuning.options_of(plan)) as session:
            runner, rows = PointRunner(plan, space_of(plan), session), plan.read_rows(range(1, ROWS + 1)).rows
            before, after = [await runner.rows(json.loads(k), rows) for k in (truth.start, best)]
            pairs = [
                (a.objectives[0] or 0) - (b.objectives[0] or 0) for a, b in zip(after, before, strict=True)
            ]
            dearer = fmean(r.usd or 0 for r in after) / fmean(r.usd or 0 for r in before)
            return fmean(pairs), dearer

    measured, dearer = run_to_end(lead(), virtual=True)
    assert measured == pytest.approx(truth.lead(json.loads(best)), abs=4 * 10 / ROWS**0.5)
    assert truth.gain(json.loads(best)) == 1.0
    assert dearer < 1.5


def test_arms_share_rows_and_draws_and_are_judged_by_the_truth(tmp_path: Path) -> None:
    out = tmp_path / "studies.jsonl"
    command = [
        "tuning.py",
        "--programs",
        "branches",
        "null",
        "--seeds",
        "1",
        "--nulls",
        "1",
        "--out",
        str(out),
    ]
    lines = _lines(command, out)
    assert [(line["program"], line["arm"]) for line in lines] == [
        *(("branches", arm) for arm in tuning.ARMS),
        ("null", "gotc tune"),
    ]
    assert _lines(command, out) == lines  # what is in the file is not run again
    truth = planted.truth("branches")
    for line in lines[:3]:
        assert line["usd"] > 0
        found = tuning.judged(line, truth)
        assert found["best"] == (line["point"] == {"method": "refine", "form": "json", "rounds": 3})
    start = json.loads(truth.start)
    wrong = {"point": start, "verdict": "better", "lead": [-2.0, -1.0]}
    assert tuning.judged(wrong, truth)["false"]
    assert tuning.judged(wrong, truth)["held"] is False
    dear = next(json.loads(k) for k, over in truth.excess.items() if over > tuning.TOLERANCE)
    assert tuning.judged({**wrong, "point": dear}, truth)["gain"] is None


def _lines(command: list[str], out: Path) -> list[dict[str, Any]]:
    before, sys.argv = sys.argv, command
    try:
        tuning.main()
    finally:
        sys.argv = before
    return [json.loads(line) for line in out.read_text().splitlines()]
