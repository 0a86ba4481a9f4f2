"""Limits of time that a busy machine keeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_TRIES = 3
_QUIET_S = 0.03
"""Processor seconds of `_pace` on a machine that does nothing else."""


def _pace() -> float:
    """How much slower than a quiet one this machine is now: neighbours on the same core halve its speed."""
    started, found = time.process_time(), dict[int, str]()
    for number in range(300_000):
        found[number & 1023] = str(number)
    return max(1.0, (time.process_time() - started) / _QUIET_S)


def within(seconds: float, work: Callable[[], T]) -> T:
    """What `work` returns, in a run of it that takes at most so much processor time of a quiet machine.

    A virtual machine that stalls counts the stall as processor time, but does not stall three times in a row.
    Raises AssertionError if every run takes longer.
    """
    for _ in range(_TRIES):
        before, started = _pace(), time.process_time()
        result = work()
        took = time.process_time() - started
        if took <= (allowed := seconds * (before + _pace()) / 2):
            return result
    raise AssertionError(f"{took:.1f} s of processor time, and at most {allowed:.1f} s are allowed")
