"""Evaluations over many rows with `--out`: processor time and memory per row, and of the summary.

    python benchmarks/evaluating.py                       # 10,000 and 100,000 rows: some ten minutes
    python benchmarks/evaluating.py --rows 1000 10000
    python benchmarks/evaluating.py --quick               # 10,000 rows: a minute

Each row requests ten responses of a simulated model, which responds immediately, and takes a vote: 100,000
rows are a million calls. Every evaluation is a process of its own: first with an empty cache, then with the
responses in the cache, then again with all results in the file. Time is the processor's, beyond the start of
Python. `grows by` is resident memory after the last row beyond that after the first 1,000.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from measurement import options, report

PROGRAM = """\
simulate with "sim.py"

prompt answer(question: str) -> int:
    "{{ question }} End with the number."

scheme vote(question: str) -> int:
    Generate(k=10) answer(question)
    Vote()
    GroundTruth() it == truth
"""
SIMULATOR = "def answer(rng, question):\n    return str(rng.randrange(5))\n"
FIRST = 1000
"""The row at which memory is looked at first."""


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def one(rows: int) -> dict[str, float]:
    """An evaluation in this process: seconds, and megabytes."""
    from gotlang.api import Options, load

    memory = {}
    ended = 0

    def on_row(_: object) -> None:
        nonlocal ended
        ended += 1
        if ended in (FIRST, rows):
            memory[ended] = resident_mb()

    program = load("vote.got")
    start = time.process_time()
    given = Options(model="simulated", cache="cache.sqlite")
    found = program.evaluate("data.jsonl", options=given, out="out.jsonl", on_row=on_row)
    between = time.process_time()
    found.to_dict()
    return {
        "row_ms": 1000 * (between - start) / rows,
        "summary_s": time.process_time() - between,
        "first_mb": memory[FIRST],
        "last_mb": memory[rows],
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    }


def rows_of(sizes: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    for rows in sizes:
        with tempfile.TemporaryDirectory(dir=".") as name:
            folder = Path(name)
            (folder / "vote.got").write_text(PROGRAM)
            (folder / "sim.py").write_text(SIMULATOR)
            with (folder / "data.jsonl").open("w") as file:
                for n in range(rows):
                    question = f"What is the sum of {n} and {7 * n}? " + "Think of it in words first. " * 6
                    file.write(json.dumps({"question": question, "truth": n % 5}) + "\n")
            for kind, goal in (("empty cache", ""), ("cached", "at most 0.5 ms"), ("continued", "")):
                if kind == "cached":
                    (folder / "out.jsonl").unlink()
                command = [sys.executable, str(Path(__file__).resolve()), "--one", str(rows)]
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
                found = json.loads(done.stdout.splitlines()[-1])
                grown = found["last_mb"] - found["first_mb"]
                load = os.getloadavg()[0]
                yield rows, kind, found["row_ms"], goal, grown, found["peak_mb"], found["summary_s"], load


COLUMNS = {
    "rows": "{:,}",
    "run": "{}",
    "ms per row": "{:.2f}",
    "goal": "{}",
    "grows by": "{:.1f} MB",
    "peak": "{:.0f} MB",
    "summary": "{:.1f} s",
    "load": "{:.1f}",
}


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--quick", action="store_true", help="10,000 rows")
    parser.add_argument("--one", type=int, help="one evaluation, in this process")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one)))
    else:
        report(given, COLUMNS, rows_of([10_000] if given.quick else given.rows))
