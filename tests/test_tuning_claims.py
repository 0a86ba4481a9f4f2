"""The table of claims about studies: what is run and read for each, and when it says that one is not kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")
pytest.importorskip("dspy", reason="the extra `tune` is not installed")
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import nulls
import peeking
import tuning


def kept(claims: Any) -> list[bool]:
    return [claim.kept for claim in claims]


def test_one_false_better_in_twenty_is_kept_and_two_are_not() -> None:
    lines = [{"verdict": "not significant", "held": True}] * 18
    better = [{"verdict": "better", "held": False}]
    assert kept(tuning.null_studies([*lines, *lines[:1], *better])) == [True, True]
    assert kept(tuning.null_studies([*lines, *better * 2])) == [False, False]


def test_a_proposer_of_nonsense_that_costs_much_or_is_not_told_breaks_the_claim() -> None:
    told: dict[str, Any] = {"asked": 10, "told": "none of the last 10 answers", "share": 0.05}
    assert kept(tuning.answers([told, told])) == [True]
    for wrong in ({"asked": 11}, {"told": None}, {"share": 0.051}):
        assert kept(tuning.answers([told, told | wrong])) == [False]


def test_two_of_three_tasks_must_be_as_good() -> None:
    def lines(*good: bool) -> list[dict[str, Any]]:
        side = {"error": 1.0, "usd": 0.1}
        return [
            {"task": task, "as_good": each, "tuned": side, "written": {"got": side}, "best": "got"}
            for task, each in zip(tuning.structure.TASKS, good, strict=True)
        ]

    assert kept(tuning.rewrites(lines(True, False, True))) == [True, False, True, True]
    assert kept(tuning.rewrites(lines(False, False, True)))[-1] is False


def test_an_interval_level_of_one_point_is_too_low_for_a_front() -> None:
    def line(level: float, held: bool = True, promise: bool = True) -> dict[str, Any]:
        point = {"lead": [[0, 1]] * 3, "held": [True, True, held], "as_promised": promise, "level": level}
        first = {**point, "names": ["original"]}
        return {"points": [first, *({**point, "names": [f"p{n}"]} for n in (1, 2))], "usd": 1.0, "cold": 2.0}

    fair = 1 - 0.05 / 6
    assert kept(tuning.fronts([line(fair)])) == [True] * 4
    assert kept(tuning.fronts([line(0.95)])) == [False, True, True, True]
    assert kept(tuning.fronts([line(fair, held=False)])) == [True, False, True, True]
    assert kept(tuning.fronts([line(fair, promise=False)])) == [True, True, False, True]


def test_one_other_result_or_one_answer_paid_twice_breaks_the_claim_of_disturbed_studies() -> None:
    counts = {"twice": 0, "under_way": 3}
    lines = [{"case": name, "found": ["a"] * 4, **counts} for name in tuning.CASES]
    assert kept(tuning.disturbances(lines)) == [True, True]
    assert kept(tuning.disturbances([*lines[:-1], lines[-1] | {"found": ["a", "b"]}])) == [False, True]
    assert kept(tuning.disturbances([*lines[:-1], lines[-1] | {"twice": 1}])) == [True, False]
    assert kept(tuning.disturbances(lines[:-1])) == [False, True, True]


def test_the_quick_run_has_part_of_every_benchmark_and_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, quick = tuning.parts(quick=False), tuning.parts(quick=True)
    assert [part.name for part in whole] == [part.name for part in quick]
    for all_, few in zip(whole, quick, strict=True):
        assert few.studies
        shorter = all_.name in ("peeking", "structure", "disturbed")
        assert shorter or all(study in all_.studies for study in few.studies)
    small = [
        tuning.Part("peeking", peeking.studies(10, 30), peeking.studied, tuning.looks),
        tuning.Part("nulls", [{"kind": "params", "seed": 1}], nulls.studied, tuning.null_studies),
    ]
    monkeypatch.setattr(tuning, "parts", lambda quick: small)
    monkeypatch.setattr(sys, "argv", ["tuning.py", "--quick", "--folder", str(tmp_path), "--json"])
    tuning.main()
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row[0] for row in rows] == [3, 3, 3]
    assert [row[4] for row in rows[1:]] == [1, 1]
    lines = (tmp_path / "nulls.jsonl").read_text()
    tuning.main()
    assert json.loads(capsys.readouterr().out)["rows"] == rows
    assert (tmp_path / "nulls.jsonl").read_text() == lines
