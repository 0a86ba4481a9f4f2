"""The engine `ray`: a real cluster of three nodes, a real PostgreSQL, real kills."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import shlex
import signal
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import postgres
from support.caches import postgres_schema
from support.cluster import cluster, why_not, workers
from support.disturbed import STUDY
from support.disturbed import answer as guessed
from support.gotc import ROOT, document, gotc, start, vote
from support.openai_server import Body, OpenAIServer
from support.studio import studio

from gotlang.api import Options, load
from gotlang.engine.cluster import Shares
from gotlang.engine.worker import Worker
from gotlang.errors import UsageError
from gotlang.version import __version__

pytestmark = [pytest.mark.skipif(bool(why_not), reason=why_not), pytest.mark.xdist_group("ray")]

ROWS = 40


@pytest.fixture(scope="module")
def client_port() -> int | None:
    """Where the cluster can be reached from outside; None without the client's packages."""
    if find_spec("grpc") is None:
        return None
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture(scope="module")
def three(client_port: int | None) -> Iterator[Any]:
    with cluster(3, **({} if client_port is None else {"ray_client_server_port": client_port})) as found:
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
    return (
        command,
        "vote.got",
        "--data",
        "q.csv",
        "--json",
        "--model",
        "openai:small",
        "--no-batching",
        *more,
    )


def told(found: Any) -> Any:
    """A document without times, and without the port of the endpoint."""
    if isinstance(found, dict):
        timed = ("seconds", "spent", "endpoints")
        return {name: told(value) for name, value in found.items() if name not in timed}
    if isinstance(found, list):
        return [told(one) for one in found if not (isinstance(one, dict) and one.get("name") == "latency")]
    return found


def asked(server: OpenAIServer) -> Counter[str]:
    """How often each request was made."""
    return Counter(json.dumps(seen.body, sort_keys=True) for seen in server.requests)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, int]:
    """What the embedded engine finds, and how many requests it makes."""
    folder = tmp_path_factory.mktemp("alone")
    with OpenAIServer(answer) as server:
        command = evaluation(folder, "--base-url", server.url, "--cache", "alone.sqlite")
        return told(document(gotc(*command, cwd=folder))), len(server.requests)


def until(server: OpenAIServer, requests: int) -> None:
    """Wait until it has seen so many."""
    end = time.monotonic() + 60
    while len(server.requests) < requests:
        assert time.monotonic() < end, f"{len(server.requests)} requests"
        time.sleep(0.02)


def test_the_result_is_that_of_the_embedded_engine(tmp_path: Path, three: Any, cache: str) -> None:
    with OpenAIServer(answer, latency_s=0.02) as server:
        command = evaluation(tmp_path, "--base-url", server.url, "--cache")
        here = gotc(*command, "alone.sqlite", cwd=tmp_path)
        on_three = ("--engine", "ray", "--address", three.address, "--html", "report.html")
        there = gotc(*command, cache, *on_three, cwd=tmp_path)
    one, other = document(here), document(there)
    assert told(one) == told(other)
    assert list(one) == list(other)
    assert one["spent"] == other["spent"]
    assert {number % 2 for number in asked(server).values()} == {0}  # as often by each engine
    lines = [line for line in there.stderr.splitlines() if line.startswith("node ")]
    assert len(lines) == 3, there.stderr
    rows = [int(line.split(": ")[1].split()[0]) for line in lines]
    assert sum(rows) == ROWS
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    (table,) = re.findall(r"<h2>Nodes</h2>.*?</table>", page, re.DOTALL)
    shown = re.findall(r"<tr><th>.*?</th><td>(\d+)</td><td>(\d+)</td>", table)
    assert [int(number) for number, _ in shown] == rows


def test_a_cluster_is_reached_from_outside(
    tmp_path: Path, three: Any, client_port: int | None, cache: str, alone: tuple[Any, int]
) -> None:
    if client_port is None:
        pytest.skip("the extra `ray[client]` is not installed")
    found, requests = alone
    with OpenAIServer(answer) as server:
        command = evaluation(tmp_path, "--base-url", server.url, "--cache", cache)
        where = ("--engine", "ray", "--address", f"ray://127.0.0.1:{client_port}")
        done = gotc(*command, *where, cwd=tmp_path)
    assert told(document(done)) == found
    assert len(server.requests) == requests
    assert done.stderr.count("\nnode ") == 3, done.stderr


