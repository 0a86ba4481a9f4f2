"""Wall time of a study run by one worker and by two, with calls of 50 ms.

    python benchmarks/workers.py --repeats 3

Each worker is a separate process. They share the study's storage, spending log and cache, all of them files
of a temporary folder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from measurement import options, report

from gotlang.api import Options
from gotlang.models.base import PERMITTED, Completion, Model, Permit, Price, Reply, Request, Usage
from gotlang.tune.plan import read_plan
from gotlang.tune.study import tune

SECONDS = 0.05
STUDY = """
param tries = 3 in 2..6
param warmth = 0.2 in 0.0..1.5

prompt guess(target: int) -> int:
    max_tokens 20
    "Guess {{ target }}."

score error(attempt: int, target: int) -> lower, best 0:
    abs(attempt - target)

scheme near(target: int) -> int:
    Generate(k=tries, temperature=warmth) guess(target)
    Score() error(it, target)
    KeepBestN(1)

study near:
    data "numbers.csv", train 40, test 10
    minimize error(result, target)
    subject to cost <= 2 * baseline
    trials 50
    batching false, early_stop false
"""


class Slow(Model):
    """Takes 50 ms per call, and guesses best at a temperature of 0.9."""

    name = "slow"
    simulated = False
    batch = 1
    price = Price(1.0, 1.0)

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """One completion, the same for equal requests and sample numbers."""
        await asyncio.sleep(SECONDS)
        spread = 4 + abs(float(request.settings.temperature or 0.0) - 0.9) * 20
        off = random.Random(f"{request.key()} {first}").uniform(-spread, spread)
        text = str(int(request.arguments["target"]) + round(off))
        return Reply((Completion(text, output_tokens=3),), Usage(20, 3), SECONDS)


def work() -> dict[str, Any]:
    """One worker's part of the study in the current folder."""
    options = Options(model=Slow(), concurrency=4, cache="cache.sqlite")
    done = tune(read_plan("study.got"), options, folder=Path("state"))
    return {
        "trials": len(done.trials),
        "winner": done.winner.number,
        "value": done.winner.result.values,
        "answers": done.calls,
    }


def timed(workers: int) -> tuple[float, list[dict[str, Any]]]:
    """Seconds until the last of so many workers has ended, and the result of each."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "study.got").write_text(STUDY)
        (Path(folder) / "numbers.csv").write_text("target\n" + "".join(f"{7 * i}\n" for i in range(50)))
        command = [sys.executable, os.path.abspath(__file__), "--work"]
        started = time.monotonic()
        children = [
            subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) for _ in range(workers)
        ]
        results = [json.loads(child.communicate()[0]) for child in children]
        return time.monotonic() - started, results


COLUMNS = {"": "{}", "one worker": "{:.1f} s", "two workers": "{:.1f} s", "ratio": "{:.2f}"}


def rows(repeats: int) -> Iterator[tuple[Any, ...]]:
    pairs = []
    for _ in range(repeats):
        (one, alone), (two, both) = timed(1), timed(2)
        assert {done["winner"] for done in both} == {alone[0]["winner"]}
        pairs.append((one, two))
    ones, twos = zip(*pairs, strict=True)
    for name, choice in (("fastest", min), ("median", median), ("slowest", max)):
        yield name, choice(ones), choice(twos), choice(twos) / choice(ones)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        print(json.dumps(work()))
        return
    report(given, COLUMNS, rows(given.repeats))


if __name__ == "__main__":
    main()
