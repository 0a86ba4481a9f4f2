"""kill -9 at random moments of a run of 500 calls: the result is that of an undisturbed run, and no stored
response is paid for again.

    KILLS=30 python -m pytest tests/cli/test_kills.py
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from random import Random
from typing import Any

from support.caches import contents
from support.gotc import document, gotc, start
from support.openai_server import OpenAIServer

PROGRAM = """\
prompt guess(place: int) -> int:
    "guess {{ place }}"
prompt next(place: int, number: int, turn: int) -> int:
    "{{ place }}: {{ number }} {{ turn }}"

scheme many(start: int) -> list[int]:
    foreach i in range(25):
        Generate(k=4) guess(i + start)
        Score() it % 100
        KeepBestN(1)
        repeat 16 as turn:
            Generate() next(i, it, turn)
"""
CALLS = 500
AT_ONCE = 8
KILLS = int(os.environ.get("KILLS", "5"))


def answer(body: dict[str, Any], index: int) -> str:
    """A number that rests on the question and on which of its answers it is."""
    said = f"{body['messages'][-1]['content']} #{index}"
    return str(int(hashlib.sha256(said.encode()).hexdigest()[:6], 16))


def command(folder: Path, server: OpenAIServer) -> tuple[str, ...]:
    (folder / "many.got").write_text(PROGRAM)
    options = ("--model", "openai:m", "--base-url", server.url, "--concurrency", str(AT_ONCE), "--json")
    return ("run", "many.got", "--input", "start=3", *options)


def told(found: dict[str, Any]) -> list[Any]:
    """What a run gave and what it asked for, but for how long that took."""
    account = {name: value for name, value in found["ledger"]["none"].items() if not name.endswith("_s")}
    return [found["result"], found["score"], found["graph"], account]


def test_killed_again_and_again_it_ends_like_a_run_nobody_disturbed(tmp_path: Path) -> None:
    chance = Random()
    (tmp_path / "alone").mkdir()
    (tmp_path / "killed").mkdir()
    with OpenAIServer(answer) as server:
        alone = document(gotc(*command(tmp_path / "alone", server), cwd=tmp_path / "alone"))
        assert sum(seen.n for seen in server.requests) == alone["ledger"]["none"]["calls"] == CALLS
    folder, cache = tmp_path / "killed", tmp_path / "killed" / ".gotc" / "cache.sqlite"
    with OpenAIServer(answer, latency_s=0.004) as server:
        again = command(folder, server)
        lost = 0
        for _ in range(KILLS):
            begun = document(gotc("runs", "--json", cwd=folder))["runs"]
            resumed = ("run", "--resume", "last", "--json")
            process = start(*(resumed if begun and chance.random() < 0.5 else again), cwd=folder)
            wanted = len(server.requests) + chance.randrange(2 * CALLS // (3 * KILLS))
            until = time.monotonic() + 60
            while len(server.requests) < wanted and process.poll() is None and time.monotonic() < until:
                time.sleep(0.001)
            time.sleep(chance.random() * 0.02)
            ended = process.poll() is not None
            process.kill()
            _, errors = process.communicate(timeout=30)
            assert not ended, errors
            time.sleep(0.1)  # what was on its way to the server arrives
            before, lost = lost, len(server.requests) - contents(cache)[0]
            assert lost - before <= AT_ONCE, "more was lost than what was under way"
        last = document(gotc("run", "--resume", "last", "--json", cwd=folder))
        requests, answers = contents(cache)
        paid = sum(seen.n for seen in server.requests)
    assert told(last) == told(alone)
    assert (answers, len(server.requests) - requests) == (CALLS, lost)
    assert CALLS <= paid <= CALLS + 4 * lost
    states = [entry["state"] for entry in document(gotc("runs", "--json", cwd=folder))["runs"]]
    assert states[0] == "done" and set(states[1:]) <= {"killed"}
