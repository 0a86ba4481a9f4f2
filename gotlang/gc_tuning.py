"""Garbage collection tuned for many long-lived objects.

A compiler and a run keep nearly all of their objects until their end. With Python's default thresholds the
cyclic collector traverses them again and again and frees next to nothing: that takes a quarter of the time of
a large run, and makes compile time grow faster than the program. Objects without references are still freed
at once. The graph of a run has cycles, so graphs of finished rows wait for the collector: a full collection
happens after 200,000 to 300,000 new objects while it frees some, and a quarter as often each time it does
not. A command on a small program ends before that, and never collects.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

RELAXED = (100_000, 1, 0)
"""The thresholds of `gc.set_threshold` while relaxed; higher ones are kept."""
_FREED = 4
"""A full collection was unproductive if it freed less than one of this number of new objects."""

_lock = Lock()
_users = 0
_before = gc.get_threshold()


def _adapt(phase: str, info: dict[str, int]) -> None:
    """After a full collection, delay the next one if this one was unproductive."""
    if phase == "stop" and info["generation"] == 2:
        first, second, third = gc.get_threshold()
        in_vain = info["collected"] * _FREED < first * second
        gc.set_threshold(first, 4 * second if in_vain else RELAXED[1], third)


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """Collect garbage less often, until the last user of this context manager has left."""
    global _users, _before
    with _lock:
        if not _users:
            _before = gc.get_threshold()
            # A first threshold of 0 means that garbage collection is off.
            if 0 < _before[0] < RELAXED[0]:
                gc.set_threshold(*RELAXED)
                gc.callbacks.append(_adapt)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                if _adapt in gc.callbacks:
                    gc.callbacks.remove(_adapt)
                gc.set_threshold(*_before)
