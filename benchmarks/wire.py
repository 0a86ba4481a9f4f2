"""Processor time of a request over HTTP with several clients, against a server in another process.

    python benchmarks/wire.py [--quick] [--rounds 7] [--requests 400] [--in-flight 16]

Each way posts the same chat completion (a prompt of 520 characters, a completion of 130) and reads its JSON.
The clients are interleaved in each round; the table has medians and ranges over the rounds, of milliseconds
of this process's processor time a request, and ratios to bare aiohttp and to the SDK by hand of the same
round. The SDK's aiohttp client is measured where it is installed (`pip install "openai[aiohttp]"`), and so
are litellm and DSPy; both without their caches.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from measurement import options, report

MESSAGE = {"role": "user", "content": "Sort this list of numbers. " * 20}
BODY: dict[str, Any] = {"model": "m", "messages": [MESSAGE], "temperature": 0.7, "max_tokens": 100}
HEADERS = {
    "Authorization": "Bearer no-key",
    "Content-Type": "application/json",
    "Accept-Encoding": "identity",
}
PATH = "/chat/completions"


def answer() -> dict[str, Any]:
    """A completion as OpenAI sends it."""
    message = {"role": "assistant", "content": "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10] " * 4}
    usage = {"prompt_tokens": 120, "completion_tokens": 60, "total_tokens": 180}
    choices = [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}]
    about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "m"}
    return {**about, "choices": choices, "usage": usage}


class Served(asyncio.Protocol):
    """A connection that answers each request with what `made` makes of its body, after a while."""

    made: Callable[[bytes], bytes]
    latency_s: float

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.unread = transport, b""

    def data_received(self, data: bytes) -> None:
        self.unread += data
        while (end := self.unread.find(b"\r\n\r\n")) >= 0:
            head = self.unread[:end].lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0] or 0)
            if len(self.unread) < end + 4 + length:
                return
            body, self.unread = self.unread[end + 4 :][:length], self.unread[end + 4 + length :]
            content = type(self).made(body)
            lines = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nx-request-id: 1\r\n"
            whole = lines + b"Content-Length: %d\r\n\r\n" % len(content) + content
            asyncio.get_running_loop().call_later(self.latency_s, self.transport.write, whole)


async def serve(made: Callable[[bytes], bytes], latency_s: float) -> None:
    """Serve on a free port, which is printed."""
    kind = type("Connection", (Served,), {"made": staticmethod(made), "latency_s": latency_s})
    server = await asyncio.get_running_loop().create_server(kind, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def serving(script: str, *arguments: str) -> Iterator[str]:
    """The base URL of a server that a script runs in another process with `--serve`."""
    command = [sys.executable, script, "--serve", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


Post = Callable[[], Awaitable[Any]]


@asynccontextmanager
async def bare(url: str) -> AsyncIterator[Post]:
    import aiohttp

    async def post() -> Any:
        async with session.post(url + PATH, data=json.dumps(BODY).encode(), headers=HEADERS) as response:
            return json.loads(await response.read())

    async with aiohttp.ClientSession() as session:
        yield post


def ours(kind: str) -> Callable[[str], Any]:
    """The provider of this name."""

    @asynccontextmanager
    async def way(url: str) -> AsyncIterator[Post]:
        from gotlang.models.base import DecodingSettings, Message, ModelOptions, Request
        from gotlang.models.registry import open_model

        model = open_model(f"{kind}:m", ModelOptions(base_url=url))
        message = Message("user", MESSAGE["content"])
        request = Request("m", (message,), DecodingSettings(temperature=0.7, max_tokens=100))
        yield lambda: model.ask(request, 1)
        await model.close()

    return way


def sdk(how: Callable[[Any], Post], *, own: bool = False) -> Callable[[str], Any]:
    """The SDK used so; `own`: on its aiohttp client."""

    @asynccontextmanager
    async def way(url: str) -> AsyncIterator[Post]:
        import openai

        more = {"http_client": openai.DefaultAioHttpClient()} if own else {}
        async with openai.AsyncOpenAI(api_key="no-key", base_url=url, max_retries=0, **more) as client:
            yield how(client)

    return way


def plain(client: Any) -> Post:
    return lambda: client.chat.completions.create(**BODY)


def raw(client: Any) -> Post:
    return lambda: client.chat.completions.with_raw_response.create(**BODY)


def prepared(client: Any) -> Post:
    from gotlang.models.wire import http_library

    async def post() -> Any:
        response = await client.post(PATH, cast_to=http_library().Response, body=BODY)
        return json.loads(response.content)

    return post


@asynccontextmanager
async def litellm(url: str) -> AsyncIterator[Post]:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "true"  # nothing from the network
    from litellm import acompletion

    body = {**BODY, "model": "openai/m"}
    yield lambda: acompletion(**body, api_base=url, api_key="no-key", num_retries=0)


@asynccontextmanager
async def dspy(url: str) -> AsyncIterator[Post]:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "true"
    from dspy import LM

    lm = LM("openai/m", api_base=url, api_key="no-key", cache=False, num_retries=0)
    yield lambda: lm.acall(MESSAGE["content"], temperature=0.7, max_tokens=100)


BARE, BY_HAND = "aiohttp, bare", "SDK by hand"
WAYS: dict[str, Callable[[str], Any]] = {
    BARE: bare,
    "gotc, `openai:`": ours("openai"),
    "gotc, `openai-sdk:`": ours("openai-sdk"),
    BY_HAND: sdk(plain),
    "SDK, raw response": sdk(raw),
    "SDK, prepared body": sdk(prepared),
    "SDK, its aiohttp client": sdk(plain, own=True),
    "SDK, its aiohttp client, prepared body": sdk(prepared, own=True),
    "litellm": litellm,
    "DSPy": dspy,
}
GOALS = {"gotc, `openai:`": "at most 2.0 ms"}


async def measure(way: Callable[[str], Any], url: str, requests: int, in_flight: int) -> float:
    """Milliseconds of processor time a request."""
    async with way(url) as post:
        turns = asyncio.Semaphore(in_flight)

        async def one() -> None:
            async with turns:
                await post()

        await asyncio.gather(*(one() for _ in range(2 * in_flight)))
        gc.collect()
        started = time.process_time()
        await asyncio.gather(*(one() for _ in range(requests)))
        return 1e3 * (time.process_time() - started) / requests


COLUMNS = {
    "way": "{}",
    "ms a request": "{:.2f}",
    "range": "{}",
    "to bare aiohttp": "{:.1f}",
    "to the SDK by hand": "{:.2f}",
    "goal": "{}",
}


def rows(rounds: int, requests: int, in_flight: int) -> Iterator[tuple[Any, ...]]:
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    with serving(__file__) as url:
        for _ in range(rounds):
            for name, way in WAYS.items():
                try:
                    found[name].append(asyncio.run(measure(way, url, requests, in_flight)))
                except (ImportError, RuntimeError) as error:
                    print(f"{name}: {error}", file=sys.stderr)
    for name, times in found.items():
        if times:
            ratios = (
                statistics.median(time / other for time, other in zip(times, found[base], strict=True))
                for base in (BARE, BY_HAND)
            )
            yield (
                name,
                statistics.median(times),
                f"{min(times):.2f} to {max(times):.2f}",
                *ratios,
                GOALS.get(name),
            )


if __name__ == "__main__":
    parser = options(__doc__, rounds=7, quick=2)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--in-flight", type=int, default=16)
    parser.add_argument("--serve", action="store_true", help="only serve")
    given = parser.parse_args()
    if given.serve:
        content = json.dumps(answer()).encode()
        asyncio.run(serve(lambda body: content, 0.0))
    os.environ.pop("OPENAI_API_KEY", None)
    report(given, COLUMNS, rows(given.rounds, given.requests, given.in_flight))
