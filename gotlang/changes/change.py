"""The rules for changes of the execution graph, and changes: checked edit by edit, made together.

(Framework of Thoughts, section 3.2 and Table 4.) The rules let operations that run concurrently change the
graph without locks: no two operations may change the same part. One relaxation goes beyond the paper: an
operation may add a connection to a descendant that it shares with others, if that takes any number of
thoughts. Such additions commute, since added thoughts come in the order of their paths, never in that of
their arrival.

The rules keep the regions of a running operation as they were when it started, whatever other operations do
to the graph meanwhile. So results of queries stay valid, and a query visits only what lies between the
operation and the node in question, not the whole graph. Connections are an operation's inputs; one without
inputs is connected to the operation that added it.

The graph does not change while the Python that requests changes runs, nor at all if it fails. Edits are an
overlay on the graph: `sources` and `targets` answer with the edits applied.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, final

from gotlang.errors import GotError
from gotlang.ir import program as ir
from gotlang.runtime.graph import DONE, FAILED, REMOVED, Graph, Operation
from gotlang.runtime.outcome import named as named_operation
from gotlang.scope import EVERYTHING, PoolType
from gotlang.thought import Thought
from gotlang.types import ANY

Region = Literal["itself", "ancestor", "exclusive", "shared"]
"""The region of an operation relative to another: `shared` descendants can also be reached from elsewhere."""

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
"""A function that describes the edit, called only for an error, since names of operations may be long."""


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
    """Check a new connection; `gathers`: the target takes any number of thoughts, so that additions commute.
    Raises ForbiddenEdit."""
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
        # This includes one that this operation added: such connections are only ever added.
        raise ForbiddenEdit("feeding", what)


def may_move(source: Region, start: Region, what: What) -> None:
    """Check that a connection from `source` may start at `start` instead. Raises ForbiddenEdit."""
    if source not in ("itself", "exclusive") or start == "shared":
        raise ForbiddenEdit("moving", what)


# -------------------------------------------------------------------- regions


def sources(operation: Operation) -> tuple[Operation, ...]:
    """The sources of an operation's connections."""
    if operation.inputs or operation.origin is None:
        return operation.inputs
    return (operation.origin,)


@final
class Regions:
    """The regions of one running operation, computed on demand."""

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
        """The region of another operation; None if this one cannot see it."""
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
        """The targets of connections from this operation, or from a descendant."""
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
        """Search upwards from an operation until its sources decide whether all of them (or one) are in the
        region."""
        stack = [other]
        while stack:
            at = stack[-1]
            if at in known:
                stack.pop()
                continue
            if at.state in (DONE, REMOVED) or not self._in_sight(at):
                known[at] = False  # it depends on nothing that is running
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
        """Whether an operation existed when this one started: those that others add meanwhile are invisible,
        so that the view does not depend on time."""
        origin = other.origin
        if origin is None or origin is self.operation.origin:
            return True
        return origin.state in (DONE, FAILED) and self.is_ancestor(origin)


# -------------------------------------------------------------------- changes


@final
@dataclass(slots=True, eq=False)
class AddedBlock:
    """Operations to be added as one: the steps of `region` on the thoughts of `after`, with what they use by
    name. Without steps it is the thoughts that it is connected to, or known `thoughts`, or a `value`. `pool`
    is its output."""

    text: str
    pool: PoolType
    region: ir.Region | None = None
    names: Mapping[str, Any] = field(default_factory=dict)
    after: Sequence[Node] = ()
    thoughts: tuple[Thought, ...] | None = None
    value: Any = None
    built: Operation | None = None


Node = Operation | AddedBlock
Connections = dict[Node, None]


@final
@dataclass(frozen=True, slots=True)
class EdgeChange:
    """A connection to a target that is new (no `source`), removed (no `start`), or starts elsewhere; with
    neither, the target itself is removed."""

    target: Operation
    source: Node | None = None
    start: Node | None = None


_ABSENT: Any = object()


