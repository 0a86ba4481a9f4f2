"""How a simulated endpoint behaves beside its answers: limits, failures, speed. For rehearsing a study.

    simulated:rpm=60,tpm=40000,failures=0.05

A request waits for its turn and is sent again after a failure as one to a real endpoint is, by the same code,
but on the run's virtual clock: an hour of waiting takes milliseconds and is reported as an hour. What is
answered does not change by any of it.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, final

from gotlang.errors import ModelError, UsageError
from gotlang.models.base import PERMITTED, Model, Permit, Price, Reply, Request, Usage
from gotlang.models.estimates import Estimates
from gotlang.models.limits import Limits
from gotlang.models.retries import back_off
from gotlang.models.simulated import GPT_35_TURBO_LATENCY, Latency, SimulatedModel

DEFAULT_RETRIES = 6
"""As many as for real endpoints."""


@final
@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What follows `simulated:`.

    - `rpm`, `tpm`: requests and tokens a minute that the endpoint allows (None: no limit);
    - `failures`: share of requests, from 0 to below 1, that fail and are sent again;
    - `n`: the most answers to ask for in one request;
    - `base_s`, `per_token_s`, `spread`: seconds that an answer takes, and for each of its tokens, times a
      log-normal factor of mean 1 whose logarithm has this deviation (default: those of gpt-3.5-turbo).
    """

    rpm: float | None = None
    tpm: float | None = None
    failures: float = 0.0
    n: int = 128
    base_s: float = GPT_35_TURBO_LATENCY.base_s
    per_token_s: float = GPT_35_TURBO_LATENCY.per_token_s
    spread: float = GPT_35_TURBO_LATENCY.spread

    @property
    def latency(self) -> Latency:
        """How long answers take."""
        given = Latency(self.base_s, self.per_token_s, self.spread, "as given")
        usual = GPT_35_TURBO_LATENCY
        return usual if replace(given, source=usual.source) == usual else given


def read_rehearsal(text: str) -> Rehearsal:
    """The settings in `rpm=60,failures=0.1`. Raises UsageError for a name or a value that means nothing."""
    allowed: dict[str, Callable[[float], bool]] = {
        "rpm": lambda value: value > 0,
        "tpm": lambda value: value > 0,
        "failures": lambda value: 0 <= value < 1,
        "n": lambda value: value >= 1 and value == int(value),
        "base_s": lambda value: value >= 0,
        "per_token_s": lambda value: value >= 0,
        "spread": lambda value: 0 <= value <= 3,
    }
    names = [field.name for field in fields(Rehearsal)]
    given: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, written = (piece.strip() for piece in part.partition("="))
        if not equals or name not in allowed:
            raise UsageError(
                f"`simulated:{text}` has `{part.strip()}`, which is no setting",
                help=f"write NAME=NUMBER with commas between; there are {', '.join(names)}",
            )
        if name in given:
            raise UsageError(f"`simulated:{text}` gives `{name}` twice")
        try:
            value = float(written)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or not allowed[name](value):
            raise UsageError(f"`simulated:{text}`: `{written}` cannot be `{name}`", help=_MEANS[name])
        given[name] = int(value) if name == "n" else value
    return Rehearsal(**given)


_MEANS = {
    "rpm": "it is how many requests a minute the endpoint allows, above 0",
    "tpm": "it is how many tokens a minute the endpoint allows, above 0",
    "failures": "it is the share of requests that fail, from 0 to below 1",
    "n": "it is the most answers to ask for in one request, 1 or more",
    "base_s": "it is the seconds an answer takes however short it is, 0 or more",
    "per_token_s": "it is the seconds each token of an answer takes, 0 or more",
    "spread": "it is the deviation of the logarithm of the time an answer takes, from 0 to 3",
}


@final
class RehearsedModel(Model):
    """A simulated model behind limits and failures.

    `virtual` says that it runs on a virtual clock. On a real one nothing is waited for: answers come at once,
    failures are made up for at once, and limits hold nobody up.
    """

    simulated = True

    def __init__(
        self,
        simulators: Mapping[str, Callable[..., Any]],
        rehearsal: Rehearsal,
        *,
        seed: int = 0,
        version: str = "",
        retries: int = DEFAULT_RETRIES,
        virtual: bool = False,
        price: Price | None = None,
    ) -> None:
        prices: dict[str, Any] = {} if price is None else {"price": price}
        self._model = SimulatedModel(
            simulators,
            seed=seed,
            latency=rehearsal.latency,
            batch=rehearsal.n,
            failure_rate=rehearsal.failures,
            sleep=asyncio.sleep if virtual else None,
            version=version,
            **prices,
        )
        self.name = self._model.name
        self._rehearsal = rehearsal
        self._retries = retries
        self._virtual = virtual
        self._estimates = Estimates()
        self._chance = random.Random(seed)

    @property
    def price(self) -> Price | None:
        """What tokens cost."""
        return self._model.price

    @property
    def batch(self) -> int:
        """How many answers one request may ask for."""
        return self._model.batch

    @cached_property
    def _limits(self) -> Limits:
        rehearsal = self._rehearsal
        return Limits(rehearsal.rpm, rehearsal.tpm, clock=asyncio.get_running_loop().time)

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """As `SimulatedModel.ask`, when its turn has come. `requests` of the reply counts those that failed.

        Raises ModelError where it failed more often than it may be sent again.
        """
        ticket = self._limits.ticket()
        for attempt in range(1, self._retries + 2):
            try:
                reply = await self._send(request, n, first, ticket, permit)
            except ModelError as error:
                if not error.retryable or attempt > self._retries:
                    error.requests = attempt
                    raise
                await self._pause(back_off(attempt, self._chance))
            else:
                return replace(reply, requests=attempt)
        raise AssertionError("the last attempt returns or raises")

    async def _send(self, request: Request, n: int, first: int, ticket: int, permit: Permit) -> Reply:
        if not self._virtual or (self._rehearsal.rpm is None and self._rehearsal.tpm is None):
            return await self._model.ask(request, n, first, permit)
        answers = min(n, self.batch)
        entered = await self._limits.enter(ticket, lambda: self._estimates.of(request, answers))
        taken: float | None = 0.0
        try:
            reply = await self._model.ask(request, n, first, permit)
            self._estimates.learn(request, len(reply.completions), reply.usage)
            taken = _tokens(reply.usage)
            return reply
        finally:
            self._limits.leave(entered, taken, {})

    async def _pause(self, seconds: float) -> None:
        if self._virtual:
            await asyncio.sleep(seconds)


def _tokens(usage: Usage) -> float:
    return float(usage.input_tokens + usage.output_tokens)
