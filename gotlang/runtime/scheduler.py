"""Which of the ready operations is next: a setting, and something that a study can tune.

A scheduler decides about time only. The result of a run does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gotlang.errors import UsageError
from gotlang.estimate.remaining import CallsRemaining
from gotlang.runtime.graph import Operation, critical_path

Scheduler = Callable[[Operation], Any]
"""The urgency of a ready operation, an ordered value: the smallest first; ties go to the one added first."""


def _breadth_first(operation: Operation) -> int:
    """Operations with the fewest model calls before them first."""
    return critical_path(operation)[0]


def _depth_first(operation: Operation) -> int:
    """Operations with the most model calls before them first: partial results come early."""
    return -critical_path(operation)[0]


def _best_first(operation: Operation) -> float:
    """Operations whose thoughts have the best scores first; those without a score last."""
    return -max((thought.goodness for thought in operation.pool), default=float("-inf"))


def _critical_path_first(remaining: CallsRemaining) -> Scheduler:
    """Operations with the most model calls after them, as estimated, first."""

    def urgency(operation: Operation) -> int:
        step, rest = operation.step, operation.frame.rest
        return -rest if step is None else -(rest + remaining.after(step) + remaining.own(step))

    return urgency


SCHEDULERS: dict[str, Callable[[CallsRemaining], Scheduler]] = {
    "breadth-first": lambda _: _breadth_first,
    "depth-first": lambda _: _depth_first,
    "best-first": lambda _: _best_first,
    "critical-path-first": _critical_path_first,
}


def scheduler(name: str, remaining: CallsRemaining) -> Scheduler:
    """The scheduler of a name. Raises UsageError for an unknown one."""
    if name not in SCHEDULERS:
        raise UsageError(f"unknown scheduler `{name}`", help=f"choose from {', '.join(SCHEDULERS)}")
    return SCHEDULERS[name](remaining)
