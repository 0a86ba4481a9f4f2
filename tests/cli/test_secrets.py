"""No key is ever written: not by runs that go well, fail or are killed, nor where an endpoint repeats it."""

from __future__ import annotations

import base64
import signal
import time
from pathlib import Path

import pytest
from support.gotc import gotc, start, vote
from support.openai_server import Fault, OpenAIServer, status

KEY = "sk-planted-4f9c2b7e81d3a6"
RUN = ("run", "vote.got", "--input", "question=why", "--model", "openai:small")
FILES = ("--trace", "trace.jsonl", "--record", "cassette.jsonl")


def assert_hidden(folder: Path, *texts: str) -> None:
    """Neither in what was printed nor in any file, plainly or as clients encode it."""
    forms = (KEY.encode(), base64.b64encode(KEY.encode()), KEY[3:].encode())
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for form in forms:
        assert not [path for path in files if form in path.read_bytes()]
        assert not [text for text in texts if form in text.encode()]


def ran(folder: Path, server: OpenAIServer, *more: str, code: int) -> tuple[str, str]:
    """`gotc` with the planted key; what it printed."""
    url = ("--base-url", server.url)
    done = gotc(*(more or (*RUN, *FILES)), *url, cwd=folder, OPENAI_API_KEY=KEY, HOME=str(folder))
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def test_the_endpoint_gets_the_key_and_nothing_else_does(tmp_path: Path) -> None:
    vote(tmp_path)
    with OpenAIServer(lambda body, index: "7", key=KEY) as server:
        texts = [*ran(tmp_path, server, code=0), *ran(tmp_path, server, *RUN, "--json", code=0)]
        texts += ran(tmp_path, server, "models", "--json", code=1)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    texts += [gotc(*command, cwd=tmp_path, OPENAI_API_KEY=KEY).stdout for command in (("runs",), ("show",))]
    for name in ("trace.jsonl", "cassette.jsonl", ".gotc/cache.sqlite"):
        assert (tmp_path / name).stat().st_size > 0
    assert_hidden(tmp_path, *texts)


@pytest.mark.parametrize(
    "fault",
    [
        status(401, f"Incorrect API key provided: {KEY}."),
        status(400, f"Bad header Authorization: Bearer {KEY}"),
        Fault(403, body=f"<html>{KEY} is blocked</html>"),
        Fault(500, body=f"Traceback: key={KEY}"),
        Fault(200, body=f'{{"error": "{KEY} has no credit"}}'),
    ],
    ids=["401", "400", "403", "500", "200"],
)
def test_an_endpoint_that_repeats_the_key(tmp_path: Path, fault: Fault) -> None:
    vote(tmp_path)
    with OpenAIServer(faults=lambda seen: fault) as server:
        texts = ran(tmp_path, server, *RUN, *FILES, "--no-retry", code=1)
        texts += ran(tmp_path, server, *RUN, "--json", "--no-retry", code=1)
    assert_hidden(tmp_path, *texts)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_from_outside(tmp_path: Path, how: signal.Signals) -> None:
    vote(tmp_path)
    with OpenAIServer(lambda body, index: "7", latency_s=30.0) as server:
        more = {"OPENAI_API_KEY": KEY, "HOME": str(tmp_path)}
        process = start(*RUN, *FILES, "--base-url", server.url, cwd=tmp_path, **more)
        until = time.monotonic() + 60
        while not server.requests and time.monotonic() < until:
            time.sleep(0.02)
        assert server.requests
        for _ in range(2):
            process.send_signal(how)
            time.sleep(0.3)
        texts = process.communicate(timeout=60)
    assert process.returncode != 0
    assert_hidden(tmp_path, *texts)


def test_a_key_in_the_wrong_place_is_not_repeated(tmp_path: Path) -> None:
    vote(tmp_path)
    texts = []
    for url in (f"https://user:{KEY}@127.0.0.1/v1", f"http://127.0.0.1:9/v1?key={KEY}"):
        done = gotc(*RUN, "--no-retry", "--base-url", url, cwd=tmp_path, HOME=str(tmp_path))
        assert done.returncode != 0
        texts += [done.stdout, done.stderr]
    done = gotc(*RUN, cwd=tmp_path, HOME=str(tmp_path), OPENAI_API_KEY=f"{KEY} é")
    assert done.returncode == 2
    assert_hidden(tmp_path, *texts, done.stdout, done.stderr)
