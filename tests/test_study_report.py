"""The report of a study, and the command that runs one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.dom import minidom

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

from support.studies import GUESS, guess_plan, guess_study

from gotlang.report.plot import plot
from gotlang.report.study import report
from gotlang.tune.judge import amount
from gotlang.tune.study import tune

ROOT = Path(__file__).parents[1]
CLAUSES = """
train 20, test 20
minimize error(result, target)
subject to cost <= 2 * baseline
trials 20
batching false, early_stop false
"""


def gotc(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "gotlang", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_the_report_needs_no_network(tmp_path: Path) -> None:
    found = tune(guess_plan(tmp_path, CLAUSES), folder=None)
    page = report(found)
    assert plot(found).html == page
    minidom.parseString(plot(found).svg)
    assert "held-out rows" in page
    assert page.count("Not drawn") == 0
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=.(?!data:)", page)
    for name in (
        "History",
        "Importance",
        "Pair of params",
        "Slices",
        "Rows seen",
        "Simulated",
        "kept",
        "What to do next",
        "Cost",
        "Pareto front",
    ):
        assert name in page


def test_the_page_tells_rows_that_got_better_and_worse_with_both_answers_and_the_money_by_role(
    tmp_path: Path,
) -> None:
    found = tune(guess_plan(tmp_path, CLAUSES), folder=None)
    assert found.held_out is not None and found.winner.number
    page = re.sub(r"\s+", " ", report(found))
    pairs = list(zip(found.front[0].measured, found.judged.measured, strict=True))
    leads = [(b.objectives[0] or 0.0) - (a.objectives[0] or 0.0) for a, b in pairs]
    better, worse = sum(lead < 0 for lead in leads), sum(lead > 0 for lead in leads)
    rows = len(leads)
    assert better + worse > 0
    assert (
        f"{better} of {rows} test rows improved, {worse} worsened, {rows - better - worse} unchanged" in page
    )
    for (before, after), lead in zip(pairs, leads, strict=True):
        assert (
            f'>{before.answer}</td><td class="left wrap" data-name="tuned result">{after.answer}</td>' in page
        ) == (lead != 0)
    for role, spent in found.roles.items():
        assert f'<tr><th>{role}</th><td data-name="charged">{amount("cost", spent.usd)}</td>' in page
    assert sum(spent.usd or 0.0 for spent in found.roles.values()) == pytest.approx(found.usd)
    assert f"{len(found.trials)} points, " in page
    (bound,) = (c for c in found.held_out.constraints if c.text == "cost <= 2 * baseline")
    assert bound.percent is not None
    assert f"{bound.percent[1]:+.2f}% to {bound.percent[2]:+.2f}% of the bound" in page
    assert f"at most {amount('cost', bound.bound)}</td>" in page  # dollars, as in the tables beside it
    assert re.findall(r".{9}\de-0.", page.split("<script")[0]) == []


def test_tune_then_run_tuned_then_apply(tmp_path: Path) -> None:
    guess_study(tmp_path, CLAUSES)
    first = gotc(tmp_path, "tune", "study.got", "--model", "simulated")
    assert first.returncode == 0, first.stderr
    assert "better" in first.stdout
    assert re.search(r"\d+ points, \d+ rows \(\d+% of the search's limit\) · best ", first.stderr)
    found = json.loads((tmp_path / "near.tuned.json").read_text())
    assert found["held_out"]["verdict"] == "better"
    tries, style = found["params"]["tries"], found["params"]["style"]
    run = gotc(
        tmp_path,
        "run",
        "guess.got",
        "--input",
        "target=7",
        "--tuned",
        "near.tuned.json",
        "--json",
        "--no-cache",
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["ledger"]["none"]["calls"] <= tries
    again = gotc(
        tmp_path, "tune", "study.got", "--model", "simulated", "--apply", "--json", "--report", "r.html"
    )
    assert again.returncode == 0, again.stderr
    document = json.loads(again.stdout)
    assert document["applied"]
    assert document["held_out"]["verdict"] == "better"
    # Both are in the history, with their trials.
    runs = json.loads(gotc(tmp_path, "runs", "--json").stdout)["runs"]
    assert [run["kind"] for run in runs] == ["tune", "run", "tune"]
    stored = json.loads(gotc(tmp_path, "show", runs[0]["run"], "--json").stdout)
    assert (stored["state"], stored["document"]["verdict"]) == ("done", "better")
    assert len(stored["trials"]) == document["trials"] == stored["document"]["trials"]
    assert stored["document"]["constraints"] == ["cost <= 2 * baseline"]
    assert {one["name"] for one in stored["document"]["dimensions"]} == {"tries", "style"}
    assert f"trial {stored['document']['winner']}" in gotc(tmp_path, "show", runs[0]["run"]).stdout
    text = (tmp_path / "guess.got").read_text()
    assert text != GUESS
    assert f"param tries = {tries} in 1..8\n" in text
    assert f'param style = "{style}" in ["plain", "fancy"]\n' in text
    assert "<svg" in (tmp_path / "r.html").read_text()


def test_a_budget_ends_with_exit_code_3(tmp_path: Path) -> None:
    guess_study(tmp_path, CLAUSES)
    done = gotc(tmp_path, "tune", "study.got", "--model", "simulated", "--max-usd", "0.0004")
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["--report", "--out"])
def test_a_place_that_cannot_be_written_is_said_before_anything_is_paid(tmp_path: Path, option: str) -> None:
    guess_study(tmp_path, CLAUSES)
    done = gotc(tmp_path, "tune", "study.got", "--model", "simulated", option, "numbers.csv/file")
    assert done.returncode == 2
    assert f"{option}: cannot write numbers.csv/file" in done.stderr
    assert not (tmp_path / ".gotc").exists()


def test_trials_tell_what_became_of_them(tmp_path: Path) -> None:
    guess_study(tmp_path, "train 5, test 5\nminimize error(result, target)\nsubject to calls <= 1\ntrials 2")
    done = gotc(tmp_path, "tune", "study.got", "--model", "simulated")
    assert done.returncode == 0, done.stderr
    assert re.search(r"search's limit\) · .* trial 0: \S+ complete but infeasible after 4 rows", done.stderr)
    shares = [int(share) for share in re.findall(r"\((\d+)% of the search's limit", done.stderr)]
    assert shares == sorted(shares) and shares[-1] <= 100
    done = gotc(
        tmp_path, "tune", "study.got", "--model", "simulated", "--trials", "1", "--max-usd", "0.00000001"
    )
    assert "resuming the study, with 2 points on 9 cells" in done.stderr


def test_a_file_without_a_study_is_said(tmp_path: Path) -> None:
    guess_study(tmp_path, CLAUSES)
    done = gotc(tmp_path, "tune", "guess.got")
    assert done.returncode == 2
    assert "has no study" in done.stderr
