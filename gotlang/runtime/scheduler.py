"""Which of the ready operations goes next: a setting, and something that a study can tune.

A scheduler decides about time only. The result of a run does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, final

from gotlang.errors import UsageError
from gotlang.estimate.remaining import CallsRemaining
from gotlang.runtime.graph import Operation, critical_path


class Scheduler(Protocol):
    """Gives each ready operation its urgency, the smallest first; ties go to the one added first."""

    def urgency(self, operation: Operation) -> Any:
        """An ordered value."""


@final
class BreadthFirst:
    """Operations with the fewest model calls before them first."""

    def urgency(self, operation: Operation) -> int:
        """Model calls on the longest path that leads here."""
        return critical_path(operation)[0]


@final
class DepthFirst:
    """Operations with the most model calls before them first: partial results come early."""

    def urgency(self, operation: Operation) -> int:
        """Model calls on the longest path that leads here, negated."""
        return -critical_path(operation)[0]


@final
class BestFirst:
    """Operations whose thoughts have the best scores first; those without a score last."""

    def urgency(self, operation: Operation) -> float:
        """The best score among the operation's thoughts, negated."""
        return -max((thought.goodness for thought in operation.pool), default=float("-inf"))


@final
class LongestPathFirst:
    """Operations with the most model calls still to come after them first: what everything waits for in the
    end is not kept waiting."""

    def __init__(self, remaining: CallsRemaining) -> None:
        self._remaining = remaining

    def urgency(self, operation: Operation) -> int:
        """Model calls on the longest path from here to the result, as estimated, negated."""
        step, rest = operation.step, operation.frame.rest
        if step is None:
            return -rest
        return -(rest + self._remaining.after(step) + self._remaining.own(step))


SCHEDULERS: dict[str, Callable[[CallsRemaining], Scheduler]] = {
    "breadth-first": lambda _: BreadthFirst(),
    "depth-first": lambda _: DepthFirst(),
    "best-first": lambda _: BestFirst(),
    "longest-path-first": LongestPathFirst,
}


def scheduler(name: str, remaining: CallsRemaining) -> Scheduler:
    """The scheduler of a name. Raises UsageError where there is none."""
    if name not in SCHEDULERS:
        raise UsageError(f"no scheduler `{name}`", help=f"there are {', '.join(SCHEDULERS)}")
    return SCHEDULERS[name](remaining)
