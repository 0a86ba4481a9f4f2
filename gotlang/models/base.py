"""The contract between the runtime and a model: messages and settings in, n answers out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, final

DEFAULT_MAX_TOKENS = 2048
"""Completion tokens of a request where a prompt sets no `max_tokens`; always sent, so that a budget holds."""


@final
@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


@final
@dataclass(frozen=True, slots=True)
class DecodingSettings:
    """Decoding settings. None means: what the endpoint does when it is not told.

    Numbers stay as written: 1 and 1.0 are two requests with two keys. `response_format` is the form
    that answers must have, as JSON text.
    """

    temperature: int | float | None = None
    top_p: int | float | None = None
    max_tokens: int = DEFAULT_MAX_TOKENS
    stop: tuple[str, ...] = ()
    logprobs: bool = False
    seed: int | None = None
    response_format: str | None = None


@final
@dataclass(frozen=True, slots=True)
class Request:
    """One prompt as a model gets it. Equal requests have equal keys; `prompt` and `arguments` are not
    part of the identity: they say where it came from, for traces and for the simulated model.

    `sample` names the space that draws are counted in (the run's `--seed`). `endpoint` is whose model it is,
    as `Model.endpoint` tells: models of one name behind two addresses are two models.
    """

    model: str
    messages: tuple[Message, ...]
    settings: DecodingSettings = DecodingSettings()
    sample: int = 0
    prompt: str = field(default="", compare=False)
    arguments: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)
    endpoint: str = ""

    def identity(self) -> dict[str, Any]:
        """What the key is made of, as plain JSON: what `gotc cache show` prints."""
        s = self.settings
        return {
            "model": self.model,
            **({"endpoint": self.endpoint} if self.endpoint else {}),
            "messages": [[m.role, m.content] for m in self.messages],
            "settings": {
                "temperature": s.temperature,
                "top_p": s.top_p,
                "max_tokens": s.max_tokens,
                "stop": list(s.stop),
                "logprobs": s.logprobs,
                "seed": s.seed,
                **({"response_format": s.response_format} if s.response_format else {}),
            },
            "sample": self.sample,
        }

    def key(self) -> str:
        """64 hexadecimal digits that stand for this request in every cache (SHA-256 of its identity)."""
        text = _ENCODER.encode(self.identity())
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@final
@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request as the endpoint counted them; `cached_input_tokens` are among `input_tokens`."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
        )


@final
@dataclass(frozen=True, slots=True)
class Completion:
    """One answer of a model.

    `logprob` is the sum of its tokens' log-probabilities (None where not asked for or not given);
    `tokens` are the tokens with theirs. `output_tokens` is this answer's share of the reply's usage.
    """

    text: str
    finish_reason: str = "stop"
    logprob: float | None = None
    tokens: tuple[tuple[str, float], ...] = ()
    output_tokens: int = 0


@final
@dataclass(frozen=True, slots=True)
class Reply:
    """What one request over the wire gave: 1 to n answers, their usage, and how long it took in seconds.

    `requests` counts what went over the wire for it, retries included. `usage` is what the endpoint
    charges for. `notes` are settings the endpoint refused and that were left out, in words. `lost` counts
    requests that brought nothing and may have been charged all the same (a time-out, a dropped
    connection): each costs at most what this one may. `latencies_s` are the answers' own times where those
    are known (stand-ins), so that they do not hang on what was asked together.
    """

    completions: tuple[Completion, ...]
    usage: Usage
    latency_s: float
    requests: int = 1
    notes: tuple[str, ...] = ()
    lost: int = 0
    latencies_s: tuple[float, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. `source` says where the figures come from."""

    input_per_million: float
    output_per_million: float
    cached_input_per_million: float | None = None
    source: str = ""

    def times(self, factor: float, why: str) -> Price:
        """A multiple of it, and why."""
        cached = self.cached_input_per_million
        return Price(
            self.input_per_million * factor,
            self.output_per_million * factor,
            None if cached is None else cached * factor,
            f"{self.source}; {why}" if self.source else why,
        )

    def usd(self, usage: Usage) -> float:
        """What a request with this usage costs, in US dollars."""
        cached_price = self.cached_input_per_million
        cached = usage.cached_input_tokens if cached_price is not None else 0
        return (
            (usage.input_tokens - cached) * self.input_per_million
            + cached * (cached_price or 0.0)
            + usage.output_tokens * self.output_per_million
        ) / 1e6


class AlreadyCached(Exception):
    """Another process stored some of the requested completions meanwhile: do not send the request."""


def _send() -> None:
    """Send it."""


async def _retry(usage: Usage | None) -> None:
    """Send it again."""


@final
@dataclass(frozen=True, slots=True)
class Permit:
    """The caller's say on each HTTP request that one `Model.ask` sends.

    - `send()` is called when a request that waited for a limit is about to go out for the first time. Raises
      AlreadyCached if it is not needed any more.
    - `await retry(usage)` comes before a request is sent again after one that failed but may have been
      billed; `usage` is what was billed, None if unknown. Raises BudgetExceeded if the budget does not
      allow another.

    A model lets through what they raise. The default permits everything.
    """

    send: Callable[[], None] = _send
    retry: Callable[[Usage | None], Awaitable[None]] = _retry


PERMITTED = Permit()


class Model(Protocol):
    """A model that completes prompts. A subclass inherits the defaults of `endpoint`, `refuses` and `close`.

    The contract, which every implementation passes in `tests/contracts/test_models.py`:
    - `ask` returns between 1 and n completions, or raises ModelError; it never returns an empty reply and
      swallows no other exception; cancelling it leaves nothing running.
    - Fewer than n completions are allowed (an endpoint without `n` returns 1): the caller asks for the rest.
    - It obeys its own limits (rate, timeouts, retries) and counts HTTP requests in `Reply.requests`.
    - It calls `permit.send` before it sends a request, and awaits `permit.retry` before it sends a request
      again that may have been billed.
    - `price` is None if unknown, never 0 for "don't know".
    """

    name: str
    """The name in requests and ledgers, without the provider's prefix."""
    simulated: bool
    """Whether completions are made up by a simulator; every output that depends on it says so."""
    endpoint: str = ""
    """The URL that the name belongs to, without secrets; empty if the name alone identifies the model
    (OpenAI's own, local ones, the simulator)."""

    @property
    def price(self) -> Price | None:
        """The price of tokens, or None if unknown."""

    @property
    def batch(self) -> int:
        """How many completions one request may ask for (1 if `n` is refused)."""

    @property
    def refuses(self) -> frozenset[str]:
        """The settings that the endpoint is known to refuse, before anything is asked."""
        return frozenset()

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """Up to n completions of a request: the samples numbered from `first` on."""

    async def close(self) -> None:
        """Release connections and processes. The model is not used afterwards."""
        return


def token_bound(request: Request) -> int:
    """A bound on the request's input tokens that no tokenizer exceeds: a token is at least one byte,
    and each message adds a few of its own."""
    return sum(len(m.content.encode("utf-8", "surrogatepass")) + 16 for m in request.messages) + 16
