"""Limits of time that a busy machine and a full heap keep."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_TRIES = 3
_QUIET_S = 0.03
"""Processor seconds of `pace` on a machine that does nothing else."""


def pace() -> float:
    """How much slower than a quiet one this machine is now: neighbours on the same core halve its speed."""
    started, found = time.process_time(), dict[int, str]()
    for number in range(300_000):
        found[number & 1023] = str(number)
    return max(1.0, (time.process_time() - started) / _QUIET_S)


def _empty_heap() -> None:
    """The collector looks at new objects only from now on: late in a suite, full collections take most of the
    time."""
    gc.collect()
    gc.freeze()


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    def timed() -> tuple[T, float]:
        started = time.process_time()
        return work(), time.process_time() - started

    (result, took), slower = paced(timed)
    return result, took / slower


def paced(work: Callable[[], T]) -> tuple[T, float]:
    """What `work` returns, and how much slower than a quiet machine this one was before and after it."""
    before = pace()
    return work(), (before + pace()) / 2


def cost(work: Callable[[], object]) -> float:
    """Processor seconds of `work` on a quiet machine with an empty heap, the least of three runs."""
    _empty_heap()
    return min(_timed(work)[1] for _ in range(_TRIES))


def within(seconds: float, work: Callable[[], T]) -> T:
    """What `work` returns, in a run of it that takes at most so much processor time of a quiet machine.

    A virtual machine that stalls counts the stall as processor time, but does not stall three times in a row.
    Raises AssertionError if every run takes longer.
    """
    started = time.process_time()
    result = work()
    if time.process_time() - started <= seconds:
        return result
    _empty_heap()
    for _ in range(_TRIES):
        result, took = _timed(work)
        if took <= seconds:
            return result
    raise AssertionError(
        f"{took:.1f} s of processor time of a quiet machine, and at most {seconds:.1f} s are allowed"
    )
