"""The contract between the runtime and a model: messages and settings in, up to n completions out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import accumulate
from json.encoder import encode_basestring as _quoted
from pathlib import Path
from typing import Any, Final, Protocol, final

from msgspec import Struct, field
from msgspec.structs import astuple, replace

from gotlang.config import ConfiguredUrl
from gotlang.models.images import image_tokens

DEFAULT_MAX_TOKENS = 2048
"""Maximum output tokens of a completion if the prompt sets no `max_tokens`; always sent, so that a budget
holds."""


PLACE = "\ufffc"
"""The placeholder of an image or a file in a message's text: Unicode's object replacement character."""
FILE_TOKENS = 2_000_000
"""Maximum input tokens of a file other than text: the largest context window of current models."""


@final
class Media(Struct, frozen=True, eq=False, gc=False):
    """An image or a file in a message: `kind` is `image` or `file`, `digest` the SHA-256 of its bytes in
    hexadecimal digits. It is read from `path` when it is sent; the path is not part of its identity."""

    kind: str
    mime: str
    digest: str
    path: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Media) and self.plain() == other.plain()

    def __hash__(self) -> int:
        return hash(self.plain())

    def plain(self) -> tuple[str, str, str]:
        """Its identity, without its path."""
        return self.kind, self.mime, self.digest

    def token_bound(self, model: str) -> int:
        """An upper bound of its input tokens for a model: its bytes for text, the largest documented number
        for others."""
        if self.kind == "image":
            return image_tokens(model)
        if self.mime.startswith("text/") or self.mime == "application/json":
            return Path(self.path).stat().st_size + 16
        return FILE_TOKENS


@final
class ToolCall(Struct, frozen=True, gc=False):
    """A model's call of a tool; `arguments` are JSON text, as the model wrote it."""

    id: str
    name: str
    arguments: str


@final
class ToolSpec(Struct, frozen=True, gc=False):
    """A tool that a model may call; `schema` is the JSON schema of its arguments, as JSON text."""

    name: str
    description: str
    schema: str


