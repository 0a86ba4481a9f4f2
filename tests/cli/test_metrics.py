"""Metrics that a program declares, and built-in ones, in eval, compare, tune and Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.gotc import document, gotc

import gotlang
from gotlang.api import Options
from gotlang.errors import UsageError

TEXT = """
param style = "short" in ["short", "long"]

scheme plain(question: str) -> str:
    Pool() replace(question, "?", "")
scheme article(question: str) -> str:
    x = plain(question)
    Pool() "The " + x + (" river" if style == "long" else "")
    Validate() len(it) < 40
    KeepValid()

metric overlap(reply: str, truth: str) -> higher, best 1, failed 0:
    f1(reply, truth)
metric exact(reply: str, truth: str) -> higher:
    exact_match(reply, truth)
metric added(reply: str, question: str) -> lower:
    len(reply) - len(question)
metric length(reply: list[str]) -> lower:
    len(reply)
scheme several(question: str) -> list[str]:
    Pool() [question]

study s:
    scheme article
    data "q.csv" (truth = answer)
    maximize overlap
    vary style
    trials 2
"""
ROWS = [("Loire?", "the Loire"), ("Loire and Seine?", "Loire"), ("Tarn?", "Lot"), ("Tarn?" * 9, "Tarn")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.got").write_text(TEXT)
    lines = [f"{question},{answer}\n" for question, answer in ROWS]
    (tmp_path / "q.csv").write_text("question,answer\n" + "".join(lines))
    (tmp_path / "open.csv").write_text("question\n" + "".join(f"{question}\n" for question, _ in ROWS))
    return tmp_path


def test_eval_has_mean_median_and_interval_of_each_metric(folder: Path) -> None:
    command = ("eval", "p.got", "--scheme", "article", "--data", "q.csv")
    found = document(gotc(*command, "--json", cwd=folder))
    # Row 1 has one of three words right, which is all of the known answer; row 3 fails, as too long.
    assert [run["metrics"].get("overlap") for run in found["runs"]] == [1, 0.5, 0, 0]
    assert [run["metrics"].get("exact") for run in found["runs"]] == [1, 0, 0, 0]
    assert [run["metrics"].get("added") for run in found["runs"]] == [3, 3, 3, None]
    overlap, exact, added = (found["metrics"][name] for name in ("overlap", "exact", "added"))
    assert (overlap["mean"], overlap["median"], overlap["rows"]) == (0.375, 0.25, 4)
    assert 0 <= overlap["low"] < 0.375 < overlap["high"] <= 1
    assert (exact["mean"], exact["rows"], added["mean"], added["rows"]) == (0.25, 4, 3, 3)
    assert found["declared"]["exact"] == {
        "of": "reply, truth",
        "lower_is_better": False,
        "best": None,
        "share": True,
    }
    assert "length" not in found["metrics"]  # its result is another
    shown = gotc(*command, cwd=folder).stdout.splitlines()
    assert shown[1].split() == ["mean", "median", "95%", "CI", "rows", "sum"]
    assert shown[2].split()[:3] == ["overlap", "0.38", "0.25"]
    assert shown[3].split()[:2] == ["exact", "25.0%"]
    assert "metric: added(reply, question); lower is better" in shown


def test_compare_is_by_the_first_metric_that_is_named_or_declared(folder: Path) -> None:
    command = ("compare", "p.got", "--schemes", "plain,article", "--data", "q.csv")
    found = document(gotc(*command, "--json", cwd=folder))
    assert (found["metric"], found["lower_is_better"]) == ("overlap", False)
    plain, article = found["schemes"]
    assert article["to_baseline"]["overlap"]["mean"] == pytest.approx(
        article["metrics"]["overlap"]["mean"] - plain["metrics"]["overlap"]["mean"]
    )
    page = folder / "page.html"
    done = gotc(*command, "--metrics", "errors,accuracy,added", "--html", page, cwd=folder)
    assert done.returncode == 0, done.stderr
    head = done.stdout.splitlines()[1].split()
    assert head[:8] == ["scheme", "errors", "95%", "CI", "accuracy", "added", "overlap", "exact"]
    assert "metric: errors(it, truth); lower is better" in done.stdout
    assert "Share of rows with errors" in page.read_text() and "<th>overlap</th>" in page.read_text()
    assert document(gotc(*command, "--metrics", "calls", "--json", cwd=folder))["metric"] == "calls"


def test_a_condition_names_a_metric(folder: Path) -> None:
    command = ("eval", "p.got", "--scheme", "article", "--data", "q.csv")
    assert gotc(*command, "--fail-if", "mean(overlap) < 0.4", cwd=folder).returncode == 4
    assert gotc(*command, "--metrics", "f1", "--fail-if", "mean(f1) < 0.3", cwd=folder).returncode == 0
    wrong = gotc(*command, "--fail-if", "mean(overlop) < 0.4", cwd=folder)
    assert wrong.returncode == 2
    assert "did you mean `overlap`?" in wrong.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--metrics", "exact_mach"), "did you mean `exact_match`?"),
        (("--metrics", "length"), "does not fit scheme `plain`: `reply` is list[str], and the result is str"),
        (("--data", "open.csv", "--metrics", "f1"), "needs the known answers, and open.csv has no column"),
    ],
)
def test_a_metric_that_cannot_be_measured_is_an_error(
    folder: Path, options: tuple[str, ...], words: str
) -> None:
    for command in (
        ("eval", "p.got", "--scheme", "plain"),
        ("compare", "p.got", "--schemes", "plain,article"),
    ):
        done = gotc(*command, "--data", "q.csv", *options, cwd=folder)
        assert done.returncode == 2
        assert words in done.stderr


def test_without_known_answers_declared_metrics_are_unknown_and_said_once(folder: Path) -> None:
    done = gotc("eval", "p.got", "--scheme", "plain", "--data", "open.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("the row has no known answer") == 1
    assert "overlap, exact unknown: 4 of 4 rows" in done.stdout
    assert "added" in done.stdout.splitlines()[2]
    (folder / "p.got").write_text(TEXT.replace(" (truth = answer)", "").replace("q.csv", "open.csv"))
    done = gotc("tune", "p.got", cwd=folder)
    assert done.returncode == 2
    assert "metric `overlap` needs the known answers" in done.stderr


def test_a_study_maximizes_a_metric(folder: Path) -> None:
    done = gotc("tune", "p.got", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    tuned = json.loads((folder / "s.tuned.json").read_text())
    assert "overlap" in done.stdout
    assert tuned["program"] == "p"


def test_python_has_the_same(folder: Path) -> None:
    program, options = gotlang.load(folder / "p.got"), Options(model="simulated", cache=None)
    rows = [{"question": question, "answer": answer} for question, answer in ROWS]
    found = program.evaluate(rows, scheme="article", metrics=["f1"], options=options)
    assert found.mean("f1") == found.mean("overlap") == 0.375
    assert found.median("f1") == 0.25
    assert list(found.kinds) == ["f1", "overlap", "exact", "added"]
    compared = program.compare(rows, schemes=["plain", "article"], metrics=["exact"], options=options)
    assert (compared.metric, compared.kind.share) == ("exact", True)
    with pytest.raises(UsageError, match="no metric `bleu`"):
        program.evaluate(rows, scheme="article", metrics=["bleu"], options=options)


def test_run_and_show_have_the_metrics_of_the_result(folder: Path) -> None:
    command = ("run", "p.got", "--scheme", "article")
    row = ("--data", "q.csv", "--row", "1")
    found = document(gotc(*command, *row, "--json", cwd=folder))
    assert found["metrics"] == {"overlap": 0.5, "exact": 0, "added": 3}
    assert found["metrics_unknown"] == {}
    given = ("--input", "question=Loire and Seine?", "--input", "truth=Loire")
    done = gotc(*command, *given, cwd=folder)
    assert [line.split() for line in done.stderr.splitlines() if "overlap" in line] == [["overlap", "0.5"]]
    name = document(gotc("runs", "--json", cwd=folder))["runs"][0]["run"]
    assert "overlap 0.5" in " ".join(gotc("show", name, cwd=folder).stdout.split())

    blind = document(gotc(*command, *given[:2], "--json", cwd=folder))
    assert blind["metrics"] == {"overlap": None, "exact": None, "added": 3}
    assert "no known answer" in blind["metrics_unknown"]["overlap"]
    shown = gotc(*command, *given[:2], cwd=folder).stderr
    assert "overlap" not in shown and "added" in shown

    (folder / "p.got").write_text(TEXT.replace("len(reply) - len(question)", "1 / (len(reply) - len(reply))"))
    done = gotc(*command, *row, cwd=folder)
    assert done.returncode == 0
    assert "unknown: it has no value: division by zero" in done.stderr
