"""Overhead of the cache, its claims and a shared budget per request, compared with a run without a cache.

    python benchmarks/coordination.py --rounds 9

The model responds immediately, after yielding to the event loop once, so all that is left is ours: a request
is looked up, claimed, reserved, marked as sent (which is synced to the disk), stored, read back and settled.
The four kinds of runs are interleaved, in one process, so that other load affects them equally. The table has
the median processor time over the rounds, and the minimum.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from measurement import options, report
from overhead import GRAPHS, HEAD, Immediate

from gotlang.api import Options, Session, compile
from gotlang.cache import open_cache
from gotlang.models.base import PERMITTED, Permit, Reply, Request


class Sending(Immediate):
    """Says that it sends, as models at an endpoint do: that is when samples are claimed."""

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        await permit.send()
        return await super().ask(request, n, first)


KINDS = ("no cache", "cache", "cache, claims", "cache, claims, budget")


async def one(kind: str, folder: Path, size: int) -> tuple[float, float]:
    """Seconds of wall and processor time per request of a run with an empty cache."""
    cache = None if kind == "no cache" else open_cache(folder / "cache.sqlite")
    if cache is not None and "claims" not in kind:
        cache.coordination = lambda: None  # type: ignore[method-assign]
    budget: dict[str, Any] = {"budget": "all", "max_calls": 10**9} if "budget" in kind else {}
    given = Options(model=Sending(), cache=cache, **budget)
    try:
        async with Session(compile(HEAD + GRAPHS["wide"], "graph.got"), given) as session:
            gc.collect()
            wall, processor = time.perf_counter(), time.process_time()
            result = await session.run({"n": size})
            took = time.perf_counter() - wall, time.process_time() - processor
    finally:
        if cache is not None:
            cache.close()
    requests = result.outcome.ledger.spent.requests
    assert requests == size
    return took[0] / requests, took[1] / requests


def rows(size: int, rounds: int) -> Iterator[tuple[Any, ...]]:
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for _ in range(rounds + 1):  # the first one warms up
        for kind in KINDS:
            with tempfile.TemporaryDirectory(dir=".") as folder:
                found[kind].append(asyncio.run(one(kind, Path(folder), size)))
    for kind in KINDS:
        walls, processors = zip(*found[kind][1:], strict=True)
        yield kind, size, 1e6 * median(processors), 1e6 * min(walls)


COLUMNS = {
    "run": "{}",
    "requests": "{:,}",
    "µs of processor time per request": "{:,.0f}",
    "µs per request": "{:,.0f}",
}


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--size", type=int, default=1000, help="requests of a run")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    report(given, COLUMNS, rows(given.size, given.rounds))