@final
class Message(Struct, frozen=True, gc=False):
    """One message of a conversation; `role` is `system`, `user`, `assistant` or `tool`.

    Each U+FFFC in `content` stands for the next of `media`. `calls` are those of an assistant's turn; `call`
    is the id of the call that a tool's turn answers.
    """

    role: str
    content: str
    media: tuple[Media, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    call: str = ""

    @property
    def shown(self) -> str:
        """The text for display, with the path of each image and file in its place."""
        text = self.content
        for one in self.media:
            text = text.replace(PLACE, f"[{one.kind}: {one.path}]", 1)
        return text

    def plain(self) -> list[Any]:
        """As plain JSON: role and content, and a third part only if there is more."""
        more: dict[str, Any] = {}
        if self.media:
            more["media"] = [list(one.plain()) for one in self.media]
        if self.calls:
            more["calls"] = [list(astuple(one)) for one in self.calls]
        if self.call:
            more["call"] = self.call
        return [self.role, self.content, more] if more else [self.role, self.content]


@final
class DecodingSettings(Struct, frozen=True, gc=False):
    """Decoding settings. None means the endpoint's own default.

    Numbers stay as written: 1 and 1.0 are two requests with two keys. `response_format` is a JSON schema, as
    JSON text, that completions must follow; `regex` and `grammar` are constraints that local servers support.
    `effort` is `low`, `medium` or `high` and `thinking_budget` a number of tokens, both for reasoning models;
    `top_logprobs` is the number of alternatives of each token. `stop_when` is the condition that ends a
    completion early (`Permit.listen`), with its known values.
    """

    temperature: int | float | None = None
    top_p: int | float | None = None
    max_tokens: int = DEFAULT_MAX_TOKENS
    stop: tuple[str, ...] = ()
    logprobs: bool = False
    seed: int | None = None
    response_format: str | None = None
    effort: str | None = None
    thinking_budget: int | None = None
    regex: str | None = None
    grammar: str | None = None
    top_logprobs: int | None = None
    stop_when: str | None = None


_LATER: Final = DecodingSettings.__struct_fields__[6:]
"""Settings that are part of a request's identity only if they are set."""


@final
class Request(Struct, frozen=True, eq=False, gc=False):
    """One prompt as a model gets it. Equal requests have equal keys.

    `sample` names the space that samples are numbered in (the run's `--seed`). `endpoint` is
    `Model.endpoint`: models with the same name at two addresses are two models. `prompt` and `arguments` tell
    where the request came from, for traces and the simulator; they are not part of its identity.
    """

    model: str
    messages: tuple[Message, ...]
    settings: DecodingSettings = DecodingSettings()
    sample: int = 0
    prompt: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    endpoint: str = ""
    tools: tuple[ToolSpec, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Request) and self._what == other._what

    def __hash__(self) -> int:
        return hash(self._what)

    @property
    def _what(self) -> tuple[object, ...]:
        return self.model, self.messages, self.settings, self.sample, self.endpoint, self.tools

    def identity(self) -> dict[str, Any]:
        """The content of the key, as plain JSON: what `gotc cache show` prints."""
        s = self.settings
        return {
            "model": self.model,
            **({"endpoint": self.endpoint} if self.endpoint else {}),
            "messages": [m.plain() for m in self.messages],
            "settings": {
                "temperature": s.temperature,
                "top_p": s.top_p,
                "max_tokens": s.max_tokens,
                "stop": list(s.stop),
                "logprobs": s.logprobs,
                "seed": s.seed,
                **{name: value for name in _LATER if (value := getattr(s, name)) not in (None, "")},
            },
            "sample": self.sample,
            **({"tools": [list(astuple(tool)) for tool in self.tools]} if self.tools else {}),
        }

    def key(self) -> str:
        """The key of this request in every cache: SHA-256 of its identity, in 64 hexadecimal digits."""
        global _latest
        latest, before, after = _latest
        if (  # the settings of most requests are one object
            latest is None
            or self.settings is not latest.settings
            or self.model is not latest.model
            or self.sample is not latest.sample
            or self.endpoint is not latest.endpoint
            or self.tools is not latest.tools
        ):
            around = self.model, self.sample, self.endpoint, self.tools
            before, after = _around(*around, *astuple(self.settings))
            _latest = self, before, after
        messages = ",".join(
            [
                f"[{_quoted(m.role)},{_quoted(m.content)}]"
                if not (m.media or m.calls or m.call)
                else _ENCODER.encode(m.plain())
                for m in self.messages
            ]
        )
        text = f"{before}{messages}{after}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
_MESSAGES = '"messages":['
_latest: tuple[Request | None, str, str] = None, "", ""
"""The last request with a key, and the identity around its messages; the next ones mostly have the same."""


@lru_cache(maxsize=256, typed=True)  # 1 and 1.0 are two settings
def _around(
    model: str, sample: int, endpoint: str, tools: tuple[ToolSpec, ...], *settings: Any
) -> tuple[str, str]:
    """The identity of a request as JSON, before its messages and after them: many requests have the same."""
    whole = Request(model, (), DecodingSettings(*settings), sample, endpoint=endpoint, tools=tools)
    before, _, after = _ENCODER.encode(whole.identity()).partition(_MESSAGES)
    return before + _MESSAGES, after


@final
class Usage(Struct, frozen=True, gc=False):
    """Tokens of one request as the endpoint counted them: `input_tokens` include those read from the
    provider's prompt cache and those written to it, `output_tokens` include those of reasoning."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )

    def times(self, number: int) -> Usage:
        """The usage of this number of equal requests."""
        return Usage(*[number * tokens for tokens in astuple(self)])

    def part(self, output_tokens: int) -> Usage:
        """The same prompt with this number of the output tokens, and their share of the reasoning."""
        if output_tokens == self.output_tokens:
            return self
        reasoning = self.reasoning_tokens * output_tokens // max(1, self.output_tokens)
        return replace(self, output_tokens=output_tokens, reasoning_tokens=reasoning)


@final
class Completion(Struct, frozen=True, gc=False):
    """One completion of a prompt.

    `tokens` are its tokens with their log-probabilities, `logprob` the sum of these (None if not requested or
    not returned). `output_tokens` is its share of the reply's usage. `reasoning` is the text of its
    reasoning, if the endpoint returns that, `calls` are its tool calls, `alternatives` the most likely tokens
    at the position of each of `tokens`, with their log-probabilities.
    """

    text: str
    finish_reason: str = "stop"
    logprob: float | None = None
    tokens: tuple[tuple[str, float], ...] = ()
    output_tokens: int = 0
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    alternatives: tuple[tuple[tuple[str, float], ...], ...] = ()

    def until(self, end: int) -> Completion:
        """Its first `end` characters, with the tokens that begin in them, as one that was ended early."""
        starts = accumulate((len(token) for token, _ in self.tokens), initial=0)
        tokens = tuple(token for token, start in zip(self.tokens, starts, strict=False) if start < end)
        return replace(
            self,
            text=self.text[:end],
            finish_reason="stopped",
            tokens=tokens,
            logprob=sum(logprob for _, logprob in tokens) if tokens else None,
            alternatives=self.alternatives[: len(tokens)],
            calls=(),
        )


@final
class Reply(Struct, frozen=True, gc=False):
    """The result of one `Model.ask`: 1 to n completions, their usage, and the latency in seconds.

    - `usage` is what the endpoint charges for; with `usage_known` False the maximum that it may charge for.
    - `requests` counts the HTTP requests, including retries. `extra` is the number of surplus completions.
    - `notes` name the settings that the endpoint refused and that were left out.
    - If the caller ended the stream, `usage` is an estimate, not known, and `told` the usage reported
      until then. `first_s` are the seconds to the first token of a stream.
    - `latencies_s` are the completions' own latencies if known (simulator), so that they do not depend on
      what was requested together.
    """

    completions: tuple[Completion, ...]
    usage: Usage
    latency_s: float
    requests: int = 1
    notes: tuple[str, ...] = ()
    latencies_s: tuple[float, ...] = ()
    usage_known: bool = True
    extra: int = 0
    told: Usage = Usage()
    first_s: float | None = None


@final
class Price(Struct, frozen=True, gc=False):
    """US dollars per million tokens. `source` tells where the figures come from. Without prices of their own,
    tokens read from a provider's prompt cache or written to it cost as much as others."""

    input_per_million: float
    output_per_million: float
    cached_input_per_million: float | None = None
    source: str = ""
    cache_write_per_million: float | None = None

    def times(self, factor: float, why: str) -> Price:
        """A multiple of this price; `why` is appended to its source."""
        cached, write = self.cached_input_per_million, self.cache_write_per_million
        return Price(
            self.input_per_million * factor,
            self.output_per_million * factor,
            None if cached is None else cached * factor,
            f"{self.source}; {why}" if self.source else why,
            None if write is None else write * factor,
        )

    def usd(self, usage: Usage) -> float:
        """The cost of a request with this usage, in US dollars."""
        cached_price, write_price = self.cached_input_per_million, self.cache_write_per_million
        cached = usage.cached_input_tokens if cached_price is not None else 0
        written = usage.cache_write_tokens if write_price is not None else 0
        return (
            (usage.input_tokens - cached - written) * self.input_per_million
            + cached * (cached_price or 0.0)
            + written * (write_price or 0.0)
            + usage.output_tokens * self.output_per_million
        ) / 1e6


class AlreadyCached(Exception):
    """Another process requests some of these completions, or has stored them: do not send the request."""


Listener = Callable[[int, str, Callable[[], Completion]], bool]
"""Receives a completion as it grows: its number among those of the request, its text so far, which may
restart after a failure, and a function that reads the completion so far, with its tokens if they are sent.
Returns whether the completion can be ended."""


class Permit(Struct, eq=False, kw_only=True):
    """The caller's callbacks for each HTTP request that one `Model.ask` sends. A model does not catch what
    they raise. This one permits everything.

    `listen` is called with each completion's text as it grows, if the model can stream. When it returns True
    for all of them, the request ends there, and so do these completions. None: no listener.
    """

    listen: Listener | None = None

    async def send(self) -> None:
        """Awaited before each request. Raises AlreadyCached if it is no longer needed, and BudgetExceeded if
        it is no longer allowed."""

    def failed(self, usage: Usage | None) -> None:
        """Called for every request that was sent and had no completion: `usage` is what was billed
        (`Usage()`: nothing), None if that is uncertain."""

    async def again(self) -> None:
        """Awaited before a request is sent again. Raises BudgetExceeded if the budget does not allow it."""

    def waiting(self, reason: str, number: int, most: int, seconds: float) -> None:
        """Called before retry `number` of `most`, which follows after this number of seconds."""


PERMITTED = Permit()


@final
class Address(Struct, frozen=True):
    """The address of a model, if not its provider's own: the URL without secrets, the file of a project that
    named it (None: the user did), and whether it gets a key."""

    url: str
    named_by: str | None
    key: bool

    def __str__(self) -> str:
        if self.named_by is None:
            return self.url
        return f"{self.url} (named by {self.named_by}{'' if self.key else ', gets no key'})"


class Model(Protocol):
    """A model that completes prompts. A subclass inherits the defaults of `endpoint`, `refuses`, `limit` and
    `close`.

    The contract, which every implementation passes in `tests/contracts/test_models.py`:
    - `ask` returns between 1 and n completions, or raises ModelError; it never returns an empty reply and
      suppresses no other exception; cancelling it leaves nothing running.
    - Fewer than n completions are allowed (an endpoint without `n` returns 1): the caller requests the rest.
    - It obeys its own limits (rate, timeouts, retries) and counts HTTP requests in `Reply.requests`.
    - It awaits `permit.send` before each request that it sends, calls `permit.failed` after each without a
      completion, and awaits `permit.again` before it sends one again.
    - `price` is None if unknown, never 0 for "don't know".
    """

    name: str
    """The name in requests and ledgers, without the provider's prefix."""
    simulated: bool
    """Whether completions are made up by a simulator; every output that depends on it says so."""
    tools: bool = False
    """Whether it supports `Request.tools` and returns `Completion.calls`, unless it `refuses` "tools"."""
    endpoint: str = ""
    """The URL that the name belongs to, without secrets; empty if the name alone identifies the model
    (OpenAI's own, local ones, the simulator)."""
    address: Address | None = None
    """The description of `endpoint` in results and summaries; None if that is empty."""

    @property
    def price(self) -> Price | None:
        """The price of tokens, or None if unknown."""

    @property
    def batch(self) -> int:
        """Maximum number of completions in one request (1 if `n` is refused)."""

    @property
    def refuses(self) -> frozenset[str]:
        """The settings that the endpoint is known to refuse."""
        return frozenset()

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """Up to n completions of a request: the samples numbered from `first` on."""

    def limit(self, rpm: float | None, tpm: float | None) -> None:
        """Set the maximum numbers of requests and tokens per minute."""
        return

    async def close(self) -> None:
        """Release connections and processes. The model is not used afterwards."""
        return


@final
class ModelOptions(Struct, frozen=True):
    """The options with which a provider opens a model. None means the model's own default.

    - `simulators` are the program's simulator functions by prompt; `version` changes when their file does.
      `declared` has the models that the file declares, by name, each with its declared numbers.
    - `base_url`, `retries`, `timeout_s`, `rpm` and `tpm` (requests and tokens per minute) are for endpoints.
    - `prices` is a file of prices, `known` the file of learned refusals of endpoints (None: none).
    - `batches` is the folder of provider batches; if given, requests are sent in such batches.
    - `sleep` makes a simulated model take its time on the running (virtual) loop.
    """

    simulators: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    seed: int = 0
    base_url: str | ConfiguredUrl | None = None
    retries: int | None = None
    prices: Path | None = None
    sleep: bool = False
    version: str = ""
    rpm: float | None = None
    tpm: float | None = None
    timeout_s: float | None = None
    batches: Path | None = None
    known: Path | None = None
    declared: Callable[[], Mapping[str, Mapping[str, float]]] = dict


class Provider(Protocol):
    """The object of an entry point of the group `gotlang.models`: usually a class of models."""

    about: str
    """One line for `gotc models`."""
    batches: bool
    """Whether requests can be sent in provider batches."""

    def open(self, name: str, options: ModelOptions) -> Model:
        """The model NAME of `--model provider:NAME`; nothing is requested yet. Raises UsageError."""

    def known_price(self, name: str, options: ModelOptions) -> Price | None:
        """The price of a model without opening it; None if unknown."""


def token_bound(request: Request) -> int:
    """An upper bound of the request's input tokens for any tokenizer: a token is at least one byte, and each
    message adds a few of its own. An image or a file counts as `Media.token_bound`, a tool as its text."""
    bound = 16
    for m in request.messages:
        bound += len(m.content.encode("utf-8", "surrogatepass")) + 16
        if m.media or m.calls:
            bound += sum(one.token_bound(request.model) for one in m.media) + sum(map(_bytes, m.calls))
    return bound + sum(map(_bytes, request.tools))


def _bytes(tool: ToolSpec | ToolCall) -> int:
    return sum(len(part.encode("utf-8", "surrogatepass")) for part in astuple(tool)) + 16
