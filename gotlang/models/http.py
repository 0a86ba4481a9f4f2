"""The layer that every provider behind HTTP shares: retries, limits, failures, secrets, learned refusals.

A provider is a subclass of `HttpModel` that names its endpoint and converts requests and responses.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
import random
import time
import uuid
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self, final

from msgspec.structs import astuple, replace

from gotlang.errors import ModelError, UsageError
from gotlang.models.base import (
    PERMITTED,
    Completion,
    Model,
    ModelOptions,
    Permit,
    Price,
    Reply,
    Request,
    ToolCall,
    Usage,
    token_bound,
)
from gotlang.models.capabilities import (
    OPTIONAL,
    PREFILL,
    Capabilities,
    CapabilityStore,
    Refusal,
    continues,
    find_refusal,
)
from gotlang.models.endpoint import Endpoint, EndpointNames, find_endpoint, url_of
from gotlang.models.failures import HttpResponse, RequestFailure, back_off
from gotlang.models.limits import ROUND_TRIP_S, EndpointGate, Outage, TokenEstimates
from gotlang.models.prices import price_of
from gotlang.models.streams import PartialResponse, StreamListener, held_back
from gotlang.models.tokens import estimate_tokens, request_tokens
from gotlang.models.wire import HttpWire, Wire

DEFAULT_RETRIES = 6
DEFAULT_TIMEOUT_S = 180.0
MAX_COUNT = 10_000_000
"""No model reads or writes more tokens in one request: a larger count is an error."""


@final
@dataclass(frozen=True, slots=True)
class ParsedResponse:
    """A parsed response body: all completions in it, and its token counts (None if they are missing or
    invalid). `reads_only`: output is not counted in tokens."""

    completions: Sequence[Completion]
    usage: Usage | None = None
    reads_only: bool = False


_DEFAULTS = ModelOptions()


class HttpModel(Model):
    """A model behind an HTTP endpoint; the base class of providers.

    - `options`: see `ModelOptions`. The base URL is the option, else the provider's environment variable,
      else its own; the key comes from its environment variable only. `endpoint` is one whose key is known.
    - `price`: US dollars per million tokens; None looks it up by name and endpoint.
    - `batch`: maximum number of completions in one request; 1 never sends `n`.
    - `sleep`, `clock`, `chance`, `period_s` (the length of a minute): time and randomness, for tests.

    An instance belongs to one event loop. Raises UsageError for an invalid base URL, a missing key and
    invalid options.
    """

    about: ClassVar[str]
    names: ClassVar[EndpointNames]
    """The provider's URL and environment variables."""
    path: ClassVar[str]
    """Where requests are posted, below the base URL."""
    models_path: ClassVar[str]
    """Where the models are listed, below the base URL."""
    settings: ClassVar[frozenset[str]] = frozenset(OPTIONAL)
    """The optional decoding settings that the provider supports; others are left out, with a note."""
    most: ClassVar[int] = 1
    """Maximum number of completions in one request."""
    fold: ClassVar[type[PartialResponse] | None] = None
    """The parser of its streams; None: it does not stream."""
    seller: ClassVar[str | None] = None
    """The provider's id in genai-prices if all its endpoints have its prices; None: the URL decides."""
    batches: ClassVar[bool] = False
    simulated = False

    def __init__(
        self,
        name: str,
        options: ModelOptions = _DEFAULTS,
        *,
        endpoint: Endpoint | None = None,
        price: Price | None = None,
        batch: int | None = None,
        period_s: float = 60.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: random.Random | None = None,
    ) -> None:
        limits = {"timeout_s": options.timeout_s, "rpm": options.rpm, "tpm": options.tpm, "batch": batch}
        for label, value in limits.items():
            if value is not None and not value > 0:
                raise UsageError(f"`{label}` of model `{name}` is {value}", help="give a number above 0")
        self._retries = DEFAULT_RETRIES if options.retries is None else options.retries
        if self._retries < 0:
            raise UsageError(f"`retries` of model `{name}` is {self._retries}", help="give 0 or more")
        self.name = name
        self.at = endpoint or find_endpoint(options.base_url, self.names)
        self.endpoint, self.address = self.at.identity, self.at.address
        self._sleep = sleep
        self._clock = clock
        self._chance = chance or random.Random()
        self._in_batches = options.batches is not None
        self._given_price = price
        self._prices = options.prices
        if options.prices is not None:
            _ = self.price  # a broken file is reported at once
        self._wire = self._connect(options.timeout_s or DEFAULT_TIMEOUT_S, options.batches)
        self._limits = EndpointGate(
            options.rpm,
            options.tpm,
            period_s=period_s,
            round_trip_s=ROUND_TRIP_S / 10 if self.at.loopback else ROUND_TRIP_S,
            unlimited=self._in_batches,
            clock=clock,
            sleep=sleep,
        )
        self._estimates = TokenEstimates()
        self._reached = False
        self._failure = ""
        self._store = None if options.known is None else CapabilityStore(options.known)
        first = self._first()
        first = dataclasses.replace(
            first, most=batch or self.most, refused=first.refused | (frozenset(OPTIONAL) - self.settings)
        )
        self.capabilities = first if self._store is None else self._store.start(self.at.shown, name, first)
        """The known capabilities of the endpoint."""

    # Methods of a provider

    @staticmethod
    @abstractmethod
    def headers(key: str) -> dict[str, str]:
        """The HTTP headers of every request."""

    @abstractmethod
    def body(self, request: Request, n: int, first: int, known: Capabilities) -> dict[str, Any]:
        """The JSON body of a request for n completions, with the settings and messages that `known`
        accepts."""

    @staticmethod
    @abstractmethod
    def parse(payload: dict[str, Any]) -> ParsedResponse:
        """The completions in a response's JSON. No field may be assumed to be present."""

    def _connect(self, timeout_s: float, batches: Path | None) -> Wire:
        return HttpWire(self.at, self.path, self.headers(self.at.key), timeout_s)

    def _first(self) -> Capabilities:
        """The capabilities of the endpoint before the first request."""
        return Capabilities(1)

    @staticmethod
    def names_in(payload: dict[str, Any]) -> list[str]:
        """The names in a list of models. An exception means that it is not a list of models."""
        return [str(entry["id"]) for entry in payload["data"]]

    # The provider, for the registry

    @classmethod
    def open(cls, name: str, options: ModelOptions) -> Self:
        """The model `name` of this provider."""
        return cls(name, options)

    @classmethod
    def known_price(cls, name: str, options: ModelOptions) -> Price | None:
        """The price of a model without opening it; None if unknown."""
        url = url_of(options.base_url, cls.names)
        return price_of(name, options.prices, base_url=url, seller=cls.seller)

    @classmethod
    async def listed(cls, at: Endpoint, timeout_s: float) -> list[str]:
        """The names of an endpoint's models. Raises ModelError if it does not list them."""
        wire = HttpWire(at, cls.models_path, cls.headers(at.key), timeout_s)
        try:
            response = await wire.request("GET")
            if isinstance(response, HttpResponse) and response.status == 200:
                return [at.hide(name) for name in cls.names_in(json.loads(response.body))]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ModelError("the response is not a list of models") from None
        finally:
            await wire.close()
        failure = RequestFailure.of(response, at, reached=False)
        raise ModelError(failure.words, help=failure.help)

    # The model

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, base_url={self.at.shown!r})"

    @cached_property
    def price(self) -> Price | None:
        """The given price, else genai-prices' for this name at this endpoint; half of it in batches."""
        price = self._given_price
        if price is None:
            price = price_of(self.name, self._prices, base_url=self.at.url, seller=self.seller)
        return price.times(0.5, "half in batches") if price is not None and self._in_batches else price

    @property
    def batch(self) -> int:
        """The known maximum number of completions in one request."""
        return self.capabilities.batch

    @property
    def refuses(self) -> frozenset[str]:
        """The settings that the endpoint is known to refuse."""
        return self.capabilities.refused

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """Between 1 and n completions. `latency_s` is that of the request that succeeded, without waiting for
        limits. Raises ModelError if there is none, with the endpoint's message."""
        call = _Call(request, n, first, permit, self._limits.ticket())
        if self._in_batches:
            # So that the next run finds the requests of a killed one.
            call.key = f"{request.key()}:{first}"
        while True:
            outcome = await self._attempt(call)
            if isinstance(outcome, Reply):
                return outcome
            if outcome.bad_request and self._learn(call, outcome):
                continue
            if not outcome.retryable or call.failures >= self._retries:
                raise self._error(call, outcome)
            await permit.again()
            wait = self._wait(outcome, call)
            call.failures += 1
            permit.waiting(outcome.words, call.failures, self._retries, wait)
            # Congestion and an outage delay all requests, in `EndpointGate`; other failures only their own.
            if not (outcome.congested or self._limits.outage):
                await self._sleep(wait)

    def limit(self, rpm: float | None, tpm: float | None) -> None:
        """Change the limits per minute."""
        self._limits.allow(rpm, tpm)

    async def close(self) -> None:
        """Release the connections."""
        await self._wire.close()

    async def _attempt(self, call: _Call) -> Reply | RequestFailure:
        """Send the request once, with the known capabilities of the endpoint."""
        known = self._known(call)
        if PREFILL in known.refused and continues(call.request):
            words = "it cannot continue an assistant's turn, with which this request ends"
            help = "end the prompt with a `user` text, or use a model that can, such as one of a local server"
            return RequestFailure(words, help=help)
        asked = min(call.n, known.batch)
        call.known, call.asked = known, asked
        body = self.body(call.request, asked, call.first, known)
        if known.limit_name is None:
            return RequestFailure("the endpoint accepts neither `max_tokens` nor `max_completion_tokens`")
        try:
            slot = await self._limits.acquire(call.ticket, lambda: self._estimates.of(call.request, asked))
        except Outage:
            call.failures = self._retries
            words = f"not sent, since the endpoint failed many times in a row: {self._failure}"
            return RequestFailure(words, retryable=True)
        headers: Mapping[str, str] = {}
        used: float | None = 0.0
        try:
            if not call.requests:
                self._wire.prepare()
            await call.permit.send()
            used = None
            call.requests += 1
            sent = self._clock()
            cut = call.request.settings.stop if "stop" in known.refused else ()
            hearing = self._hearing(call, asked, known, cut)
            if hearing is None or not isinstance(self._wire, HttpWire):
                response = await self._wire.send(body, call.key)
            else:
                response = await self._wire.send({**body, **hearing.fold.asks}, call.key, hearing)
                call.first_s = None if hearing.first_at is None else hearing.first_at - sent
            call.latency_s = self._clock() - sent
            outcome: Reply | RequestFailure
            if isinstance(response, HttpResponse) and response.status == 200:
                if hearing is not None and not response.body:
                    outcome = read_stream(hearing, self.parse, call.request, asked, self.at, cut=cut)
                else:
                    outcome = read_body(response.body, self.parse, call.request, asked, self.at, cut=cut)
            else:
                outcome = RequestFailure.of(response, self.at, reached=self._reached)
            self._reached |= isinstance(response, HttpResponse)
            failure = outcome if isinstance(outcome, RequestFailure) else None
            if isinstance(response, HttpResponse):
                headers = response.headers
                used = None if failure and failure.lost else float((outcome.usage or Usage()).tokens)
            if failure is None:
                self._limits.worked()
            elif failure.lost or failure.usage is not None:
                self._failure = failure.words
                self._limits.in_vain(slot, lambda tries: back_off(tries, self._chance))
            if failure and failure.congested:
                refused = isinstance(response, HttpResponse) and response.status == 429
                # By chance one request may be refused often: the wait of all depends on all of them.
                wait = failure.wait_s or back_off(self._limits.refusals + 1, self._chance)
                self._limits.congested(slot, wait, refused=refused)
        finally:
            self._limits.release(slot, used, headers)
        if isinstance(outcome, Reply):
            return self._succeeded(call, outcome, asked)
        call.lost += outcome.lost or outcome.usage is not None
        call.permit.failed(None if outcome.lost else outcome.usage or Usage())
        return outcome

    def _hearing(
        self, call: _Call, asked: int, known: Capabilities, cut: Sequence[str]
    ) -> StreamListener | None:
        """The parser of a stream if there is a listener."""
        listen = call.permit.listen
        if listen is None or self.fold is None or "stream" in known.refused:
            return None
        marks = (*cut, *self.at.secrets)

        def show(text: str) -> str:
            text = min((text.partition(stop)[0] for stop in cut if stop), key=len, default=text)
            return held_back(self.at.hide(text), marks)

        def read(payload: dict[str, Any]) -> Sequence[Completion]:
            return self.parse(payload).completions

        return StreamListener(self.fold(), asked, listen, show, self._clock, read)

    def _succeeded(self, call: _Call, reply: Reply, asked: int) -> Reply:
        """The reply with all that was sent for it. The refusals learned on the way are now proven."""
        known = self._known(call).returned(asked, len(reply.completions))
        self._remember(known)
        if reply.usage_known:
            self._estimates.learn(call.request, len(reply.completions), reply.usage)
        return replace(
            reply,
            latency_s=call.latency_s,
            first_s=call.first_s,
            requests=call.requests,
            notes=known.notes(call.request, call.n) + reply.notes,
        )

    def _remember(self, known: Capabilities) -> None:
        news = known.learned != self.capabilities.learned
        self.capabilities = known
        if news and self._store is not None:
            own = frozenset(OPTIONAL) - self.settings  # what the provider lacks was not learned
            learned = dataclasses.replace(known, refused=known.refused - own)
            self._store.learn(self.at.shown, self.name, learned)

    def _known(self, call: _Call) -> Capabilities:
        """The capabilities of the endpoint, including what this call has learned and not yet proven."""
        known = self.capabilities
        for refusal in call.refusals:
            known = known.without(refusal)
        return known

    def _learn(self, call: _Call, failure: RequestFailure) -> bool:
        """Whether there is a smaller request to try after the last one was refused."""
        sent = [] if call.known is None else call.known.sent(call.request, call.asked)
        if call.permit.listen is not None and self.fold is not None:
            sent.append("stream")
        refusal = find_refusal(failure.words, failure.parameter, sent, call.asked)
        if refusal is None and call.asked > 1 and failure.parameter is None:
            # Endpoints without `n` do not always say that they refuse it.
            refusal = Refusal("n", 2)
        if refusal is None or refusal in call.refusals:
            return False
        if refusal.name == "tools":  # without them it would be another request
            self._remember(self.capabilities.without(refusal))
            return False
        call.refusals.append(refusal)
        # Another body is another request, not a retry of this one; batches compare the body, too.
        if not self._in_batches:
            call.key = uuid.uuid4().hex
        return True

    def _wait(self, failure: RequestFailure, call: _Call) -> float:
        """Seconds until the next try: the wait that the endpoint asks for, else more after each failure."""
        return failure.wait_s or back_off(call.failures + 1, self._chance)

    def _error(self, call: _Call, failure: RequestFailure) -> ModelError:
        words = f"model `{self.name}` at {self.at.shown}: {failure.words}"
        if call.requests > 1:
            words += f" (after {call.requests} requests)"
        if call.lost:
            words += f"; requests that may have been charged without a response: {call.lost}"
        help = failure.help
        if call.request.tools and "tools" in self.refuses:
            help = "that is remembered: run it again, and tools are called in a text protocol"
        return ModelError(words, retryable=failure.retryable, requests=call.requests, help=help)


