"""A simulation of the load of 10, 100 and 1,000 nodes on the driver, the database, the budget and a provider.

    python benchmarks/nodes.py --measure          the constants, measured on this machine
    python benchmarks/nodes.py --write            the simulation with the constants that were measured last

A call goes through stations, each with a queue: the processor of its node; the database, which has so many
cores; the row of the shared budget, which one transaction at a time may change, once for each call and once
for each reservation; and the provider, which answers after a while and lets so many calls through a second.
A row of so many calls ends with a turn of the driver. Each node keeps as many calls in flight as its limit.
Times of service are exponential around their means. Only the engine's work is simulated, no refusals and no
outages.
"""

from __future__ import annotations

import heapq
import json
import os
import random
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

from measurement import RESULTS, options, report

from gotlang.runtime.sampler.shared import LEASE_CALLS

CONSTANTS = RESULTS / "scale" / "constants.json"
DAY_S = 86_400
DAILY = 1e8
"""Calls a day that a provider allows in some of the settings: 1,157 a second."""


@dataclass(frozen=True)
class Constants:
    """Seconds of processor time, but for `row_s`: how long a transaction holds the row of a budget, on a
    server beside its client."""

    driver_row_s: float
    worker_call_s: float
    database_call_s: float
    budget_call_s: float
    row_s: float


@dataclass(frozen=True)
class Setting:
    """What is simulated: `trip_s` is a round trip to the database, `provider` calls a second that it allows,
    `calls_at_a_time` for how many calls a worker reserves at once."""

    nodes: int
    budget: bool = True
    cores: int = 16
    in_flight: int = 64
    latency_s: float = 1.0
    calls_a_row: int = 10
    trip_s: float = 0.0005
    provider: float = float("inf")
    calls_at_a_time: int = LEASE_CALLS


# ---------------------------------------------------------------- simulation


class Station:
    """A queue in front of so many servers; counts for how long they worked."""

    def __init__(self, servers: int) -> None:
        self.free, self.busy_s, self.servers = servers, 0.0, servers
        self.waiting: deque[tuple[int, float]] = deque()


def simulate(found: Constants, setting: Setting, calls: int, seed: int = 0) -> dict[str, float]:
    """Calls a second once queues have filled, and by station the share of the time for which it works."""
    chance, budget = random.Random(seed), setting.budget
    database = found.database_call_s + budget * found.budget_call_s
    stages = [("node", found.worker_call_s), ("database", database)]
    stages += [("budget", (1 + 1 / setting.calls_at_a_time) * (found.row_s + setting.trip_s))] * budget
    stages += [("provider", 1 / setting.provider)] * (setting.provider != float("inf"))
    stages += [
        ("", setting.latency_s + 6 * setting.trip_s),
        ("driver", found.driver_row_s / setting.calls_a_row),
    ]
    stations = {
        name: Station(setting.cores if name == "database" else 1) for name, _ in stages if name != "node"
    }
    nodes = [Station(1) for _ in range(setting.nodes)]
    events: list[tuple[float, int, int]] = []  # when a call (its number) ends a stage
    work: dict[int, float] = {}
    flights = setting.nodes * setting.in_flight
    now, ended, counted, start = 0.0, 0, 0, 0.0

    def station(call: int, stage: int) -> Station:
        return nodes[call % setting.nodes] if stages[stage][0] == "node" else stations[stages[stage][0]]

    def begin(call: int, stage: int) -> None:
        mean = stages[stage][1]
        if not stages[stage][0]:  # the provider's answer: nobody waits for another
            heapq.heappush(events, (now + mean * chance.uniform(0.5, 1.5), call, stage))
            return
        at = station(call, stage)
        if not at.free:
            at.waiting.append((call, mean))
            return
        serve(at, call, stage, mean)

    def serve(at: Station, call: int, stage: int, mean: float) -> None:
        at.free -= 1
        took = chance.expovariate(1 / mean) if mean else 0.0
        at.busy_s += took if start else 0.0
        heapq.heappush(events, (now + took, call, stage))

    for call in range(flights):
        work[call] = now
        begin(call, 0)
    while counted < calls:
        now, call, stage = heapq.heappop(events)
        if stages[stage][0]:
            at = station(call, stage)
            at.free += 1
            if at.waiting:
                following, mean = at.waiting.popleft()
                serve(at, following, stage, mean)
        if stage + 1 < len(stages):
            begin(call, stage + 1)
            continue
        ended += 1
        if start:
            counted += 1
        elif ended >= 2 * flights:
            start = now
        begin(call, 0)
    seconds = now - start
    used = {name: each.busy_s / seconds / each.servers for name, each in stations.items() if name}
    used["node"] = max(each.busy_s for each in nodes) / seconds
    return {"calls per second": counted / seconds, **used}


SETTINGS = [
    *(Setting(nodes) for nodes in (10, 100, 1000)),
    Setting(1000, calls_at_a_time=1),
    *(Setting(nodes, budget=False) for nodes in (100, 1000)),
    Setting(1000, budget=False, cores=64, calls_a_row=100),
    Setting(1000, provider=DAILY / DAY_S),
    Setting(1000, budget=False, provider=DAILY / DAY_S),
]


