"""How often laws are tried: a little, the same cases, in every test run; with LAWS new cases in a long one.

LAWS=2000 python -m pytest tests/test_run_failures.py
"""

from __future__ import annotations

import argparse
import os
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable

from hypothesis import HealthCheck, settings

NEW = "LAWS" in os.environ
"""Whether cases are drawn anew."""


def times(usual: int) -> int:
    """`usual`, or what the environment variable LAWS says."""
    return int(os.environ.get("LAWS", usual))


def tried(usual: int) -> settings:
    """A law that is tried so often; how long that takes is no matter."""
    return settings(max_examples=times(usual), deadline=None, suppress_health_check=list(HealthCheck))


def command(doc: str | None, hold: Callable[[str], Iterable[str]], runs: int) -> int:
    """A law from the command line, on so many seeds: counts what became of each, and shows what fails."""
    options = argparse.ArgumentParser(description=doc)
    options.add_argument("--runs", type=int, default=runs)
    options.add_argument("--first", type=int, default=0, help="the first seed")
    options.add_argument("--most", type=int, default=1, help="stop after so many failures")
    chosen = options.parse_args()
    counts: Counter[str] = Counter()
    failures, began = 0, time.perf_counter()
    for done in range(1, chosen.runs + 1):
        seed = chosen.first + done - 1
        try:
            counts.update(hold(str(seed)))
        except Exception:
            print(f"seed {seed}:\n{traceback.format_exc()}", flush=True)
            failures += 1
        if done % 100 == 0 or done == chosen.runs or failures == chosen.most:
            told = ", ".join(f"{name}: {count}" for name, count in counts.most_common())
            print(
                f"{done} runs, {failures} failures, {time.perf_counter() - began:.0f} s; {told}", flush=True
            )
        if failures == chosen.most:
            break
    return min(failures, 1)
