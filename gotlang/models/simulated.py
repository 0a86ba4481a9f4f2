"""The simulated model: a program's own simulator completes its prompts, so that it runs without a model.

A simulator is a Python file with a plain function for each prompt, with the same name. The function gets a
seeded `random.Random` and the prompt's arguments by keyword, and returns the raw text that a model would
write:

    def sort(rng, numbers):
        return str(sorted(numbers))

A parameter `temperature`, `model`, `messages` or `settings` gets the request's data: the temperature, the
model's name (`simulated`, or one that the simulator declares), the complete `Message`s, with the paths of
their images and files, and the `DecodingSettings`, so that a simulator can depend on all that a model sees.
For a request outside what it simulates, a simulator raises `NotSimulated`.

The text depends only on the identity of the call and the number of the sample, never on the order of calls:
the same program with other concurrency, batching or scheduling has the same results.

A response that calls tools contains lines of the text protocol, `Call: search {"query": "Bern"}`. If the
request has its tools natively, these are calls in the response too.

For a dry run the simulated endpoint can have limits, failures and a latency, obeyed on the run's virtual
clock: an hour of waiting takes milliseconds and is reported as an hour. Completions do not depend on it.

    simulated:rpm=60,tpm=40000,failures=0.05

A simulator may declare more models, with prices in the form of a price file, and a latency:

    MODELS = {"small": {"input_per_million": 0.05, "output_per_million": 0.2, "per_token_s": 0.002}}

They are `simulated:small` for `--model` and `small` in a program; `model` is the name that functions get.
"""

from __future__ import annotations

import ast
import asyncio
import hashlib
import inspect
import itertools
import math
import random
import re
import traceback
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Final, final

from msgspec import UNSET, Struct, UnsetType, structs, to_builtins

from gotlang.errors import ModelError, OutsideSimulation, UsageError
from gotlang.models.base import (
    PERMITTED,
    Completion,
    Listener,
    Model,
    ModelOptions,
    Permit,
    Price,
    Reply,
    Request,
    ToolCall,
    Usage,
)
from gotlang.models.failures import back_off
from gotlang.models.limits import EndpointGate, TokenEstimates
from gotlang.models.tokens import estimate_tokens, request_tokens, split_tokens
from gotlang.records import InvalidRecord, from_plain
from gotlang.records import Seconds as NotNegative

NAME = "simulated"
DEFAULT_RETRIES = 6
"""The same as for real endpoints."""

GPT_35_TURBO = Price(
    input_per_million=0.50, output_per_million=1.50, source="simulated with the prices of gpt-3.5-turbo"
)
"""The prices of the sorting runs of Framework of Thoughts: 57,572 prompt tokens were 2.88 cents of 4.98."""


@final
class Simulated(Struct, frozen=True):
    """A simulator's result with its confidence: `logprob` is the natural logarithm (at most 0) of the
    probability of the whole text, and is spread evenly over its tokens. Or `tokens` are those of the text,
    each with its log-probability and its alternatives with theirs, and `logprob` is their sum. `reasoning` is
    the reasoning before the text: its tokens are output tokens, and not part of the text."""

    text: str
    logprob: float = 0.0
    tokens: tuple[tuple[str, float, tuple[tuple[str, float], ...]], ...] = ()
    reasoning: str = ""


Simulator = Callable[..., str | Simulated]
"""A simulator function: `(rng, **arguments) -> text`. Parameters named in CONTEXT get the request's data."""

CONTEXT: Final[Mapping[str, Callable[[Request], object]]] = {
    "temperature": lambda request: request.settings.temperature,
    "model": lambda request: request.model.partition("@")[0].removeprefix(f"{NAME}:"),
    "messages": lambda request: request.messages,
    "settings": lambda request: request.settings,
}
"""Parameters that a simulator may have besides `rng` and its prompt's, unless the prompt has them too."""