@final
class Change:
    """The edits of one operation of a graph. `result` is the join that takes its thoughts; `kept` cannot be
    removed. Raises ForbiddenEdit and GraphError for what is not allowed."""

    def __init__(
        self,
        operation: Operation,
        graph: Graph,
        result: Operation | None = None,
        kept: Operation | None = None,
    ) -> None:
        self.operation = operation
        self.graph = graph
        self.result = result
        self.regions = Regions(operation)
        self.connected: dict[Node, Connections] = {}
        """The sources of the nodes that were added or changed."""
        self.removed: dict[Operation, None] = {}
        self.edits: dict[int, EdgeChange] = {}
        """The edits of operations that existed before, numbered in order."""
        self._kept = kept
        self._leads: dict[Node, Connections] = {}
        self._log: list[tuple[dict[Any, Any], Any, Any]] = []
        """The table entries that were set, with their previous values."""

    # ---------------------------------------------------------------- queries

    def region(self, node: Node, what: What) -> Region:
        """The region of a node. Raises ForbiddenEdit if the operation cannot see it."""
        if (region := self.find(node)) is None:
            raise ForbiddenEdit("sight", what)
        return region

    def find(self, node: Node) -> Region | None:
        """The region of a node; None if the operation cannot see it."""
        if isinstance(node, AddedBlock):
            return "exclusive" if node in self.connected else None
        return self.regions.of(node) if node not in self.removed else None

    def sources(self, node: Node) -> Collection[Node]:
        """The sources of a node's connections."""
        found = self.connected.get(node)
        if found is not None or isinstance(node, AddedBlock):
            return found or ()
        added = self.graph.additions.get(node)
        if added is None:
            return sources(node)
        # Connections that concurrent operations made may be there by now or not, so they are ignored.
        return [s for s in sources(node) if s not in added or any(map(self.regions.is_ancestor, added[s]))]

    def targets(self, node: Node) -> list[Node]:
        """The targets of a node's connections, among the operation's descendants."""
        found: Connections = dict(self._leads.get(node, {}))
        if self.find(node) == "ancestor":
            # It has ended, and no longer has a list of its targets.
            found = {**dict.fromkeys(self.regions.descendants()), **found}
        elif isinstance(node, Operation):
            found = {**dict.fromkeys(self.regions.targets(node)), **found}
        return [target for target in found if target not in self.removed and node in self.sources(target)]

    def parts(self) -> list[Node]:
        """The nodes whose thoughts the result takes."""
        found = self.sources(self.result) if self.result is not None else ()
        return [node for node in found if node is not self.operation]

    # ---------------------------------------------------------------- edits

    def add(self, block: AddedBlock, after: Iterable[Node]) -> AddedBlock:
        """Add operations that take the thoughts of nodes, which may not be shared descendants."""
        what = partial(_cannot, "add {}", block)
        found: Connections = dict.fromkeys(after)
        for source in found:
            may_connect(self.region(source, what), "exclusive", what, gathers=True)
        self._lead(block, found)
        return block

    def connect(self, source: Node, target: Node) -> None:
        """Let a target take the thoughts of a source too."""
        what = partial(_cannot, "connect {} to {}", source, target)
        start, end = self.region(source, what), self.region(target, what)
        why = self._takes_one(target)
        may_connect(start, end, what, gathers=why is None)
        if why is not None:
            raise GraphError(f"{what()}: {why}")
        if source in self.sources(target):
            raise GraphError(f"{what()}: they are connected already")
        self._check_no_circle(source, target, what)
        self._note(target, None, source)
        self._lead(target, (source,))

    def disconnect(self, source: Node, target: Node) -> None:
        """Remove the connection from a source to a target."""
        what = partial(_cannot, "disconnect {} from {}", source, target)
        may_disconnect(self.region(source, what), self.region(target, what), what)
        self._check_connected(source, target, what)
        if (why := self._takes_one(target)) is not None:
            raise GraphError(f"{what()}: {why}", help="move the connection instead")
        self._note(target, source, None)
        self._replace(target, [node for node in self.sources(target) if node is not source])

    def move(self, source: Node, target: Node, start: Node) -> None:
        """Let a connection start elsewhere: the target takes the thoughts of `start` instead."""
        what = partial(_cannot, "move the connection from {} to {}", source, target)
        region = self.region(source, what)
        self.region(target, what)
        may_move(region, self.region(start, what), what)
        self._check_connected(source, target, what)
        self._check_no_circle(start, target, what)
        # A rating, and the condition on the output of a round of `repeat`.
        if isinstance(target, Operation) and (
            target.role == "rated" or (target.role == "grow" and target.name[-1] == "until")
        ):
            raise GraphError(f"{what()}: it works only on the thoughts that it was made for")
        if isinstance(target, AddedBlock) and target.region is not None:
            raise GraphError(f"{what()}: it was added just now", help="add it after something else")
        if start is source:
            return
        self._note(target, source, start)
        self._replace(target, [start if node is source else node for node in self.sources(target)])

    def remove(self, node: Node) -> None:
        """Remove a node that has not run, with the connections that lead to it."""
        what = partial(_cannot, "remove {}", node)
        if (region := self.region(node, what)) != "exclusive":
            raise ForbiddenEdit(PROTECTS[region], what)
        if node is self._kept:
            raise GraphError(f"{what()}: it gives the run's result")
        if taken := self.targets(node):
            raise GraphError(
                f"{what()}: {named(taken[0])} takes its thoughts", help="move or remove that first"
            )
        if isinstance(node, AddedBlock):
            self._set(self.connected, node, _ABSENT)
            return
        self._take_away(node)
        if node.role == "join" and node.parts is None:
            # It is the result of a block that has not grown yet.
            for source in node.inputs:
                if not self.targets(source):
                    self._take_away(source)

    # ---------------------------------------------------------------- all or nothing

    def mark(self) -> int:
        """The present state, for `undo`."""
        return len(self._log)

    def undo(self, mark: int) -> None:
        """Undo the edits since `mark`."""
        while len(self._log) > mark:
            table, key, before = self._log.pop()
            if before is _ABSENT:
                table.pop(key, None)
            else:
                table[key] = before

    def _set(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Set or remove an entry of a table so that it can be undone."""
        self._log.append((table, key, table.get(key, _ABSENT)))
        if value is _ABSENT:
            del table[key]
        else:
            table[key] = value

    def _note(self, target: Node, source: Node | None, start: Node | None) -> None:
        if isinstance(target, Operation):
            self._set(self.edits, len(self.edits), EdgeChange(target, source, start))

    def _take_away(self, operation: Operation) -> None:
        self._set(self.removed, operation, None)
        self._note(operation, None, None)

    def _lead(self, target: Node, more: Iterable[Node]) -> None:
        if target not in self.connected:
            self._set(self.connected, target, dict.fromkeys(self.sources(target)))
        for source in more:
            self._set(self.connected[target], source, None)
            self._leads.setdefault(source, {})[target] = None

    def _replace(self, target: Node, now: Iterable[Node]) -> None:
        self._set(self.connected, target, {})
        self._lead(target, now)

    # ---------------------------------------------------------------- invalid graphs

    def _takes_one(self, target: Node) -> str | None:
        """Why a target cannot take the thoughts of one operation more or less."""
        if isinstance(target, AddedBlock):
            if target.region is not None:
                return "its steps are written for the nodes they were added after"
            return None if target.thoughts is None and target.value is None else "its thoughts are known"
        if target is self.result:
            return None
        if target.role != "join":
            return "it does not gather thoughts"
        if target.parts is None:
            return "it is the result of a block that does not know its parts yet"
        return None if target.step is None or not target.step.single else "it represents one thought"

    def _check_connected(self, source: Node, target: Node, what: What) -> None:
        if source not in self.sources(target):
            raise GraphError(f"{what()}: there is no such connection")
        grows = isinstance(source, Operation) and source.role in ("grow", "change")
        if grows or (source is self.operation and target is self.result):
            raise GraphError(f"{what()}: a block and its result belong together")

    def _check_no_circle(self, start: Node, target: Node, what: What) -> None:
        """Check that no operation waits for itself. Only what may be changed can lead from one to the
        other."""
        if isinstance(target, AddedBlock) and target is not start and not self._leads.get(target):
            return  # no connection starts there
        stack, seen = [start], {start}
        while stack:
            at = stack.pop()
            if at is target:
                raise GraphError(f"{what()}: it would wait for itself")
            if isinstance(at, AddedBlock) or at.state != DONE:
                for source in self.sources(at):
                    if source not in seen and source is not self.operation:
                        seen.add(source)
                        stack.append(source)


def kind(node: Node) -> PoolType:
    """The type of the thoughts of a node before they exist."""
    if isinstance(node, AddedBlock):
        return node.pool
    return PoolType(ANY, node.step is not None and node.step.single, EVERYTHING)


def _cannot(what: str, *nodes: Node) -> str:
    return f"cannot {what.format(*map(named, nodes))}"


def named(node: Node) -> str:
    """A node's name in messages."""
    return f"`{node.text}`" if isinstance(node, AddedBlock) else named_operation(node)
