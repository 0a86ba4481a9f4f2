"""Limits of time that a busy machine keeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_TRIES = 3


def within(seconds: float, work: Callable[[], T]) -> T:
    """What `work` returns, in a run of it that takes at most so much processor time.

    A virtual machine that stalls counts the stall as processor time, but does not stall three times in a row.
    Raises AssertionError if every run takes longer.
    """
    for _ in range(_TRIES):
        started = time.process_time()
        result = work()
        took = time.process_time() - started
        if took <= seconds:
            return result
    raise AssertionError(f"{took:.1f} s of processor time, and at most {seconds} s are allowed")
