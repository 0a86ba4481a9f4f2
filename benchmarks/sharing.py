"""Four processes with one cache on the same data set: which requests are made more than once?

    python benchmarks/sharing.py [--rows 10]

sort128 on an endpoint on loopback that takes 50 ms an answer, early stop off: first by one process, then by
four that start at the same moment, then by four that start two seconds apart. Prints the requests of one
process and of four; of those sent more than once, how long after the first the last came, in seconds of wall
time; whether any process met a locked file, and whether all results are those of the one.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.gotc import SORT128, digits, document, gotc, start  # noqa: E402 - beside the tests
from support.openai_server import OpenAIServer  # noqa: E402
from support.sorter import Sorter  # noqa: E402

LATENCY_S = 0.05
PROCESSES = 4


def told(found: dict[str, Any]) -> list[Any]:
    """What must not depend on who shares a cache."""
    return [[run[name] for name in ("row", "score", "correct")] for run in found["runs"]]


def measure(folder: Path, command: tuple[object, ...], alone: dict[str, Any], gap_s: float) -> str:
    with OpenAIServer(Sorter(by="place"), latency_s=LATENCY_S) as server:
        running = []
        for _ in range(PROCESSES):
            running.append(
                start(*command, "--base-url", server.url, "--cache", f"shared{gap_s}.sqlite", cwd=folder)
            )
            time.sleep(gap_s)
        ended = [process.communicate(timeout=600) for process in running]
    same = all(told(json.loads(out)) == told(alone) for out, _ in ended)
    locked = any("lock" in errors.lower() for _, errors in ended)
    made = defaultdict(list)
    for seen in server.requests:
        made[json.dumps(seen.body, sort_keys=True)].append(seen.at)
    latest = max(max(times) - min(times) for times in made.values())
    paid = " ".join(str(json.loads(out)["spent"]["calls"]) for out, _ in ended)
    sent = f"{gap_s:>9.0f} {len(made):>9} {len(server.requests):>5} {latest:>6.2f}"
    return f"{sent} {locked!s:>7} {same!s:>5}  {paid}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=10)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = ("--data", digits(folder, rows), "--map", "numbers=Unsorted", "--json", "--no-early-stop")
        command = ("eval", SORT128, *data, "--model", "openai:small")
        with OpenAIServer(Sorter(by="place"), latency_s=LATENCY_S) as server:
            address = ("--base-url", server.url, "--cache", "alone.sqlite")
            alone = document(gotc(*command, *address, cwd=folder))
        print(f"one process: {len(server.requests)} requests, {alone['paid']['calls']} answers")
        print(" apart: s different  sent latest  locked  same  answers paid by each")
        for gap_s in (0.0, 2.0):
            print(measure(folder, command, alone, gap_s), flush=True)


if __name__ == "__main__":
    main()
