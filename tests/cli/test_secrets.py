"""No key is ever written: not by runs that go well, fail or are killed, nor where an endpoint repeats it."""

from __future__ import annotations

import base64
import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest
from support.batch_server import BatchServer, Body
from support.gotc import gotc, start, vote
from support.openai_server import Fault, OpenAIServer, edited, status

KEY = "sk-planted-4f9c2b7e81d3a6"
PASSWORD = "planted%2Fpassword-77b0"
OTHERS = {
    name: f"planted-{name.lower()}-9d41"
    for name in ("ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HF_TOKEN", "PGPASSWORD")
}
"""What else lies in an environment and is none of our business."""
RUN = ("run", "vote.got", "--input", "question=why", "--model", "openai:small")
FILES = ("--trace", "trace.jsonl", "--record", "cassette.jsonl")


def assert_hidden(folder: Path, *texts: str) -> None:
    """Neither in what was printed nor in any file, plainly or as clients encode it."""
    passwords = (PASSWORD, unquote(PASSWORD), f"user:{unquote(PASSWORD)}")
    secrets = [secret.encode() for secret in (KEY, *passwords, *OTHERS.values())]
    forms = [KEY[3:].encode(), *secrets, *(base64.b64encode(secret).rstrip(b"=") for secret in secrets)]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for form in forms:
        assert not [path for path in files if form in path.read_bytes()]
        assert not [text for text in texts if form in text.encode()]


def ran(folder: Path, server: OpenAIServer, *more: str, code: int) -> tuple[str, str]:
    """`gotc` with the planted key; what it printed."""
    url = ("--base-url", server.url)
    home = {"HOME": str(folder), **OTHERS}
    done = gotc(*(more or (*RUN, *FILES)), *url, cwd=folder, OPENAI_API_KEY=KEY, **home)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def test_the_endpoint_gets_the_key_and_nothing_else_does(tmp_path: Path) -> None:
    vote(tmp_path)
    with OpenAIServer(lambda body, index: "7", key=KEY) as server:
        texts = [*ran(tmp_path, server, code=0), *ran(tmp_path, server, *RUN, "--json", code=0)]
        texts += ran(tmp_path, server, "models", "--json", code=0)
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


def test_an_answer_that_repeats_the_key(tmp_path: Path) -> None:
    """In its text, in the reason it ended for, and cut into the tokens of its log-probabilities."""
    path = vote(tmp_path)
    path.write_text(path.read_text().replace("    max_tokens 20\n", "    max_tokens 90\n    logprobs true\n"))
    (tmp_path / "data.csv").write_text("question,truth\nwhy,7\nhow,7\n")

    def fill(completion: Body) -> None:
        for choice in completion["choices"]:
            choice["finish_reason"] = f"stop {KEY}"
            tokens = [KEY[:9], KEY[9:], " 7"]
            choice["logprobs"] = {"content": [{"token": token, "logprob": -0.5} for token in tokens]}

    said = f"Your key is {KEY}, with Bearer {KEY}: 7"
    with OpenAIServer(lambda body, index: said, faults=lambda seen: edited(fill)) as server:
        texts = [*ran(tmp_path, server, code=0), *ran(tmp_path, server, *RUN, "--json", code=0)]
        data = ("eval", "vote.got", "--data", "data.csv", "--model", "openai:small")
        texts += ran(tmp_path, server, *data, code=0)
    recorded = (tmp_path / "cassette.jsonl").read_text()
    assert "Your key is ***" in recorded
    assert '"logprob":-1.5' in recorded
    for name in ("cache", "show"), ("show",), ("runs",):
        more = (json.loads(recorded.splitlines()[1])["key"],) if name[0] == "cache" else ()
        texts.append(gotc(*name, *more, cwd=tmp_path, OPENAI_API_KEY=KEY).stdout)
    assert_hidden(tmp_path, *texts)


