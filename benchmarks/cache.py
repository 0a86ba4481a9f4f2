"""How fast the cache answers, beside what it stands on: plain sqlite3 for the file, a dictionary for memory.

    python benchmarks/cache.py            # files of 1 and of 100,000 entries, about a minute
    python benchmarks/cache.py --entries 1000

Prints hits a second and what opening takes. A hit is `get` of one stored answer; the plain select reads the
same row of the same file as text and parses its JSON, and does not make an answer of it.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

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
    """Store one answer each for so many requests; their keys."""
    keys = []
    for number in range(entries):
        request = a_request(number)
        answer = Completion("[0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 8, 9, 9]", output_tokens=48)
        keys.append(request.key())
        cache.put(keys[-1], request, {0: StoredSample(answer, Usage(120, 48), 1.5, created=1000.0)})
    return keys


def a_second(keys: Sequence[str], get: Callable[[str], object]) -> float:
    """Hits a second over keys in random order."""
    chosen = random.Random(0).choices(keys, k=10_000)
    hits, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < SECONDS:
        for key in chosen[:1000]:
            assert get(key)
        hits += 1000
        chosen = chosen[1000:] + chosen[:1000]
    return hits / passed


def opening(path: Path, key: str) -> float:
    """Seconds to open a file and read one answer: the median."""
    times = []
    for _ in range(OPENINGS):
        start = time.perf_counter()
        cache = open_cache(path)
        assert cache.get(key, (0,))
        times.append(time.perf_counter() - start)
        cache.close()
    return sorted(times)[OPENINGS // 2]


def measure(entries: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cache.sqlite"
        cache = open_cache(path)
        keys = fill(cache, entries)
        disk = a_second(keys, lambda key: cache.get(key, (0,)))
        cache.close()
        memory_cache = MemoryCache()
        fill(memory_cache, entries)
        memory = a_second(keys, lambda key: memory_cache.get(key, (0,)))
        plain = sqlite3.connect(path)
        select = "SELECT value FROM answers WHERE key = ?"
        plain_disk = a_second(
            keys, lambda key: json.loads(plain.execute(select, (f"{key}:0",)).fetchone()[0])
        )
        plain.close()
        table = {(key, 0): memory_cache.get(key, (0,))[0] for key in keys}
        plain_memory = a_second(keys, lambda key: table[key, 0])
        seconds = opening(path, keys[0])
    print(
        f"{entries:>9,} {disk:>12,.0f} {plain_disk:>14,.0f} {memory:>12,.0f} {plain_memory:>12,.0f} "
        f"{1000 * seconds:>9.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--entries", type=int, nargs="+", default=[1, 100_000], metavar="N")
    entries = parser.parse_args().entries
    print(
        f"{'entries':>9} {'file: hits/s':>12} {'plain sqlite3':>14} {'memory':>12} {'dict':>12} "
        f"{'opening':>12}"
    )
    for count in entries:
        measure(count)


if __name__ == "__main__":
    main()
