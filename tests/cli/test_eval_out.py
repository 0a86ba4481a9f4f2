"""`gotc eval --out`: results in a file as they come, killed and continued with the same results."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.gotc import document, environment, gotc

PROGRAM = """\
simulate with "sim.py"

metric length(reply: str, truth: str) -> lower:
    len(reply)

prompt answer(question: str) -> str:
    "{{ question }}"

scheme once(question: str) -> str:
    Generate() answer(question)
    Validate() it != "bad"
    GroundTruth() it == truth
"""
SIMULATOR = """\
def answer(rng, question):
    if "fail" in question:
        raise ValueError("no such question")
    return "abcde"[: rng.randrange(1, 6)] if rng.random() < 0.9 else "bad"
"""
ROWS = 400
PLAIN = ("eval", "once.got", "--data", "data.jsonl", "--model", "simulated", "--no-cache")
EVAL = (*PLAIN, "--out", "out.jsonl")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "once.got").write_text(PROGRAM)
    (tmp_path / "sim.py").write_text(SIMULATOR)
    rows = ({"question": f"what is {n}?", "truth": "abc"} for n in range(ROWS))
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def summary(folder: Path, *more: str) -> str:
    """The summary, but for what this very command spent."""
    found = document(gotc(*EVAL, "--json", *more, cwd=folder))
    assert "runs" not in found and found["out"] == "out.jsonl"
    return json.dumps({**found, "spent": None})


def test_killed_again_and_again_it_ends_like_one_that_nobody_disturbed(folder: Path) -> None:
    more = ("--repeat", "2", "--parallel", "4")
    whole = summary(folder, *more)
    undisturbed = {(line["row"], line["repeat"]): line for line in lines(folder)}
    assert len(undisturbed) == len(lines(folder)) == 2 * ROWS
    (folder / "out.jsonl").unlink()
    reached = 0
    for _ in range(4):
        command = [sys.executable, "-m", "gotlang", *EVAL, *more, "--quiet"]
        process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until:
            there = (folder / "out.jsonl").exists() and (folder / "out.jsonl").read_bytes().count(b"\n")
            if there and there > reached + 60:
                break
            time.sleep(0.002)
        process.kill()
        process.wait()
        before, reached = (
            reached,
            len([line for line in (folder / "out.jsonl").open() if line.endswith("\n")]),
        )
        assert reached > before
    kept = (folder / "out.jsonl").read_bytes()
    assert reached < 2 * ROWS, "it ended before it could be killed"
    assert summary(folder, *more) == whole
    assert (folder / "out.jsonl").read_bytes().startswith(kept[: kept.rindex(b"\n") + 1])  # none ran again
    assert {(line["row"], line["repeat"]): line for line in lines(folder)} == undisturbed
    assert len(lines(folder)) == 2 * ROWS


def test_what_all_ended_is_only_summed_up(folder: Path) -> None:
    whole = summary(folder)
    (folder / "sim.py").touch()
    before = (folder / "out.jsonl").stat()
    done = gotc(*EVAL, "--json", cwd=folder)
    assert document(done)["spent"]["calls"] == 0
    assert json.dumps({**document(done), "spent": None}) == whole
    assert (folder / "out.jsonl").stat().st_mtime_ns == before.st_mtime_ns


def test_it_says_what_the_same_without_a_file_says(folder: Path) -> None:
    plain = document(gotc(*PLAIN, "--json", cwd=folder))
    found = document(gotc(*EVAL, "--json", cwd=folder))
    assert {**found, "runs": plain["runs"]} == {**plain, "out": "out.jsonl"}
    fields = {json.dumps({**line, "evaluation": None}) for line in lines(folder)}
    assert fields == {json.dumps({"evaluation": None, **run}) for run in plain["runs"]}
    for form in ("text", "junit", "github"):
        file, memory = (gotc(*command, "--format", form, cwd=folder) for command in (EVAL, PLAIN))
        assert file.stdout == memory.stdout


def test_a_run_that_failed_runs_again(folder: Path) -> None:
    with (folder / "data.jsonl").open("a") as file:
        file.write('{"question": "fail", "truth": "abc"}\n')
    failed = gotc(*EVAL, "--max-failed", "1", "--json", cwd=folder)
    assert document(failed)["failed"][0]["runs"] == 1
    assert sorted(line["state"] for line in lines(folder))[-1] == "failed"
    again = gotc(*EVAL, "--max-failed", "1", "--json", cwd=folder)
    assert {**document(again), "spent": None} == {**document(failed), "spent": None}
    assert len(lines(folder)) == ROWS + 1
    assert document(again)["spent"]["free_calls"] + document(again)["spent"]["calls"] <= 1


def test_a_limit_is_continued_from(folder: Path) -> None:
    whole = summary(folder)
    (folder / "out.jsonl").unlink()
    limited = gotc(*EVAL, "--max-calls", "100", "--json", cwd=folder)
    assert document(limited, 3)["not_run"] > 0
    assert summary(folder) == whole


@pytest.mark.parametrize("torn", ['{"evaluation": "', "\0\0\0\0\n", '{"evaluation": 5}'])
def test_a_torn_end_is_dropped(folder: Path, torn: str) -> None:
    whole = summary(folder)
    kept = (folder / "out.jsonl").read_text().splitlines(keepends=True)
    (folder / "out.jsonl").write_text("".join(kept[:-3]) + torn)
    assert summary(folder) == whole
    assert len(lines(folder)) == ROWS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"question": "mine"}\n', "does not contain the results of an evaluation"),
        ("notes\n", "does not contain the results of an evaluation"),
    ],
)
def test_a_file_of_something_else_is_left_alone(folder: Path, text: str, words: str) -> None:
    (folder / "out.jsonl").write_text(text)
    done = gotc(*EVAL, cwd=folder)
    assert done.returncode == 2 and words in done.stderr
    assert (folder / "out.jsonl").read_text() == text


@pytest.mark.parametrize("change", ["seed", "data", "program", "simulator"])
def test_the_results_of_another_evaluation_are_left_alone(folder: Path, change: str) -> None:
    summary(folder)
    before = (folder / "out.jsonl").read_bytes()
    more = ("--seed", "1") if change == "seed" else ()
    edits = {
        "data": ("data.jsonl", "what is 7?", "what was 7?"),
        "program": ("once.got", "{{ question }}", "Say: {{ question }}"),
        "simulator": ("sim.py", "0.9", "0.8"),
    }
    if change in edits:
        name, old, new = edits[change]
        (folder / name).write_text((folder / name).read_text().replace(old, new))
    done = gotc(*EVAL, *more, cwd=folder)
    assert done.returncode == 2 and "has the results of another evaluation" in done.stderr
    assert (folder / "out.jsonl").read_bytes() == before


def test_two_do_not_write_one_file(folder: Path) -> None:
    holding = (
        "import fcntl, time; f = open('out.jsonl', 'a'); fcntl.flock(f, fcntl.LOCK_EX); print(); f.flush(); "
    )
    process = subprocess.Popen(
        [sys.executable, "-uc", holding + "time.sleep(60)"], cwd=folder, stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdout.readline()
    done = gotc(*EVAL, cwd=folder)
    process.kill()
    process.wait()
    assert done.returncode == 2 and "is written by another evaluation" in done.stderr


def test_a_full_disk_ends_it_with_what_to_do(folder: Path) -> None:
    (folder / "out.jsonl").symlink_to("/dev/full")
    done = gotc(*EVAL, cwd=folder)
    assert done.returncode == 2 and "cannot write the results out.jsonl" in done.stderr
