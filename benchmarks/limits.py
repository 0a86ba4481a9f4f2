"""How much of what an endpoint allows a minute is used, and how much is refused on the way.

    python benchmarks/limits.py            # some minutes
    python benchmarks/limits.py --hours 2

More requests than are allowed are wanted all the time, each of 100 tokens and up to 200 of answer. The clock
is virtual: the endpoint counts by a sliding minute, by fixed minutes, or as a bucket that refills. Limits are
given (`--rpm`, `--tpm`), told in the endpoint's headers, or found out from its refusals alone, each of which
says when to come again. A row is the worst of the three ways of counting. The claim: 90% used, 2% refused.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import get_args

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.allowance import Allowance, Kind  # noqa: E402 - beside the tests, which use it too
from support.rationing import rush  # noqa: E402

from gotlang.models.limits import Limits  # noqa: E402

GRID: list[tuple[float | None, float | None]] = [
    (20, None),
    (60, None),
    (500, None),
    (1_500, None),
    (None, 10_000),
    (None, 90_000),
    (None, 300_000),
    (60, 10_000),
    (500, 90_000),
    (500, 200_000),
]
LATENCY_S = 3.0
KNOWN = ("given", "headers", "refusals")


def worst(known: str, requests: float | None, tokens: float | None, minutes: float) -> tuple[float, float]:
    """The least share used and the largest refused, over the ways of counting."""
    used, refused = 1e9, 0.0
    for kind in get_args(Kind):
        told = (requests, tokens) if known == "given" else (None, None)
        limits = Limits(*told, clock=lambda: asyncio.get_running_loop().time())
        allowance = Allowance(requests, tokens, kind=kind, headers=known == "headers")
        done = rush(limits, allowance, minutes=minutes, latency_s=LATENCY_S)
        used, refused = min(used, done.throughput), max(refused, done.refused)
    return used, refused


def minutes_of(known: str, requests: float | None, tokens: float | None, hours: float | None) -> float:
    """How long a run is measured: what is told needs ten minutes, what is not some thousand requests."""
    if hours is not None:
        return 60 * hours
    if known != "refusals":
        return 10.0
    a_minute = min(requests or 1e9, (tokens or 1e9) / 200)
    return max(10.0, min(60.0, 3000 / a_minute))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hours", type=float, metavar="H", help="how long each run is, in virtual hours")
    hours = parser.parse_args().hours
    print(
        f"{'requests':>9} {'tokens':>10}"
        + "".join(f"  {name + ': min':>13} {'used':>6} {'refused':>7}" for name in KNOWN)
    )
    for requests, tokens in GRID:
        line = f"{requests or '-':>9} {tokens or '-':>10}"
        for known in KNOWN:
            minutes = minutes_of(known, requests, tokens, hours)
            used, refused = worst(known, requests, tokens, minutes)
            line += f"  {minutes:>13.0f} {used:>6.1%} {refused:>7.1%}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
