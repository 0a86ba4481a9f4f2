"""Share of an endpoint's rate limits that is used, and share of requests that it refuses.

    python benchmarks/limits.py            # some minutes
    python benchmarks/limits.py --hours 2

More requests are waiting than the limits allow, each of 100 prompt tokens and up to 200 completion tokens.
The clock is virtual. The endpoint counts by a sliding minute, by fixed minutes, or by a token bucket; a row
has the worst of the three. Limits are given (`--rpm`, `--tpm`), read from the endpoint's headers, or
inferred from its refusals, each of which says when to retry. The target: at least 90% used, at most 2%
refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, get_args

from measurement import options, report
from support.allowance import Allowance, Kind
from support.rationing import rush

from gotlang.models.limits import EndpointGate

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
        stated = (requests, tokens) if known == "given" else (None, None)
        limits = EndpointGate(*stated, clock=lambda: asyncio.get_running_loop().time())
        allowance = Allowance(requests, tokens, kind=kind, headers=known == "headers")
        done = rush(limits, allowance, minutes=minutes, latency_s=LATENCY_S)
        used, refused = min(used, done.throughput), max(refused, done.refused)
    return used, refused


def minutes_of(known: str, requests: float | None, tokens: float | None, hours: float | None) -> float:
    """How long a run is measured: ten minutes where limits are known, otherwise some thousand requests."""
    if hours is not None:
        return 60 * hours
    if known != "refusals":
        return 10.0
    per_minute = min(requests or 1e9, (tokens or 1e9) / 200)
    return max(10.0, min(60.0, 3000 / per_minute))


COLUMNS = {"requests/min": "{:,}", "tokens/min": "{:,}"}
for known in KNOWN:
    COLUMNS |= {f"{known}: used": "{:.1%}", f"{known}: refused": "{:.1%}"}
COLUMNS |= {"minutes": "{:.0f}"}


def rows(hours: float | None) -> Iterator[tuple[Any, ...]]:
    for requests, tokens in GRID:
        minutes = {known: minutes_of(known, requests, tokens, hours) for known in KNOWN}
        shares = [worst(known, requests, tokens, minutes[known]) for known in KNOWN]
        yield requests, tokens, *(share for pair in shares for share in pair), minutes["refusals"]


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--hours", type=float, metavar="H", help="how long each run is, in virtual hours")
    given = parser.parse_args()
    report(given, COLUMNS, rows(given.hours))