@final
@dataclass(slots=True)
class _Call:
    """The state of one `ask`. `lost` requests failed, and were charged or may have been. The last one
    requested `asked` completions, with the capabilities `known` then."""

    request: Request
    n: int
    first: int
    permit: Permit
    ticket: int
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    refusals: list[Refusal] = field(default_factory=list)
    requests: int = 0
    lost: int = 0
    failures: int = 0
    latency_s: float = 0.0
    first_s: float | None = None
    known: Capabilities | None = None
    asked: int = 1


def read_body(
    body: str,
    parse: Callable[[dict[str, Any]], ParsedResponse],
    request: Request,
    n: int,
    at: Endpoint,
    *,
    cut: Sequence[str] = (),
) -> Reply | RequestFailure:
    """The up to n completions of a response body. `cut` are stop sequences that the endpoint did not obey.

    Missing or impossible usage counts as what was reserved for the request, with a note: a model may have
    written text that is not shown. Secrets that the endpoint repeats are masked.
    """
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        reason = "its body is not JSON" if body.strip() else "its body is empty"
        return RequestFailure.from_unreadable(reason, at, None)
    if not isinstance(payload, dict):
        return RequestFailure.from_unreadable("its body is not a completion", at, None)
    return _read(payload, parse(payload), request, n, at, cut)