class NotSimulated(Exception):
    """Raised by a simulator for a request outside what it simulates; the message says what that is. The run
    fails with it, even if the program handles failed calls, instead of using a made-up answer."""


@final
class Latency(Struct, frozen=True):
    """The latency of a completion: `base_s` seconds plus `per_token_s` for each of its tokens, times a
    log-normal factor with mean 1 and `spread` as the standard deviation of its logarithm. `source` is its
    origin."""

    base_s: float
    per_token_s: float
    spread: float
    source: str = ""

    def seconds(self, rng: random.Random, output_tokens: int) -> float:
        """One random latency, in seconds."""
        factor = math.exp(rng.gauss(0.0, self.spread) - self.spread**2 / 2)
        return (self.base_s + self.per_token_s * output_tokens) * factor


GPT_35_TURBO_LATENCY = Latency(
    base_s=1.3,
    per_token_s=0.008,
    spread=0.33,
    source="fitted to Framework of Thoughts, Table 2 (sorting): 259 s for 112 calls of 125 output tokens and"
    " 452 s for 100 calls of about 400, one after the other; 30 s and 39 s along the critical path",
)


class _Declared(Struct, forbid_unknown_fields=True):
    input_per_million: NotNegative
    output_per_million: NotNegative
    base_s: NotNegative | UnsetType = UNSET
    per_token_s: NotNegative | UnsetType = UNSET


@lru_cache(maxsize=64)
def declared_models(source: str, place: str) -> dict[str, dict[str, float]]:
    """The models that the text of a simulator declares, by name, read without running it: prices in US
    dollars per million tokens, and `base_s` and `per_token_s` of the latency. Raises UsageError.
    """
    if "MODELS" not in source:
        return {}
    try:
        lines = [line for line in ast.parse(source).body if isinstance(line, ast.Assign)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}  # loading it reports the error
    for line in lines:
        if any(isinstance(target, ast.Name) and target.id == "MODELS" for target in line.targets):
            try:
                table = from_plain(ast.literal_eval(line.value), dict[str, _Declared])
                if NAME in table:
                    raise InvalidRecord(f"`{NAME}` is the name of the model that need not be declared")
                if (wrong := next((n for n in table if not re.fullmatch(r"[\w./-]+", n)), None)) is not None:
                    raise InvalidRecord(f"`{wrong}` is not a name of letters, digits, `.`, `/`, `_` and `-`")
            except (ValueError, TypeError, RecursionError) as error:
                raise UsageError(
                    f"MODELS in {place}, line {line.lineno}, does not declare models: {error}",
                    help='write it like {"small": {"input_per_million": 0.05, "output_per_million": 0.2}}',
                ) from None
            return {name: to_builtins(entry) for name, entry in table.items()}
    return {}


SETTINGS: Final[Mapping[str, tuple[Callable[[float], bool], str]]] = {
    "rpm": (lambda value: value > 0, "the requests per minute that the endpoint allows, above 0"),
    "tpm": (lambda value: value > 0, "the tokens per minute that the endpoint allows, above 0"),
    "failures": (lambda value: 0 <= value < 1, "the share of requests that fail, from 0 to below 1"),
    "n": (lambda value: value >= 1 and value == int(value), "the most completions per request, 1 or more"),
    "base_s": (lambda value: value >= 0, "the seconds of a completion of no tokens, 0 or more"),
    "per_token_s": (lambda value: value >= 0, "the seconds per token of a completion, 0 or more"),
    "spread": (lambda value: 0 <= value <= 3, "the deviation of the latency's logarithm, from 0 to 3"),
}
"""The settings that may follow `simulated:`: the condition of each, and its meaning."""