def rows(found: Constants) -> Iterator[list[object]]:
    """The table."""
    for setting in SETTINGS:
        done = simulate(found, setting, 40_000)
        rate = done.pop("calls per second")
        first = max(done, key=lambda name: done[name])
        most = setting.nodes * setting.in_flight / setting.latency_s
        yield [
            setting.nodes,
            setting.in_flight,
            setting.calls_a_row,
            f"{setting.calls_at_a_time} at a time" if setting.budget else "none",
            setting.cores,
            None if setting.provider == float("inf") else setting.provider,
            rate,
            rate * DAY_S / 1e6,
            rate / most,
            f"{first} {done[first]:.0%}",
            ", ".join(f"{name} {share:.0%}" for name, share in sorted(done.items()) if name != first),
        ]


COLUMNS = {
    "nodes": "{:,}",
    "in flight per node": "{}",
    "calls per row": "{}",
    "budget": "{}",
    "database cores": "{}",
    "provider, calls/s": "{:,.0f}",
    "calls/s": "{:,.0f}",
    "million per day": "{:,.1f}",
    "of calls in flight": "{:.0%}",
    "busiest": "{}",
    "others": "{}",
}


# ---------------------------------------------------------------- constants


def _requests(address: str, first: int, count: int, budget: bool) -> None:
    """What a call asks of the database: a look, a claim, its share of a reservation, a sample, their ends."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from support.caches import a_request, an_answer

    from gotlang.cache import open_cache
    from gotlang.cache.coordination import Charge

    cache = open_cache(address)
    shared = cache.coordination()
    assert shared is not None
    shared.make("all", Fraction(10**5), 10**9)
    most = Charge(1, Fraction(1, 10**4))
    for number in range(first, first + count):
        request = a_request(number)
        key = request.key()
        cache.get(key, [0])
        if budget and number % LEASE_CALLS == first % LEASE_CALLS:
            reserved = shared.reserve("all", Charge(LEASE_CALLS, LEASE_CALLS * most.usd)) or ""
        shared.claim(key, [0])
        cache.get(key, [0])
        if budget:
            shared.mark(f"{reserved}.{number}", f"{key}/0", reserved, most)
        cache.put(key, request, {0: an_answer()})
        if budget:
            shared.settle(f"{reserved}.{number}", most)
        shared.release(key, [0])
        shared.flush()
    shared.close()
    cache.close()


def _processor(server: int) -> float:
    fields = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _processes(rows: int) -> tuple[float, float]:
    """Processor seconds of a command, and of its worker, on so many rows of three calls."""
    from scale import answer, command, folder_with, used
    from support.caches import postgres_schema
    from support.cluster import cluster
    from support.gotc import start
    from support.openai_server import OpenAIServer

    folder = folder_with(rows)
    with OpenAIServer(answer) as http, postgres_schema() as schema, cluster(1) as ray:
        more = ("--engine", "ray", "--address", ray.address)
        return used(start(*command(http, schema, *more), cwd=folder), ray)


def measure() -> Constants:
    """On this machine, with four processes on one database."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from support import postgres
    from support.caches import postgres_schema

    context, count, costs = get_context("spawn"), 1500, {}
    for budget in (False, True):
        with postgres_schema() as schema:
            _requests(schema, 10**6, 1, budget)
            server = postgres._SERVERS[0].pid
            before = _processor(server)
            jobs = [
                context.Process(target=_requests, args=(schema, n * count, count, budget)) for n in range(4)
            ]
            for job in jobs:
                job.start()
            for job in jobs:
                job.join()
            time.sleep(0.5)
            costs[budget] = (_processor(server) - before) / (4 * count)
    with postgres_schema() as schema:
        from gotlang.cache import open_cache
        from gotlang.cache.coordination import Charge

        cache = open_cache(schema)
        shared = cache.coordination()
        assert shared is not None
        shared.make("all", Fraction(10), 10**9)
        began = time.perf_counter()
        for _ in range(500):
            shared.reserve("all", Charge(1, Fraction(1, 10**6)))
        row_s = (time.perf_counter() - began) / 500 / 2  # of four round trips two are after the row is locked
        shared.close()
        cache.close()
    small, large = _processes(40), _processes(440)
    driver, worker = ((b - a) / 400 for a, b in zip(small, large, strict=True))
    return Constants(driver, worker / 3, costs[False], costs[True] - costs[False], row_s)


def read_constants() -> Constants:
    """Those that were measured last."""
    return Constants(**json.loads(CONSTANTS.read_text()))


def main() -> None:
    """Measure, or simulate."""
    parser = options(__doc__)
    parser.add_argument("--measure", action="store_true", help="measure the constants")
    given = parser.parse_args()
    if given.measure:
        CONSTANTS.write_text(json.dumps(asdict(measure()), indent=2) + "\n")
        print(CONSTANTS.read_text())
        return
    report(given, COLUMNS, rows(read_constants()))


if __name__ == "__main__":
    main()
