"""Processor time and memory of an operation without its model call, compared with hand-written code.

    python benchmarks/overhead.py [--sizes 1000 100000] [--rounds 3] [--quick] [--langgraph PYTHON]
                                  [--graph-of-thoughts FOLDER] [--framework-of-thoughts FOLDER]

The model responds immediately, after yielding to the event loop once. By hand is `asyncio.gather` of the
calls (`wide`), a chain of plain `await` (`chain`) or one gather per level (`tree`). With 1,000 calls also
LangGraph, where an interpreter that has it is given, and Graph of Thoughts and Framework of Thoughts, where a
checkout is (`FOLDER/.venv/bin/python` runs it, if that is there). `peers.py` has all of them. Each
measurement is a process of its own; got and its peers take turns. The first figure, with its goal of 60
microseconds, is with garbage collection as it comes; for the ratios it is off on all sides. Figures are
medians of the rounds, with their range. `resident` is what the process grew by while the result is held, per
operation (goal: 1.5 KB).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measurement import options, report

from gotlang.api import Options, Session, compile
from gotlang.models.base import PERMITTED, Completion, Model, Permit, Reply, Request, Usage
from gotlang.result import Result

HEAD = """
prompt one(x: int) -> int:
    "{{ x }}"
prompt two(x: int, y: int) -> int:
    "{{ x }} {{ y }}"
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
}
"""Graphs of n model calls: parallel, sequential, and merged pairwise."""
PEERS = Path(__file__).with_name("peers.py")
PEER_CALLS = 1_000
FRAMEWORKS = {
    "langgraph": "LangGraph",
    "graph-of-thoughts": "Graph of Thoughts",
    "framework-of-thoughts": "Framework of Thoughts",
}


class Immediate(Model):
    """Responds immediately, each time with another text, so that no two requests are equal."""

    name, simulated, price, batch = "immediate", False, None, 1

    def __init__(self) -> None:
        self.numbers = itertools.count(1_000_000)

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        await asyncio.sleep(0)
        return Reply((Completion(str(next(self.numbers)), output_tokens=1),), Usage(5, 1), 0.0)


async def graph(name: str, size: int) -> tuple[float, Result]:
    """A run of a graph, and its processor time in seconds."""
    async with Session(compile(HEAD + GRAPHS[name], "graph.got"), Options(model=Immediate())) as session:
        started = time.process_time()
        result = await session.run({"n": size})
        return time.process_time() - started, result


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure(name: str, size: int, collect: bool) -> dict[str, Any]:
    """One run in this process."""
    asyncio.run(graph(name, 100))
    gc.collect()
    if not collect:
        gc.disable()
    before = resident()
    seconds, result = asyncio.run(graph(name, size))
    grown, operations = resident() - before, result.outcome.operations
    return {"seconds": seconds, "operations": operations, "bytes": grown / operations}


def process(command: list[str], *, needed: bool = True) -> dict[str, Any]:
    """What a process measured. If it fails, the last line of its errors is told, and ends the benchmark if it
    is needed."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        failed = f"`{shlex.join(command)}` failed: {(done.stderr.splitlines() or ['no output'])[-1]}"
        if needed:
            sys.exit(failed)
        print(failed, file=sys.stderr)
        return {}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def ours(name: str, size: int, *more: str) -> dict[str, Any]:
    """A run of ours in a separate process."""
    return process([sys.executable, __file__, "--measure", name, "--sizes", str(size), *more])


def by_hand(name: str, size: int) -> float:
    """Seconds by hand, in a separate process."""
    return float(process([sys.executable, str(PEERS), "by-hand", name, str(size)])["seconds"])


def framework(way: str, name: str, where: str | None) -> float | None:
    """Microseconds of a framework per call, in a separate process; None where it is not given, has no such
    graph in `peers.py`, or fails, as without the packages that it needs."""
    if where is None or (name == "tree" and way != "langgraph"):
        return None
    own = Path(where) / ".venv/bin/python"
    python = where if way == "langgraph" else str(own) if own.exists() else sys.executable
    checkout = [] if way == "langgraph" else ["--checkout", where]
    found = process([python, str(PEERS), way, name, str(PEER_CALLS), *checkout], needed=False)
    return 1e6 * float(found["seconds"]) / PEER_CALLS if found else None


def spread(values: list[float], digits: int) -> tuple[float, str]:
    """The median, and the range as text."""
    return statistics.median(values), f"{min(values):.{digits}f} to {max(values):.{digits}f}"


COLUMNS = {
    "graph": "{}",
    "calls": "{:,}",
    "operations": "{:,}",
    "µs per operation": "{:.1f}",
    "range": "{}",
    "goal": "{}",
    "µs per call, no collection": "{:.1f}",
    "by hand": "{:.1f}",
    "to by hand": "{:.1f}",
    "range ": "{}",
    **dict.fromkeys(FRAMEWORKS.values(), "{:,.0f}"),
    "resident per operation": "{:,.0f}",
    "goal ": "{}",
}


def rows(sizes: list[int], rounds: int, peers: dict[str, str | None]) -> Iterator[tuple[Any, ...]]:
    for name in GRAPHS:
        for size in sizes:
            found: list[dict[str, float]] = []
            for _ in range(rounds):
                kept, collected = ours(name, size), ours(name, size, "--collect")
                one = {**kept, "collected": collected["seconds"], "hand": by_hand(name, size)}
                for way, where in peers.items() if size == PEER_CALLS else ():
                    if (there := framework(way, name, where)) is not None:
                        one[way] = there
                found.append(one)
            operations = int(found[0]["operations"])
            each, shown = spread([1e6 * one["collected"] / operations for one in found], 1)
            times, ratios = spread([one["seconds"] / one["hand"] for one in found], 1)
            call, hand = (
                1e6 * statistics.median(o[what] for o in found) / size for what in ("seconds", "hand")
            )
            others = [statistics.median(o[way] for o in found) if way in found[0] else None for way in peers]
            memory = statistics.median(one["bytes"] for one in found)
            goals = ("60", "1,536") if size > PEER_CALLS else (None, None)
            yield (
                *(name, size, operations, each, shown, goals[0], call, hand, times, ratios, *others),
                *(memory if size > PEER_CALLS else None, goals[1]),
            )


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one round, of 1,000 and 20,000 calls")
    parser.add_argument("--langgraph", metavar="PYTHON")
    parser.add_argument("--graph-of-thoughts", metavar="FOLDER")
    parser.add_argument("--framework-of-thoughts", metavar="FOLDER")
    parser.add_argument("--measure", choices=GRAPHS, help=argparse.SUPPRESS)
    parser.add_argument("--collect", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure, given.sizes[0], given.collect)))
    else:
        sizes, rounds = ([PEER_CALLS, 20_000], 1) if given.quick else (given.sizes, given.rounds)
        peers = {way: getattr(given, way.replace("-", "_")) for way in FRAMEWORKS}
        report(given, COLUMNS, rows(sizes, rounds, peers))