def read_settings(text: str, latency_of: Latency = GPT_35_TURBO_LATENCY) -> dict[str, Any]:
    """The settings in `rpm=60,failures=0.1`, as arguments of `SimulatedModel`; they change `latency_of`.
    Raises UsageError."""
    given: dict[str, float] = {}
    for part in text.split(",") if text else ():
        name, equals, written = (piece.strip() for piece in part.partition("="))
        if not equals or name not in SETTINGS:
            raise UsageError(
                f"unknown setting `{part.strip()}` in `simulated:{text}`",
                help=f"write NAME=NUMBER, separated by commas; there are {', '.join(SETTINGS)}",
            )
        if name in given:
            raise UsageError(f"duplicate setting `{name}` in `simulated:{text}`")
        allowed, meaning = SETTINGS[name]
        try:
            given[name] = float(written)
        except ValueError:
            given[name] = math.nan
        if not math.isfinite(given[name]) or not allowed(given[name]):
            raise UsageError(f"`simulated:{text}`: invalid `{name}`: `{written}`", help=f"it is {meaning}")
    arguments: dict[str, Any] = {name: given[name] for name in ("rpm", "tpm") if name in given}
    if "failures" in given:
        arguments["failure_rate"] = given["failures"]
    if "n" in given:
        arguments["batch"] = int(given["n"])
    if latency := {name: given[name] for name in ("base_s", "per_token_s", "spread") if name in given}:
        arguments["latency"] = structs.replace(latency_of, **latency, source="as given")
    return arguments


