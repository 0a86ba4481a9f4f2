"""What an operation may change in the execution graph: the regions around it, and the rules for each.

(Framework of Thoughts, section 3.2 and Table 4.) The rules let operations that run concurrently change the
graph without locks: what one may change, no other can. One relaxation goes beyond the paper: an operation may
add a connection to a descendant that it shares with others, if that takes any number of thoughts. Such
additions commute, since added thoughts come in the order of their paths, never in that of their arrival.

The rules keep the regions of a running operation as they were when it started, whatever other operations do
to the graph meanwhile. So what was found once stays true, and a question takes time for what lies between the
operation and what is asked about, not for the whole graph. Connections are an operation's inputs; one without
inputs is connected to the operation that added it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Literal, final

from gotlang.errors import GotError
from gotlang.runtime.graph import DONE, FAILED, REMOVED, Operation

Region = Literal["itself", "ancestor", "exclusive", "shared"]
"""Where an operation is, seen from another: `shared` descendants can also be reached from elsewhere."""

Rule = Literal["sight", "ancestors", "shared", "exclusive", "feeding", "moving"]

RULES: dict[Rule, str] = {
    "sight": "an operation sees only its ancestors, its descendants and itself",
    "ancestors": "an operation cannot change its ancestors",
    "shared": "an operation cannot change descendants that can be reached from elsewhere",
    "exclusive": "an operation adds and removes only its exclusive descendants, and connections from itself "
    "to them",
    "feeding": "an operation adds connections only from its ancestors, and only to its exclusive descendants",
    "moving": "only connections from the operation itself or an exclusive descendant can be moved, to start "
    "there or at an ancestor",
}
"""The six rules, by the name that an error has for them."""

What = Callable[[], str]
"""What cannot be done, in words; called only for an error, since names of operations may be long."""


# -------------------------------------------------------------------- rules


class GraphError(GotError):
    """A change after which the graph could not run."""


@final
class ForbiddenEdit(GraphError):
    """A change of the graph that a rule forbids; `rule` is the rule's name in `RULES`."""

    def __init__(self, rule: Rule, what: What) -> None:
        super().__init__(f"{what()}: {RULES[rule]} (rule `{rule}`)")
        self.rule = rule


PROTECTS: dict[Region, Rule] = {
    "ancestor": "ancestors",
    "shared": "shared",
    "itself": "exclusive",
    "exclusive": "exclusive",
}


def may_connect(source: Region, target: Region, what: What, *, gathers: bool) -> None:
    """Check a new connection; `gathers` says that the target takes any number of thoughts, so that additions
    commute. Raises ForbiddenEdit."""
    if source == "shared":
        raise ForbiddenEdit("feeding", what)
    if target != "exclusive" and not (target == "shared" and gathers):
        raise ForbiddenEdit(PROTECTS[target], what)


def may_disconnect(source: Region, target: Region, what: What) -> None:
    """Check the removal of a connection. Raises ForbiddenEdit."""
    if target in ("ancestor", "itself"):
        raise ForbiddenEdit("ancestors", what)
    if source == "shared" or target == "shared":
        raise ForbiddenEdit("shared", what)
    if source == "ancestor":
        # Also one that this operation added: such connections are only ever added.
        raise ForbiddenEdit("feeding", what)


def may_move(source: Region, start: Region, what: What) -> None:
    """Check that a connection from `source` may start at `start` instead. Raises ForbiddenEdit."""
    if source not in ("itself", "exclusive") or start == "shared":
        raise ForbiddenEdit("moving", what)


# -------------------------------------------------------------------- regions


def sources(operation: Operation) -> tuple[Operation, ...]:
    """Where the connections that lead to an operation start."""
    if operation.inputs or operation.origin is None:
        return operation.inputs
    return (operation.origin,)


