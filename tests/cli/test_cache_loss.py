"""A cache that is full, gone or broken during a run: spending stops, unless the user chooses otherwise."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.gotc import document, gotc, on_a_full_disk
from support.openai_server import OpenAIServer
from support.studies import guess_study

from .test_full_disk import CALLS, PROGRAM

AT_ONCE = 4
CODE = 6


def command(server: OpenAIServer, *more: str) -> tuple[str, ...]:
    model = ("--model", "openai:m", "--base-url", server.url, "--concurrency", str(AT_ONCE))
    return ("run", "many.got", "--input", "places=20", *model, "--json", *more)


def stored(folder: Path) -> int:
    """How many samples the cache holds."""
    connection = sqlite3.connect(folder / ".gotc" / "cache.sqlite")
    try:
        (count,) = connection.execute("SELECT count(*) FROM answers").fetchone()
    finally:
        connection.close()
    return int(count)


def check_stopped(done: subprocess.CompletedProcess[str], reason: str) -> dict[str, Any]:
    """It ended with the code of a lost cache, and says why, what is not kept, and what to do."""
    found = document(done, CODE)
    assert found["status"] == "partial"
    assert found["partial"].startswith("the cache is lost: ")
    assert reason in found["partial"]
    # Nothing is sent, let alone lost, if it cannot even be claimed.
    assert (
        "not in the cache and would be billed again" in str(found["notes"])
    ) or ".coordination: " in found["partial"]
    assert "partial: the cache is lost: " in done.stderr
    assert "--on-cache-loss go-on" in done.stderr
    return found


@pytest.mark.parametrize("size", [60_000, 100_000, 200_000])
def test_a_full_disk_stops_the_spending(tmp_path: Path, size: int) -> None:
    (tmp_path / "many.got").write_text(PROGRAM)
    with OpenAIServer(lambda body, index: "7") as server:
        done = on_a_full_disk(*command(server), cwd=tmp_path, most=size)
        check_stopped(done, "the disk is full")
        paid = len(server.requests)
        assert stored(tmp_path) <= paid <= stored(tmp_path) + AT_ONCE
        again = document(gotc(*command(server), cwd=tmp_path))
        assert len(again["result"]) == 20
        assert len(server.requests) <= CALLS + AT_ONCE


def delete(cache: Path) -> None:
    for path in cache.parent.glob("cache.sqlite*"):
        path.unlink()


def replace(cache: Path) -> None:
    delete(cache)
    cache.write_bytes(b"")


def overwrite(cache: Path) -> None:
    with cache.open("r+b") as file:
        file.write(os.urandom(os.path.getsize(cache)))
    truncate_log(cache)


def truncate_log(cache: Path) -> None:
    with open(f"{cache}-wal", "r+b") as file:
        file.truncate(0)


def add_trigger(cache: Path) -> None:
    connection = sqlite3.connect(cache, isolation_level=None)
    connection.execute(
        "CREATE TRIGGER gone AFTER INSERT ON answers BEGIN DELETE FROM answers WHERE key = new.key; END"
    )
    connection.close()


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (delete, "was deleted or replaced while in use"),
        (replace, "was deleted or replaced while in use"),
        (overwrite, "cache.sqlite"),
        (truncate_log, "cache.sqlite"),
        (add_trigger, "does not keep what is stored in it"),
    ],
)
def test_a_cache_that_is_harmed_stops_the_spending(
    tmp_path: Path, harm: Callable[[Path], None], reason: str
) -> None:
    (tmp_path / "many.got").write_text(PROGRAM)
    cache = tmp_path / ".gotc" / "cache.sqlite"

    def answer(body: dict[str, Any], index: int) -> str:
        if len(server.requests) == 30:
            harm(cache)
        return "7"

    with OpenAIServer(answer) as server:
        done = gotc(*command(server), cwd=tmp_path)
        check_stopped(done, reason)
        assert 30 <= len(server.requests) <= 30 + 2 * AT_ONCE


def test_rows_and_schemes_stop_too(tmp_path: Path) -> None:
    (tmp_path / "many.got").write_text(PROGRAM + PROGRAM[PROGRAM.index("scheme") :].replace("many", "also"))
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"places": n}) + "\n" for n in (19, 20, 21)))
    for words in (
        ("eval", "many.got", "--scheme", "many"),
        ("compare", "many.got", "--schemes", "many,also"),
    ):
        with OpenAIServer(lambda body, index: "7") as server:
            model = ("--model", "openai:m", "--base-url", server.url, "--concurrency", str(AT_ONCE))
            run = (*words, "--data", "rows.jsonl", *model, "--cache", f"{words[0]}.sqlite", "--seed", "1")
            done = on_a_full_disk(*run, cwd=tmp_path, most=100_000)
            assert done.returncode == CODE, done.stderr
            assert "stopped: the cache is lost: cannot " in done.stderr
            # Nothing is sent, let alone lost, if it cannot even be claimed.
            lost = "completions are not in the cache and would be billed again" in done.stderr
            assert lost or ".coordination: " in done.stderr
            assert "--on-cache-loss go-on" in done.stderr
            few = len(server.requests)
            on_a_full_disk(*run, "--on-cache-loss", "go-on", cwd=tmp_path, most=100_000)
            assert len(server.requests) > 2 * few


def test_a_study_stops_too_and_goes_on_later(tmp_path: Path) -> None:
    guess_study(tmp_path, "train 4, test 2\nminimize error(result, target)\ntrials 3", rows=8)
    tune = ("tune", "study.got", "--json", "--concurrency", "4")
    (tmp_path / "prices.toml").write_text("[m]\ninput_per_million = 1\noutput_per_million = 1\n")

    def answer(body: dict[str, Any], index: int) -> str:
        if len(server.requests) == 10:
            delete(tmp_path / ".gotc" / "cache.sqlite")
        return "7"

    with OpenAIServer(answer) as server:
        model = ("--model", "openai:m", "--base-url", server.url, "--prices", "prices.toml")
        done = gotc(*tune, *model, cwd=tmp_path)
        assert done.returncode == CODE, done.stderr
        assert "the cache is lost: " in done.stderr
        assert "the same command continues the study" in done.stderr
        assert len(server.requests) <= 10 + 2 * AT_ONCE
        again = gotc(*tune, *model, cwd=tmp_path)
        assert again.returncode == 0, again.stderr
