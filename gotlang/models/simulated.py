"""The simulated model: a program's own stand-ins answer its prompts, so that it runs without a model.

A stand-in is a plain function with the name of the prompt. It gets a seeded `random.Random` and the prompt's
arguments by keyword, and returns the raw text that a model would write:

    def sort(rng, numbers):
        return str(sorted(numbers))

What it answers depends on the identity of the call and the number of the draw alone, never on the order of
calls: the same program with other concurrency, batching or scheduling gives the same answers.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import random
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from gotlang.errors import ModelError, UsageError
from gotlang.models.base import PERMITTED, Completion, Model, Permit, Price, Reply, Request, Usage
from gotlang.models.tokens import estimate_tokens, split_tokens

NAME = "simulated"

GPT_35_TURBO = Price(
    input_per_million=0.50, output_per_million=1.50, source="simulated with the prices of gpt-3.5-turbo"
)
"""What the sorting runs of Framework of Thoughts paid: 57,572 prompt tokens were 2.88 cents of 4.98."""

_MESSAGE_TOKENS = 4
"""What the OpenAI chat format adds to each message: its role and two marks."""
_REPLY_TOKENS = 3
"""What it adds to open the reply."""


@final
@dataclass(frozen=True, slots=True)
class Simulated:
    """What a stand-in returns that says how sure it is: `logprob` is the natural logarithm (at most 0) of the
    probability of the whole text, and is spread evenly over its tokens."""

    text: str
    logprob: float


Simulator = Callable[..., str | Simulated]
"""A stand-in: `(rng, **arguments) -> text`. If it has a parameter `temperature` it gets the call's."""


@final
@dataclass(frozen=True, slots=True)
class Latency:
    """How long an answer takes: `base_s` seconds and `per_token_s` for each of its tokens, times a log-normal
    factor with mean 1 and `spread` as the standard deviation of its logarithm. `source` says whence."""

    base_s: float
    per_token_s: float
    spread: float
    source: str = ""

    def seconds(self, rng: random.Random, output_tokens: int) -> float:
        """One draw, in seconds."""
        factor = math.exp(rng.gauss(0.0, self.spread) - self.spread**2 / 2)
        return (self.base_s + self.per_token_s * output_tokens) * factor


GPT_35_TURBO_LATENCY = Latency(
    base_s=1.3,
    per_token_s=0.008,
    spread=0.33,
    source="fitted to Framework of Thoughts, Table 2 (sorting): 259 s for 112 calls of 125 answer tokens and"
    " 452 s for 100 calls of about 400, one after the other; 30 s and 39 s along the longest path",
)


