"""The contract between the runtime and a model: messages and settings in, n answers out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, final

DEFAULT_MAX_TOKENS = 2048
"""Answer tokens of a request where a prompt sets no `max_tokens`; always sent, so that a budget holds."""


@final
@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """Decoding settings. None means: what the endpoint does when it is not told.

    `response_format` is the form that answers must have, as JSON text.
    """

    temperature: float | None = None
    top_p: float | None = None
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
    as `endpoint_of` tells: models of one name behind two addresses are two models.
    """

    model: str
    messages: tuple[Message, ...]
    settings: Settings = Settings()
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
class Answer:
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

    answers: tuple[Answer, ...]
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


REPEATS: ContextVar[Callable[[Usage | None], Awaitable[None]] | None] = ContextVar("REPEATS", default=None)
"""Set by whoever asks a model under a budget; see `may_repeat`."""


async def may_repeat(usage: Usage | None) -> None:
    """Wait for leave to send a request again after one that brought nothing and may have been charged.

    `usage` is what it was charged for, None where that is not known. Raises BudgetExceeded where the budget
    does not allow another.
    """
    permit = REPEATS.get()
    if permit is not None:
        await permit(usage)


class NoLongerWanted(Exception):
    """What a request would ask is there meanwhile, in part at least: it is not sent."""


WANTED: ContextVar[Callable[[], None] | None] = ContextVar("WANTED", default=None)
"""Set by whoever asks a model for what another process may be asking for, too; see `still_wanted`."""


def still_wanted() -> None:
    """Look once more whether a request that waited for leave to be sent is to be sent.

    Raises NoLongerWanted where it is not.
    """
    look = WANTED.get()
    if look is not None:
        look()


class Model(Protocol):
    """A model that answers.

    The contract, which every implementation passes in `tests/contracts/test_models.py`:
    - `ask` gives between 1 and n answers, or raises ModelError; it never gives an empty reply and
      swallows no other exception; cancelling it leaves nothing running.
    - Fewer than n answers are allowed (an endpoint without n gives 1): the caller asks again for the rest.
    - It obeys its own limits (rate, time-outs, retries) and says what the wire saw in `Reply.requests`.
    - When it waited for leave to send a request, it calls `still_wanted`, and lets through what that raises.
    - Before it sends again what may have been charged, it awaits `may_repeat`, and lets through what that
      raises: a budget counts each such request.
    - `price` is None where it is unknown, never 0 for "don't know".
    """

    name: str
    """As it stands in requests and in ledgers, without the provider's prefix."""
    simulated: bool
    """Whether answers are made up by stand-ins; every output that rests on it says so."""

    @property
    def price(self) -> Price | None:
        """What tokens cost, or None where that is not known."""

    @property
    def batch(self) -> int:
        """How many answers one request may ask for (1 where `n` is refused)."""

    async def ask(self, request: Request, n: int, draw: int = 0) -> Reply:
        """n answers to a request, the first of which is the draw numbered `draw`."""

    async def close(self) -> None:
        """Let go of connections. The model is not used afterwards."""


def endpoint_of(model: Model) -> str:
    """The address that a model's name has its meaning at, without anything secret; empty where the name alone
    says which model it is (OpenAI's own, local ones, stand-ins), and for models that do not tell."""
    endpoint = getattr(model, "endpoint", "")
    return endpoint if isinstance(endpoint, str) else ""


def refused_by(model: Model) -> frozenset[str]:
    """The settings that a model's endpoint is known not to take, before anything is asked."""
    refused: object = getattr(model, "refuses", None)
    return refused if isinstance(refused, frozenset) else frozenset()


def token_bound(request: Request) -> int:
    """A bound on the request's input tokens that no tokenizer exceeds: a token is at least one byte,
    and each message adds a few of its own."""
    return sum(len(m.content.encode("utf-8", "surrogatepass")) + 16 for m in request.messages) + 16
