"""Rows of a data file that are chosen: `--rows`, `--sample`, in eval, compare, tune and Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.gotc import document, gotc

import gotlang
from gotlang.api import Options
from gotlang.data import Table
from gotlang.data.selection import RowSelection
from gotlang.errors import UsageError

TEXT = """
score off(it_is: int, n: int) -> lower, best 0:
    abs(it_is - n)
scheme main(n: int) -> int:
    Pool() n
scheme other(n: int) -> int:
    Pool() n + 1
study s:
    program "p.got" scheme guessed
    data "rows.csv", seed 1
    minimize abs(result - n)
    trials 1
"""
GUESSED = """
param more = 0 in 0..1
scheme guessed(n: int) -> int:
    Pool() n + more
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.got").write_text(
        TEXT.replace('    program "p.got" scheme guessed\n', "    scheme guessed\n") + GUESSED
    )
    (tmp_path / "rows.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(30)))
    return tmp_path


def rows(found: dict[str, Any]) -> list[int]:
    return [run["row"] for run in found["runs"]]


def test_rows_are_a_slice_and_the_output_says_so(folder: Path) -> None:
    command = ("eval", "p.got", "--scheme", "main", "--data", "rows.csv")
    found = document(gotc(*command, "--rows", "-5:-2", "--json", cwd=folder))
    assert (rows(found), found["selection"]) == ([25, 26, 27], "rows -5:-2")
    assert "3 rows of rows.csv (rows 27:)" in gotc(*command, "--rows", "27:", cwd=folder).stdout
    assert rows(document(gotc(*command, "--rows", "10:20", "--limit", 2, "--json", cwd=folder))) == [10, 11]
    assert "selection" in found and document(gotc(*command, "--json", cwd=folder))["selection"] == ""


def test_rows_are_also_a_list(folder: Path) -> None:
    command = ("eval", "p.got", "--scheme", "main", "--data", "rows.csv")
    found = document(gotc(*command, "--rows", "7,3,-1,3", "--json", cwd=folder))
    assert (rows(found), found["selection"]) == ([3, 7, 29], "rows 7,3,-1,3")
    assert rows(document(gotc(*command, "--rows", "-2:,0:2,5", "--json", cwd=folder))) == [0, 1, 5, 28, 29]
    assert rows(document(gotc(*command, "--rows", "4", "--json", cwd=folder))) == [4]


def test_a_sample_depends_on_its_own_seed_only(folder: Path) -> None:
    command = (
        "compare",
        "p.got",
        "--schemes",
        "main,other",
        "--data",
        "rows.csv",
        "--rows",
        "5:25",
        "--json",
    )
    found = document(gotc(*command, "--sample", 6, cwd=folder))
    assert found["selection"] == "rows 5:25, a sample of 6 by seed 0"
    first, second = map(rows, found["schemes"])
    assert first == second == sorted(first) and len(set(first)) == 6 and set(first) <= set(range(5, 25))
    assert rows(document(gotc(*command, "--sample", 6, "--seed", 3, cwd=folder))["schemes"][0]) == first
    assert rows(document(gotc(*command, "--sample", "6:1", cwd=folder))["schemes"][0]) != first


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rows", "40:50"), "rows.csv has no rows 40:50"),
        (("--rows", "20:10"), "it has 30 rows, counted from 0 to 29"),
        (("--rows", "7,"), "is not a range of rows, such as 900:1000"),
        (("--rows", "7,30"), "rows.csv has no row 30"),
        (("--rows", "-31"), "rows.csv has no row -31"),
        (("--rows", "a:b"), "is not a range of rows"),
        (("--sample", "31"), "rows.csv has 30 rows, too few for a sample of 31"),
        (("--rows", "5:9", "--sample", "5"), "rows.csv has 4 rows in 5:9, too few for a sample of 5"),
        (("--sample", "0"), "is neither a number of rows"),
    ],
)
def test_an_empty_selection_is_an_error(folder: Path, options: tuple[str, ...], message: str) -> None:
    for command in (("eval", "p.got", "--scheme", "main", "--data", "rows.csv"), ("tune", "p.got")):
        done = gotc(*command, *options, cwd=folder)
        assert done.returncode == 2
        assert message in done.stderr.replace("\n", " ")


def test_a_study_splits_the_selected_rows(folder: Path) -> None:
    done = gotc("tune", "p.got", "--rows", "10:", "--sample", "8", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "data: rows 10:, a sample of 8 by seed 0" in done.stderr
    split = json.loads((folder / "s.tuned.json").read_text())["provenance"]["rows"]
    assert len(split["train"]) == len(split["test"]) == 4
    assert min(split["train"] + split["test"]) >= 10


def test_python_selects_alike(folder: Path) -> None:
    program = gotlang.load(folder / "p.got")
    data, options = folder / "rows.csv", Options(model="simulated", cache=None)
    found = program.evaluate(data, scheme="main", rows="10:20", sample=3, options=options)
    same = program.evaluate(data, scheme="main", rows=slice(10, 20), sample=(3, 0), options=options)
    assert found.selection == same.selection == "rows 10:20, a sample of 3 by seed 0"
    assert [run.row for run in found.runs] == [run.row for run in same.runs]
    chosen = {run.row.number for run in found.runs}
    tuned = program.tune(
        "rows.csv",
        minimize="abs(result - n)",
        scheme="guessed",
        rows="10:20",
        sample=3,
        trials=1,
        folder=None,
    )
    used = tuned.tuned.provenance["rows"]
    assert {*used["train"], *used["test"]} == chosen
    for wrong in ({"rows": "x"}, {"sample": 0}, {"limit": 0}):
        with pytest.raises(UsageError):
            program.dataset(data, scheme="main", **wrong)


@given(size=st.integers(1, 20), first=st.none() | st.integers(-25, 25), last=st.none() | st.integers(-25, 25))
def test_a_range_is_pythons(size: int, first: int | None, last: int | None) -> None:
    table = Table("t", ("n",), tuple({"n": n} for n in range(size)))
    text = f"{'' if first is None else first}:{'' if last is None else last}"
    if wanted := list(range(size))[first:last]:
        assert [*RowSelection.of(text, None, None).numbers(table)] == wanted
    else:
        with pytest.raises(UsageError, match="has no rows"):
            RowSelection.of(text, None, None).numbers(table)
