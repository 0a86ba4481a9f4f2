"""Hits and puts of the cache, compared with hand-written sqlite3 and json, and with lmdb if it is installed.

    python benchmarks/cache.py                    # 1,000, 100,000 and 1,000,000 entries: some ten minutes
    python benchmarks/cache.py --entries 1000

Both sides keep the same entries in files of their own: a request and a sample of it, each a row of JSON with
its key, in write-ahead mode. By hand a sample is parsed with `json` and stays a dictionary. A hit reads one
sample, with keys in random order. Puts are new entries, one per transaction, or 64, as 64 tasks put in one
turn of the event loop. The sides are interleaved; a time is the median of the processor's over the rounds.
The server of PostgreSQL is the benchmark's own and syncs each commit to the disk; 64 tasks use it, by the
clock.
"""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from measurement import options, report
from support import postgres
from support.caches import no_postgres, postgres_schema

from gotlang.cache import open_cache
from gotlang.cache.base import Cache, StoredSample
from gotlang.models.base import Completion, DecodingSettings, Message, Request, Usage

TASKS = 64
HITS, PUTS = 5_000, 1_280
"""Of a round."""
MOST_RATIO, LEAST_HITS, LEAST_PUTS = 2.5, 5_000, 2_000
"""The goals: times plain sqlite3, and a second on PostgreSQL."""
Entry = tuple[str, Request, StoredSample]


def an_entry(number: int) -> Entry:
    text = f"Sort list {number} of 16 digits in ascending order. Output only the sorted list, nothing else."
    request = Request("small", (Message("user", text * 4),), DecodingSettings(0.7), prompt="sort")
    completion = Completion("[0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 8, 9, 9]", output_tokens=48)
    return request.key(), request, StoredSample(completion, Usage(120, 48), 1.5, created=1000.0)


async def put_all(cache: Cache, entries: Sequence[Entry], size: int) -> None:
    """Put entries, so many at a time."""
    for start in range(0, len(entries), size):
        some = entries[start : start + size]
        puts = [cache.aput(key, request, {0: sample}) for key, request, sample in some]
        await (asyncio.gather(*puts) if size > 1 else puts[0])


