"""A real HTTP server on loopback that speaks chat completions and other protocols (`support.protocols`),
whole and as streams, and misbehaves as it is told.

    with OpenAIServer(answer=lambda body, index: "[1, 2]", faults=[status(500), None]) as server:
        model = openai_model("some-model", base_url=server.url)
        ...
    assert len(server.requests) == 2
    assert server.charged.output_tokens == 2

It counts tokens as pieces of four characters, charges each request whose answers it made (also where
they then did not arrive), and keeps a record of everything it saw. It runs in a thread of its own.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from support.allowance import Allowance
from support.protocols import PROTOCOLS, Chat, Embeddings, Gemini, Messages, Responses, pieces

from gotlang.models.base import Usage

Body = dict[str, Any]
LOGPROB = -0.25


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with one request. The constructors below name the usual ones."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    stall_s: float = 0.0
    drop: bool = False
    half: bool = False
    charged: bool = True
    edit: Callable[[Body], object] | None = None
    worked: bool = False
    billed: bool = False
    cut: int | None = None  # after so many events of a stream; properly ended if `half`
    gap_s: float | None = None


def status(code: int, words: str = "", /, **error: object) -> Fault:
    """An error in OpenAI's form; further words such as `param` and `code` go into it."""
    return Fault(code, body=json.dumps({"error": {"message": words or f"status {code}", **error}}))


def gateway(code: int) -> Fault:
    """An error from a gateway whose upstream did the work, which is charged."""
    return replace(status(code, "upstream timed out"), worked=True)


def limited(headers: Mapping[str, str] | None = None) -> Fault:
    """A 429, with Retry-After or what else the headers hold."""
    return replace(status(429, "slow down"), headers=headers or {})


def stalled(seconds: float) -> Fault:
    """Answers, but late."""
    return Fault(stall_s=seconds)


def dropped(*, charged: bool = True) -> Fault:
    """The connection closes without a word; the work may have been done before that or not."""
    return Fault(drop=True, charged=charged)


def half_body() -> Fault:
    """The connection closes in the middle of the answer."""
    return Fault(half=True)


def cut(events: int) -> Fault:
    """The connection closes after so many events of a stream."""
    return Fault(cut=events)


def raw(body: str) -> Fault:
    """A success with this body, which is charged."""
    return Fault(body=body)


def edited(edit: Callable[[Body], object], *, billed: bool = False) -> Fault:
    """A success whose completion is changed in place by `edit`; `billed`: it is charged as changed,
    by `bill` if it has one, which is not sent."""
    return Fault(edit=edit, billed=billed)


@dataclass(slots=True)
class Seen:
    """One request as the server saw it: number from 0, seconds of `time.monotonic`, what it answered, and
    what it charged. `asked` is its body as chat completions have it."""

    number: int
    at: float
    path: str
    headers: dict[str, str]
    body: Body
    asked: Body = field(default_factory=dict)
    protocol: Chat | Messages | Gemini | Responses | Embeddings | None = None
    status: int = 0
    charged: Usage = field(default_factory=Usage)

    @property
    def n(self) -> int:
        """How many answers it asked for."""
        return int(self.asked.get("n", 1))


Answer = Callable[[Body, int], str | Body | None]
"""From the request's body and the number of the choice to its text, or to a whole message."""
Faults = Sequence[Fault | None] | Callable[[Seen], Fault | None]


