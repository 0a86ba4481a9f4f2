"""How much sooner a study ends when two workers share it: calls of 50 ms, so that the model's time counts.

    python benchmarks/workers.py --repeats 3

Each worker is a process of its own. They meet in the study's storage, its book of money and its cache, all of
them files of a fresh folder.
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
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

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
    trials 50, parallel 8
    batching false, early_stop false
"""


class Slow(Model):
    """Takes its time, and guesses best at a temperature of 0.9."""

    name = "slow"
    simulated = False
    batch = 1
    price = Price(1.0, 1.0)

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """One answer, the same for the same request and sample."""
        await asyncio.sleep(SECONDS)
        spread = 4 + abs(float(request.settings.temperature or 0.0) - 0.9) * 20
        off = random.Random(f"{request.key()} {first}").uniform(-spread, spread)
        said = str(int(request.arguments["target"]) + round(off))
        return Reply((Completion(said, output_tokens=3),), Usage(20, 3), SECONDS)


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
    """Seconds until the last of so many workers has ended, and what each says."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "study.got").write_text(STUDY)
        (Path(folder) / "numbers.csv").write_text("target\n" + "".join(f"{7 * i}\n" for i in range(50)))
        command = [sys.executable, os.path.abspath(__file__), "--work"]
        started = time.monotonic()
        children = [
            subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) for _ in range(workers)
        ]
        said = [json.loads(child.communicate()[0]) for child in children]
        return time.monotonic() - started, said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        print(json.dumps(work()))
        return
    ratios = []
    for _ in range(given.repeats):
        (one, alone), (two, both) = timed(1), timed(2)
        ratios.append(two / one)
        print(f"one worker {one:.1f} s, two workers {two:.1f} s: {two / one:.2f} of the time", flush=True)
        print(f"  {alone[0]}\n  {both[0]}\n  {both[1]}", flush=True)
    print(f"median {median(ratios):.2f}")


if __name__ == "__main__":
    main()