def test_batches_that_repeat_the_key(tmp_path: Path) -> None:
    vote(tmp_path)
    (tmp_path / "data.csv").write_text("question,truth\nwhy,7\nbad,7\n")

    def line(body: Body) -> Body | None:
        if body["messages"][-1]["content"] != "bad":
            return None
        error = {"error": {"message": f"{KEY} may not ask this"}}
        return {"response": {"status_code": 400, "body": error}}

    command = ("eval", "vote.got", "--data", "data.csv", "--model", "openai:small", "--batch", "--base-url")
    texts = []
    with BatchServer(lambda body, index: f"{KEY} 7", line) as server:
        seen: list[str] = []

        def watch(request: str) -> None:
            seen.append(request)
            for file in (tmp_path / ".gotc" / "batches").iterdir():
                seen.append(file.read_text())

        server.watch = watch
        done = gotc(*command, server.url, cwd=tmp_path, OPENAI_API_KEY=KEY, HOME=str(tmp_path))
        texts += [done.stdout, done.stderr]
        server.ends = "failed"
        server.failure = f"the queue of {KEY} is full"
        done = gotc(*command, server.url, "--cache", "other.sqlite", cwd=tmp_path, OPENAI_API_KEY=KEY)
        texts += [done.stdout, done.stderr]
    assert "may not ask this" in texts[0] + texts[1]
    assert "is full" in texts[2] + texts[3]
    assert_hidden(tmp_path, *texts, *seen)


@contextmanager
def proxy() -> Iterator[int]:
    """A proxy that refuses every connection and echoes its headers; its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            given = self.headers["proxy-authorization"] or ""
            words = f"{given} is {base64.b64decode(given.rpartition(' ')[2]).decode()}"
            data = json.dumps({"error": {"message": words}}).encode()
            self.send_response(407, words)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_CONNECT = do_GET = do_POST

        def log_message(self, *_: object) -> None:
            """Not a word on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_repeats_its_password(tmp_path: Path, scheme: str) -> None:
    vote(tmp_path)
    url = ("--base-url", f"{scheme}://models.invalid/v1")
    texts = []
    with proxy() as port:
        address = f"http://user:{PASSWORD}@127.0.0.1:{port}"
        more = {"HTTP_PROXY": address, "https_proxy": address, "OPENAI_API_KEY": KEY, "HOME": str(tmp_path)}
        for command in ((*RUN, *FILES, "--no-retry"), (*RUN, "--json", "--no-retry"), ("models",)):
            done = gotc(*command, *url, cwd=tmp_path, **more)
            assert done.returncode == 1, done.stderr
            texts += [done.stdout, done.stderr]
    assert "407" in texts[1] or "proxy" in texts[1]
    assert_hidden(tmp_path, *texts)


@pytest.mark.parametrize(
    "address", ["http://user:{}@[bad:80", "ftp://user:{}@127.0.0.1:9", "user:{}@127.0.0.1:99999"]
)
def test_a_proxy_that_is_none_is_told_without_its_password(tmp_path: Path, address: str) -> None:
    vote(tmp_path)
    more = {"HTTP_PROXY": address.format(PASSWORD), "OPENAI_API_KEY": KEY, "HOME": str(tmp_path)}
    done = gotc(*RUN, "--base-url", "http://models.invalid/v1", cwd=tmp_path, **more)
    assert done.returncode == 2
    assert done.stderr.startswith("error: HTTP_PROXY is not the address of a proxy")
    assert_hidden(tmp_path, done.stdout, done.stderr)


def test_a_database_s_password(tmp_path: Path) -> None:
    vote(tmp_path)
    address = f"postgresql://user:{PASSWORD}@127.0.0.1:9/answers"
    texts = []
    for command in (("run", "vote.got", "--input", "question=why"), ("cache", "stats"), ("cache", "list")):
        done = gotc(*command, "--cache", address, cwd=tmp_path, HOME=str(tmp_path))
        assert done.returncode != 0
        texts += [done.stdout, done.stderr]
    assert "127.0.0.1:9/answers" in texts[1]
    assert_hidden(tmp_path, *texts)