def read_stream(
    hearing: StreamListener,
    parse: Callable[[dict[str, Any]], ParsedResponse],
    request: Request,
    n: int,
    at: Endpoint,
    *,
    cut: Sequence[str] = (),
) -> Reply | RequestFailure:
    """The same for a stream. If the listener ended it, its completions end there, and their cost is estimated
    from what has arrived."""
    if not hearing.complete:
        error = hearing.fold.error
        reason = "its stream is an error" if error else "its stream ended before its end"
        return RequestFailure.from_unreadable(reason, at, None, error)
    payload = hearing.fold.response()
    parsed = parse(payload)
    if hearing.fold.finished:
        reply = _read(payload, parsed, request, n, at, cut)
    else:
        told = parsed.usage or Usage()
        wrote = sum(estimate_tokens(_written(one)) for one in parsed.completions)
        usage = replace(
            told,
            input_tokens=told.input_tokens or request_tokens(request.messages),
            output_tokens=max(told.output_tokens, wrote),
        )
        reply = _read(payload, dataclasses.replace(parsed, usage=usage), request, n, at, cut)
        if isinstance(reply, Reply):
            note = "a stream was ended early: its cost is uncertain"
            reply = replace(reply, usage_known=False, told=told, notes=(*reply.notes, note))
    if isinstance(reply, RequestFailure) or not hearing.stopped:
        return reply
    ended = {number: reply.completions[number].until(len(text)) for number, text in hearing.stopped.items()}
    return replace(
        reply, completions=tuple(ended.get(number, one) for number, one in enumerate(reply.completions))
    )


