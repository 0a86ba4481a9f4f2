"""Requests sent twice when four processes share one cache on the same data set.

    python benchmarks/sharing.py [--rows 10]

sort128 on a local endpoint that takes 50 ms per response, without early stopping: by one process, by four
that start at the same moment, and by four that start a quarter of a second apart. `last repeat` is the
longest time between the first and the last copy of a request, in wall time; `locked` says whether a process
met a locked file, and `same results` whether all results equal those of the one process.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measurement import options, report
from support.gotc import SORT128, digits, document, gotc, start
from support.openai_server import OpenAIServer
from support.sorter import Sorter

LATENCY_S = 0.05
PROCESSES = 4


def shared(found: dict[str, Any]) -> list[Any]:
    """The part of the results that does not depend on the cache."""
    return [[run[name] for name in ("row", "score", "correct")] for run in found["runs"]]


def measure(
    folder: Path, command: tuple[object, ...], alone: dict[str, Any], gap_s: float
) -> tuple[Any, ...]:
    """A row of the table: four processes that start so many seconds apart."""
    with OpenAIServer(Sorter(by="place"), latency_s=LATENCY_S) as server:
        running = []
        for _ in range(PROCESSES):
            running.append(
                start(*command, "--base-url", server.url, "--cache", f"shared{gap_s}.sqlite", cwd=folder)
            )
            time.sleep(gap_s)
        ended = [process.communicate(timeout=600) for process in running]
    same = all(shared(json.loads(out)) == shared(alone) for out, _ in ended)
    locked = any("lock" in errors.lower() for _, errors in ended)
    made = defaultdict(list)
    for seen in server.requests:
        made[json.dumps(seen.body, sort_keys=True)].append(seen.at)
    latest = max(max(times) - min(times) for times in made.values())
    calls = ", ".join(f"{json.loads(out)['spent']['calls']:,}" for out, _ in ended)
    name = f"{PROCESSES}, started {gap_s:g} s apart"
    return name, len(made), len(server.requests), latest, calls, yes(locked), yes(same)


def yes(value: bool) -> str:
    return "yes" if value else "no"


COLUMNS = {
    "processes": "{}",
    "distinct requests": "{:,}",
    "sent": "{:,}",
    "last repeat": "{:.2f} s",
    "calls of each process": "{}",
    "locked": "{}",
    "same results": "{}",
}


def rows(count: int) -> Iterator[tuple[Any, ...]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = ("--data", digits(folder, count), "--map", "numbers=Unsorted", "--json", "-O", "1")
        command = ("eval", SORT128, *data, "--model", "openai:small")
        with OpenAIServer(Sorter(by="place"), latency_s=LATENCY_S) as server:
            address = ("--base-url", server.url, "--cache", "alone.sqlite")
            alone = document(gotc(*command, *address, cwd=folder))
        sent = len(server.requests)
        yield "1", sent, sent, None, f"{alone['spent']['calls']:,}", "no", None
        for gap_s in (0.0, 0.25):
            yield measure(folder, command, alone, gap_s)


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, default=10)
    given = parser.parse_args()
    report(given, COLUMNS, rows(given.rows))
