"""A model that charges: for every answer, for some requests that it then loses, at a price of its own.

What it charges is what the server's bill would say, counted apart from everything in the run.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

from msgspec.structs import replace
from support.orders import Delayed

from gotlang.errors import ModelError
from gotlang.models.base import PERMITTED, Permit, Reply, Request, Usage
from gotlang.runtime.sampler.budget import cost, worst_case

KINDS = ("refused", "lost", "charged", "fewer", "rubbish")


@dataclass
class Charging(Delayed):
    """A share of its requests go wrong in one of the ways of `kinds`, which rests on the request alone: it is
    refused, for nothing; lost, and charged at its worst; charged, with no answer; fewer answers come than
    were asked for; or what comes cannot be read. It sends up to `tries` times."""

    seed: int = 0
    share: float = 0.0
    kinds: tuple[str, ...] = KINDS
    tries: int = 3
    usd: Fraction = field(default=Fraction(0), init=False)
    answers: int = field(default=0, init=False)
    dearest: Fraction = field(default=Fraction(0), init=False)
    """The worst case of any request so far."""
    largest: int = field(default=0, init=False)
    """The most answers that any request asked for."""

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        chance = Random(hashlib.sha256(f"{self.seed}/{request.key()}/{first}".encode()).digest())
        worst = worst_case(request, n, self.price)
        self.dearest, self.largest = max(self.dearest, worst), max(self.largest, n)
        for attempt in range(1, self.tries + 1):
            kind = chance.choice(self.kinds) if chance.random() < self.share else "answered"
            reply = await super().ask(request, n, first, permit)
            if kind in {"refused", "lost", "charged"}:
                if kind == "lost":
                    self._charge(n, worst)
                elif kind == "charged":
                    self._charge(n, cost(self.price, reply.usage))
                permit.failed({"refused": Usage(), "lost": None, "charged": reply.usage}[kind])
                if attempt < self.tries:
                    await permit.again()
                continue
            if kind == "fewer":
                reply = replace(reply, completions=reply.completions[:1])
            if kind == "rubbish":
                reply = replace(
                    reply, completions=(replace(reply.completions[0], text="?"), *reply.completions[1:])
                )
            self._charge(len(reply.completions), cost(self.price, reply.usage))
            return replace(reply, requests=attempt)
        raise ModelError("gave up", requests=self.tries)

    def _charge(self, answers: int, usd: Fraction) -> None:
        self.answers += answers
        self.usd += usd
