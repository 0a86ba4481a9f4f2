"""`gotc test`: verdicts, counterexamples, limits, recordings, reports."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from cli.conftest import Gotc
from support.gotc import SORTING
from support.openai_server import OpenAIServer

import gotlang

PROGRAM = """\
simulate with "coin_sim.py"

prompt toss(coin: int) -> int:
    "Toss coin {{ coin }}."
prompt add(left: int, right: int) -> int:
    "{{ left }} + {{ right }} = ?"
scheme sum_of(numbers: list[int]) -> int:
    reduce a, b in numbers:
        Aggregate() add(a, b)

"""
SIMULATOR = """\
def toss(rng, coin):
    return str(int(rng.random() < 0.5))
def add(rng, left, right):
    return str(left + right if left < 50 else 0)
"""
TRUST = "--allow-python"


def write(folder: Path, *tests: str, name: str = "coins.got") -> None:
    (folder / "coin_sim.py").write_text(SIMULATOR)
    (folder / name).write_text(PROGRAM + "\n".join(tests) + "\n")


def test_each_verdict_and_its_exit_code(gotc: Gotc, folder: Path) -> None:
    claim = 'law "heads" for coin in int: toss(coin) == 1, at least {} of 60'
    for share, verdict, code in (("0.2", "holds", 0), ("0.9", "does not hold", 4), ("0.5", "undecided", 3)):
        write(folder, claim.format(share))
        done = gotc("test", TRUST, "--format", "json")
        (result,) = done.json()["programs"][0]["tests"]
        assert (done.code, result["verdict"], result["times"]) == (code, verdict, 60)
        low, high = result["interval"]
        assert low < result["held"] / 60 < high
    assert 60 * 0.3 < result["held"] < 60 * 0.7  # equal draws, if any, are tossed apart


def test_equal_draws_have_samples_of_their_own(gotc: Gotc, folder: Path) -> None:
    write(folder, 'law "heads" for coin in [7]: toss(coin) == 1, at least 0.2 of 60')
    (result,) = gotc("test", TRUST, "--format", "json").json()["programs"][0]["tests"]
    assert result["verdict"] == "holds" and 0 < result["held"] < 60


def test_a_counterexample_is_made_simple_and_shown_with_what_was_called(gotc: Gotc, folder: Path) -> None:
    write(folder, 'law "adds" for n, m in ints(0, 99): add(n, m) == n + m')
    done = gotc("test", TRUST)
    assert done.code == 4
    lines = [line.strip() for line in done.out.splitlines()]
    assert lines[0] == "coins.got" and lines[1].startswith("does not hold  adds: ")
    # Nothing simpler fails: 50 is the smallest left number that is not added.
    assert lines[2:5] == ["n = 50", "m = 0", "add(n, m) gave 0"]
    assert "responses are simulated" in done.err and "1 test: 1 does not hold" in done.err


def test_schemes_prompts_and_scores_are_called_once_each(gotc: Gotc, folder: Path) -> None:
    write(
        folder,
        "score far(n: int, goal: int) -> lower:",
        "    got = Generate() add(n, 0)",
        "    abs(got - goal)",
        'test "sums": sum_of([1, 2, 3]) == add(1, 5)',
        'test "is near": far(3, 4) == 1',
        'test "each toss is its own": [n for n in [toss(1), toss(1)] if n < 2] == [toss(1), toss(1)]',
    )
    done = gotc("test", TRUST, "--format", "json", "-k", "S")
    results = {r["name"]: r for r in done.json()["programs"][0]["tests"]}
    assert [r["calls"] for r in results.values()] == [3, 1, 4]
    assert results["sums"]["verdict"] == results["is near"]["verdict"] == "holds"
    assert gotc("test", TRUST, "-k", "SUMS").code == 0
    assert gotc("test", TRUST, "-k", "nothing").code == 2


def test_a_limit_leaves_what_is_left_undecided_and_only_its_own_test(gotc: Gotc, folder: Path) -> None:
    write(
        folder,
        'test "before": sum_of([1, 2]) == 3, within 1.0 usd',
        'law "heads" for coin in int: toss(coin) >= 0, at least 0.5 of 60, within 5 calls',
        'test "sums": sum_of([1, 2, 3]) == 6',
    )
    done = gotc("test", TRUST, "--no-cache", "--format", "json")
    before, first, second = done.json()["programs"][0]["tests"]
    assert (done.code, first["verdict"], second["verdict"]) == (3, "undecided", "holds")
    assert before["calls"] > 0 and first["times"] <= 5
    assert first["reason"] == "the budget does not allow the next request: 5 of 5 calls made"
    done = gotc("test", TRUST, "--no-cache", "--format", "json", "--max-calls", 6)
    verdicts = [t["verdict"] for t in done.json()["programs"][0]["tests"]]
    assert verdicts == ["holds", "undecided", "undecided"]


def test_a_failing_run_is_told(gotc: Gotc, folder: Path) -> None:
    write(folder, 'test "sums": sum_of([]) == 0', 'law "divides" for n in ints(0, 3): 6 // n > 0')
    done = gotc("test", TRUST, "--format", "json")
    first, second = done.json()["programs"][0]["tests"]
    assert (done.code, first["verdict"], second["verdict"]) == (4, "does not hold", "does not hold")
    assert "its list is empty" in first["reason"] and "division by zero" in second["reason"]
    assert second["inputs"] == {"n": 0}


def test_rows_of_a_file_are_drawn_without_repetition(gotc: Gotc, folder: Path) -> None:
    (folder / "sums.csv").write_text("Left,Right,Sum\n1,2,3\n4,4,8\n2,3,6\n")
    law = 'law "adds" for row in rows("sums.csv", {left: int, right: int, total: int}, total="Sum"): '
    write(folder, law + "add(row.left, row.right) == row.total, at least 0.99 of 50")
    (result,) = gotc("test", TRUST, "--format", "json").json()["programs"][0]["tests"]
    assert (result["held"], result["times"]) == (2, 3)
    write(folder, law.replace('"Sum"', '"Total"') + "row.left > 0")
    done = gotc("test", TRUST)
    assert done.code == 2 and "Total" in done.err
    write(folder, law.replace("sums.csv", "../sums.csv") + "row.left > 0")
    assert "leaves the program's folder" in gotc("test", TRUST).err


def test_reports_for_ci(gotc: Gotc, folder: Path) -> None:
    write(folder, 'test "sums <two>": sum_of([1, 2]) == 3', 'test "fails": sum_of([1, 2]) == 4')
    done = gotc("test", "coins.got", TRUST, "--format", "github", "--junit", "report.xml", "--quiet")
    assert done.code == 4 and done.err == ""
    (line,) = done.out.splitlines()
    assert line.startswith(
        "::error file=coins.got,line=12,title=test fails::does not hold; sum_of([1, 2]) gave 3"
    )
    suite = ElementTree.parse(folder / "report.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [(case.get("name"), len(case)) for case in suite] == [("sums <two>", 0), ("fails", 1)]


def test_tests_run_on_a_model_and_on_its_recording_without_one(gotc: Gotc, folder: Path) -> None:
    write(folder, 'test "sums": sum_of([1, 2, 3]) == 6')
    with OpenAIServer(lambda body, index: "6") as server:
        model = ("--model", "openai:m", "--base-url", server.url, "--no-cache")
        assert gotc("test", *model, "--record", "sums.json").code == 0
        assert len(server.requests) == 2
        assert gotc("test", "--recording", "sums.json", "--no-cache").code == 0
        assert len(server.requests) == 2
        # A dollar limit for a model without a price cannot be kept.
        write(folder, 'test "sums": sum_of([1, 2, 3]) == 6, within 1.0 usd')
        done = gotc("test", *model)
        assert done.code == 2 and "price of `m` is unknown" in done.err
        assert len(server.requests) == 2


def test_what_a_recording_does_not_have_decides_nothing(gotc: Gotc, folder: Path) -> None:
    held = 'test "sums": sum_of([1, 2, 3]) == 6'
    write(folder, held)
    with OpenAIServer(lambda body, index: "6") as server:
        model = ("--model", "openai:m", "--base-url", server.url, "--no-cache")
        assert gotc("test", *model, "--record", "sums.json").code == 0
    write(
        folder, held, 'test "more": sum_of([1, 2]) == 6', 'law "any" for n in ints(0, 3): sum_of([n, 9]) == 6'
    )
    done = gotc("test", "--recording", "sums.json", "--no-cache", "--format", "json")
    recorded, more, law = done.json()["programs"][0]["tests"]
    assert (done.code, recorded["verdict"]) == (3, "holds")
    assert [(one["verdict"], one["times"], one["inputs"]) for one in (more, law)] == [
        ("undecided", 0, None)
    ] * 2
    for one in (more, law):
        assert one["reason"].startswith("1 of its calls not recorded: ") and "sums.json" in one["reason"]
    # What is recorded decides: no simpler counterexample is claimed of responses that nobody has seen.
    small = "scheme small(n: int) -> int:\n    if n > 4:\n        return 0\n    sum_of([n, 1])\n"
    write(folder, small, 'law "shrinks" for n in ints(0, 9): small(n) == 6')
    (one,) = gotc("test", "--recording", "sums.json", "--format", "json").json()["programs"][0]["tests"]
    assert one["verdict"] == "does not hold" and one["inputs"]["n"] > 4


def test_the_same_command_again_takes_all_from_the_cache(gotc: Gotc, folder: Path) -> None:
    write(folder, 'law "heads" for coin in int: toss(coin) >= 0, at least 0.5 of 20')
    assert gotc("test", TRUST).code == 0
    again = gotc("test", TRUST)
    assert again.code == 0 and "spent $0.00" in again.err
    write(folder, 'law "heads" for coin in int: toss(coin) >= 0, at least 0.5 of 30')
    assert "10 calls" in gotc("test", TRUST).err  # the first 20 draws are the same


def test_a_folder_with_the_name_of_a_program_is_none(gotc: Gotc, folder: Path) -> None:
    (folder / "archive.got").mkdir()
    write(folder, 'test "sure": toss(1) >= 0')
    done = gotc("test", TRUST)
    assert (done.code, done.out.splitlines()[0]) == (0, "coins.got"), done.err


def test_without_tests_nothing_runs(gotc: Gotc, folder: Path) -> None:
    done = gotc("test")
    assert done.code == 2 and "no program in this folder has a test" in done.err
    done = gotc("test", "vote.got")
    assert done.code == 2 and "these programs have no tests" in done.err


def test_from_python(folder: Path) -> None:
    seen = []
    report = gotlang.test(
        SORTING,
        "nearly",
        options=gotlang.Options(model="simulated", cache=None, python=True, seed=4),
        on_test=seen.append,
    )
    assert report.ok and [r.name for r in report.results] == ["repairs what is nearly sorted"]
    assert list(report.results) == seen
    with pytest.raises(gotlang.UsageError, match="no test of `sorting` fits `nothing`"):
        gotlang.test(SORTING, "nothing", options=gotlang.Options(model="simulated", python=True))
