"""`gotc eval --table`: rows in the terminal, wrong ones first, cut to its width."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.gotc import gotc
from support.terminal import on_terminal

PROGRAM = """\
simulate with "p_sim.py"

prompt answer(question: str, note: str) -> {town: str, count: int}:
    "{{ question }} {{ note }}"

scheme p(question: str, note: str) -> {town: str, count: int}:
    Generate() answer(question, note)
    GroundTruth() it == truth
"""
SIM = """\
def answer(rng, question, note):
    if "fail" in question:
        return "nothing"
    return '{"town": "Rome", "count": %d}' % (2 if "wrong" in question else 3)
"""
NOTE = "a long note " * 30 + "\x1b]0;owned\x07"
EVAL = ("eval", "p.got", "--data", "rows.jsonl", "--quiet", "--no-cache")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.got").write_text(PROGRAM)
    (tmp_path / "p_sim.py").write_text(SIM)
    questions = ["right 0", "right 1", "wrong 2", "fail 3", "right 4", *(f"right {n}" for n in range(5, 15))]
    rows = [{"question": q, "note": NOTE, "truth": {"town": "Rome", "count": 3}} for q in questions]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def test_wrong_rows_come_first_and_texts_are_cut(folder: Path) -> None:
    done = gotc(*EVAL, "--table", 3, cwd=folder)
    assert done.returncode == 0, done.stderr
    table = done.stdout.partition("\n\n")[2].splitlines()
    assert table[0].split() == ["row", "question", "note", "result", "expected"]
    assert [line.split()[:2] for line in table[1:4]] == [["3", "failed"], ["2", "wrong"], ["0", "correct"]]
    assert '{"count": 2}' in table[2] and '{"count": 3}' in table[2] and "Rome" not in table[2]
    assert all(len(line) <= 140 for line in table) and "..." in table[2]
    assert table[4] == "and 12 more runs: `--table N` shows more of them, `--html FILE` all"


def test_without_a_terminal_there_are_none_unless_asked_for(folder: Path) -> None:
    assert "\n\n" not in gotc(*EVAL, cwd=folder).stdout
    json.loads(gotc(*EVAL, "--json", "--table", 3, cwd=folder).stdout)
    wrong = gotc(*EVAL, "--table", "-1", cwd=folder)
    assert wrong.returncode == 2 and "--table" in wrong.stderr


@pytest.mark.parametrize("columns", [40, 100])
def test_a_terminal_shows_ten_within_its_width(folder: Path, columns: int) -> None:
    table = on_terminal(*EVAL, cwd=folder, columns=columns).partition("\n\n")[2].splitlines()
    assert max(map(len, table[:-1])) <= columns
    assert not any("\x1b" in line or "\x07" in line for line in table)
    if columns == 40:
        assert table[0] == "row 3  failed" and table[1].startswith("  question  fail 3")
        assert sum(line.startswith("row ") for line in table) == 10
    else:
        assert len(table) == 12 and table[1].startswith("3    failed   fail 3")


def test_no_rows_where_none_are_wanted(folder: Path) -> None:
    assert "\n\n" not in on_terminal(*EVAL, "--table", 0, cwd=folder, columns=100)
