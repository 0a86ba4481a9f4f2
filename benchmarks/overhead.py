"""Overhead of an operation beyond its model call, in time and memory, compared with a bare asyncio task.

    python benchmarks/overhead.py [--sizes 100 1000 10000 100000] [--rounds 3]

The model responds immediately, after yielding to the event loop once. A bare task acquires a semaphore of
the run's concurrency and calls the same model. Each pair is measured in a separate process, in processor
time; the table has the minimum of the rounds. Bytes are the peak that tracemalloc reports, less the thoughts
and their values, per operation. `growth` is the time per operation relative to the graph of 1,000 calls.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Coroutine, Iterator
from typing import Any

from measurement import options, report

from gotlang.api import Options, Session, compile
from gotlang.models.base import PERMITTED, Completion, Message, Model, Permit, Reply, Request, Usage
from gotlang.result import Result
from gotlang.runtime.context import DEFAULT_CONCURRENCY

HEAD = """
prompt one(x: int) -> int:
    "{{ x }}"
prompt two(x: int, y: int) -> int:
    "{{ x }} {{ y }}"
prompt parts(x: int) -> list[int]:
    "parts of {{ x }}"
"""
GRAPHS = {
    "wide": """
scheme graph(n: int) -> many int:
    foreach i in range(n):
        Generate() one(i)
""",
    "chain": """
scheme graph(n: int) -> int:
    Map() 0
    repeat n // 100 as i:
        repeat 100 as j:
            Generate() two(it, 100 * i + j)
""",
    "tree": """
scheme graph(n: int) -> int:
    reduce a, b in range(n + 1):
        Aggregate() two(a, b)
""",
    "dynamic": """
scheme graph(n: int) -> many int:
    foreach i in range(n // 9):
        Generate() parts(i)
        foreach j, part in enumerate(it):
            Generate() one(10 * i + j)
            if it >= 0:
                Generate() two(it, 10 * i + j)
""",
}
"""Graphs of about n model calls: parallel, sequential, merged pairwise, and decided by responses."""


CALLS = 50_000
"""Minimum number of calls of one measurement."""


class Immediate(Model):
    """Responds immediately, each time with another text, so that no two requests are equal."""

    name, simulated, price, batch = "immediate", False, None, 1

    def __init__(self) -> None:
        self.numbers = itertools.count(1_000_000)

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        await asyncio.sleep(0)
        text = "[4, 5, 6, 7]" if request.prompt == "parts" else str(next(self.numbers))
        return Reply((Completion(text, output_tokens=1),), Usage(5, 1), 0.0)


async def bare(calls: int) -> float:
    """So many calls with only a task and a semaphore around each; processor time in seconds."""
    semaphore, model = asyncio.Semaphore(DEFAULT_CONCURRENCY), Immediate()
    request = Request(model.name, (Message("user", "1"),))

    async def call() -> None:
        async with semaphore:
            await model.ask(request, 1)

    started = time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(calls):
            group.create_task(call())
    return time.process_time() - started


async def graph(name: str, size: int) -> tuple[float, Result]:
    """A run of a graph, and its processor time in seconds."""
    async with Session(compile(HEAD + GRAPHS[name], "graph.got"), Options(model=Immediate())) as session:
        started = time.process_time()
        result = await session.run({"n": size})
        return time.process_time() - started, result


def fresh(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine after a garbage collection."""
    gc.collect()
    return asyncio.run(work)


def seconds(name: str, size: int) -> dict[str, Any]:
    """One measurement of a graph and of as many bare calls: the mean over repeated runs for small graphs, so
    that other processes affect small and large graphs alike."""
    fresh(graph(name, 100))
    ours = alone = 0.0
    repeats = max(1, CALLS // size)
    for _ in range(repeats):
        took, result = fresh(graph(name, size))
        operations, calls = result.outcome.operations, result.outcome.ledger.spent.calls
        ours += took
        del result
        alone += fresh(bare(calls))
    return {"operations": operations, "calls": calls, "ours": ours / repeats, "bare": alone / repeats}


def size_of(result: Result) -> int:
    """Bytes of the thoughts of a run, with their values and parents."""
    operations = result.outcome.graph.operations
    thoughts = {id(t): t for operation in operations for t in operation.output}.values()
    return sum(sys.getsizeof(t) + sys.getsizeof(t.value) + sys.getsizeof(t.parents) for t in thoughts)


def peak(name: str, size: int) -> dict[str, Any]:
    """Bytes per operation at the peak of a run."""
    fresh(graph(name, 100))
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    _, result = fresh(graph(name, size))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"bytes": (most - before - size_of(result)) / result.outcome.operations}


def in_process(what: str, name: str, size: int) -> dict[str, Any]:
    """A measurement in a separate process."""
    command = [sys.executable, __file__, "--measure", what, "--graph", name, "--sizes", str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def row(name: str, size: int, rounds: int) -> tuple[Any, ...]:
    """A row of the table but for the growth."""
    found = [in_process("seconds", name, size) for _ in range(rounds)]
    operations, calls = found[0]["operations"], found[0]["calls"]
    ours, alone = min(x["ours"] for x in found), min(x["bare"] for x in found)
    times = 1e6 * ours / operations, 1e6 * ours / calls, 1e6 * alone / calls, ours / alone
    return name, operations, calls, *times, in_process("peak", name, size)["bytes"]


COLUMNS = {
    "graph": "{}",
    "operations": "{:,}",
    "calls": "{:,}",
    "µs per operation": "{:.1f}",
    "µs per call": "{:.1f}",
    "µs per bare call": "{:.1f}",
    "per call / bare": "{:.2f}",
    "bytes per operation": "{:,.0f}",
    "growth": "{:.2f}",
}


def rows(names: list[str], sizes: list[int], rounds: int) -> Iterator[tuple[Any, ...]]:
    for name in names:
        first = None
        for size in sizes:
            line = row(name, size, rounds)
            if size >= 1000:
                first = first or line[3]
            yield *line, line[3] / first if first else None


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--graph", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--measure", choices=["seconds", "peak"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps((seconds if given.measure == "seconds" else peak)(given.graph[0], given.sizes[0])))
        return
    report(given, COLUMNS, rows(given.graph, given.sizes, given.rounds))


if __name__ == "__main__":
    main()
