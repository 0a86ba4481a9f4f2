"""Which of the ready operations goes next: a setting, and something that a study can tune.

A scheduler decides about time only. The result of a run does not depend on it.
"""

from __future__ import annotations

from typing import Any, Protocol, final

from gotlang.errors import UsageError
from gotlang.runtime.graph import Graph, Operation


class Scheduler(Protocol):
    """Gives each ready operation its urgency, the smallest first; ties go to the one added first."""

    def urgency(self, operation: Operation) -> Any:
        """An ordered value."""


@final
class BreadthFirst:
    """Operations with the fewest model calls before them first."""

    def urgency(self, operation: Operation) -> Any:
        """Model calls on the longest path that leads here."""
        return max((o.hops for o in Graph.before(operation)), default=0)


@final
class DepthFirst:
    """Operations with the most model calls before them first: partial results come early."""

    def urgency(self, operation: Operation) -> Any:
        """Model calls on the longest path that leads here, negated."""
        return -max((o.hops for o in Graph.before(operation)), default=0)


@final
class BestFirst:
    """Operations whose thoughts have the best scores first; those without a score last."""

    def urgency(self, operation: Operation) -> Any:
        """The best score among the operation's thoughts, negated."""
        output = operation.inputs[0].output if operation.inputs else ()
        return -max((thought.goodness for thought in output), default=float("-inf"))


SCHEDULERS: dict[str, type[Any]] = {
    "breadth-first": BreadthFirst,
    "depth-first": DepthFirst,
    "best-first": BestFirst,
}


def scheduler(name: str) -> Scheduler:
    """The scheduler of a name. Raises UsageError where there is none."""
    if name not in SCHEDULERS:
        raise UsageError(f"no scheduler `{name}`", help=f"there are {', '.join(SCHEDULERS)}")
    found: Scheduler = SCHEDULERS[name]()
    return found
