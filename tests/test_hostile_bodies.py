"""Malicious responses: they take neither memory nor more time than the timeout."""

from __future__ import annotations

import asyncio
import gzip
import http.server
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import ClassVar

import pytest

from gotlang.errors import ModelError
from gotlang.models.base import PERMITTED, Message, ModelOptions, Permit, Reply, Request, Usage
from gotlang.models.endpoint import Endpoint
from gotlang.models.openai import OpenAIModel, OpenAISdkModel

TIMEOUT_S = 2.0
START_S = 20.0
"""Seconds that a process may take to start and to end on a busy machine."""
GOOD = json.dumps({"choices": [{"message": {"content": "hi"}}]}).encode()


@cache
def bomb() -> bytes:
    """A hundred kilobytes that become a hundred megabytes."""
    return gzip.compress(b"[" * 10**8)


class Hostile(http.server.BaseHTTPRequestHandler):
    """What is sent is said by the first part of the path."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[dict[str, str]]] = []

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.seen.append({name.lower(): value for name, value in self.headers.items()})
        with suppress(OSError):
            getattr(self, "send_" + self.path.split("/")[1])()

    def respond(self, body: bytes, status: int = 200, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def send_charset(self) -> None:
        self.respond(GOOD, Content_Type="application/json; charset=rot13")

    def send_redirect(self) -> None:
        self.respond(b"", 307, Location="http://elsewhere.example/v1")

    def send_huge(self) -> None:
        self.respond(b"", length=10**9)
        for _ in range(1000):
            self.wfile.write(b" " * 10**6)

    def send_bomb(self) -> None:
        self.respond(bomb(), Content_Encoding="gzip")

    def send_dense(self) -> None:
        self.respond(b"[" + b'{"a":{}},' * 1_050_000 + b"0]")

    def send_wide(self) -> None:
        content = "\U0001f600" + "a" * 9_900_000
        self.respond(
            json.dumps({"choices": [{"message": {"content": content}}]}, ensure_ascii=False).encode()
        )

    def send_nested(self) -> None:
        self.respond(b"[" * 10**7)

    def send_headers(self) -> None:
        self.send_response(200)
        while True:
            self.send_header("X-More", "y" * 1000)
            self.flush_headers()

    def send_slow(self) -> None:
        self.respond(b"", length=10**6)
        for _ in range(100):
            self.wfile.write(b" ")
            time.sleep(0.1)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The server's address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as found:
        found.daemon_threads = True
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()


class Told(Permit):
    """A permit that notes what the requests that brought nothing are told to have been charged."""

    charges: list[Usage | None]

    def failed(self, usage: Usage | None) -> None:
        self.charges.append(usage)


def ask(
    url: str,
    charges: list[Usage | None] | None = None,
    kind: type[OpenAIModel] = OpenAIModel,
    retries: int = 3,
    timeout_s: float = TIMEOUT_S,
) -> Reply | ModelError:
    """One completion from there, or why there is none; `charges` are those of the failed requests."""
    permit = PERMITTED if charges is None else Told(charges)

    async def run() -> Reply | ModelError:
        model = kind("m", ModelOptions(timeout_s=timeout_s, retries=retries), endpoint=Endpoint(url, "key"))
        try:
            return await model.ask(Request("m", (Message("user", "x"),)), 1, permit=permit)
        except ModelError as error:
            return error
        finally:
            await model.close()

    return asyncio.run(run())


def test_a_body_is_utf_8_whatever_its_charset_says(server: str) -> None:
    found = ask(f"{server}/charset")
    assert isinstance(found, Reply)
    assert found.completions[0].text == "hi"
    assert Hostile.seen[-1]["accept-encoding"] == "identity"


def test_usage_that_is_missing_counts_as_reserved(server: str) -> None:
    found = ask(f"{server}/charset")
    assert isinstance(found, Reply)
    assert (found.usage.output_tokens, found.usage_known) == (2048, False)


@pytest.mark.parametrize("kind", [OpenAIModel, OpenAISdkModel])
@pytest.mark.parametrize(
    ("what", "words", "charge"),
    [
        ("redirect", "redirected to http://elsewhere.example/v1", Usage()),
        ("huge", "longer than 10,000,000 bytes", None),
        ("dense", "has more than 1,000,000 values", None),
        ("bomb", "compressed although the request did not accept that", None),
    ],
)
def test_it_is_refused_and_not_requested_again(
    server: str, what: str, words: str, charge: Usage | None, kind: type[OpenAIModel]
) -> None:
    before = len(Hostile.seen)
    charges: list[Usage | None] = []
    # What is too large is refused for that, however long a busy machine takes to read it.
    found = ask(f"{server}/{what}", charges, kind, timeout_s=60.0)
    assert isinstance(found, ModelError)
    assert words in str(found)
    assert charges == [charge]
    assert len(Hostile.seen) == before + 1


_MEASURED = """
import re, sys
from pathlib import Path
from tests.test_hostile_bodies import ask
kind = type(ask(sys.argv[1], retries=1)).__name__
print(kind, int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""
_COMMAND = _MEASURED.replace(
    "tests.test_hostile_bodies import ask", "gotlang.cli.main import exit_code"
).replace("type(ask(sys.argv[1], retries=1)).__name__", "exit_code(sys.argv[1:])")


@pytest.mark.parametrize("what", ["huge", "bomb", "dense", "wide", "nested", "headers", "slow"])
def test_it_exceeds_neither_memory_nor_the_timeout(server: str, what: str) -> None:
    began = time.monotonic()
    command = [sys.executable, "-c", _MEASURED, f"{server}/{what}"]
    kind, megabytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert kind == ("Reply" if what == "wide" else "ModelError")
    assert int(megabytes) < 300
    # Two tries at most, each with its time-out and the wait between them.
    assert time.monotonic() - began < 2 * (TIMEOUT_S + 1) + 3 * START_S


@pytest.mark.parametrize("what", ["huge", "bomb", "dense", "wide", "nested", "headers", "slow"])
def test_the_command_ends_within_the_time_out_and_a_second(server: str, what: str, tmp_path: Path) -> None:
    text = 'prompt ask(q: str) -> str:\n    "{{ q }}"\nscheme s(q: str) -> str:\n    Generate() ask(q)\n'
    (tmp_path / "a.got").write_text(text)
    command = ["run", "a.got", "--input", "q=x", "--model", "openai:m"]
    command += ["--base-url", f"{server}/{what}", "--timeout", str(TIMEOUT_S), "--no-retry", "--quiet"]
    began = time.monotonic()
    found = subprocess.run(
        [sys.executable, "-c", _COMMAND, *command],
        cwd=tmp_path,
        env={**os.environ, "OPENAI_API_KEY": "k"},
        capture_output=True,
        text=True,
    )
    code, megabytes = found.stdout.split()[-2:]
    assert int(code) == (0 if what == "wide" else 1), found.stderr
    assert int(megabytes) < 300
    took = time.monotonic() - began
    assert what == "wide" or took < TIMEOUT_S + 1 + START_S
