"""A million calls of overhead.py's model from one process: in ten runs of 100,000 calls, and in one run.

    python benchmarks/million.py [--graph wide chain tree]
    python benchmarks/million.py --quick          one graph, in ten runs

Each row is a process of its own, with garbage collection on. The goals: 90 s of processor time, and 2 GB at
the peak of the process. The limits of one run are raised for this.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any

from measurement import options, report
from overhead import GRAPHS, graph, process

from gotlang.runtime import graph as graphs
from gotlang.runtime.sampler import sampler

CALLS = 1_000_000


def measure(name: str, runs: int) -> dict[str, float]:
    """So many runs in this process."""
    graphs.MAX_OPERATIONS = sampler.MAX_SAMPLES = 10 * CALLS
    started = time.process_time()
    for _ in range(runs):
        asyncio.run(graph(name, CALLS // runs))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": time.process_time() - started, "peak": peak}


COLUMNS = {
    "graph": "{}",
    "runs": "{}",
    "processor time": "{:.0f} s",
    "goal": "{}",
    "peak": "{:.2f} GB",
    "goal ": "{}",
}


def rows(names: list[str], quick: bool) -> Iterator[tuple[Any, ...]]:
    for name in names[: 1 if quick else None]:
        for runs in (10,) if quick else (10, 1):
            found = process([sys.executable, __file__, "--graph", name, "--runs", str(runs)])
            yield name, runs, found["seconds"], "90 s", found["peak"] / 1e9, "2 GB"


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--graph", nargs="+", choices=GRAPHS, default=["wide", "chain"])
    parser.add_argument("--quick", action="store_true", help="the first graph, in ten runs")
    parser.add_argument("--runs", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.runs:
        print(json.dumps(measure(given.graph[0], given.runs)))
    else:
        report(given, COLUMNS, rows(given.graph, given.quick))
