"""Hits per second of the cache, compared with plain sqlite3 and with a dictionary.

    python benchmarks/cache.py            # files of 1 and of 100,000 entries, about a minute
    python benchmarks/cache.py --entries 1000

A hit is `get` of one stored sample. The plain select reads the same row of the same file and parses its JSON
without building a sample; opening is the time to open a file and read one sample.
"""

from __future__ import annotations

import json
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from measurement import options, report

from gotlang.cache import open_cache
from gotlang.cache.base import Cache, StoredSample
from gotlang.cache.memory import MemoryCache
from gotlang.models.base import Completion, DecodingSettings, Message, Request, Usage

SECONDS = 2.0
OPENINGS = 20


def a_request(number: int) -> Request:
    text = f"Sort list {number} of 16 digits in ascending order. Output only the sorted list, nothing else."
    return Request("small", (Message("user", text * 4),), DecodingSettings(0.7), prompt="sort")


def fill(cache: Cache, entries: int) -> list[str]:
    """Store one sample for each of so many requests; their keys."""
    keys = []
    for number in range(entries):
        request = a_request(number)
        completion = Completion("[0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 8, 9, 9]", output_tokens=48)
        keys.append(request.key())
        cache.put(keys[-1], request, {0: StoredSample(completion, Usage(120, 48), 1.5, created=1000.0)})
    return keys


def hits_per_second(keys: Sequence[str], get: Callable[[str], object]) -> float:
    """Hits per second over keys in random order."""
    chosen = random.Random(0).choices(keys, k=10_000)
    hits, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < SECONDS:
        for key in chosen[:1000]:
            assert get(key)
        hits += 1000
        chosen = chosen[1000:] + chosen[:1000]
    return hits / passed


def opening_seconds(path: Path, key: str) -> float:
    """Seconds to open a file and read one sample: the median."""
    times = []
    for _ in range(OPENINGS):
        start = time.perf_counter()
        cache = open_cache(path)
        assert cache.get(key, (0,))
        times.append(time.perf_counter() - start)
        cache.close()
    return sorted(times)[OPENINGS // 2]


def measure(entries: int) -> tuple[float, ...]:
    """A row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cache.sqlite"
        cache = open_cache(path)
        keys = fill(cache, entries)
        disk = hits_per_second(keys, lambda key: cache.get(key, (0,)))
        cache.close()
        memory_cache = MemoryCache()
        fill(memory_cache, entries)
        memory = hits_per_second(keys, lambda key: memory_cache.get(key, (0,)))
        plain = sqlite3.connect(path)
        select = "SELECT value FROM answers WHERE key = ?"
        plain_disk = hits_per_second(
            keys, lambda key: json.loads(plain.execute(select, (f"{key}:0",)).fetchone()[0])
        )
        plain.close()
        table = {(key, 0): memory_cache.get(key, (0,))[0] for key in keys}
        plain_memory = hits_per_second(keys, lambda key: table[key, 0])
        seconds = opening_seconds(path, keys[0])
    return entries, disk, plain_disk, memory, plain_memory, 1000 * seconds


COLUMNS = {
    "entries": "{:,}",
    "file, hits/s": "{:,.0f}",
    "plain sqlite3": "{:,.0f}",
    "memory, hits/s": "{:,.0f}",
    "dictionary": "{:,.0f}",
    "opening": "{:.1f} ms",
}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--entries", type=int, nargs="+", default=[1, 100_000], metavar="N")
    given = parser.parse_args()
    report(given, COLUMNS, map(measure, given.entries))


if __name__ == "__main__":
    main()
