"""Statistics of a cache, and pruning."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import final

from gotlang.cache.base import Cache


@final
@dataclass(slots=True)
class Totals:
    """Sums over requests: their samples, bytes of JSON and tokens, and the creation times (Unix time) of the
    oldest and the newest sample, or None."""

    requests: int = 0
    samples: int = 0
    bytes: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    oldest: float | None = None
    newest: float | None = None


@final
@dataclass(frozen=True, slots=True)
class Pruned:
    """The deleted requests and samples of `prune`."""

    requests: int = 0
    samples: int = 0
    bytes: int = 0


def stats(cache: Cache) -> tuple[Totals, dict[str, Totals]]:
    """The sums over a cache, and over each model in it by name. Reads every entry."""
    total, models = Totals(), dict[str, Totals]()
    for entry in cache.entries():
        samples = cache.get(entry.key).values()
        times = [sample.created for sample in samples]
        for totals in (total, models.setdefault(entry.model, Totals())):
            totals.requests += 1
            totals.samples += len(samples)
            totals.bytes += entry.bytes
            for sample in samples:
                if sample.position == 0:  # samples of one request share its usage
                    totals.input_tokens += sample.usage.input_tokens
                    totals.output_tokens += sample.usage.output_tokens
            totals.oldest = min((time for time in (totals.oldest, *times) if time is not None), default=None)
            totals.newest = max((time for time in (totals.newest, *times) if time is not None), default=None)
    return total, models


def prune(
    cache: Cache,
    *,
    keep_bytes: int | None = None,
    older_than_s: float | None = None,
    now: float | None = None,
) -> Pruned:
    """Delete whole requests, those with the oldest newest sample first.

    Deletes every request whose last sample was stored more than `older_than_s` seconds before `now` (Unix
    time, default: the clock), and then as many as needed for the rest to be at most `keep_bytes` bytes of
    JSON. None: no such limit.
    """
    entries = sorted(cache.entries(), key=lambda entry: entry.created)
    size = sum(entry.bytes for entry in entries)
    oldest = float("-inf")
    if older_than_s is not None:
        oldest = (time.time() if now is None else now) - older_than_s
    pruned = []
    for entry in entries:
        if entry.created >= oldest and (keep_bytes is None or size <= keep_bytes):
            break
        pruned.append(entry)
        size -= entry.bytes
    samples = cache.remove(entry.key for entry in pruned)
    return Pruned(len(pruned), samples, sum(entry.bytes for entry in pruned))