@final
class SimulatedModel(Model):
    """A model whose completions are made up by simulator functions, one per prompt, by the prompt's name.

    - `price` and `latency` are those of gpt-3.5-turbo unless given; a price of None is unknown.
    - `batch` is the maximum number of completions in one request (1: an endpoint that refuses `n`).
    - `failure_rate`, from 0 to 1, is the share of requests that fail temporarily; such a request is sent
      again up to `retries` times, and raises a retryable ModelError after that.
    - `rpm` and `tpm` limit requests and tokens per minute.
    - `sleep` waits for some seconds (`asyncio.sleep` on a `VirtualTimeLoop`). Without it completions arrive
      at once and only report their latency; neither limits nor failures delay anything.
    - `version` identifies the simulator's code. It is part of the model's name, so that no cache returns the
      completions of another version; the completions do not depend on it.
    - `declared` is the name of one of the models that the simulator declares.

    Raises UsageError for a batch below 1 and for a failure_rate outside 0 to 1.
    """

    about = "the program's own simulator, free of charge (`simulated:rpm=60` simulates a limit)"
    batches = False
    simulated = True
    tools = True
    price: Price | None = None
    batch = 128

    def __init__(
        self,
        simulators: Mapping[str, Simulator],
        *,
        seed: int = 0,
        price: Price | None = GPT_35_TURBO,
        latency: Latency = GPT_35_TURBO_LATENCY,
        batch: int = 128,
        failure_rate: float = 0.0,
        retries: int = 0,
        rpm: float | None = None,
        tpm: float | None = None,
        sleep: Callable[[float], Awaitable[object]] | None = None,
        version: str = "",
        declared: str = NAME,
    ) -> None:
        if batch < 1:
            raise UsageError(f"batch is {batch}: a request asks for at least one completion")
        if not 0 <= failure_rate <= 1:
            raise UsageError(f"failure_rate is {failure_rate}: it is a share, from 0 to 1")
        self._plain = NAME if declared == NAME else f"{NAME}:{declared}"
        self.name = f"{self._plain}@{version}" if version else self._plain
        self.price = price
        self.batch = batch
        self._simulators = dict(simulators)
        self._context = {name: _context(f) for name, f in self._simulators.items()}
        self._seed = seed
        self._latency = latency
        self._failure_rate = failure_rate
        self._retries = retries
        self._sleep = sleep
        self._rates = (rpm, tpm)
        self._limited = sleep is not None and self._rates != (None, None)
        self._estimates = TokenEstimates()
        self._chance = random.Random(seed)
        self._failed: dict[tuple[str, int], int] = {}

    @classmethod
    def open(cls, name: str, options: ModelOptions) -> SimulatedModel:
        """The simulator of the program in `options`; `name` holds its settings."""
        declared, settings, price, latency = _chosen(name, options)
        limits = {"rpm": options.rpm, "tpm": options.tpm}
        return cls(
            options.simulators,
            seed=options.seed,
            retries=DEFAULT_RETRIES if options.retries is None else options.retries,
            sleep=asyncio.sleep if options.sleep else None,
            version=options.version,
            price=price,
            declared=declared,
            **({"latency": latency} | limits | read_settings(settings, latency)),
        )

    @classmethod
    def known_price(cls, name: str, options: ModelOptions) -> Price | None:
        """The simulated price."""
        return _chosen(name, options)[2]

    @cached_property
    def _limits(self) -> EndpointGate:
        return EndpointGate(*self._rates, clock=asyncio.get_running_loop().time)

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """Up to `batch` of n completions: the samples numbered from `first` on.

        Raises ModelError if the prompt has no simulator function, if that raises or does not return text,
        and, retryable, if the request failed more often than it is sent again.
        """
        ticket = self._limits.ticket() if self._limited else 0
        for attempt in itertools.count(1):
            try:
                reply = await self._send(request, n, first, permit, ticket)
                return reply if attempt == 1 else structs.replace(reply, requests=attempt)
            except ModelError as error:
                permit.failed(Usage())
                if error.retryable:
                    error.requests = attempt
                if not error.retryable or attempt > self._retries:
                    raise
            if self._sleep is not None:
                await self._sleep(back_off(attempt, self._chance))
        raise AssertionError("unreachable")

    async def _send(self, request: Request, n: int, first: int, permit: Permit, ticket: int) -> Reply:
        if not self._limited:
            await permit.send()
            return await self._complete(request, n, first, permit.listen)
        asked = min(n, self.batch)
        slot = await self._limits.acquire(ticket, lambda: self._estimates.of(request, asked))
        used: float | None = 0.0
        try:
            await permit.send()
            reply = await self._complete(request, n, first, permit.listen)
            self._estimates.learn(request, len(reply.completions), reply.usage)
            used = reply.usage.tokens
            return reply
        finally:
            self._limits.release(slot, used, {})

    async def _complete(self, request: Request, n: int, first: int, listen: Listener | None = None) -> Reply:
        key = structs.replace(request, model=self._plain).key()
        self._fail_sometimes(key, first)
        completions: list[Completion] = []
        latencies: list[float] = []
        firsts: list[float] = []
        for number in range(first, first + max(1, min(n, self.batch))):
            # At temperature 0 all samples are equal, as they would be from a model.
            sample = 0 if request.settings.temperature == 0 else number
            one = _calling(self._completion(request, self._random(key, sample, "answer")), request)
            if listen is not None:
                one = _streamed(one, partial(listen, number - first))
                firsts.append(self._latency.seconds(self._random(key, sample, "latency"), 1))
            completions.append(one)
            latencies.append(self._latency.seconds(self._random(key, sample, "latency"), one.output_tokens))
        latency = max(latencies)
        if self._sleep is not None:
            await self._sleep(latency)
        read = request_tokens(request.messages)
        read += sum(estimate_tokens(part) for tool in request.tools for part in structs.astuple(tool))
        thought = sum(estimate_tokens(one.reasoning) for one in completions)
        usage = Usage(read, sum(one.output_tokens for one in completions), 0, thought)
        silent = request.settings.logprobs and any(one.logprob is None for one in completions)
        note = (
            f"no log-probability: the simulator {request.prompt} does not return `Simulated(text, logprob)`"
        )
        return Reply(
            tuple(completions),
            usage,
            latency,
            notes=(note,) if silent else (),
            latencies_s=tuple(latencies),
            first_s=min(firsts, default=None),
        )

    def _random(self, key: str, number: int, purpose: str) -> random.Random:
        digest = hashlib.sha256(f"{self._seed}/{key}/{number}/{purpose}".encode()).digest()
        return random.Random(int.from_bytes(digest[:8], "big"))

    def _fail_sometimes(self, key: str, first: int) -> None:
        if not self._failure_rate:
            return
        attempt = self._failed.get((key, first), 0)
        if self._random(key, first, f"failure {attempt}").random() < self._failure_rate:
            self._failed[key, first] = attempt + 1
            raise ModelError("the simulated endpoint is overloaded (failure_rate)", retryable=True)
        self._failed.pop((key, first), None)

    def _completion(self, request: Request, rng: random.Random) -> Completion:
        result = self._call(request, rng)
        most = request.settings.max_tokens
        thought = [] if isinstance(result, str) else split_tokens(result.reasoning)[:most]
        one = self._written(request, result, most - len(thought))
        if thought:
            tokens = one.output_tokens + len(thought)
            one = structs.replace(one, output_tokens=tokens, reasoning="".join(thought))
        return one

    def _written(self, request: Request, result: str | Simulated, most: int) -> Completion:
        """The text after the reasoning, with at most this number of tokens."""
        whole = result if isinstance(result, str) else result.text
        text = whole
        for stop in request.settings.stop:
            text = text.partition(stop)[0] if stop else text
        given = () if isinstance(result, str) else result.tokens
        tokens = split_tokens(text)
        if given:
            ends = itertools.accumulate(len(token) for token, _, _ in given)
            given = tuple(token for token, end in zip(given, ends, strict=True) if end <= len(text))
            tokens = [token for token, _, _ in given]
        finish_reason = "stop"
        if len(tokens) > most:
            tokens = tokens[:most]
            text, finish_reason = "".join(tokens), "length"
        if isinstance(result, str) or not request.settings.logprobs:
            return Completion(text, finish_reason, output_tokens=len(tokens))
        if given:
            given = given[: len(tokens)]
            each = tuple((token, logprob) for token, logprob, _ in given)
            shown = request.settings.top_logprobs
            likeliest = tuple(some[:shown] for _, _, some in given) if shown else ()
            total = math.fsum(logprob for _, logprob in each)
            return Completion(text, finish_reason, total, each, len(each), alternatives=likeliest)
        share = 1.0 if text == whole else len(tokens) / estimate_tokens(whole)
        logprob = result.logprob * share
        each = tuple((token, logprob / len(tokens)) for token in tokens)
        return Completion(text, finish_reason, logprob, each, len(tokens))

    def _call(self, request: Request, rng: random.Random) -> str | Simulated:
        simulator = self._simulators.get(request.prompt)
        if simulator is None:
            parameters = ", ".join(["rng", *request.arguments])
            raise ModelError(
                f"no simulator for the prompt {request.prompt}",
                help=f"write `def {request.prompt}({parameters}):`, returning the text a model would write,"
                " in the file that `simulate with` names, or choose a real model with --model",
            )
        context = {name: CONTEXT[name](request) for name in self._context[request.prompt]}
        try:
            result = simulator(rng, **(context | dict(request.arguments)))
        except NotSimulated as error:
            raise OutsideSimulation(
                f"the simulator {_place(simulator)} does not simulate this: {error}",
                help="choose a real model with --model",
            ) from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # `sys.exit()` ends the simulator, not the run
            raise ModelError(_located(simulator, request, error)) from error
        if not isinstance(result, str | Simulated):
            raise ModelError(
                f"the simulator {_place(simulator)} returned {type(result).__name__}, not text",
                help="return the raw text that a model would write, such as `str(result)`",
            )
        tokens = () if isinstance(result, str) else result.tokens
        if tokens and "".join(token for token, *_ in tokens) != getattr(result, "text", ""):
            raise ModelError(f"the simulator {_place(simulator)} returned tokens that are not its text's")
        return result


