"""`gotc eval` as users run it: sums, formats, thresholds, limits."""

from __future__ import annotations

import csv
import json
import random
import shlex
from pathlib import Path
from xml.dom import minidom

from support.gotc import SORTING, document, gotc, vote


def data(folder: Path, rows: int = 8, length: int = 16) -> Path:
    rng = random.Random(3)
    path = folder / "lists.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["ID", "Unsorted", "Sorted"])
        for number in range(rows):
            digits = [rng.randrange(10) for _ in range(length)]
            out.writerow([number, digits, sorted(digits)])
    return path


def test_means_with_intervals_and_the_columns_that_were_taken(tmp_path: Path) -> None:
    done = gotc("eval", SORTING, "--scheme", "io", "--data", data(tmp_path), "--limit", 6, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "6 rows of" in done.stdout
    assert "mistakes" in done.stdout
    assert "simulated" in done.stdout
    assert "numbers ← Unsorted" in done.stderr


def test_json_holds_every_row_and_sums(tmp_path: Path) -> None:
    command = ("eval", SORTING, "--scheme", "io", "--data", data(tmp_path), "--repeat", 2, "--json")
    found = document(gotc(*command, cwd=tmp_path))
    assert found["metric_name"] == "mistakes"
    assert found["lower_is_better"] is True
    assert [(run["row"], run["repeat"]) for run in found["runs"]] == [
        (r, k) for r in range(8) for k in (0, 1)
    ]
    calls = sum(run["calls"] for run in found["runs"])
    assert found["sum"]["calls"] == calls == found["spent"]["calls"] == 16
    interval = found["metrics"]["score"]
    assert interval["low"] <= interval["mean"] <= interval["high"]
    again = document(gotc(*command, cwd=tmp_path))
    assert again["spent"]["calls"] == 0
    assert again["metrics"] == found["metrics"]


def test_a_threshold_that_holds_ends_with_4(tmp_path: Path) -> None:
    command = ("eval", SORTING, "--scheme", "io", "--data", data(tmp_path))
    crossed = gotc(*command, "--fail-if", "mean(calls) > 0", cwd=tmp_path)
    assert crossed.returncode == 4
    assert "threshold crossed: mean(calls) > 0" in crossed.stderr
    assert gotc(*command, "--fail-if", "mean(mistakes) > 100", cwd=tmp_path).returncode == 0
    wrong = gotc(*command, "--fail-if", "mean(mistake) > 2", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "did you mean `mistakes`?" in wrong.stderr


def test_junit_and_github(tmp_path: Path) -> None:
    command = ("eval", SORTING, "--scheme", "io", "--data", data(tmp_path), "--fail-if", "max(calls) >= 1")
    junit = gotc(*command, "--format", "junit", cwd=tmp_path)
    assert junit.returncode == 4
    suite = minidom.parseString(junit.stdout).getElementsByTagName("testsuite")[0]
    assert suite.getAttribute("tests") == "9"
    assert int(suite.getAttribute("failures")) >= 1
    github = gotc(*command, "--format", "github", cwd=tmp_path)
    assert github.stdout.startswith("::notice title=gotc eval sorting io::")
    assert "::error title=gotc eval sorting io::condition is true: max(calls) >= 1" in github.stdout


def test_a_limit_ends_with_3_and_what_there_is(tmp_path: Path) -> None:
    done = gotc(
        *("eval", SORTING, "--scheme", "io", "--data", data(tmp_path), "--max-calls", 3, "--parallel", 1),
        *("--no-cache", "--fail-if", "mean(calls) > 0"),
        cwd=tmp_path,
    )
    assert done.returncode == 3
    assert "3 rows" in done.stdout or "4 rows" in done.stdout
    assert "stopped: the budget" in done.stderr


def test_what_ended_early_is_held_to_no_threshold(tmp_path: Path) -> None:
    command = (
        *("eval", SORTING, "--scheme", "io", "--data", data(tmp_path), "--max-calls", 3, "--parallel", 1),
        *("--no-cache", "--fail-if", "mean(calls) > 100"),
    )
    junit = gotc(*command, "--format", "junit", cwd=tmp_path)
    assert junit.returncode == 3
    case = minidom.parseString(junit.stdout).getElementsByTagName("testcase")[-1]
    assert case.getAttribute("name") == "mean(calls) > 100"
    assert case.getElementsByTagName("skipped")
    told = document(gotc(*command, "--json", cwd=tmp_path), 3)["thresholds"]
    assert told == [{"condition": "mean(calls) > 100", "crossed": None}]


def test_a_page_goes_to_a_file(tmp_path: Path) -> None:
    done = gotc("eval", SORTING, "--scheme", "io", "--data", data(tmp_path), "--html", "-", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "name a file" in done.stderr


def test_what_a_threshold_cannot_tell_is_shown_beside_the_results(tmp_path: Path) -> None:
    vote(tmp_path)
    (tmp_path / "questions.csv").write_text("question\nwhy\nhow\n")
    command = ("eval", "vote.got", "--data", "questions.csv", "--fail-if", "mean(correct) < 0.5")
    done = gotc(*command, cwd=tmp_path)
    assert done.returncode == 1
    assert "2 rows of questions.csv" in done.stdout
    assert "no row has `correct`" in done.stderr
    assert document(gotc(*command, "--json", cwd=tmp_path), 1)["error"]["kind"] == "RunError"


def test_a_threshold_on_a_list_or_on_a_metric_that_is_not_measured(tmp_path: Path) -> None:
    vote(tmp_path)
    (tmp_path / "questions.csv").write_text("question\nwhy\n")
    command = ("eval", "vote.got", "--data", "questions.csv", "--fail-if")
    of_list = gotc(*command, "calls > 2", cwd=tmp_path)
    assert of_list.returncode == 2
    assert "`calls` is a list with a number for each row" in of_list.stderr
    assert "`mean(calls) > 2`" in of_list.stderr
    unmeasured = gotc(*command, "mean(accuracy) < 0.5", cwd=tmp_path)
    assert unmeasured.returncode == 2
    assert "add `--metrics accuracy`" in unmeasured.stderr


def test_an_evaluation_without_a_metric_of_quality_says_so(tmp_path: Path) -> None:
    program = vote(tmp_path)
    program.write_text(program.read_text().replace("    GroundTruth() it == truth\n", ""))
    (tmp_path / "questions.csv").write_text("question,truth\nwhy,42\n")
    command = ("eval", "vote.got", "--data", "questions.csv")
    assert "quality is not measured: " in gotc(*command, cwd=tmp_path).stdout
    assert "quality is not" not in gotc(*command, "--metrics", "accuracy", cwd=tmp_path).stdout


def test_the_page_s_command_for_one_row_finds_its_answers(tmp_path: Path) -> None:
    command = (
        *("eval", SORTING, "--scheme", "io", "--data", data(tmp_path, rows=2), "--html", "e.html"),
        *("--seed", -3, "--cache", "other.sqlite", "-O", 1, "--base-url", "http://127.0.0.1:9/v1"),
    )
    assert gotc(*command, cwd=tmp_path).returncode == 0
    page = (tmp_path / "e.html").read_text()
    content = json.loads(page.split('id="data">', 1)[1].split("</script>", 1)[0])
    row = shlex.split(content["command"])
    assert row[0] == "gotc"
    again = document(gotc(*row[1:], "--row", 1, "--scheme", "io", "--json", cwd=tmp_path))
    assert again["spent"]["calls"] == 0
    assert gotc(*command, "--no-cache", cwd=tmp_path).returncode == 0
    page = (tmp_path / "e.html").read_text()
    assert json.loads(page.split('id="data">', 1)[1].split("</script>", 1)[0])["command"] == ""


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for place in ("folder", "file/e.html"):
        done = gotc(
            *("eval", SORTING, "--scheme", "io", "--data", data(tmp_path), "--json", "--html", place),
            cwd=tmp_path,
        )
        assert done.returncode == 2
        assert f"--html: cannot write {place}" in document(done, 2)["error"]["message"]
        assert not (tmp_path / ".gotc").exists()
    fine = gotc(
        *("eval", SORTING, "--scheme", "nope", "--data", data(tmp_path), "--html", "new/e.html"), cwd=tmp_path
    )
    assert fine.returncode == 2
    assert not (tmp_path / "new").exists()
