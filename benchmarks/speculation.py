"""Speculative sampling: wall time and requests of sort128 where each sample is a request of 50 ms.

    python benchmarks/speculation.py [--quick] [--rounds 5]

The choices between cost and latency (`--prefer`), and the same graph by hand in asyncio: all samples at once,
as most people write it, and one after another until one has no mistakes. The responses are known in advance,
so all find the same sorted list. `limit` is how many requests may be in flight. A request counts when it is
sent, since it may be charged even if it is then cancelled. Ratios are of one round; the table has medians.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from byhand import Recording, by_hand, mistakes, read
from measurement import options, report
from wall import CALL_S, PROGRAM, Slow, numbers

from gotlang.api import Options, Session
from gotlang.models.base import PERMITTED, Permit, Reply, Request

Times = Sequence[tuple[float, int]]
"""The seconds of a run, and its requests, by round."""
LIMITS = (None, 16, 4)
AT_ONCE, IN_ORDER = "by hand, all at once", "by hand, one after another"
PREFER = {"default": None, "`--prefer latency`": "latency", "`--prefer cost`": "cost"}


class Counted(Slow):
    """One sample per request; how many were sent."""

    batch = 1

    def __init__(self) -> None:
        super().__init__()
        self.sent = 0

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        self.sent += 1
        return await super().ask(request, n, first, permit)


def asking(model: Counted, limit: int | None, *, at_once: bool) -> Callable[..., Awaitable[list[str]]]:
    """A function that requests the samples of an operation: all, or until one has no mistakes."""
    free = asyncio.Semaphore(limit) if limit else nullcontext()

    async def one(request: Request, number: int) -> str:
        async with free:
            (found,) = (await model.ask(request, 1, number)).completions
            return found.text

    async def ask(request: Request, n: int, first: int) -> list[str]:
        samples = range(first, first + n)
        if at_once:
            return await asyncio.gather(*(one(request, number) for number in samples))
        texts: list[str] = []
        arguments = dict(request.arguments)
        source = arguments.get("numbers") or [*arguments.get("left", ()), *arguments.get("right", ())]
        for number in samples:
            texts.append(await one(request, number))
            if request.prompt != "split" and (list_ := read(texts[-1])) and not mistakes(list_, source):
                break
        return texts

    return ask


async def measure(limit: int | None, rounds: int) -> Iterator[tuple[Any, ...]]:
    """The rows of a limit."""
    model, inputs = Counted(), {"numbers": numbers()}
    recording = Recording(model)
    async with Session(PROGRAM, Options(model=recording, level=1)) as session:
        await session.run(inputs)

    async def gotc(prefer: str | None) -> tuple[float, Any]:
        async with Session(PROGRAM, Options(model=model, concurrency=limit, prefer=prefer)) as session:
            started = time.perf_counter()
            return started, (await session.run(inputs)).value

    async def hand(at_once: bool) -> tuple[float, Any]:
        started = time.perf_counter()
        return started, await by_hand(recording.requests, asking(model, limit, at_once=at_once))

    arms = {AT_ONCE: partial(hand, True), IN_ORDER: partial(hand, False)}
    arms |= {f"got, {name}": partial(gotc, prefer) for name, prefer in PREFER.items()}
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in arms}
    values, model.call_s = set(), CALL_S
    for _ in range(rounds):
        for name, run in arms.items():
            model.sent = 0
            started, value = await run()
            found[name].append((time.perf_counter() - started, model.sent))
            values.add(tuple(value))
    assert len(values) == 1, "all do the same"
    return (row(limit, name, times, found[AT_ONCE]) for name, times in found.items())


def row(limit: int | None, name: str, times: Times, by_hand: Times) -> tuple[Any, ...]:
    """A row of the table."""
    ratios = [ours / theirs for (ours, _), (theirs, _) in zip(times, by_hand, strict=True)]
    wall, sent = (statistics.median(column) for column in zip(*times, strict=True))
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    return limit or "none", name, round(sent), wall, statistics.median(ratios), spread


COLUMNS = {
    "limit": "{}",
    "way": "{}",
    "requests": "{}",
    "wall time": "{:.3f} s",
    "to all at once by hand": "{:.2f}",
    "range": "{}",
}


def rows(rounds: int) -> Iterator[tuple[Any, ...]]:
    for limit in LIMITS:
        yield from asyncio.run(measure(limit, rounds))


if __name__ == "__main__":
    given = options(__doc__, rounds=5, quick=1).parse_args()
    report(given, COLUMNS, rows(given.rounds))