class ByHand:
    """What a person would write with sqlite3 and json."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
            "CREATE TABLE requests (key TEXT PRIMARY KEY, value TEXT);"
            "CREATE TABLE samples (key TEXT PRIMARY KEY, value TEXT);"
        )

    def get(self, key: str) -> dict[str, Any]:
        select = "SELECT value FROM samples WHERE key = ?"
        found: dict[str, Any] = json.loads(self.connection.execute(select, (f"{key}:0",)).fetchone()[0])
        return found

    def put_all(self, entries: Sequence[Entry], size: int) -> None:
        for start in range(0, len(entries), size):
            self.connection.execute("BEGIN")
            for key, request, sample in entries[start : start + size]:
                value = json.dumps(
                    {
                        "model": request.model,
                        "messages": [[message.role, message.content] for message in request.messages],
                        "temperature": request.settings.temperature,
                        "max_tokens": request.settings.max_tokens,
                        "prompt": request.prompt,
                    }
                )
                self.connection.execute("INSERT OR REPLACE INTO requests VALUES (?, ?)", (key, value))
                done, usage = sample.completion, sample.usage
                value = json.dumps(
                    {
                        "text": done.text,
                        "finish_reason": done.finish_reason,
                        "logprob": done.logprob,
                        "tokens": done.tokens,
                        "output_tokens": done.output_tokens,
                        "usage": [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens],
                        "latency_s": sample.latency_s,
                        "created": sample.created,
                    }
                )
                self.connection.execute("INSERT OR REPLACE INTO samples VALUES (?, ?)", (f"{key}:0", value))
            self.connection.execute("COMMIT")


class Lmdb:
    """The same with lmdb, if it is installed; without it nothing is measured."""

    def __init__(self, path: Path) -> None:
        import lmdb

        self.store = lmdb.open(str(path), map_size=16 * 2**30, sync=False)

    def get(self, key: str) -> dict[str, Any]:
        with self.store.begin() as transaction:
            found: dict[str, Any] = json.loads(transaction.get(key.encode()))
            return found

    def put_all(self, entries: Sequence[Entry], size: int) -> None:
        for start in range(0, len(entries), size):
            with self.store.begin(write=True) as transaction:
                for key, _, sample in entries[start : start + size]:
                    transaction.put(key.encode(), json.dumps({"text": sample.completion.text}).encode())


def processor_s(act: Callable[[], object]) -> float:
    start = time.process_time()
    act()
    return time.process_time() - start


def file_rows(count: int, rounds: int) -> Iterator[tuple[Any, ...]]:
    """Hits and puts in files with so many entries."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        cache, plain = open_cache(Path(folder) / "cache.sqlite"), ByHand(Path(folder) / "plain.sqlite")
        others: list[ByHand | Lmdb] = [plain]
        with suppress(ImportError):
            others.append(Lmdb(Path(folder) / "lmdb"))
        keys = []
        for start in range(0, count, 1000):
            some = [an_entry(number) for number in range(start, min(count, start + 1000))]
            keys += [key for key, _, _ in some]
            asyncio.run(put_all(cache, some, 500))
            for other in others:
                other.put_all(some, 500)
        times: dict[tuple[str, int], list[list[float]]] = {}
        following = count
        for turn in range(rounds + 1):  # the first one warms up
            chosen = random.Random(turn).choices(keys, k=HITS)

            async def hits() -> None:
                for key in chosen:  # noqa: B023 - called at once
                    assert await cache.aget(key, (0,))

            found = {("hit", 0): [processor_s(lambda: asyncio.run(hits())) / HITS]}
            found["hit", 0] += [processor_s(lambda: [*map(other.get, chosen)]) / HITS for other in others]  # noqa: B023
            for size in (1, TASKS):
                entries = [an_entry(number) for number in range(following, following + PUTS)]
                following += PUTS
                ours = processor_s(lambda: asyncio.run(put_all(cache, entries, size))) / PUTS  # noqa: B023
                found["put", size] = [ours]
                for other in others:
                    taken = processor_s(lambda: other.put_all(entries, size)) / PUTS  # noqa: B023
                    found["put", size].append(taken)
            if turn:
                for what, each in found.items():
                    times.setdefault(what, []).append(each)
        cache.close()
    for (what, size), each in times.items():
        ratios = sorted(ours / by_hand for ours, by_hand, *_ in each)
        columns = [1e6 * median(column) for column in zip(*each, strict=True)]
        name = what if size < 2 else f"{what}, {size} per transaction"
        lmdb = columns[2] if len(columns) > 2 else None
        spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
        yield name, count, *columns[:2], lmdb, median(ratios), spread, f"at most {MOST_RATIO}"


async def server_rows(address: str, count: int) -> list[tuple[Any, ...]]:
    """Hits and puts a second on PostgreSQL."""
    cache = open_cache(address)
    entries = [an_entry(number) for number in range(count)]

    async def a_second(act: Callable[[Entry], Any]) -> float:
        remaining = iter(entries)

        async def task() -> None:
            for entry in remaining:
                await act(entry)

        start = time.perf_counter()
        await asyncio.gather(*(task() for _ in range(TASKS)))
        return count / (time.perf_counter() - start)

    async def hit(entry: Entry) -> None:
        assert await cache.aget(entry[0], (0,))

    puts = await a_second(lambda entry: cache.aput(entry[0], entry[1], {0: entry[2]}))
    hits = await a_second(hit)
    cache.close()
    rows = (("hits", hits, LEAST_HITS), ("puts", puts, LEAST_PUTS))
    return [
        (
            f"PostgreSQL, {what} per second",
            count,
            None,
            None,
            None,
            None,
            f"{found:,.0f}",
            f"at least {goal:,}",
        )
        for what, found, goal in rows
    ]


def rows(counts: Sequence[int], rounds: int) -> Iterator[tuple[Any, ...]]:
    for count in counts:
        yield from file_rows(count, rounds)
    if not no_postgres:
        postgres.SYNCED = True
        with postgres_schema() as address:
            yield from asyncio.run(server_rows(address, 20_000))


COLUMNS = {
    "what": "{}",
    "entries": "{:,}",
    "µs, gotc": "{:.1f}",
    "µs, sqlite3 and json by hand": "{:.1f}",
    "µs, lmdb": "{:.1f}",
    "ratio": "{:.2f}",
    "range, or per second": "{}",
    "goal": "{}",
}


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--entries", type=int, nargs="+", default=[1_000, 100_000, 1_000_000], metavar="N")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="1,000 and 100,000 entries")
    given = parser.parse_args()
    entries = [1_000, 100_000] if given.quick else given.entries
    report(given, COLUMNS, rows(entries, given.rounds))
