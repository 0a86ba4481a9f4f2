"""Real models: any endpoint that speaks OpenAI's chat completions, through the official SDK.

This file is the loop around one request: build it from what the endpoint takes, wait for leave to send it,
send it, and read the answers, learn from a refusal, or try again. Each of these is a module beside it.
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from gotlang.errors import ModelError, UsageError
from gotlang.models import troubles
from gotlang.models.base import PERMITTED, Model, Permit, Price, Reply, Request, Usage
from gotlang.models.capabilities import Capabilities, Refusal, find_refusal
from gotlang.models.completions import Completions, read_completion
from gotlang.models.endpoint import Endpoint, find_endpoint
from gotlang.models.estimates import Estimates
from gotlang.models.known import Known
from gotlang.models.limits import Limits
from gotlang.models.pace import ROUND_TRIP_S
from gotlang.models.prices import price_of
from gotlang.models.retries import back_off
from gotlang.models.troubles import Trouble
from gotlang.models.wire import NoResponse, Response, Wire

if TYPE_CHECKING:
    from gotlang.models.batches import BatchWire

DEFAULT_RETRIES = 6
DEFAULT_TIMEOUT_S = 180.0
MOST_ANSWERS = 128
"""What OpenAI allows for `n`; endpoints that allow less say so, and are remembered."""


@final
@dataclass(slots=True)
class _Call:
    """What one `ask` has seen so far. `lost` requests brought nothing and may have been charged, `paid` ones
    brought nothing and were, by their `usage`. `body` is what was sent last."""

    request: Request
    n: int
    draw: int
    permit: Permit
    ticket: int
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    refusals: list[Refusal] = field(default_factory=list)
    requests: int = 0
    lost: int = 0
    paid: int = 0
    failures: int = 0
    usage: Usage = field(default_factory=Usage)
    latency_s: float = 0.0
    body: dict[str, Any] = field(default_factory=dict)


@final
class OpenAIModel(Model):
    """A model behind an OpenAI-compatible endpoint: OpenAI, vLLM, llama.cpp, Ollama, a gateway, and so on.

    - `base_url`: else OPENAI_BASE_URL, else OpenAI's own. The key comes from OPENAI_API_KEY only; endpoints
      other than OpenAI's may do without. `endpoint` is one whose key is known, in place of all that.
    - `retries`: how often a request is sent again after a failure that may pass (0: never).
    - `timeout_s`: seconds that one request may take as a whole.
    - `requests_per_minute`, `tokens_per_minute`: limits to keep; None learns them from the endpoint.
      `period_s` is how long such a minute lasts, for tests.
    - `price`: US dollars per million tokens; None looks it up by name and endpoint, and it may be unknown.
    - `known`: where to remember what the endpoint takes; None remembers it for this model's life only.
    - `batches`: a folder to remember provider batches in; requests go with such batches then, at half the
      price. None sends each by itself.
    - `batch`: the most answers to ask for in one request; 1 never sends `n`.
    - `sleep`, `clock`, `chance`: time and chance, for tests.

    An instance belongs to one event loop. It learns what its endpoint takes and how much, and remembers it.
    Raises UsageError for a broken base URL, a missing key and settings that make no sense.
    """

    simulated = False

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        endpoint: Endpoint | None = None,
        retries: int = DEFAULT_RETRIES,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        price: Price | None = None,
        batch: int | None = None,
        batches: Path | None = None,
        known: Known | None = None,
        period_s: float = 60.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: random.Random | None = None,
    ) -> None:
        for label, value in (
            ("timeout_s", timeout_s),
            ("requests_per_minute", requests_per_minute),
            ("tokens_per_minute", tokens_per_minute),
            ("batch", batch),
        ):
            if value is not None and not value > 0:
                raise UsageError(f"`{label}` of model `{name}` is {value}", help="give a number above 0")
        if retries < 0:
            raise UsageError(f"`retries` of model `{name}` is {retries}", help="give 0 or more")
        self.name = name
        self._endpoint = endpoint or find_endpoint(base_url)
        self.endpoint = self._endpoint.identity
        self._given_price = price
        self._retries = retries
        self._sleep = sleep
        self._clock = clock
        self._chance = chance or random.Random()
        self._in_batches = batches is not None
        self._wire = self._wired(timeout_s, batches)
        self._limits = Limits(
            requests_per_minute,
            tokens_per_minute,
            period_s=period_s,
            round_trip_s=ROUND_TRIP_S / 10 if self._endpoint.loopback else ROUND_TRIP_S,
            unlimited=self._in_batches,
            clock=clock,
            sleep=sleep,
        )
        self._estimates = Estimates()
        self._reached = False
        # OpenAI's newer models refuse the old name; others often ignore the new one without a word, and a
        # limit that is ignored breaks a budget.
        newer = self._endpoint.host == "api.openai.com"
        first = Capabilities(batch or MOST_ANSWERS, "max_completion_tokens" if newer else "max_tokens")
        self._learned = known
        self._capabilities = first if known is None else known.start(self._endpoint.shown, name, first)

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, base_url={self._endpoint.shown!r})"

    @cached_property
    def price(self) -> Price | None:
        """What was given, else genai-prices' figure for this name at this endpoint; None where unknown. In
        batches, half of it."""
        price = self._given_price or price_of(self.name, base_url=self._endpoint.url)
        return price.times(0.5, "half in batches") if price is not None and self._in_batches else price

    @property
    def batch(self) -> int:
        """How many answers one request may ask for, as far as is known."""
        return self._capabilities.batch

    @property
    def refuses(self) -> frozenset[str]:
        """The settings that its endpoint is known not to take."""
        return self._capabilities.refused

    @property
    def capabilities(self) -> Capabilities:
        """What the endpoint takes, as far as is known."""
        return self._capabilities

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """Between 1 and n answers. `latency_s` is that of the request that was answered, without waiting for
        leave to send it. Raises ModelError where there is no answer, with the endpoint's words."""
        call = _Call(request, n, first, permit, self._limits.ticket())
        if self._in_batches:
            # What a run that was ended had asked for is known by it.
            call.key = f"{request.key()}:{first}"
        while True:
            outcome = await self._attempt(call)
            if isinstance(outcome, Reply):
                return outcome
            if outcome.bad_request and self._learn(call, outcome):
                continue
            if not outcome.retryable or call.failures >= self._retries:
                raise self._error(call, outcome)
            if outcome.lost or outcome.usage is not None:
                await permit.retry(outcome.usage)
            # A congested endpoint makes everyone wait, in `Limits`; other failures only whoever met them.
            if not outcome.congested:
                await self._sleep(_wait(outcome, call, self._chance))
            call.failures += 1

    async def close(self) -> None:
        """Let go of the connections."""
        await self._wire.close()

    def _wired(self, timeout_s: float, batches: Path | None) -> Wire | BatchWire:
        if batches is None:
            return Wire(self._endpoint, timeout_s)
        from gotlang.models.batches import BatchWire
        from gotlang.models.pending import Pending

        return BatchWire(self._endpoint, Pending(batches, self._endpoint.shown), sleep=self._sleep)

    async def _attempt(self, call: _Call) -> Reply | Trouble:
        """Send the call once, as the endpoint is known to take it."""
        capabilities = self._known(call)
        asked = min(call.n, capabilities.batch)
        request = call.request
        call.body = capabilities.body(request, asked, call.draw)
        if capabilities.limit_name is None:
            return Trouble("the endpoint takes neither `max_tokens` nor `max_completion_tokens`")
        entered = await self._limits.enter(call.ticket, lambda: self._estimates.of(request, asked))
        headers: dict[str, str] = {}
        charged: float | None = 0.0
        try:
            if not call.requests:
                self._wire.prepare()
                call.permit.send()
            charged = None
            call.requests += 1
            sent = self._clock()
            response = await self._wire.send(call.body, call.key)
            call.latency_s = self._clock() - sent
            outcome = self._judge(call, response, asked, capabilities)
            if isinstance(response, Response):
                headers = dict(response.headers)
                charged = None if isinstance(outcome, Trouble) and outcome.lost else _tokens(outcome.usage)
            if isinstance(outcome, Trouble) and outcome.congested:
                refused = isinstance(response, Response) and response.status == 429
                self._limits.congested(entered, _wait(outcome, call, self._chance), refused=refused)
        finally:
            self._limits.leave(entered, charged, headers)
        return self._reply(call, outcome, asked) if isinstance(outcome, Completions) else outcome

    def _judge(
        self, call: _Call, response: Response | NoResponse, asked: int, capabilities: Capabilities
    ) -> Completions | Trouble:
        if isinstance(response, NoResponse):
            trouble = troubles.of_no_response(response, self._endpoint, reached=self._reached)
        else:
            self._reached = True
            if response.status == 200:
                cut = call.request.settings.stop if "stop" in capabilities.refused else ()
                read = read_completion(response.body, call.request, asked, cut=cut)
                if isinstance(read, Completions):
                    return read.without(self._endpoint.hide)
                trouble = troubles.of_unreadable(read, self._endpoint)
            else:
                trouble = troubles.of_status(response, self._endpoint)
        call.lost += trouble.lost
        if trouble.usage is not None:
            call.paid += 1
            call.usage += trouble.usage
        return trouble

    def _reply(self, call: _Call, completion: Completions, asked: int) -> Reply:
        """Commit what was learned on the way, now that it is known to have helped."""
        found = self._known(call).giving(asked, len(completion.completions))
        news = found.known != self._capabilities.known
        self._capabilities = found
        if news and self._learned is not None:
            self._learned.learn(self._endpoint.shown, self.name, found)
        self._estimates.learn(call.request, len(completion.completions), completion.usage)
        notes = self._capabilities.notes(call.request, call.n) + completion.notes
        return Reply(
            completion.completions,
            call.usage + completion.usage,
            call.latency_s,
            requests=call.requests,
            notes=notes,
            lost=call.lost,
        )

    def _known(self, call: _Call) -> Capabilities:
        """What the endpoint takes, with what this call has learned and not yet proved."""
        capabilities = self._capabilities
        for refusal in call.refusals:
            capabilities = capabilities.without(refusal)
        return capabilities

    def _learn(self, call: _Call, trouble: Trouble) -> bool:
        """Whether there is a lesser request to try after the last one was refused."""
        refusal = find_refusal(trouble.words, trouble.parameter, call.body)
        if refusal is None and "n" in call.body and trouble.parameter is None:
            # Endpoints without `n` do not always say that it is `n` they mind.
            refusal = Refusal("n", 2)
        if refusal is None:
            return False
        call.refusals.append(refusal)
        # Another body is another request, and not the retry of this one; batches look at the body too.
        if not self._in_batches:
            call.key = uuid.uuid4().hex
        return True

    def _error(self, call: _Call, trouble: Trouble) -> ModelError:
        words = f"model `{self.name}` at {self._endpoint.shown}: {trouble.words}"
        if call.requests > 1:
            words += f" (after {call.requests} requests)"
        lost = call.lost + call.paid
        if lost:
            words += f"; requests that may have been charged without an answer: {lost}"
        refused = None
        if trouble.bad_request:
            refused = trouble.parameter or (call.refusals[-1].name if call.refusals else None)
        return ModelError(
            words,
            retryable=trouble.retryable,
            refused=refused,
            requests=call.requests,
            lost=lost,
            help=trouble.help,
        )


def _wait(trouble: Trouble, call: _Call, chance: random.Random) -> float:
    """Seconds until the next try: what the endpoint asks for, else more after each failure."""
    return trouble.wait_s or back_off(call.failures + 1, chance)


def _tokens(usage: Usage | None) -> float:
    return 0.0 if usage is None else float(usage.input_tokens + usage.output_tokens)
