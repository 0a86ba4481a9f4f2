"""Several processes on one data set with one cache between them."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.caches import no_postgres, postgres_schema
from support.gotc import document, gotc, start, vote
from support.openai_server import Body, OpenAIServer

QUESTIONS = 24
AT_ONCE = 4


def told(found: dict[str, Any]) -> list[Any]:
    """What must not depend on who shares a cache."""
    return [[run[name] for name in ("row", "score", "correct")] for run in found["runs"]]


def asked(server: OpenAIServer) -> Counter[str]:
    """How often each request was made."""
    return Counter(json.dumps(seen.body, sort_keys=True) for seen in server.requests)


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.skipif(bool(no_postgres), reason=no_postgres)),
    ]
)
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """A new cache."""
    if request.param == "sqlite":
        yield "shared.sqlite"
    else:
        with postgres_schema() as schema:
            yield schema


def evaluation(folder: Path, *more: str) -> tuple[str, ...]:
    """Of a small program on some questions."""
    vote(folder)
    (folder / "q.csv").write_text("question\n" + "".join(f"{'why ' * n}?\n" for n in range(QUESTIONS)))
    return ("eval", "vote.got", "--data", "q.csv", "--set", "tries=3", "--json", *more)


def length(body: Body, index: int) -> str:
    """An answer to a question of `evaluation`."""
    return f"It is {len(str(body['messages'][-1]['content'])) + index % 2}."


def test_eight_processes_at_once_pay_each_request_once(tmp_path: Path, address: str) -> None:
    with OpenAIServer(length, latency_s=0.05) as server:
        command = evaluation(tmp_path, "--model", "openai:small", "--base-url", server.url, "--cache")
        processes = [start(*command, address, cwd=tmp_path) for _ in range(8)]
        ended = [process.communicate(timeout=120) for process in processes]
        alone = document(gotc(*command, "alone.sqlite", cwd=tmp_path))
        again = document(gotc(*command, address, cwd=tmp_path))
    found = [json.loads(out) for out, _ in ended]
    assert [process.returncode for process in processes] == [0] * 8, ended
    assert set(asked(server).values()) == {2}  # once by the eight, once by the one with a cache of its own
    assert len(server.requests) == 2 * QUESTIONS
    assert sum(one["spent"]["calls"] for one in found) == 3 * QUESTIONS
    assert [told(one) for one in found] == [told(alone)] * 8
    assert (told(again), again["spent"]["calls"]) == (told(alone), 0)


def test_what_a_killed_process_was_asking_for_is_asked_by_another(tmp_path: Path, address: str) -> None:
    """It holds up the others for no longer than it takes to see that it is dead."""
    stuck, first = threading.Event(), itertools.count()
    with OpenAIServer(length, latency_s=lambda body: stuck if next(first) < AT_ONCE else 0.0) as server:
        limit = ("--concurrency", str(AT_ONCE), "--base-url", server.url, "--cache", address)
        command = evaluation(tmp_path, "--model", "openai:small", *limit)
        dies = start(*command, cwd=tmp_path)
        until = time.monotonic() + 60
        while len(server.requests) < AT_ONCE and time.monotonic() < until:
            time.sleep(0.01)
        others = [start(*command, cwd=tmp_path) for _ in range(2)]
        while len(server.requests) < QUESTIONS and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.5)
        assert len(server.requests) == QUESTIONS  # the others have asked for all else, and wait
        assert [process.poll() for process in others] == [None, None]
        dies.kill()
        dies.communicate()
        ended = [process.communicate(timeout=60) for process in others]
        stuck.set()
    assert [process.returncode for process in others] == [0, 0], ended
    counts = Counter(asked(server).values())
    assert counts == {1: QUESTIONS - AT_ONCE, 2: AT_ONCE}  # twice only what was under way at the kill
    assert told(json.loads(ended[0][0])) == told(json.loads(ended[1][0]))
