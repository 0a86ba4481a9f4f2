"""Python's garbage collection while runs are under way.

A run keeps nearly all it makes until its end. To look through all of that for garbage again and again, as
Python does by default, takes a quarter of the time of a large run and finds next to nothing; so it is looked
for less often. What nothing refers to any more is freed at once, as ever.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

RELAXED = (20_000, 20, 50)
"""`gc.set_threshold` while runs are under way; thresholds that are higher already stay."""

_lock = Lock()
_runs = 0
_before = gc.get_threshold()


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """Collect garbage seldom; when the last run has ended, as often as before the first."""
    global _runs, _before
    with _lock:
        if not _runs:
            _before = gc.get_threshold()
            # A first threshold of 0 is how garbage collection is switched off.
            if _before[0]:
                gc.set_threshold(*map(max, _before, RELAXED))
        _runs += 1
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            if not _runs:
                gc.set_threshold(*_before)