def test_every_node_is_on_the_page_of_the_studio(tmp_path: Path, three: Any, cache: str) -> None:
    """While rows run, and at the end, when it tells what the report does."""
    pytest.importorskip("starlette", reason="the extra `studio` is not installed")

    def shown(page: str) -> list[tuple[str, ...]]:
        """Of each node its name, rows, calls, cached responses and spending, but not how fast it is."""
        (table,) = re.findall(r"<h2>Nodes</h2>.*?</table>", page, re.DOTALL)
        line = r"<tr><th>(.*?)</th>" + r"<td>(.*?)</td>" * 3 + r"<td>.*?</td><td>(.*?)</td></tr>"
        return sorted(re.findall(line, table))

    with OpenAIServer(answer, latency_s=0.1) as server, studio(tmp_path) as served:
        command = evaluation(tmp_path, "--base-url", server.url, "--cache", cache, "--html", "report.html")
        where = ("--engine", "ray", "--address", three.address, "--concurrency", "4")
        process = start(*command, *where, cwd=tmp_path)
        until(server, 75)
        (record,) = served.get("/runs").data
        growing = served.get(f"/rows/{record['run']}").text
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        whole = served.get(f"/rows/{record['run']}").text
    assert 0 < sum(int(rows) for _, rows, *_ in shown(growing)) < ROWS
    assert shown(whole) == shown((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert sum(int(rows) for _, rows, *_ in shown(whole)) == ROWS
    nodes = Counter(re.findall(r'"node":\s*"(.*?)"', whole))
    assert {name: str(rows) for name, rows in nodes.items()} == {
        name: rows for name, rows, *_ in shown(whole)
    }
    assert "node" not in json.loads(out)["runs"][0]


def test_the_commands_of_the_page_run(tmp_path: Path, three: Any, cache: str) -> None:
    """On this cluster and this database, where the page has names of others."""
    page = (ROOT / "docs" / "scale.md").read_text("utf-8")
    (block,) = re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    install, begin, command = block.splitlines()
    assert install == "pip install 'gotlang[ray,postgres]'" and begin.startswith("ray start --head ")
    evaluation(tmp_path)
    (tmp_path / "vote.got").rename(tmp_path / "triage.got")
    (tmp_path / "q.csv").rename(tmp_path / "tickets.csv")
    here = {"auto": three.address, "postgresql://gotc@db/cache": cache}
    program, *words = [here.get(word, word) for word in shlex.split(command)]
    with OpenAIServer(answer) as server:
        done = gotc(*words, "--json", "--model", "openai:small", "--base-url", server.url, cwd=tmp_path)
    assert program == "gotc" and document(done)["rows"], done.stderr
    assert len({*here} & {*shlex.split(command)}) == 2


def test_rows_of_a_killed_worker_run_elsewhere(
    tmp_path: Path, three: Any, cache: str, alone: tuple[Any, int]
) -> None:
    found, requests = alone
    with OpenAIServer(answer, latency_s=0.1) as server:
        command = evaluation(tmp_path, "--base-url", server.url, "--cache")
        where = ("--engine", "ray", "--address", three.address, "--concurrency", "4")
        before = set(workers(three))
        process = start(*command, cache, *where, cwd=tmp_path)
        until(server, 20)
        killed = min(set(workers(three)) - before)
        os.kill(killed, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert told(json.loads(out)) == found
    assert len(server.requests) - requests <= 4  # what the killed worker had in flight


def test_a_killed_node_and_a_killed_driver_change_nothing(
    tmp_path: Path, three: Any, cache: str, alone: tuple[Any, int]
) -> None:
    found, requests = alone
    with OpenAIServer(answer, latency_s=0.1) as server:
        command = evaluation(tmp_path, "--base-url", server.url, "--cache")
        where = ("--engine", "ray", "--address", three.address, "--concurrency", "4")
        extra = three.add_node(num_cpus=1, object_store_memory=80 * 2**20)
        first = start(*command, cache, *where, cwd=tmp_path)
        until(server, 20)
        three.remove_node(extra, allow_graceful=False)
        until(server, 50)
        first.kill()
        first.communicate()
        again = gotc(*command, cache, *where, cwd=tmp_path)
    assert told(document(again)) == found
    assert len(server.requests) - requests <= 4 + 3 * 4  # what was in flight on the node, and on all of them


def test_lost_connections_and_a_database_that_restarts_end_nothing(
    tmp_path: Path, three: Any, cache: str, alone: tuple[Any, int]
) -> None:
    import psycopg

    found, requests = alone

    with OpenAIServer(answer, latency_s=0.1) as server:
        command = evaluation(tmp_path, "--base-url", server.url, "--cache")
        where = ("--engine", "ray", "--address", three.address, "--concurrency", "4")
        process = start(*command, cache, *where, cwd=tmp_path)
        until(server, 15)
        with psycopg.connect(cache, autocommit=True) as connection:
            ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            assert len(connection.execute(ended).fetchall()) >= 4
        until(server, 40)
        if not postgres.GIVEN:
            postgres.restart()
        out, err = process.communicate(timeout=90)
        assert process.returncode == 0, err
    assert told(json.loads(out)) == found
    assert len(server.requests) - requests <= 2 * 3 * 4  # what was in flight, and could not be stored


def test_a_comparison_is_that_of_the_embedded_engine(tmp_path: Path, three: Any, cache: str) -> None:
    with OpenAIServer(answer) as server:
        command = evaluation(tmp_path, "--base-url", server.url, "--limit", 8, command="compare")
        command = (*command, "--schemes", "vote,single,vote-of-n", "--html", "page.html", "--cache")
        here = gotc(*command, "alone.sqlite", cwd=tmp_path)
        there = gotc(*command, cache, "--engine", "ray", "--address", three.address, cwd=tmp_path)
    assert told(document(here)) == told(document(there))


def test_a_study_is_that_of_the_embedded_engine(tmp_path: Path, three: Any, cache: str) -> None:
    pytest.importorskip("optuna", reason="the extra `tune` is not installed")
    (tmp_path / "guess.got").write_text(STUDY)
    (tmp_path / "numbers.csv").write_text("target\n" + "".join(f"{37 * n + 11}\n" for n in range(40)))
    found, requests = [], []
    for more in (("alone.sqlite",), (cache, "--engine", "ray", "--address", three.address)):
        with OpenAIServer(guessed) as server:
            model = ("--model", "openai:small", "--base-url", server.url, "--json", "--cache")
            done = document(gotc("tune", "guess.got", *model, *more, cwd=tmp_path))
        requests.append(asked(server))
        del done["wall_s"], done["endpoints"]
        found.append(told(done))
        (tmp_path / ".gotc" / "tune").rename(tmp_path / f"tune{len(found)}")
    assert found[0] == found[1]
    assert requests[0] == requests[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--address", "127.0.0.1:1"), "cannot reach the Ray cluster at 127.0.0.1:1"),
        (("--address", "ray://127.0.0.1:1"), "cannot reach the Ray cluster at ray://127.0.0.1:1"),
        (("--address", "nowhere"), "cannot reach the Ray cluster at nowhere"),
        (("--cache", "postgresql://me:secret@host/db"), "the address of the cache has a password"),
        (("--record", "all.jsonl"), "`--record` does not work with `--engine ray`"),
        (("--model", "simulated", "--no-python"), "is simulated by `vote_sim.py`"),
    ],
)
def test_what_a_cluster_cannot_do_is_said(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    done = gotc(*evaluation(tmp_path), "--engine", "ray", *options, cwd=tmp_path)
    error = document(done, 2)["error"]
    assert words in error["message"] and error["help"]
    assert "secret" not in done.stdout + done.stderr


def test_a_node_with_another_version_is_refused(tmp_path: Path) -> None:
    vote(tmp_path)
    worker = Worker(load(tmp_path / "vote.got"), Options(), str(tmp_path), {}, "0.1.0")
    refused = asyncio.run(worker.open(1.0))
    assert isinstance(refused, UsageError)
    assert refused.message == f"it has gotlang {__version__}, the driver 0.1.0"
    assert refused.help == "pip install gotlang==0.1.0"


def test_without_ray_there_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "ray.py").write_text("raise ImportError\n")
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    done = gotc(*evaluation(tmp_path), "--engine", "ray", cwd=tmp_path, PYTHONPATH=path)
    error = document(done, 2)["error"]
    assert error["message"] == "the engine `ray` needs Ray, which is not installed"
    assert error["help"] == "pip install 'gotlang[ray]'"


def test_keys_stay_where_they_are(tmp_path: Path, cache: str) -> None:
    """Neither Ray's logs nor its store of what is known about a cluster has the key that its nodes have."""
    key = "sk-" + "9f8e7d6c" * 4
    with OpenAIServer(answer) as server:
        command = evaluation(tmp_path, "--base-url", server.url, "--cache", cache, "--limit", 6)
        sessions = Path(tempfile.gettempdir()) / "ray"
        before = set(sessions.glob("session_2*"))
        done = gotc(*command, "--engine", "ray", cwd=tmp_path, OPENAI_API_KEY=key)
    assert done.returncode == 0, done.stderr
    assert {seen.headers["authorization"] for seen in server.requests} == {f"Bearer {key}"}
    (folder,) = set(sessions.glob("session_2*")) - before
    logs = [path for path in folder.rglob("*") if path.is_file()]
    assert logs
    assert not [path for path in logs if key.encode() in path.read_bytes()]


def test_nodes_share_the_limit_per_minute(tmp_path: Path, three: Any, cache: str) -> None:
    with OpenAIServer(answer) as server:
        command = evaluation(
            tmp_path, "--base-url", server.url, "--limit", 23, "--rpm", 120, "--cache", cache
        )
        where = ("--engine", "ray", "--address", three.address, "--prefer", "latency")
        document(gotc(*command, *where, cwd=tmp_path))
    at = [seen.at - server.requests[0].at for seen in server.requests]
    assert len(at) == 69
    # Half of a limit may be used at once, the rest is spaced. Three whole limits would let all go at once.
    assert sum(moment < 1 for moment in at) <= 60 + 2 + 3
    assert 2 < max(at) < 30


@given(
    st.lists(st.tuples(st.floats(0, 90), st.sampled_from(("take", "lose", "fail", "spread"))), max_size=40)
)
def test_shares_of_a_limit_never_add_up_to_more_than_it(steps: list[tuple[float, str]]) -> None:
    shares, now = Shares(2), 0.0
    workers: list[tuple[float, float]] = []  # from when to when what they sent counts
    for passed, what in steps:
        before = shares.count
        now += passed
        running = [worker for worker in workers if worker[0] <= now and worker[1] == math.inf]
        if what == "take":
            workers.append((shares.take(now), math.inf))
        elif what == "spread":
            shares.spread(now)
        elif running:
            lost = running[0]
            sent = what == "lose"
            workers.remove(lost)
            workers += [(lost[0], now + 61.2)] * sent
            shares.lose(now, sent=sent)
        # Where the shares got smaller, whoever is new starts when what others sent no longer counts.
        assert shares.count <= before or workers[-1][0] >= now + 61.2
        for moment in (now, *(begin for begin, _ in workers if begin >= now)):
            assert sum(begin <= moment < end for begin, end in workers) <= shares.count


def test_a_limit_is_one_for_all_nodes_and_its_rest_is_told(tmp_path: Path, three: Any, cache: str) -> None:
    (tmp_path / "p.toml").write_text("[small]\ninput_per_million = 100\noutput_per_million = 400\n")
    with OpenAIServer(answer, latency_s=0.05) as server:
        command = evaluation(tmp_path, "--base-url", server.url, "--prices", "p.toml", "--cache")
        need = document(gotc(*command, "alone.sqlite", cwd=tmp_path))["spent"]["usd"]
        before = len(server.requests)
        limit = ("--max-usd", round(0.6 * need, 6), "--engine", "ray", "--address", three.address)
        done = gotc(*command, cache, *limit, cwd=tmp_path)
    found, paid = document(done, 3), server.requests[before:]
    charged = sum(100 * seen.charged.input_tokens + 400 * seen.charged.output_tokens for seen in paid) / 1e6
    assert found["spent"]["usd"] == pytest.approx(charged)
    assert 0.85 * limit[1] <= charged <= limit[1]
    assert "the budget" in found["stopped"]
    (told_rest,) = [line for line in done.stderr.splitlines() if "; not used: $" in line]
    assert float(told_rest.rpartition("$")[2]) == pytest.approx(limit[1] - charged, abs=1e-4)
    assert "ray-" not in gotc("budget", "list", "--cache", cache, cwd=tmp_path).stdout
