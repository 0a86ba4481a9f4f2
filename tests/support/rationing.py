"""Clients that want more than an endpoint allows, on a virtual clock: what do they get, what is refused?"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass

from support.allowance import Allowance

from gotlang.models.limits import EndpointGate
from gotlang.models.loops import VirtualTimeLoop

INPUT, CEILING = 100, 600
"""Tokens of every prompt, and what a request may take at most. Answers have up to 200."""


@dataclass(frozen=True, slots=True)
class Rush:
    """`throughput` is the share used of what was allowed, `refused` the share of requests refused."""

    throughput: float
    refused: float


def rush(
    limits: EndpointGate,
    allowance: Allowance,
    *,
    minutes: float,
    latency_s: float,
    each_minute: Callable[[float], object] = lambda minute: None,
) -> Rush:
    """More requests than are allowed, all wanted at once, for so many minutes. Made for a `VirtualTimeLoop`
    that `limits` and `allowance` share; answers take between 0.3 and 1.7 times the latency. `each_minute` is
    called with the number of each minute that has passed."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(_rush(limits, allowance, minutes, latency_s, each_minute))


async def _rush(
    limits: EndpointGate,
    allowance: Allowance,
    minutes: float,
    latency_s: float,
    each_minute: Callable[[float], object],
) -> Rush:
    now, chance, numbers = asyncio.get_running_loop().time, random.Random(0), itertools.count()
    end = 60.0 * minutes
    mean, done = float(CEILING - INPUT), [0, 0]

    def cost() -> tuple[float, float]:
        return INPUT + mean, CEILING

    async def call() -> None:
        nonlocal mean
        ticket, tokens = limits.ticket(), INPUT + chance.randint(0, 200)
        for failures in itertools.count():
            entered = await limits.acquire(ticket, cost)
            number = next(numbers)
            await asyncio.sleep(chance.uniform(0.01, 0.05))
            said = allowance.admit(number, tokens, CEILING, now())
            headers = {name.lower(): value for name, value in said.headers.items()}
            if said.admitted:
                await asyncio.sleep(latency_s * chance.uniform(0.3, 1.7))
                allowance.settle(number, tokens, now())
                mean += 0.2 * (tokens - INPUT - mean)
                limits.release(entered, tokens, headers)
                done[0] += 1
                done[1] += CEILING if allowance.ceiling else tokens
                return
            wait = float(headers.get("retry-after") or min(30.0, 0.5 * 2**failures))
            limits.congested(entered, wait, refused=True)
            limits.release(entered, 0, headers)

    allowed = [a * minutes for a in (allowance.requests, allowance.tokens) if a is not None]
    wanted = int(min(a if i == 0 and allowance.requests else a / 200 for i, a in enumerate(allowed)) * 1.3)
    tasks = [asyncio.ensure_future(call()) for _ in range(wanted + 40)]
    for minute in range(1, int(minutes) + 1):
        asyncio.get_running_loop().call_at(60.0 * minute, each_minute, minute)
    await asyncio.sleep(end)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    shares = [done[0] / (allowance.requests * minutes)] if allowance.requests else []
    shares += [done[1] / (allowance.tokens * minutes)] if allowance.tokens else []
    return Rush(max(shares), allowance.refused / (allowance.refused + allowance.admitted))
