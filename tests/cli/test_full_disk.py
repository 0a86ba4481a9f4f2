"""A disk that is full: a run still ends with its result, and reports paid responses that are not stored."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.gotc import document, gotc, on_a_full_disk
from support.openai_server import OpenAIServer

PROGRAM = """\
prompt guess(place: int) -> int:
    "guess {{ place }}"
prompt next(place: int, number: int, turn: int) -> int:
    "{{ place }}: {{ number }} {{ turn }}"

scheme many(places: int) -> list[int]:
    foreach i in range(places):
        Generate() guess(i)
        repeat 4 as turn:
            Generate() next(i, it, turn)
"""
CALLS = 100
FULL = 200_000
"""Bytes: room for an empty cache, and for some of the answers."""
TOLD = "completions cannot be cached at the moment: cannot write the cache .gotc/cache.sqlite: the disk "


def answer(body: dict[str, Any], index: int) -> str:
    """A number that rests on the question."""
    return str(sum(map(ord, body["messages"][-1]["content"])) % 89)


def command(server: OpenAIServer, *more: str) -> tuple[str, ...]:
    model = ("--model", "openai:m", "--base-url", server.url, "--concurrency", "4")
    return ("run", "many.got", "--input", "places=20", *model, "--json", "--on-cache-loss", "go-on", *more)


full = partial(on_a_full_disk, most=FULL)
"""`gotc` where no file gets larger than that."""


def not_kept(words: str) -> int:
    """How many answers a message says are paid and lost."""
    found = words.partition(" completion")[0].split()[-1]
    assert "not in the cache and would be billed again" in words
    return int(found)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of its own, which few may make."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", folder], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def check(folder: Path, server: OpenAIServer, done: subprocess.CompletedProcess[str]) -> None:
    """It ended well and said how much is not kept; just that is paid for again where there is room."""
    found = document(done)
    assert found["spent"]["calls"] == len(server.requests) == CALLS
    assert TOLD in done.stderr
    assert done.stderr.index(TOLD) < done.stderr.index("many by openai:m")
    (note,) = (note for note in found["notes"] if "not in the cache" in note)
    assert note in done.stderr
    assert 0 < not_kept(note) < CALLS
    again = document(gotc(*command(server), cwd=folder))
    assert again["result"] == found["result"]
    assert again["spent"]["calls"] == not_kept(note)
    assert again["notes"] == []


def test_a_cache_that_cannot_grow(tmp_path: Path) -> None:
    (tmp_path / "many.got").write_text(PROGRAM)
    with OpenAIServer(answer) as server:
        check(tmp_path, server, full(*command(server), cwd=tmp_path))


def test_a_disk_with_nothing_left(small_disk: Path) -> None:
    """The answers find no place, and the history only what was given back."""
    (small_disk / "many.got").write_text(PROGRAM)
    with OpenAIServer(answer) as server:
        done = gotc(*command(server), cwd=small_disk)
        told = "this run is not in the history: cannot write .gotc/runs: No space left" in done.stderr
        assert told or list((small_disk / ".gotc" / "runs").glob("*.json"))
        subprocess.run(["mount", "-o", "remount,size=20m", small_disk], check=True)
        check(small_disk, server, done)


def test_a_run_that_fails_says_it_too(tmp_path: Path) -> None:
    program = PROGRAM.replace("-> list[int]:", "-> int:") + "    Aggregate() broken(thoughts)\n"
    program += 'prompt broken(numbers: list[int]) -> int:\n    "all {{ numbers }}"\n'
    (tmp_path / "many.got").write_text(program)
    with OpenAIServer(lambda body, index: "?" if "all" in str(body) else answer(body, index)) as server:
        done = full(*command(server, "--quiet"), cwd=tmp_path)
    assert done.returncode == 1
    assert TOLD in done.stderr
    assert 0 < not_kept(next(line for line in done.stderr.splitlines() if "completions are" in line)) <= 101


def test_rows_of_a_data_set_say_it_too(tmp_path: Path) -> None:
    (tmp_path / "many.got").write_text(PROGRAM)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"places": n}) + "\n" for n in (19, 20, 21)))
    with OpenAIServer(answer) as server:
        model = ("--model", "openai:m", "--base-url", server.url, "--json")
        loss = ("--on-cache-loss", "go-on")
        done = full("eval", "many.got", "--data", "rows.jsonl", *model, *loss, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count(TOLD) == 1
        (line,) = (line for line in done.stderr.splitlines() if "completions are" in line)
        paid = len(server.requests)
        again = gotc("eval", "many.got", "--data", "rows.jsonl", *model, cwd=tmp_path)
        assert again.returncode == 0, again.stderr
        assert 0 < len(server.requests) - paid <= not_kept(line)


def test_a_recording_that_cannot_be_written_costs_no_result(tmp_path: Path) -> None:
    (tmp_path / "many.got").write_text(PROGRAM)
    recorded = tmp_path / "out" / "run.jsonl"
    recorded.parent.mkdir()

    def vanishing(body: dict[str, Any], index: int) -> str:
        shutil.rmtree(recorded.parent, ignore_errors=True)
        return answer(body, index)

    with OpenAIServer(vanishing) as server:
        done = gotc(*command(server), "--record", recorded, cwd=tmp_path)
        assert done.returncode == 1
        assert len(json.loads(done.stdout)["result"]) == 20
        assert f"error: cannot write the recording {recorded}: No such file" in done.stderr
        recorded.parent.mkdir()
        again = gotc(*command(server), "--record", recorded, cwd=tmp_path)
        assert document(again)["result"] == json.loads(done.stdout)["result"]
        assert len(server.requests) == CALLS