@final
class Regions:
    """The regions of one running operation, found as far as they are asked for."""

    __slots__ = ("_ancestors", "_descends", "_exclusive", "_known", "_looked", "operation")

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self._known = [operation]
        """It and its ancestors, the nearest first; the sources of `_looked` of them are known."""
        self._looked = 0
        self._ancestors: set[Operation] = set()
        self._exclusive: dict[Operation, bool] = {operation: True}
        self._descends: dict[Operation, bool] = {operation: True}

    def of(self, other: Operation) -> Region | None:
        """Where another operation is; None if this one cannot see it."""
        if other is self.operation:
            return "itself"
        if other.state == REMOVED:
            return None
        if other.state in (DONE, FAILED) and self.is_ancestor(other):
            return "ancestor"
        if self.is_exclusive(other):
            return "exclusive"
        return "shared" if self.is_descendant(other) else None

    def is_ancestor(self, other: Operation) -> bool:
        """Whether a path leads from another operation to this one."""
        while other not in self._ancestors and self._look_up():
            pass
        return other in self._ancestors

    def ancestors(self) -> Iterator[Operation]:
        """Every operation from which a path leads here, the nearest first."""
        at = 1
        while at < len(self._known) or self._look_up():
            while at < len(self._known):
                yield self._known[at]
                at += 1

    def _look_up(self) -> bool:
        """Find the sources of one more ancestor; False if none is left."""
        if self._looked == len(self._known):
            return False
        at = self._known[self._looked]
        # A failed operation need not have waited for all its inputs, and no thought came through it.
        for source in sources(at) if at.state != FAILED else ():
            if source not in self._ancestors:
                self._ancestors.add(source)
                self._known.append(source)
        self._looked += 1
        return True

    def descendants(self) -> Iterator[Operation]:
        """Every operation to which a path leads from here, the nearest first."""
        queue, seen = deque((self.operation,)), {self.operation}
        while queue:
            for target in self.targets(queue.popleft()):
                if target not in seen:
                    seen.add(target)
                    self._descends[target] = True
                    queue.append(target)
                    yield target

    def targets(self, operation: Operation) -> list[Operation]:
        """Where the connections from this operation, or from a descendant, lead."""
        found = [
            o for o in operation.successors or () if o.state not in (DONE, REMOVED) and self._in_sight(o)
        ]
        return [o for o in found if not o.inputs_optional or self.is_descendant(o)]

    def is_exclusive(self, other: Operation) -> bool:
        """Whether every path to an operation goes through this one."""
        return self._search(other, self._exclusive, every=True)

    def is_descendant(self, other: Operation) -> bool:
        """Whether a path leads from here to another operation, so that it cannot run before this one ended.

        An operation with optional inputs still runs if an unrelated failure removes one; no path leads
        through such an input.
        """
        return self._search(other, self._descends, every=False)

    def _surely(self, source: Operation, target: Operation) -> bool:
        """Whether a target waits for this operation if one of its sources, a descendant, does."""
        return not target.inputs_optional or source.inputs_optional or self.is_exclusive(source)

    def _search(self, other: Operation, known: dict[Operation, bool], *, every: bool) -> bool:
        """Go up from an operation until its sources say whether all of them (or one) are in the region."""
        stack = [other]
        while stack:
            at = stack[-1]
            if at in known:
                stack.pop()
                continue
            if at.state in (DONE, REMOVED) or not self._in_sight(at):
                known[at] = False  # it depends on nothing that runs
                continue
            above = sources(at)
            if not every:
                above = tuple(s for s in above if self._surely(s, at))
            decided = not every
            answer: bool | None = next((decided for s in above if known.get(s) is decided), None)
            if answer is None:
                if unknown := [s for s in above if s not in known]:
                    stack.append(unknown[0])
                    continue
                answer = every and bool(above)
            known[at] = answer
        return known[other]

    def _in_sight(self, other: Operation) -> bool:
        """Whether an operation was there when this one started: what others add meanwhile is not seen, so
        that what is seen does not depend on time."""
        origin = other.origin
        if origin is None or origin is self.operation.origin:
            return True
        return origin.state in (DONE, FAILED) and self.is_ancestor(origin)
