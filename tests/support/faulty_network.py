"""A network that loses, delays and garbles, in front of a model server that keeps its own ledger.

It is a wire (`gotlang.models.http.Wire`) below the real model: everything above is the real code. What the
server charged is what its bill would say, counted apart from everything in the run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any

from gotlang.models.base import PERMITTED, ModelOptions, Permit, Price, Reply, Request
from gotlang.models.endpoint import Endpoint
from gotlang.models.failures import HttpResponse, NoResponse
from gotlang.models.openai import OpenAIModel
from gotlang.models.wire import Wire, no_response
from tests.support.machine import PROCESS, Process

PRICE = Price(3.0, 15.0)
IN, OUT = Fraction(3, 10**6), Fraction(15, 10**6)
FAULTS = (
    "refused", "lost before", "lost after", "cut", "slow", "408", "500", "502", "504", "charged 408",
    "charged 500", "charged 502", "charged 504", "409", "429", "503", "529", "junk", "junk with usage",
    "empty", "no usage", "hidden", "fewer", "refuses n", "twice",
)  # fmt: skip
"""What may go wrong with a request; only what names a charge is charged without an answer."""
_ASKING: ContextVar[tuple[Request, int, float]] = ContextVar("asking")


class NetworkError(Exception):
    """What the HTTP client raises, by the names of its classes."""


class ConnectError(NetworkError):
    pass


class WriteError(NetworkError):
    pass


class ReadError(NetworkError):
    pass


class RemoteProtocolError(NetworkError):
    pass


@dataclass(eq=False)
class Sent:
    """One request, as the network saw it: by whom, for which samples, when it was sent and when the model was
    asked for it; what the server charged, and when its answer was in the hands of the process."""

    process: Process
    key: str
    first: int
    asked: int
    at: float
    fault: str
    asked_at: float
    charged_at: float | None = None
    answers: int = 0
    usd: Fraction = Fraction(0)
    delivered_at: float | None = None

    @property
    def samples(self) -> list[tuple[str, int]]:
        """The samples that were charged."""
        return [(self.key, number) for number in range(self.first, self.first + self.answers)]


@dataclass
class Server:
    """A model server behind a bad network. `kinds` are the faults that happen, to `share` of the requests;
    between the two times of `outage` each request meets its fault. `most` is the greatest `n`; `idempotent`:
    a request is charged once for all its tries."""

    chance: Random
    share: float
    kinds: Sequence[str]
    outage: tuple[float, float, str] = (0.0, 0.0, "")
    most: int = 128
    idempotent: bool = False
    latency_s: float = 0.5
    log: list[Sent] = field(default_factory=list)
    calm: bool = False
    """Whether nothing goes wrong from now on."""
    _made: dict[str, dict[str, Any]] = field(default_factory=dict)
    _at_work: list[asyncio.Task[None]] = field(default_factory=list)

    def fault(self, now: float) -> str:
        """What happens to the next request."""
        if self.calm:
            return ""
        start, end, kind = self.outage
        if start <= now < end:
            return kind
        return self.chance.choice(self.kinds) if self.kinds and self.chance.random() < self.share else ""

    async def post(self, sent: Sent, body: Mapping[str, Any], key: str) -> HttpResponse:
        """A request on its way. Raises what the HTTP client raises."""
        await asyncio.sleep(self._delay())
        if sent.fault == "refused":
            raise ConnectError("refused")
        if sent.fault == "lost before":
            raise WriteError("broken pipe")
        loop = asyncio.get_running_loop()
        reply: asyncio.Future[HttpResponse] = loop.create_future()
        for _ in range(2 if sent.fault == "twice" else 1):
            # What has arrived is worked on, whatever becomes of the sender.
            work = self._serve(sent, dict(body), key, reply)
            self._at_work.append(loop.create_task(work, context=Context()))
        return await reply

    def _delay(self) -> float:
        return self.latency_s * self.chance.random() ** 3

    async def _serve(
        self, sent: Sent, body: dict[str, Any], key: str, reply: asyncio.Future[HttpResponse]
    ) -> None:
        await asyncio.sleep(self._delay())
        response = self._respond(sent, body, key)
        await asyncio.sleep(1e6 if sent.fault == "slow" else self._delay())
        if reply.done():
            return
        if sent.fault == "lost after":
            reply.set_exception(ReadError("reset"))
        elif sent.fault == "cut":
            reply.set_exception(RemoteProtocolError("incomplete body"))
        else:
            reply.set_result(response)

    def _respond(self, sent: Sent, body: dict[str, Any], key: str) -> HttpResponse:
        """The response; what it charges is written down."""
        n, fault = int(body.get("n", 1)), sent.fault
        if n > self.most or (fault == "refuses n" and n > 1):
            return _error(400, "n must be at most the number of slots", "n")
        if fault.isdigit():
            wait = {"retry-after": f"{self.chance.random() * 5:.2f}"} if self.chance.random() < 0.5 else {}
            return HttpResponse(int(fault), wait, json.dumps({"error": {"message": "not now"}}))
        if (self.idempotent or fault == "twice") and key in self._made:
            payload = self._made[key]
        else:
            payload = self._charge(sent, body, n)
            self._made[key] = payload
        if fault.startswith("charged"):
            return HttpResponse(int(fault[8:]), {}, "upstream timed out")
        if fault == "junk":
            return HttpResponse(200, {}, "<html>busy</html>")
        if fault == "junk with usage":
            return HttpResponse(200, {}, json.dumps({"usage": payload["usage"]}))
        if fault == "empty":
            return HttpResponse(200, {}, "")
        if fault in ("no usage", "hidden"):
            payload = {"choices": payload["choices"]}
        return HttpResponse(200, {}, json.dumps(payload))

    def _charge(self, sent: Sent, body: dict[str, Any], n: int) -> dict[str, Any]:
        if sent.fault == "fewer":
            n = 1
        limit = int(body.get("max_tokens") or body["max_completion_tokens"])
        sizes = [len(message["content"].encode()) for message in body["messages"]]
        # At most a token per byte and a few per message, and up to `max_tokens` for each answer.
        most = sum(size + 16 for size in sizes)
        read = most if self.chance.random() < 0.2 else self.chance.randint(1 + sum(sizes) // 4, most)
        high = self.chance.random() < 0.3 or sent.fault == "hidden"
        wrote = limit * n if high else self.chance.randint(n, limit * n)
        sent.charged_at = asyncio.get_running_loop().time()
        sent.answers, sent.usd = sent.answers + n, sent.usd + read * IN + wrote * OUT
        choices = [
            {"index": index, "message": {"content": self._answer(body)}, "finish_reason": "stop"}
            for index in range(n)
        ]
        usage = {"prompt_tokens": read, "completion_tokens": wrote}
        return {"choices": choices, "usage": usage}

    def _answer(self, body: Mapping[str, Any]) -> str:
        text = body["messages"][-1]["content"]
        return f"It is {sum(map(ord, text)) % 7 + (self.chance.random() < 0.2)}."

    def usd(self, *processes: Process) -> Fraction:
        """What these were charged."""
        return sum((sent.usd for sent in self.log if sent.process in processes), Fraction(0))

    def answers(self, *processes: Process) -> int:
        """How many answers these were charged."""
        return sum(sent.answers for sent in self.log if sent.process in processes)


def _error(status: int, words: str, parameter: str) -> HttpResponse:
    return HttpResponse(status, {}, json.dumps({"error": {"message": words, "param": parameter}}))


class _Wire(Wire):
    """The connections of one process."""

    def __init__(self, server: Server, timeout_s: float) -> None:
        self._server, self._timeout_s = server, timeout_s

    def prepare(self) -> None:
        pass

    async def send(self, body: Mapping[str, Any], key: str) -> HttpResponse | NoResponse:
        request, first, asked_at = _ASKING.get()
        process, loop = PROCESS.get(), asyncio.get_running_loop()
        assert process is not None
        if process.dead:
            await asyncio.get_running_loop().create_future()
        asked = int(body.get("n", 1))
        now = loop.time()
        sent = Sent(process, request.key(), first, asked, now, self._server.fault(now), asked_at)
        self._server.log.append(sent)
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await self._server.post(sent, body, key)
        except (TimeoutError, NetworkError) as error:
            return no_response(error, self._timeout_s)
        if response.status == 200 and sent.fault not in ("junk", "junk with usage", "empty"):
            sent.delivered_at = loop.time()
        return response

    async def close(self) -> None:
        pass


class NetworkModel(OpenAIModel):
    """OpenAI's model with this network for its wire."""

    def __init__(self, server: Server, options: ModelOptions, chance: Random) -> None:
        self._server = server
        super().__init__(
            "m",
            options,
            endpoint=Endpoint("http://model.test/v1", "no-key"),
            price=PRICE,
            sleep=asyncio.sleep,
            clock=lambda: asyncio.get_running_loop().time(),
            chance=chance,
        )

    def _connect(self, timeout_s: float, batches: object) -> Wire:
        return _Wire(self._server, timeout_s)

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        _ASKING.set((request, first, asyncio.get_running_loop().time()))
        return await super().ask(request, n, first, permit)
