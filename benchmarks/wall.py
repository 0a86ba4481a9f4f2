"""How long sort128 takes when every call takes 50 ms: against its critical path, and against the bound
max(path, work / limit) where only so many calls may be under way.

    python benchmarks/wall.py [--rounds 5] [--json]

Time is real. The answers are those of the simulated model, made before, so that only the waiting and the
orchestration are measured; early stop is off, so that every arm asks for the same 151 answers. Work is the
number of requests times 50 ms. The table has the fastest of the rounds.

That bound takes work for a liquid. No schedule does better than `turns`: before the first calls of a level
can start the levels before have to end, and after the last of them those that wait for it are to come; in
between only `limit` whole calls go on at a time.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import math
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from gotlang.api import Options, Session, load
from gotlang.models.base import PERMITTED, Model, Permit, Reply, Request
from gotlang.models.simulated import SimulatedModel
from gotlang.runtime.graph import Graph, Operation, before
from gotlang.runtime.python import load_simulators
from gotlang.runtime.sampler.events import Asked, Event

ROOT = Path(__file__).parents[1]
PROGRAM = load(ROOT / "programs" / "sort128.got")
CALL_S = 0.05
ARMS: list[tuple[bool, int | None]] = [(True, None), (True, 16), (False, None), (False, 16), (False, 4)]
"""With request batching or without, and how many calls may be under way."""


class Slow(Model):
    """Answers known before, each after 50 ms."""

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
    with (ROOT / "programs" / "data" / "digits128.csv").open(newline="") as file:
        found: list[int] = json.loads(next(csv.DictReader(file))["Unsorted"])
        return found


def turns(graph: Graph, requests: Counter[Operation], limit: int) -> int:
    """The least number of calls in a row in which all can be made, `limit` at a time."""
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


async def measure(batching: bool, limit: int | None, rounds: int) -> dict[str, Any]:
    """A line of the table."""
    model = Slow()
    requests: Counter[Operation] = Counter()

    def observe(event: Event) -> None:
        if isinstance(event, Asked) and event.operation is not None:
            requests[event.operation] += 1 if batching else len(event.numbers)

    options = Options(model=model, batching=batching, early_stop=False, concurrency=limit, observe=observe)
    async with Session(PROGRAM, options) as session:
        inputs = {"numbers": numbers()}
        outcome = (await session.run(inputs)).outcome
        path, paid = outcome.hops * CALL_S, outcome.ledger.spent.requests
        best = path if limit is None else turns(outcome.graph, requests, limit) * CALL_S
        model.call_s, walls = CALL_S, []
        for _ in range(rounds):
            started, worked = time.perf_counter(), time.process_time()
            await session.run(inputs)
            walls.append((time.perf_counter() - started, time.process_time() - worked))
    bound = path if limit is None else max(path, paid * CALL_S / limit)
    return {
        "batching": batching,
        "limit": limit,
        "requests": paid,
        "path_s": path,
        "bound_s": bound,
        "turns_s": best,
        "wall_s": min(walls)[0],
        "processor_s": min(walls)[1],
        "ratio": min(walls)[0] / bound,
        "ratio_turns": min(walls)[0] / best,
    }


def table(lines: list[dict[str, Any]]) -> str:
    """The arms, each against its bound."""
    out = [
        "| request batching | limit | requests | critical path, s | bound, s | turns, s | wall, s "
        "| processor, s | wall / bound | wall / turns |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    out += [
        f"| {'yes' if x['batching'] else 'no'} | {x['limit'] or 'none'} | {x['requests']} "
        f"| {x['path_s']:.2f} | {x['bound_s']:.3f} | {x['turns_s']:.2f} | {x['wall_s']:.3f} "
        f"| {x['processor_s']:.3f} | {x['ratio']:.3f} | {x['ratio_turns']:.3f} |"
        for x in lines
    ]
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    lines = [asyncio.run(measure(batching, limit, given.rounds)) for batching, limit in ARMS]
    print(json.dumps(lines, indent=2) if given.json else table(lines))


if __name__ == "__main__":
    main()
