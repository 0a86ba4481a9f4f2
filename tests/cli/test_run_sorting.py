"""sort128 from the command line: how many answers, what is paid twice, what a limit stops."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.gotc import SORT128, digits, document, gotc, row

ALL = ("-O", "1", "--json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and, after the first run, a cache."""
    folder = tmp_path_factory.mktemp("sorting")
    digits(folder)
    return folder


def data(folder: Path) -> tuple[str, ...]:
    return row(folder / "digits.csv", 1)


def mistakes(found: dict[str, object]) -> float:
    score = found["score"]
    assert isinstance(score, int | float)
    return score


def test_it_asks_for_151_answers_eight_in_a_row(folder: Path) -> None:
    found = document(gotc("run", SORT128, *data(folder), *ALL, cwd=folder))
    assert found["ledger"]["none"]["calls"] == 151
    assert found["graph"]["critical_path"] == 8
    assert 100 < len(found["result"]) <= 128
    assert set(found["result"]) <= set(range(10))
    assert found["simulated"] is True
    assert found["ground_truth"] in (True, False)
    assert found["spent"]["requests"] <= 23


@pytest.mark.parametrize("concurrency", ["64", "1", "100", "none"])
def test_the_same_command_again_pays_nothing(folder: Path, concurrency: str) -> None:
    before = document(gotc("run", SORT128, *data(folder), *ALL, cwd=folder))
    again = document(gotc("run", SORT128, *data(folder), *ALL, "--concurrency", concurrency, cwd=folder))
    assert again["spent"].pop("free_calls") == before["ledger"]["process"]["calls"]
    assert set(again["spent"].values()) == {0}
    for same in ("result", "score", "ground_truth", "graph", "failed"):
        assert again[same] == before[same]
    assert again["ledger"]["none"] == before["ledger"]["none"]


def test_early_stop_asks_for_less_and_is_not_worse(folder: Path) -> None:
    whole = document(gotc("run", SORT128, *data(folder), *ALL, "--no-cache", cwd=folder))
    usual = document(gotc("run", SORT128, *data(folder), "--json", "--no-cache", cwd=folder))
    assert usual["graph"]["critical_path"] <= whole["graph"]["critical_path"] == 8
    assert usual["spent"]["calls"] <= whole["spent"]["calls"] == 151
    assert usual["result"] == whole["result"]
    rest = ("--prefer", "cost", "--json", "--no-cache")
    less = document(gotc("run", SORT128, *data(folder), *rest, cwd=folder))
    assert less["spent"]["calls"] < whole["spent"]["calls"]
    assert less["graph"]["critical_path"] > 8
    assert mistakes(less) <= mistakes(whole)


@pytest.mark.parametrize(
    ("param", "value", "calls"),
    # 1 split, 8 sorts, 7 merges, 6 inner repairs and a last one: 1 + 8 * 5 + 7 * 10 + 6 * 5 + 10 = 151
    [("sort_tries", 2, 127), ("merge_tries", 7, 130), ("repair_tries", 1, 127), ("final_tries", 3, 144)],
)
def test_params_change_the_count_as_the_formula_says(
    folder: Path, param: str, value: int, calls: int
) -> None:
    found = document(gotc("run", SORT128, *data(folder), *ALL, "--set", f"{param}={value}", cwd=folder))
    assert found["ledger"]["none"]["calls"] == calls


@pytest.mark.parametrize(("option", "limit"), [("--max-calls", "40"), ("--max-usd", "0.02")])
def test_a_limit_stops_before_it_and_gives_no_part_of_the_problem(
    folder: Path, option: str, limit: str
) -> None:
    done = gotc("run", SORT128, *data(folder), "--json", "--no-cache", "--partial", option, limit, cwd=folder)
    found = document(done, 3)
    spent = found["spent"]["calls"] if option == "--max-calls" else found["spent"]["usd"]
    assert 0 < spent <= float(limit)
    assert found["partial"].startswith("the budget does not allow the next request")
    assert found["skipped"] > 0
    assert (found["status"], found["result"], found["score"]) == ("partial", None, None)
    assert "partial" in done.stderr
    assert "calls skipped" in done.stderr
    assert "no result was created before that" in done.stderr


def test_a_limit_before_the_last_repair_leaves_the_last_merge(folder: Path) -> None:
    command = (
        "run",
        SORT128,
        *data(folder),
        "--json",
        "--no-cache",
        "--max-calls",
        "141",
        "-O",
        "1",
    )
    hidden, found = (
        document(gotc(*command, cwd=folder), 3),
        document(gotc(*command, "--partial", cwd=folder), 3),
    )
    assert (hidden["status"], hidden["result"]) == ("partial", None)
    assert 100 < len(found["result"]) < 150
    assert found["score"] == hidden["score"] > 0


def test_a_limit_of_nothing_gives_no_result_and_says_so(folder: Path) -> None:
    done = gotc("run", SORT128, *data(folder), "--max-calls", "0", "--no-cache", cwd=folder)
    assert done.returncode == 3
    assert done.stdout == ""
    assert "no result was created before that" in done.stderr


def test_another_seed_asks_for_other_answers(folder: Path) -> None:
    first, other = (
        document(gotc("run", SORT128, *data(folder), "--json", "--seed", seed, cwd=folder))
        for seed in ("0", "1")
    )
    assert other["spent"]["calls"] > 0
    assert first["result"] != other["result"]


def test_people_get_the_value_on_stdout_and_the_rest_on_stderr(folder: Path) -> None:
    done = gotc("run", SORT128, *data(folder), cwd=folder)
    assert done.returncode == 0
    assert len(json.loads(done.stdout)) <= 128
    for words in ("simulated", "calls", "cost", "critical path", "ground truth", "from cache"):
        assert words in done.stderr
    quiet = gotc("run", SORT128, *data(folder), "--quiet", cwd=folder)
    assert (quiet.stdout, quiet.stderr) == (done.stdout, "")
