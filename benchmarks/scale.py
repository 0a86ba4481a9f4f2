"""The engine `ray` on a cluster of several nodes on this machine, with a real PostgreSQL and a real server.

    python benchmarks/scale.py speed     rows per second on 1, 2 and 4 nodes, and what the engine costs on one
    python benchmarks/scale.py kills     50 kills at random, at 60% of the money that is needed
    python benchmarks/scale.py rows      2,000 rows, a node killed, the driver killed and started again

`speed`: calls of 200 ms, 8 in flight on a node, three calls per row. A rate is from the first request to the
last answer, so that starting is not in it; the embedded engine has the same limit. Arms take turns.

`kills` and `rows` compare with the embedded engine. All end with exit code 1 where a claim does not hold.
`--write` writes benchmarks/results/scale/NAME.json.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from measurement import LOAD, RESULTS, Measurement, options
from support.caches import postgres_schema
from support.cluster import cluster, workers
from support.gotc import start, vote
from support.openai_server import Body, OpenAIServer

from gotlang.cache import open_cache

NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
PRICES = "[small]\ninput_per_million = 100\noutput_per_million = 400\n"


def answer(body: Body, index: int) -> str:
    """How long a question is."""
    return f"It is {len(str(body['messages'][-1]['content']))}."


def folder_with(rows: int) -> Path:
    """A program and its data."""
    folder = Path(tempfile.mkdtemp(prefix="scale-"))
    vote(folder)
    lines = "".join(f"{n} {'why ' * (n % 20)}?,{n}\n" for n in range(rows))
    (folder / "q.csv").write_text(f"question,truth\n{lines}")
    (folder / "p.toml").write_text(PRICES)
    return folder


def command(server: OpenAIServer, cache: str, *more: object) -> tuple[object, ...]:
    """An evaluation of it, each call a request of its own."""
    model = ("--model", "openai:small", "--base-url", server.url, "--prices", "p.toml", "--no-batching")
    return (
        "eval",
        "vote.got",
        "--data",
        "q.csv",
        "--json",
        "--prefer",
        "latency",
        *model,
        "--cache",
        cache,
        *more,
    )


def ended(process: subprocess.Popen[str], *codes: int) -> dict[str, Any]:
    """The document of a process that ended with one of these codes."""
    out, err = process.communicate(timeout=900)
    if process.returncode not in codes:
        sys.exit(f"exit code {process.returncode}: {err}")
    try:
        found: dict[str, Any] = json.loads(out)
    except ValueError:
        sys.exit(f"not JSON: {out[:2000]!r} {err}")
    return found


def told(found: Any) -> Any:
    """A document without times, without what was paid, and without the server's port."""
    if isinstance(found, dict):
        left = ("seconds", "spent", "endpoints")
        return {name: told(value) for name, value in found.items() if name not in left}
    return [told(one) for one in found] if isinstance(found, list) else found


# ---------------------------------------------------------------- speed


def used(process: subprocess.Popen[str], found: Any) -> tuple[float, float]:
    """Processor seconds of a command and of the workers of its cluster, to its end."""
    seconds, over = {process.pid: 0.0}, threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            for pid in (process.pid, *(workers(found) if found is not None else ())):
                with suppress(OSError):
                    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                    ticks = int(fields[11]) + int(fields[12])
                    seconds[pid] = max(seconds.get(pid, 0.0), ticks / os.sysconf("SC_CLK_TCK"))

    watching = threading.Thread(target=watch)
    watching.start()
    ended(process, 0)
    over.set()
    watching.join()
    return seconds[process.pid], sum(seconds.values()) - seconds[process.pid]


def rate(nodes: int, rows: int) -> tuple[float, float]:
    """Rows per second, and processor milliseconds per row of command and workers; 0 nodes: embedded."""
    folder = folder_with(rows)
    with OpenAIServer(answer, latency_s=0.2) as server, postgres_schema() as cache:
        if not nodes:
            return _rate(server, start(*command(server, cache, "--concurrency", 8), cwd=folder), rows, None)
        with cluster(nodes) as found:
            more = ("--concurrency", 8, "--engine", "ray", "--address", found.address)
            return _rate(server, start(*command(server, cache, *more), cwd=folder), rows, found)


def _rate(server: OpenAIServer, process: subprocess.Popen[str], rows: int, found: Any) -> tuple[float, float]:
    seconds = sum(used(process, found))
    at = [seen.at for seen in server.requests]
    return rows / (max(at) + 0.2 - min(at)), 1000 * seconds / rows


def speed(rounds: int) -> Iterator[list[Any]]:
    """The table of rates."""
    found: dict[int, list[tuple[float, float]]] = {0: [], 1: [], 2: [], 4: []}
    for _ in range(rounds):
        for nodes, rates in found.items():
            rates.append(rate(nodes, 120 * max(1, nodes)))
            print(nodes, rates[-1], file=sys.stderr, flush=True)
    one = median(r for r, _ in found[1])
    for nodes, rates in found.items():
        each = sorted(r for r, _ in rates)
        middle = median(each)
        yield [
            "embedded" if not nodes else f"{nodes} node" + "s" * (nodes > 1),
            middle,
            each[0],
            each[-1],
            middle / one,
            {2: "1.9", 4: "3.6"}.get(nodes),
            median(p for _, p in rates),
        ]


# ---------------------------------------------------------------- kills