@final
class SimulatedModel(Model):
    """A model whose answers are made up by stand-ins, one for each prompt, by the prompt's name.

    `price` and `latency` are those of gpt-3.5-turbo unless given; a price of None is unknown. `batch` is how
    many answers one request may ask for (1 stands for an endpoint that refuses `n`). `failure_rate`, from 0
    to 1, is the share of requests that fail with a retryable ModelError; asked again, the same request may
    succeed. `sleep` is awaited with each reply's latency in seconds (`asyncio.sleep` on a `VirtualTimeLoop`);
    without it replies come at once and only report their latency. `version` tells stand-ins from what they
    were before a change: it is part of the model's name, so that no cache gives an old one's answers for a
    new one's; what they answer does not depend on it. Raises UsageError for a batch below 1 and for a
    failure_rate that is no share.
    """

    simulated = True

    def __init__(
        self,
        simulators: Mapping[str, Simulator],
        *,
        seed: int = 0,
        price: Price | None = GPT_35_TURBO,
        latency: Latency = GPT_35_TURBO_LATENCY,
        batch: int = 128,
        failure_rate: float = 0.0,
        sleep: Callable[[float], Awaitable[object]] | None = None,
        version: str = "",
    ) -> None:
        if batch < 1:
            raise UsageError(f"batch is {batch}: a request asks for at least one answer")
        if not 0 <= failure_rate <= 1:
            raise UsageError(f"failure_rate is {failure_rate}: it is a share, from 0 to 1")
        self.name = f"{NAME}@{version}" if version else NAME
        self._simulators = dict(simulators)
        self._wants_temperature = {name: _wants_temperature(f) for name, f in self._simulators.items()}
        self._seed = seed
        self._price = price
        self._latency = latency
        self._batch = batch
        self._failure_rate = failure_rate
        self._sleep = sleep
        self._failed: dict[tuple[str, int], int] = {}

    @property
    def price(self) -> Price | None:
        """What tokens cost, or None where that is not known."""
        return self._price

    @property
    def batch(self) -> int:
        """How many answers one request may ask for."""
        return self._batch

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """Up to `batch` of n answers, the first of which is the sample numbered `first`.

        Raises ModelError where the prompt has no stand-in, where the stand-in raises or returns what is not
        text, and, retryable, for the share of requests that `failure_rate` says.
        """
        key = replace(request, model=NAME).key()
        self._fail_sometimes(key, first)
        answers: list[Completion] = []
        latencies: list[float] = []
        for index in range(first, first + max(1, min(n, self._batch))):
            # At temperature 0 every draw is the first one, as it would be from a model.
            drawn = 0 if request.settings.temperature == 0 else index
            answer = self._answer(request, self._random(key, drawn, "answer"))
            answers.append(answer)
            latencies.append(self._latency.seconds(self._random(key, drawn, "latency"), answer.output_tokens))
        latency = max(latencies)
        if self._sleep is not None:
            await self._sleep(latency)
        usage = Usage(_input_tokens(request), sum(answer.output_tokens for answer in answers))
        silent = request.settings.logprobs and any(answer.logprob is None for answer in answers)
        notes = (_no_confidence(request),) if silent else ()
        return Reply(tuple(answers), usage, latency, notes=notes, latencies_s=tuple(latencies))

    def _random(self, key: str, number: int, purpose: str) -> random.Random:
        digest = hashlib.sha256(f"{self._seed}/{key}/{number}/{purpose}".encode()).digest()
        return random.Random(int.from_bytes(digest[:8], "big"))

    def _fail_sometimes(self, key: str, draw: int) -> None:
        if not self._failure_rate:
            return
        attempt = self._failed.get((key, draw), 0)
        if self._random(key, draw, f"failure {attempt}").random() < self._failure_rate:
            self._failed[key, draw] = attempt + 1
            raise ModelError("the simulated endpoint is overloaded (failure_rate)", retryable=True)
        self._failed.pop((key, draw), None)

    def _answer(self, request: Request, rng: random.Random) -> Completion:
        said = self._call(request, rng)
        whole = said if isinstance(said, str) else said.text
        text = whole
        for stop in request.settings.stop:
            text = text.partition(stop)[0] if stop else text
        tokens = split_tokens(text)
        finish_reason = "stop"
        if len(tokens) > request.settings.max_tokens:
            tokens = tokens[: request.settings.max_tokens]
            text, finish_reason = "".join(tokens), "length"
        if isinstance(said, str) or not request.settings.logprobs:
            return Completion(text, finish_reason, output_tokens=len(tokens))
        kept = 1.0 if text == whole else len(tokens) / estimate_tokens(whole)
        logprob = said.logprob * kept
        each = tuple((token, logprob / len(tokens)) for token in tokens)
        return Completion(text, finish_reason, logprob, each, len(tokens))

    def _call(self, request: Request, rng: random.Random) -> str | Simulated:
        simulator = self._simulators.get(request.prompt)
        if simulator is None:
            parameters = ", ".join(["rng", *request.arguments])
            raise ModelError(
                f"no stand-in answers the prompt {request.prompt}",
                help=f"write `def {request.prompt}({parameters}):`, returning the text a model would write,"
                " in the file that `simulate with` names, or choose a real model with --model",
            )
        arguments = dict(request.arguments)
        if self._wants_temperature[request.prompt]:
            arguments.setdefault("temperature", request.settings.temperature)
        try:
            said = simulator(rng, **arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # `sys.exit()` ends the stand-in, and not the run
            raise ModelError(_told(simulator, request, error)) from error
        if not isinstance(said, str | Simulated):
            raise ModelError(
                f"the stand-in {_place(simulator)} returned {type(said).__name__}, not text",
                help="return the raw text that a model would write, such as `str(result)`",
            )
        return said


def _wants_temperature(simulator: Simulator) -> bool:
    try:
        return "temperature" in inspect.signature(simulator).parameters
    except (TypeError, ValueError):  # a built-in without a signature
        return False


def _no_confidence(request: Request) -> str:
    return f"no log-probability: the stand-in {request.prompt} says none, as `Simulated(text, logprob)` would"


def _input_tokens(request: Request) -> int:
    return _REPLY_TOKENS + sum(_MESSAGE_TOKENS + estimate_tokens(m.content) for m in request.messages)


def _file(simulator: Simulator) -> str:
    code = getattr(inspect.unwrap(simulator), "__code__", None)
    return code.co_filename if code else ""


def _place(simulator: Simulator, line: int | None = None) -> str:
    """`sort (sorting_sim.py, line 41)`: the line given, or the one where the function begins."""
    code = getattr(inspect.unwrap(simulator), "__code__", None)
    if code is None:
        return getattr(simulator, "__name__", type(simulator).__name__)
    return f"{code.co_name} ({Path(code.co_filename).name}, line {line or code.co_firstlineno})"


def _told(simulator: Simulator, request: Request, error: BaseException) -> str:
    """What went wrong, at the last line of the stand-in's own file that the error passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == _file(simulator)]
    if not lines and isinstance(error, TypeError):
        given = ", ".join(["rng", *request.arguments])
        return f"the stand-in {_place(simulator)} does not take what the prompt gives it ({given}): {error}"
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"the stand-in {_place(simulator, lines[-1] if lines else None)} raised {what}"
