"""Wall time of sort128 where every call takes 50 ms, compared with its critical path and a lower bound.

    python benchmarks/wall.py [--rounds 5]

Time is real. The responses are simulated in advance, so that only waiting and orchestration are measured;
early stopping is off, so that every arm makes the same 151 calls. The bound is max(critical path, work /
limit), where work is the number of requests times 50 ms. The table has the fastest of the rounds.

That bound treats work as divisible. No schedule is faster than `turns`: the first calls of a level wait for
the levels before, those that depend on its last calls come after, and in between at most `limit` whole calls
run at a time.
"""

from __future__ import annotations

import asyncio
import csv
import json
import math
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from measurement import PROGRAMS, options, report

from gotlang.api import Options, Session, load
from gotlang.models.base import PERMITTED, Model, Permit, Reply, Request
from gotlang.models.simulated import SimulatedModel
from gotlang.runtime.graph import Graph, Operation, before
from gotlang.runtime.python import load_simulators
from gotlang.runtime.sampler.events import Asked, Event

PROGRAM = load(PROGRAMS / "sort128.got")
CALL_S = 0.05
ARMS: list[tuple[bool, int | None]] = [(True, None), (True, 16), (False, None), (False, 16), (False, 4)]
"""With request batching or without, and how many calls may be under way."""


class Slow(Model):
    """Responses computed in advance, each after 50 ms."""

    name, simulated, price, batch = "slow", False, None, 128

    def __init__(self) -> None:
        self.known: dict[tuple[str, int, int], Reply] = {}
        self.inside = SimulatedModel(load_simulators(PROGRAM.ir(), allowed=True))
        self.call_s = 0.0

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        key = (request.key(), n, first)
        if key not in self.known:
            self.known[key] = await self.inside.ask(request, n, first, permit)
        await asyncio.sleep(self.call_s)
        return self.known[key]


def numbers() -> list[int]:
    """The first list of the data."""
    with (PROGRAMS / "data" / "digits128.csv").open(newline="") as file:
        found: list[int] = json.loads(next(csv.DictReader(file))["Unsorted"])
        return found


def turns(graph: Graph, requests: Counter[Operation], limit: int) -> int:
    """The least number of sequential calls in which all can be made, `limit` at a time."""
    after: dict[Operation, int] = {}
    for operation in reversed(graph.ended):
        tail = after.setdefault(operation, 0) + (operation in requests)
        for source in before(operation):
            after[source] = max(after.get(source, 0), tail)
    levels = range(max(operation.hops for operation in requests) + 1)

    def between(head: int, tail: int) -> int:
        asked = sum(n for o, n in requests.items() if o.hops > head and after[o] >= tail)
        return head + math.ceil(asked / limit) + tail if asked else 0

    return max(between(head, tail) for head in levels for tail in levels)


async def measure(batching: bool, limit: int | None, rounds: int) -> tuple[Any, ...]:
    """A row of the table."""
    model = Slow()
    requests: Counter[Operation] = Counter()

    def observe(event: Event) -> None:
        if isinstance(event, Asked) and event.operation is not None:
            requests[event.operation] += 1 if batching else len(event.numbers)

    options = Options(model=model, batching=batching, level=1, concurrency=limit, observe=observe)
    async with Session(PROGRAM, options) as session:
        inputs = {"numbers": numbers()}
        outcome = (await session.run(inputs)).outcome
        path, count = outcome.hops * CALL_S, outcome.ledger.spent.requests
        best = path if limit is None else turns(outcome.graph, requests, limit) * CALL_S
        model.call_s, walls = CALL_S, []
        for _ in range(rounds):
            started, worked = time.perf_counter(), time.process_time()
            await session.run(inputs)
            walls.append((time.perf_counter() - started, time.process_time() - worked))
    bound = path if limit is None else max(path, count * CALL_S / limit)
    wall, processor = min(walls)
    state = "on" if batching else "off"
    return state, limit or "none", count, path, bound, best, wall, processor, wall / bound, wall / best


COLUMNS = {
    "request batching": "{}",
    "limit": "{}",
    "requests": "{}",
    "critical path": "{:.2f} s",
    "bound": "{:.3f} s",
    "turns": "{:.2f} s",
    "wall time": "{:.3f} s",
    "processor time": "{:.3f} s",
    "wall / bound": "{:.3f}",
    "wall / turns": "{:.3f}",
}


def rows(rounds: int) -> Iterator[tuple[Any, ...]]:
    for batching, limit in ARMS:
        yield asyncio.run(measure(batching, limit, rounds))


if __name__ == "__main__":
    given = options(__doc__, rounds=5, quick=1).parse_args()
    report(given, COLUMNS, rows(given.rounds))