def _streamed(one: Completion, listen: Callable[[str, Callable[[], Completion]], bool]) -> Completion:
    """A completion up to the point where its listener ends it, token by token."""
    tokens = [token for token, _ in one.tokens] or split_tokens(one.text)
    for count, text in enumerate(itertools.accumulate(tokens), 1):
        if listen(text, partial(one.until, len(text))) and count < len(tokens):
            return structs.replace(one.until(len(text)), output_tokens=count)
    return one


def _calling(one: Completion, request: Request) -> Completion:
    """A completion whose tool calls are structured, if the request has tools, and not only text."""
    if not request.tools:
        return one
    from gotlang.answers.calls import written_calls

    found = written_calls(one.text, [tool.name for tool in request.tools])
    if not found:
        return one
    turn = sum(message.role == "assistant" for message in request.messages)
    calls = tuple(ToolCall(f"call_{turn}_{i}", each.name, each.arguments) for i, each in enumerate(found))
    return structs.replace(
        one, text=one.text[: found[0].start].rstrip(), calls=calls, finish_reason="tool_calls"
    )


def _chosen(text: str, options: ModelOptions) -> tuple[str, str, Price, Latency]:
    """The name of a declared model before its settings, these, its price and its latency. Raises UsageError
    for options that cannot be parsed, also for those that only an endpoint needs."""
    if isinstance(options.base_url, str):
        from gotlang.models.endpoint import split_url, url_of

        split_url(url_of(options.base_url))
    name, _, rest = text.partition(",")
    if not text or "=" in name:
        return NAME, text, _own_price(NAME, options) or GPT_35_TURBO, GPT_35_TURBO_LATENCY
    models = options.declared()
    facts = models.get(name)
    if facts is None:
        known = ", ".join(f"`{NAME}:{one}`" for one in models)
        like = f'MODELS = {{"{name}": {{"input_per_million": 0.05, "output_per_million": 0.2}}}}'
        raise UsageError(
            f"the simulator declares no model `{name}`",
            help=f"it declares {known}" if known else f"in the simulator's file, write `{like}`",
        )
    given = {key: value for key, value in facts.items() if key.endswith("_s")}
    latency = structs.replace(GPT_35_TURBO_LATENCY, **given, source="declared by the simulator")
    prices = facts["input_per_million"], facts["output_per_million"]
    declared = Price(*prices, source=f"declared by the simulator of `{name}`")
    return name, rest, _own_price(name, options) or declared, latency


