"""Garbage collection while much is built that stays.

A compiler and a run keep nearly all of their objects until their end. With Python's default thresholds the
cyclic collector traverses them again and again and frees next to nothing: that takes a quarter of the time
of a large run, and makes the time to compile grow faster than the program. Objects without references are
still freed at once. The graph of a run has cycles, so graphs of rows that ended wait for the collector: the
thresholds of the older generations are low, as Python traverses the oldest only where a quarter of it is new.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

RELAXED = (10_000, 5, 3)
"""The thresholds of `gc.set_threshold` meanwhile; higher ones are kept."""

_lock = Lock()
_users = 0
_before = gc.get_threshold()


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """Collect garbage less often, until the last that asked for it has ended."""
    global _users, _before
    with _lock:
        if not _users:
            _before = gc.get_threshold()
            # A first threshold of 0 means that garbage collection is off.
            if 0 < _before[0] < RELAXED[0]:
                gc.set_threshold(*RELAXED)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                gc.set_threshold(*_before)
