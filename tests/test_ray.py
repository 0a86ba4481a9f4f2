"""The engine `ray`: a real cluster of three nodes, a real PostgreSQL, real kills."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.caches import postgres_schema
from support.cluster import cluster, why_not, workers
from support.gotc import document, gotc, start, vote
from support.openai_server import Body, OpenAIServer

pytestmark = [pytest.mark.skipif(bool(why_not), reason=why_not), pytest.mark.xdist_group("ray")]

ROWS = 40


@pytest.fixture(scope="module")
def three() -> Iterator[Any]:
    with cluster(3) as found:
        yield found


@pytest.fixture
def cache() -> Iterator[str]:
    with postgres_schema() as schema:
        yield schema


def answer(body: Body, index: int) -> str:
    """How long a question is, a little wrong for some."""
    return f"It is {len(str(body['messages'][-1]['content'])) + index % 2}."


def evaluation(folder: Path, *more: object, command: str = "eval") -> tuple[object, ...]:
    vote(folder)
    rows = "".join(f"{'why ' * (n + 1)}?,{4 * n + 5}\n" for n in range(ROWS))
    (folder / "q.csv").write_text(f"question,truth\n{rows}")
    return (command, "vote.got", "--data", "q.csv", "--json", "--model", "openai:small", *more)


def told(found: Any) -> Any:
    """A document without times."""
    if isinstance(found, dict):
        timed = ("seconds", "spent")
        return {name: told(value) for name, value in found.items() if name not in timed}
    return [told(one) for one in found] if isinstance(found, list) else found


def asked(server: OpenAIServer) -> Counter[str]:
    """How often each request was made."""
    return Counter(json.dumps(seen.body, sort_keys=True) for seen in server.requests)


def test_the_result_is_that_of_the_embedded_engine(tmp_path: Path, three: Any, cache: str) -> None:
    with OpenAIServer(answer, latency_s=0.02) as server:
        command = evaluation(tmp_path, "--base-url", server.url, "--cache")
        here = gotc(*command, "alone.sqlite", cwd=tmp_path)
        there = gotc(*command, cache, "--engine", "ray", "--address", three.address, cwd=tmp_path)
    one, other = document(here), document(there)
    assert told(one) == told(other)
    assert list(one) == list(other)
    assert one["spent"] == other["spent"]
    assert set(asked(server).values()) == {2}  # once by each engine
    lines = [line for line in there.stderr.splitlines() if line.startswith("node ")]
    assert len(lines) == 3, there.stderr
    assert sum(int(line.split(": ")[1].split()[0]) for line in lines) == ROWS


def test_rows_of_a_killed_worker_run_elsewhere(tmp_path: Path, three: Any, cache: str) -> None:
    with OpenAIServer(answer, latency_s=0.3) as server:
        command = evaluation(tmp_path, "--base-url", server.url, "--cache")
        where = ("--engine", "ray", "--address", three.address, "--concurrency", "4")
        before = set(workers(three))
        process = start(*command, cache, *where, cwd=tmp_path)
        while len(server.requests) < 20:
            time.sleep(0.05)
        killed = min(set(workers(three)) - before)
        os.kill(killed, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        twice = sum(asked(server).values()) - len(asked(server))
        alone = document(gotc(*command, "alone.sqlite", cwd=tmp_path))
    assert told(json.loads(out)) == told(alone)
    assert twice <= 4  # what the killed worker had in flight
