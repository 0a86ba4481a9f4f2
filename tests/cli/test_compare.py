"""`gotc compare` as users run it."""

from __future__ import annotations

from pathlib import Path

from support.gotc import SORTING, document, gotc

from .test_eval import data


def test_a_line_a_scheme_with_its_interval_and_what_the_difference_shows(tmp_path: Path) -> None:
    done = gotc("compare", SORTING, "--schemes", "io,cot,got", "--data", data(tmp_path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines[1:5]] == ["scheme", "io", "cot", "got"]
    assert "simulated" in done.stdout
    assert "baseline" in done.stdout
    assert "Pareto-optimal in (mistakes, cost)" in done.stdout


def test_equal_cost_and_baselines_as_data(tmp_path: Path) -> None:
    command = ("compare", SORTING, "--schemes", "io,best-of-4,vote-of-4,got", "--data", data(tmp_path, 6, 32))
    found = document(gotc(*command, "--equal-cost", "--json", cwd=tmp_path))
    io, best, _, got = found["schemes"]
    assert (found["metric_name"], found["baseline"], got["repeats"]) == ("mistakes", "io", 1)
    target = got["metrics"]["cost"]["mean"]
    assert io["repeats"] > best["repeats"] > 1
    for entry in (io, best):
        assert abs(entry["metrics"]["cost"]["mean"] / target - 1) < 0.05  # of six rows
    again = document(gotc(*command, "--equal-cost", "--json", cwd=tmp_path))
    assert again["schemes"] == found["schemes"]
    assert again["spent"]["calls"] == 0


def test_a_recorded_comparison_replays(tmp_path: Path) -> None:
    command = ("compare", SORTING, "--schemes", "io,got", "--equal-cost", "--data", data(tmp_path, 6, 32))
    made = gotc(*command, "--record", "run.jsonl", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    again = gotc(*command, "--model", "replay:run.jsonl", "--no-cache", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines()[1:] == made.stdout.splitlines()[1:]


def test_what_cannot_be_compared_is_a_usage_error(tmp_path: Path) -> None:
    command = ("compare", SORTING, "--data", data(tmp_path, 2))
    for more, words in (
        (("--schemes", "io"), "needs two schemes"),
        (("--schemes", "io,goot"), "did you mean `got`?"),
        (("--schemes", "io,got", "--baseline", "tot"), "is not compared"),
    ):
        done = gotc(*command, *more, cwd=tmp_path)
        assert done.returncode == 2
        assert words in done.stderr