class OpenAIServer:
    """- `answer`: what the model says; `faults`: what goes wrong, by request in order or by a function.
    - `refuses`: parameters (also `system`) that get a 400 which names them; `most`: the largest `n`
      that does not; `gives`: how many answers of those it made, and charges, it sends at most;
      `ignores`: parameters that do nothing (`n`, `logprobs`, `stop`).
    - `key`: the only one that opens it, else a 401 that repeats the wrong one; `models`: the only ones known.
    - `allowance`: requests and tokens per period, else a 429. `latency_s`: how long an answer takes, or the
      event that it comes after.
    - `gap_s`: seconds between the events of a stream; if the client leaves, that ends and is charged so far.
    - `idempotent`: a request with the Idempotency-Key of one that was charged gets that answer for nothing.
    """

    def __init__(
        self,
        answer: Answer = lambda body, index: f"answer {index}",
        *,
        faults: Faults = (),
        refuses: Collection[str] = (),
        ignores: Collection[str] = (),
        most: int | None = None,
        gives: int | None = None,
        key: str | None = None,
        models: Collection[str] | None = None,
        allowance: Allowance | None = None,
        latency_s: float | Callable[[Body], float | threading.Event] = 0.0,
        idempotent: bool = False,
        gap_s: float = 0.0,
    ) -> None:
        self.requests: list[Seen] = []
        self.connections = 0
        self._answer = answer
        self._faults = faults
        self._refuses = refuses
        self._ignores = ignores
        self._most = most
        self._gives = gives
        self._key = key
        self._models = models
        self._allowance = allowance
        self._latency = latency_s
        self._idempotent = idempotent
        self._gap_s = gap_s
        self._made: dict[str, Body] = {}
        self._loop = asyncio.new_event_loop()
        self._port = 0
        self._handlers: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="openai-server", daemon=True)

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"{self.root}/v1"

    @property
    def root(self) -> str:
        """Its URL without a path."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def charged(self) -> Usage:
        """What all requests together were charged."""
        return sum((seen.charged for seen in self.requests), Usage())

    @property
    def statuses(self) -> Counter[int]:
        """How often each status was answered (0: none, the connection was dropped)."""
        return Counter(seen.status for seen in self.requests)

    def __enter__(self) -> Self:
        self._thread.start()
        server = asyncio.start_server(self._connected, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(server, self._loop).result(10)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        for handler in self._handlers:
            handler.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        try:
            while await self._serve(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._handlers.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        path, body = head[0].split()[1], json.loads(content or "{}")
        seen = Seen(len(self.requests), time.monotonic(), path, headers, body, body)
        seen.protocol = next((one for one in PROTOCOLS if one.matches(path)), None)
        if seen.protocol is not None:
            seen.asked = seen.protocol.asked(path, body)
        self.requests.append(seen)
        fault = self._fault(seen) or Fault()
        code, extra, payload = self._respond(seen, fault)
        if code == 200:
            latency = self._latency(seen.body) if callable(self._latency) else self._latency
            if isinstance(latency, threading.Event):
                await asyncio.to_thread(latency.wait, 60.0)
                latency = 0.0
            await asyncio.sleep(latency + fault.stall_s)
            if self._allowance is not None:
                self._allowance.settle(seen.number, _total(seen.charged), time.monotonic())
        if fault.drop:
            writer.transport.abort()
            return False
        seen.status = code
        if isinstance(payload, dict):
            return await self._stream(writer, reader, seen, payload, fault)
        data = payload.encode()
        lines = [f"HTTP/1.1 {code} Status", "Content-Type: application/json", f"Content-Length: {len(data)}"]
        lines += [f"{name}: {value}" for name, value in extra.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        writer.write(data[: len(data) // 2] if fault.half else data)
        await writer.drain()
        return not fault.half

    async def _stream(
        self,
        writer: asyncio.StreamWriter,
        reader: asyncio.StreamReader,
        seen: Seen,
        made: Body,
        fault: Fault,
    ) -> bool:
        """Send a completion as events, as long as the client listens."""
        assert seen.protocol is not None
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        gap, wrote = self._gap_s if fault.gap_s is None else fault.gap_s, 0
        for number, (event, text) in enumerate(seen.protocol.events(made, seen.body)):
            if number == fault.cut:
                if not fault.half:
                    writer.transport.abort()
                    return False
                break
            data = event.encode()
            writer.write(b"%x\r\n%s\r\n" % (len(data), data))
            await writer.drain()
            wrote += bool(text)
            await asyncio.sleep(gap)
            if reader.at_eof():
                seen.charged = Usage(seen.charged.input_tokens, wrote)
                return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    def _fault(self, seen: Seen) -> Fault | None:
        if callable(self._faults):
            return self._faults(seen)
        return self._faults[seen.number] if seen.number < len(self._faults) else None

    def _respond(self, seen: Seen, fault: Fault) -> tuple[int, Mapping[str, str], str | Body]:
        """Status, headers and body, or the completion that is to be streamed; what is charged is noted in
        `seen`."""
        if seen.path.partition("?")[0].endswith("/models"):
            names = self._models or ()
            listed = [{"id": name, "name": f"models/{name}"} for name in names]
            return 200, {}, json.dumps({"data": listed, "models": listed})
        refusal = next(self._refusals(seen), None) or (fault if fault.status != 200 else None)
        if refusal is not None:
            if refusal.worked:
                seen.charged = _usage(self._completion(seen))
            return refusal.status, refusal.headers, _as_error(seen, refusal)
        headers = dict(fault.headers)
        key = seen.headers.get("idempotency-key", "")
        completion = self._made.get(key) if self._idempotent else None
        if completion is None:
            completion = self._completion(seen)
            if self._allowance is not None:
                ceiling = _input_tokens(seen.asked) + seen.n * _limit(seen.asked)
                said = self._allowance.admit(seen.number, _total(_usage(completion)), ceiling, seen.at)
                headers |= said.headers
                if not said.admitted:
                    return 429, headers, _as_error(seen, status(429, said.words))
            if fault.charged:
                seen.charged = _usage(completion)
                self._made[key] = completion
        if fault.edit is not None:
            completion = json.loads(json.dumps(completion))
            fault.edit(completion)
            bill = completion.pop("bill", completion.get("usage"))
            if fault.billed:
                seen.charged = _usage({"usage": bill})
        if fault.body is not None:
            return 200, headers, fault.body
        assert seen.protocol is not None
        if seen.protocol.streams(seen.path, seen.body):
            return 200, headers, completion
        return 200, headers, json.dumps(seen.protocol.reply(completion))

    def _refusals(self, seen: Seen) -> Iterator[Fault]:
        body = seen.asked
        if seen.protocol is None:
            yield Fault(404, body="<html>no such page</html>")
            return
        names = ("api-key", seen.protocol.key_header, "authorization")
        given = next((seen.headers[name] for name in names if name in seen.headers), "").removeprefix(
            "Bearer "
        )
        if self._key is not None and given != self._key:
            yield status(401, f"Incorrect API key provided: {given}.", code="invalid_api_key")
        if self._models is not None and body.get("model") not in self._models:
            yield status(404, f"The model `{body.get('model')}` does not exist", code="model_not_found")
        sent = [*body, *(message["role"] for message in body.get("messages", []))]
        for name in self._refuses:
            if name == "system" and "system" in sent:
                yield status(400, "messages[0].role: the system role is not supported by this model")
            elif name in sent and (name != "n" or seen.n > 1):
                words = f"Unsupported parameter: '{name}' is not supported with this model."
                yield status(400, words, param=name, code="unsupported_parameter")
        if self._most is not None and seen.n > self._most:
            yield status(400, "n_cmpl cannot be greater than the number of slots")

    def _completion(self, seen: Seen) -> Body:
        body = seen.asked
        count = 1 if "n" in self._ignores else seen.n
        choices = [self._choice(body, index) for index in range(count)]
        written = sum(choice.pop("tokens") for choice in choices)
        usage = {
            "prompt_tokens": _input_tokens(body),
            "completion_tokens": written,
            "total_tokens": _input_tokens(body) + written,
            "prompt_tokens_details": {"cached_tokens": 0},
        }
        return {
            "id": f"chatcmpl-{seen.number}",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": choices[: self._gives],
            "usage": usage,
        }

    def _choice(self, body: Body, index: int) -> Body:
        said = self._answer(body, index)
        message: Body = said if isinstance(said, dict) else {"role": "assistant", "content": said}
        tokens = pieces(message.get("content") or "")
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        if "stop" not in self._ignores:
            text = "".join(tokens)
            for stop in body.get("stop") or []:
                text = text.partition(stop)[0]
            tokens = pieces(text)
        if len(tokens) > _limit(body):
            tokens, reason = tokens[: _limit(body)], "length"
        if message.get("content") is not None:
            message = {**message, "content": "".join(tokens)}
        choice: Body = {"index": index, "message": message, "finish_reason": reason, "tokens": len(tokens)}
        if body.get("logprobs") and "logprobs" not in self._ignores:
            likeliest = [
                {"token": f"{k}", "logprob": LOGPROB - k} for k in range(body.get("top_logprobs", 0))
            ]
            each = {"logprob": LOGPROB, "top_logprobs": likeliest}
            choice["logprobs"] = {"content": [{"token": piece, **each} for piece in tokens]}
        return choice


def _as_error(seen: Seen, fault: Fault) -> str:
    """A fault's body in the form of the protocol, if it is one of `status`."""
    if fault.body is None or seen.protocol is None or not fault.body.startswith('{"error"'):
        return fault.body or ""
    return json.dumps(seen.protocol.error(fault.status, json.loads(fault.body)["error"]))


def _input_tokens(body: Body) -> int:
    return sum(len(pieces(message["content"] or "")) + 3 for message in body.get("messages", []))


def _limit(body: Body) -> int:
    return int(body.get("max_completion_tokens") or body.get("max_tokens") or 1 << 30)


def _usage(completion: Body) -> Usage:
    usage = completion["usage"]
    return Usage(usage["prompt_tokens"], usage["completion_tokens"])


def _total(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens
