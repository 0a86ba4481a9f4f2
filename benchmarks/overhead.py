"""What an operation costs besides its model call: seconds and bytes, beside a bare asyncio task.

    python benchmarks/overhead.py [--sizes 100,1000,10000,100000] [--rounds 3] [--json]

The model answers at once, after giving the event loop one turn. A bare task waits for its turn at a semaphore
of as many places as a run may use, and asks the same model. Both are measured in this order again and again,
each pair in a process of its own, in seconds of the processor; the table has the smallest of each. Bytes are
those that tracemalloc counts at the peak of a run, less the thoughts with their values, for one operation.
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
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

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
        foreach part, j in it:
            Generate() one(10 * i + j)
            if it >= 0:
                Generate() two(it, 10 * i + j)
""",
}
"""Graphs of about n model calls: side by side, in a row, merged pairwise, and as answers say."""


CALLS = 50_000
"""Calls of one measurement, at least."""


class AtOnce(Model):
    """Answers at once, and never twice the same, so that no two operations ask the same."""

    name, simulated, price, batch = "at once", False, None, 1

    def __init__(self) -> None:
        self.answers = itertools.count(1_000_000)

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        await asyncio.sleep(0)
        text = "[4, 5, 6, 7]" if request.prompt == "parts" else str(next(self.answers))
        return Reply((Completion(text, output_tokens=1),), Usage(5, 1), 0.0)


async def bare(calls: int) -> float:
    """As many calls without anything around them but a task and a semaphore; seconds of the processor."""
    places, model = asyncio.Semaphore(DEFAULT_CONCURRENCY), AtOnce()
    request = Request(model.name, (Message("user", "1"),))

    async def call() -> None:
        async with places:
            await model.ask(request, 1)

    started = time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(calls):
            group.create_task(call())
    return time.process_time() - started


async def graph(name: str, size: int) -> tuple[float, Result]:
    """A run of a graph, and its seconds of the processor."""
    async with Session(compile(HEAD + GRAPHS[name], "graph.got"), Options(model=AtOnce())) as session:
        started = time.process_time()
        result = await session.run({"n": size})
        return time.process_time() - started, result


def fresh(work: Coroutine[Any, Any, Any]) -> Any:
    """Run something with nothing of what ran before in memory."""
    gc.collect()
    return asyncio.run(work)


def seconds(name: str, size: int) -> dict[str, Any]:
    """One measurement of a graph and of as many bare calls. Small ones are run over and over, and the mean
    counts: what else the machine does in a few seconds then weighs on small and large alike."""
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
    """Bytes of the thoughts of a run, with their values and what they came from."""
    operations = result.outcome.graph.operations
    thoughts = {id(t): t for operation in operations for t in operation.output}.values()
    return sum(sys.getsizeof(t) + sys.getsizeof(t.value) + sys.getsizeof(t.parents) for t in thoughts)


def peak(name: str, size: int) -> dict[str, Any]:
    """Bytes of an operation at the peak of a run."""
    fresh(graph(name, 100))
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    _, result = fresh(graph(name, size))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"bytes": (most - before - size_of(result)) / result.outcome.operations}


def elsewhere(what: str, name: str, size: int) -> dict[str, Any]:
    """A measurement in a process of its own."""
    command = [sys.executable, __file__, "--measure", what, "--graph", name, "--sizes", str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def row(name: str, size: int, rounds: int) -> dict[str, Any]:
    """A line of the table."""
    found = [elsewhere("seconds", name, size) for _ in range(rounds)]
    operations, calls = found[0]["operations"], found[0]["calls"]
    ours, alone = min(x["ours"] for x in found), min(x["bare"] for x in found)
    return {
        "graph": name,
        "operations": operations,
        "calls": calls,
        "us_per_operation": 1e6 * ours / operations,
        "us_per_call": 1e6 * ours / calls,
        "us_bare": 1e6 * alone / calls,
        "ratio": ours / alone,
        "bytes_per_operation": elsewhere("peak", name, size)["bytes"],
    }


def table(rows: list[dict[str, Any]]) -> str:
    """The rows, with how much dearer an operation gets from the smallest graph of 1,000 calls on."""
    out = [
        "| graph | operations | calls | µs an operation | µs a call | µs bare | a call / bare "
        "| against 1,000 | bytes an operation |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for line in rows:
        first = [x for x in rows if x["graph"] == line["graph"] and x["calls"] >= 990][:1]
        more = line["us_per_operation"] / first[0]["us_per_operation"] if first else 0.0
        out.append(
            f"| {line['graph']} | {line['operations']:,} | {line['calls']:,} "
            f"| {line['us_per_operation']:.1f} | {line['us_per_call']:.1f} | {line['us_bare']:.1f} "
            f"| {line['ratio']:.2f} | {f'{more:.2f}' if line['calls'] >= 990 else ''} "
            f"| {line['bytes_per_operation']:,.0f} |"
        )
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="100,1000,10000,100000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--graph", default=",".join(GRAPHS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", choices=["seconds", "peak"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    names, sizes = given.graph.split(","), [int(size) for size in given.sizes.split(",")]
    if given.measure:
        print(json.dumps((seconds if given.measure == "seconds" else peak)(names[0], sizes[0])))
        return
    rows = [row(name, size, given.rounds) for name in names for size in sizes]
    print(json.dumps(rows, indent=2) if given.json else table(rows))


if __name__ == "__main__":
    main()