def kills(number: int) -> Iterator[list[Any]]:
    """Evaluations on three nodes with 60% of the money that they need, each with a random kill."""
    rows, chance = 30, random.Random(17)
    folder = folder_with(rows)
    with OpenAIServer(answer, latency_s=0.1) as server, postgres_schema() as cache:
        alone = ended(start(*command(server, cache), cwd=folder), 0)
        need = alone["spent"]["usd"]
    values = {run["row"]: told(run) for run in alone["runs"]}
    limit = round(0.6 * need, 6)
    with cluster(2) as found:
        for trial in range(number):
            kind, moment = ("worker", "node", "driver")[trial % 3], chance.randrange(2, 40)
            with OpenAIServer(answer, latency_s=0.1) as server, postgres_schema() as cache:
                yield [
                    trial,
                    kind,
                    moment,
                    *_killed(found, server, cache, folder, kind, moment, limit, values),
                ]


def _killed(
    found: Any,
    server: OpenAIServer,
    cache: str,
    folder: Path,
    kind: str,
    moment: int,
    limit: float,
    values: dict[int, Any],
) -> list[Any]:
    third = found.add_node(**NODE)
    more = (
        "--budget",
        "all",
        "--max-usd",
        limit,
        "--concurrency",
        4,
        "--engine",
        "ray",
        "--address",
        found.address,
    )
    before = set(workers(found))
    process = start(*command(server, cache, *more), cwd=folder)
    end = time.monotonic() + 90
    while len(server.requests) < moment and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    if kind == "driver":
        process.kill()
        process.communicate()
        process = start(*command(server, cache, *more), cwd=folder)
    elif kind == "node":
        found.remove_node(third, allow_graceful=False)
    elif running := sorted(set(workers(found)) - before):
        os.kill(running[moment % len(running)], signal.SIGKILL)
    result = ended(process, 0, 3)
    if kind != "node":
        found.remove_node(third)
    charged = sum(
        (Fraction(seen.charged.input_tokens) * 100 + Fraction(seen.charged.output_tokens) * 400) / 10**6
        for seen in server.requests
    )
    store = open_cache(cache)
    try:
        coordination = store.coordination()
        assert coordination is not None
        budget = next(one for one in coordination.budgets() if one.name == "all")
        counted = float(budget.used.usd)
        coordination.close()
    finally:
        store.close()
    wrong = [
        run["row"] for run in result["runs"] if run["state"] == "done" and told(run) != values[run["row"]]
    ]
    return [limit, round(float(charged), 6), round(counted, 6), round(counted / limit, 3), len(wrong)]


# ---------------------------------------------------------------- rows


def many_rows(rows: int) -> list[Any]:
    """A disturbed evaluation of many rows, compared with an undisturbed one."""
    folder = folder_with(rows)
    with OpenAIServer(answer, latency_s=0.1) as server, postgres_schema() as cache:
        alone = ended(start(*command(server, cache, "--concurrency", 24), cwd=folder), 0)
        needed = len(server.requests)
    with OpenAIServer(answer, latency_s=0.1) as server, postgres_schema() as cache, cluster(2) as found:
        extra = found.add_node(**NODE)
        more = ("--concurrency", 8, "--engine", "ray", "--address", found.address)
        process = start(*command(server, cache, *more), cwd=folder)
        while len(server.requests) < 0.3 * needed:
            time.sleep(0.01)
        found.remove_node(extra, allow_graceful=False)
        while len(server.requests) < 0.6 * needed:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        result = ended(start(*command(server, cache, *more), cwd=folder), 0)
        asked = len(server.requests)
    return [rows, needed, asked, asked - needed, 8 + 2 * 8, told(result) == told(alone)]


# ---------------------------------------------------------------- the command

COLUMNS = {
    "speed": {
        "rows run": "{}",
        "rows per second": "{:.1f}",
        "least": "{:.1f}",
        "most": "{:.1f}",
        "times one node": "{:.2f}",
        "goal": "{}",
        "processor ms per row": "{:.1f}",
    },
    "kills": {
        "trial": "{}",
        "killed": "{}",
        "after requests": "{}",
        "limit": "${}",
        "charged by the server": "${}",
        "charged or uncertain": "${}",
        "used": "{:.1%}",
        "wrong rows": "{}",
    },
    "rows": {
        "rows": "{:,}",
        "requests undisturbed": "{:,}",
        "requests": "{:,}",
        "twice": "{}",
        "in flight at the kills, at most": "{}",
        "equal but for times and spending": "{}",
    },
}


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("what", choices=COLUMNS, nargs="?", default="speed")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds, kills or rows")
    parser.add_argument("--number", type=int, help="rounds, kills or rows (default: 3, 50 and 2000)")
    given = parser.parse_args()
    tenth = 10 if given.quick else 1
    if given.what == "speed":
        rows = list(speed(given.number or max(1, 3 // tenth)))
        ok = all(row[4] >= float(row[5]) for row in rows if row[5])
    elif given.what == "kills":
        rows = []
        for row in kills(given.number or 50 // tenth):
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
        ok = all(row[4] <= row[3] and row[5] <= row[3] and row[6] >= 0.85 and not row[7] for row in rows)
    else:
        rows = [many_rows(given.number or 2000 // tenth)]
        ok = all(row[3] <= row[4] and row[5] for row in rows)
    line = f"python benchmarks/scale.py {given.what}" + (f" --number {given.number}" if given.number else "")
    machine = f"{os.cpu_count()} cores, Python {sys.version.split()[0]}"
    found = Measurement(
        time.strftime("%Y-%m-%d"), line, machine, round(LOAD, 1), given.note, COLUMNS[given.what], rows
    )
    print(found.json() if given.json else found.table())
    if given.write:
        (RESULTS / "scale" / f"{given.what}.json").write_text(found.json(), encoding="utf-8")
    sys.exit(0 if ok else 1)