def _read(
    payload: dict[str, Any],
    parsed: ParsedResponse,
    request: Request,
    n: int,
    at: Endpoint,
    cut: Sequence[str],
) -> Reply | RequestFailure:
    found = parsed.completions
    if not found:
        error = payload.get("error")
        reason = "its body is an error" if error is not None else "it contains no completion"
        return RequestFailure.from_unreadable(reason, at, parsed.usage, error)
    notes: tuple[str, ...] = ()
    usage, known = parsed.usage or Usage(), True
    counted = () if parsed.reads_only else found
    written = sum(len(_written(one).encode("utf-8", "surrogatepass")) for one in counted)
    read, wrote = token_bound(request), n * request.settings.max_tokens
    if usage.input_tokens <= 0 or (usage.output_tokens <= 0 < written):
        notes, known = ("the endpoint returned no valid usage: the cost is uncertain",), False
        # Never less than the endpoint reported, or showed.
        usage = Usage(max(usage.input_tokens, read), max(usage.output_tokens, wrote, written + len(found)))
    elif usage.input_tokens > read or usage.output_tokens > wrote:
        notes = (
            "this endpoint charges more than its limit: more tokens than a prompt and `max_tokens` allow",
        )
    if len(found) > n:
        notes = (*notes, "the endpoint returned more completions than were requested; they are counted")
    kept = [_masked(_cut(one, cut), at.hide) for one in found[:n]]
    if request.settings.logprobs and any(one.logprob is None for one in kept):
        notes = (*notes, "log-probabilities were requested but not returned")
    elif request.settings.top_logprobs and any(one.tokens and not one.alternatives for one in kept):
        notes = (*notes, "alternatives of tokens (`top_logprobs`) were requested but not returned")
    shares = _shares(usage.output_tokens, [len(one.text) for one in kept])
    with_shares = (replace(one, output_tokens=share) for one, share in zip(kept, shares, strict=True))
    extra = len(found) - len(kept)
    return Reply(tuple(with_shares), usage, 0.0, notes=notes, usage_known=known, extra=extra)


