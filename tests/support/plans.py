"""Models that fail by plan: each request by what it asks for, so that a plan does not depend on the order."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from msgspec.structs import replace
from support.orders import Delayed

from gotlang.errors import ModelError
from gotlang.models.base import PERMITTED, Permit, Reply, Request, Usage

KINDS = (
    "error",
    "refusal",
    "time-out",
    "exception",
    "cancelled",
    "empty",
    "nothing",
    "fewer",
    "rubbish",
    "blank",
    "cut off",
    "nan",
)


@dataclass
class Failing(Delayed):
    """Fails a share of its requests, each in one of the ways of `kinds`. `told` is what it failed with."""

    seed: int = 0
    share: float = 0.3
    kinds: tuple[str, ...] = KINDS
    told: list[str] = field(default_factory=list)
    """A word of every failure that a run has to report."""

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        chance = Random(hashlib.sha256(f"{self.seed}/{request.key()}/{first}".encode()).digest())
        reply = await super().ask(request, n, first, permit)
        if chance.random() >= self.share:
            return reply
        kind = chance.choice(self.kinds)
        word = f"planned-{len(self.told)}"
        if kind in RAISED:
            self.told.append(word)
            raise RAISED[kind](word)
        if kind == "cancelled":
            self.told.append("gave up")
            raise asyncio.CancelledError
        if kind == "nothing":
            self.told.append("raised")
            return None  # type: ignore[return-value]
        if kind == "empty":
            self.told.append("returned no completion")
            return replace(reply, completions=())
        if kind == "fewer":
            one = reply.completions[0]
            usage = Usage(reply.usage.input_tokens, one.output_tokens)
            return replace(reply, completions=(one,), usage=usage)
        text = {"rubbish": "I would rather not say.", "blank": "", "cut off": "[3, ", "nan": "NaN"}[kind]
        changed = replace(reply.completions[0], text=text)
        return replace(reply, completions=(changed, *reply.completions[1:]))


RAISED: dict[str, Callable[[str], Exception]] = {
    "error": lambda word: ModelError(word, retryable=True, requests=1),
    "refusal": lambda word: ModelError(word, requests=1),
    "time-out": lambda word: ModelError(word, retryable=True, requests=3),
    "exception": lambda word: ZeroDivisionError(word),
}