def _own_price(name: str, options: ModelOptions) -> Price | None:
    if options.prices is None:
        return None
    from gotlang.models.prices import own_price

    return own_price(name, options.prices)


def typical(
    rng: random.Random, temperature: float | None, *asked: object, usual: float = 1.0
) -> random.Random:
    """The random generator to respond to `asked` with, for simulators: below the temperature `usual`, the
    lower the more often, that of the model's typical response, which depends on `asked` only; else `rng`."""
    if temperature is not None and temperature < usual and rng.random() * usual >= temperature:
        return random.Random(repr(asked))
    return rng


def _context(simulator: Simulator) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(simulator).parameters
    except (TypeError, ValueError):  # a built-in without a signature
        return ()
    return tuple(name for name in CONTEXT if name in parameters)


def _file(simulator: Simulator) -> str:
    code = getattr(inspect.unwrap(simulator), "__code__", None)
    return code.co_filename if code else ""


def _place(simulator: Simulator, line: int | None = None) -> str:
    """`sort (sorting_sim.py, line 41)`: the line given, or the one where the function begins."""
    code = getattr(inspect.unwrap(simulator), "__code__", None)
    if code is None:
        return getattr(simulator, "__name__", type(simulator).__name__)
    return f"{code.co_name} ({Path(code.co_filename).name}, line {line or code.co_firstlineno})"


def _located(simulator: Simulator, request: Request, error: BaseException) -> str:
    """The error, at the last line of the simulator's own file in its traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == _file(simulator)]
    if not lines and isinstance(error, TypeError):
        given = ", ".join(["rng", *request.arguments])
        return f"the simulator {_place(simulator)} does not accept its prompt's arguments ({given}): {error}"
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"the simulator {_place(simulator, lines[-1] if lines else None)} raised {what}"