def _written(one: Completion) -> str:
    return one.reasoning + one.text + "".join(call.name + call.arguments for call in one.calls)


def _cut(one: Completion, stops: Sequence[str]) -> Completion:
    """A completion up to the first stop sequence."""
    end = min((at for stop in stops if stop and (at := one.text.find(stop)) >= 0), default=None)
    return one if end is None else replace(one.until(end), finish_reason="stop")


def _masked(one: Completion, hide: Callable[[str], str]) -> Completion:
    """A completion without secrets. Tokens that only together contain one are dropped."""
    whole = "".join(token for token, _ in one.tokens)
    tokens = one.tokens if hide(whole) == whole else ()
    likeliest = [text for some in one.alternatives for text, _ in some]
    return replace(
        one,
        text=hide(one.text),
        reasoning=hide(one.reasoning),
        finish_reason=hide(one.finish_reason),
        calls=tuple(ToolCall(*map(hide, astuple(call))) for call in one.calls),
        tokens=tokens,
        alternatives=one.alternatives if tokens and list(map(hide, likeliest)) == likeliest else (),
    )


def _shares(total: int, lengths: Sequence[int]) -> list[int]:
    """A total split in proportion to lengths, into whole numbers that add up to it."""
    weights = list(lengths) if sum(lengths) else [1] * len(lengths)
    whole = sum(weights)
    ends = [total * so_far // whole for so_far in itertools.accumulate(weights, initial=0)]
    return [after - before for before, after in itertools.pairwise(ends)]


def token_count(value: object) -> int | None:
    """A possible count of tokens, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= MAX_COUNT and value == int(value) else None


def entries(value: object) -> list[dict[str, Any]]:
    """The objects in a list of a response; empty if it is not a list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
