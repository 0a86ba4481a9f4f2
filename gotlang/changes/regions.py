"""What surrounds an operation in the execution graph: its ancestors, descendants and exclusive descendants.

(Framework of Thoughts, Table 4.) Nothing is computed for operations that nobody asks about, and nothing is
computed twice. The rules of `gotlang.changes.regions` keep the regions of an operation that runs as they were
when it started, whatever other operations do to the graph meanwhile; so what was found once stays true, and a
question costs what lies between the operation and what is asked about, not what the graph holds.

Connections are an operation's inputs. One without inputs is connected to the operation that added it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Literal, final

from gotlang.errors import GotError
from gotlang.runtime.graph import DONE, FAILED, REMOVED, Operation

Region = Literal["itself", "ancestor", "exclusive", "shared"]
"""Where an operation stands, seen from another: `shared` descendants are those that can also be reached from
elsewhere."""


def sources(operation: Operation) -> tuple[Operation, ...]:
    """Where the connections that lead to an operation start."""
    if operation.inputs or operation.origin is None:
        return operation.inputs
    return (operation.origin,)


@final
class Regions:
    """The regions of one operation that runs, found as far as they were asked for."""

    __slots__ = ("_ancestors", "_descends", "_exclusive", "_known", "_looked", "operation")

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self._known = [operation]  # it and its ancestors, the nearest first, those above `_looked` of them
        self._looked = 0
        self._ancestors: set[Operation] = set()
        self._exclusive: dict[Operation, bool] = {operation: True}
        self._descends: dict[Operation, bool] = {operation: True}

    def of(self, other: Operation) -> Region | None:
        """Where another operation stands; None where this one cannot see it."""
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
        """Find the sources of one more ancestor; False where there is none left."""
        if self._looked == len(self._known):
            return False
        at = self._known[self._looked]
        # What failed need not have waited for all that it would have taken, and no thought came through it.
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
        found = tuple(operation.successors or ())
        found = tuple(o for o in found if o.state not in (DONE, REMOVED) and self._in_sight(o))
        return [o for o in found if not o.inputs_optional or self.is_descendant(o)]

    def is_exclusive(self, other: Operation) -> bool:
        """Whether every path to an operation goes through this one: all it takes comes from here."""
        return self._search(other, self._exclusive, every=True)

    def is_descendant(self, other: Operation) -> bool:
        """Whether a path leads from here to another operation, so that it cannot run before this one ended.

        What can do without some of its inputs goes on without one that something beside this operation made
        fail; no path leads through such an input.
        """
        return self._search(other, self._descends, every=False)

    def _surely(self, source: Operation, target: Operation) -> bool:
        """Whether a target waits for this operation where one of its sources, a descendant, does."""
        return not target.inputs_optional or source.inputs_optional or self.is_exclusive(source)

    def _search(self, other: Operation, known: dict[Operation, bool], *, every: bool) -> bool:
        """Go up from an operation until its sources say whether all of them (or one) lie here."""
        stack = [other]
        while stack:
            at = stack[-1]
            if at in known:
                stack.pop()
                continue
            if at.state in (DONE, REMOVED) or not self._in_sight(at):
                known[at] = False  # what is done depends on nothing that runs
                continue
            above = sources(at)
            if not every:
                above = tuple(s for s in above if self._surely(s, at))
            decided = not every
            answer: bool | None = next((decided for s in above if known.get(s) is decided), None)
            if answer is None:
                open_ = [s for s in above if s not in known]
                if open_:
                    stack.append(open_[0])
                    continue
                answer = every and bool(above)
            known[at] = answer
        return known[other]

    def _in_sight(self, other: Operation) -> bool:
        """Whether an operation was there when this one started: what others add meanwhile is not seen, so
        that what is seen does not depend on when things end."""
        origin = other.origin
        if origin is None or origin is self.operation.origin:
            return True
        return origin.state in (DONE, FAILED) and self.is_ancestor(origin)


Rule = Literal["sight", "ancestors", "shared", "exclusive", "feeding", "moving"]

RULES: dict[Rule, str] = {
    "sight": "an operation sees only its ancestors, its descendants and itself",
    "ancestors": "an operation cannot change what lies among its ancestors",
    "shared": "an operation cannot change what lies among descendants that others reach too",
    "exclusive": "an operation adds and removes only what lies among its exclusive descendants, and "
    "connections from itself to them",
    "feeding": "an operation adds connections from its ancestors only, and only to its exclusive descendants",
    "moving": "only connections from the operation itself or an exclusive descendant can be moved, and they "
    "then start there or at an ancestor",
}
"""The six rules, by the name that an error has for them."""


What = Callable[[], str]
"""Says what cannot be done; called only where it cannot, since names of operations may be long."""


class GraphError(GotError):
    """A change that would leave a graph that cannot run."""


@final
class ForbiddenEdit(GraphError):
    """A change of the graph that a rule forbids; `rule` is the rule's name in `RULES`."""

    def __init__(self, rule: Rule, what: What) -> None:
        super().__init__(f"{what()}: {RULES[rule]} (rule `{rule}`)")
        self.rule = rule


def may_see(region: Region | None, what: What) -> Region:
    """The region of something that may be seen. Raises ForbiddenEdit."""
    if region is None:
        raise ForbiddenEdit("sight", what)
    return region


def may_remove(region: Region, what: What) -> None:
    """Check the removal of an operation. Raises ForbiddenEdit."""
    if region != "exclusive":
        raise ForbiddenEdit(_PROTECTS.get(region, "exclusive"), what)


def may_connect(source: Region, target: Region, what: What, *, gathers: bool) -> None:
    """Check a new connection; `gathers` tells whether the target takes any number of thoughts, so that adding
    to it commutes with what others add. Raises ForbiddenEdit."""
    if source == "shared":
        raise ForbiddenEdit("feeding", what)
    if target == "exclusive" or (target == "shared" and gathers):
        return
    raise ForbiddenEdit(_PROTECTS.get(target, "exclusive"), what)


def may_disconnect(source: Region, target: Region, what: What) -> None:
    """Check the removal of a connection. Raises ForbiddenEdit."""
    if target in ("ancestor", "itself"):
        raise ForbiddenEdit("ancestors", what)  # so it starts among them
    if source == "shared" or target == "shared":
        raise ForbiddenEdit("shared", what)
    if source == "ancestor":
        # Also one that this operation added: by the rules such connections are only ever added.
        raise ForbiddenEdit("feeding", what)


def may_move(source: Region, start: Region, what: What) -> None:
    """Check that a connection from `source` may start at `start` from now on. Raises ForbiddenEdit."""
    if source not in ("itself", "exclusive") or start == "shared":
        raise ForbiddenEdit("moving", what)


_PROTECTS: dict[Region, Rule] = {"ancestor": "ancestors", "shared": "shared"}
