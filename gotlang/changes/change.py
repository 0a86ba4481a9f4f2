"""The changes of the graph that an operation asks for: checked edit by edit, made together in the end.

Nothing happens to the graph while the Python that asks for changes runs; if it fails, nothing ever happens.
Edits lie over the graph as it is: `sources` and `targets` say what they would be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, final

from gotlang.changes.regions import (
    PROTECTS,
    ForbiddenEdit,
    GraphError,
    Region,
    Regions,
    What,
    may_connect,
    may_disconnect,
    may_move,
    sources,
)
from gotlang.ir import program as ir
from gotlang.runtime.graph import DONE, Graph, Operation
from gotlang.runtime.outcome import named as named_operation
from gotlang.scope import PoolType
from gotlang.thought import Thought
from gotlang.types import ANY


@final
@dataclass(slots=True, eq=False)
class Block:
    """Operations to be added as one: the steps of `region` on the thoughts of `after`, with what they use by
    name. Without steps it is the thoughts that it is connected to, or known `thoughts`, or a `value`. `pool`
    is what it leaves."""

    text: str
    pool: PoolType
    region: ir.Region | None = None
    names: Mapping[str, Any] = field(default_factory=dict)
    after: Sequence[Node] = ()
    thoughts: tuple[Thought, ...] | None = None
    value: Any = None
    built: Operation | None = None


Node = Operation | Block
Connections = dict[Node, None]


@final
@dataclass(frozen=True, slots=True)
class Edit:
    """A connection to a target that is new (no `source`), removed (no `start`), or starts elsewhere; with
    neither, the target itself is removed."""

    target: Operation
    source: Node | None = None
    start: Node | None = None


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
        """Where the connections start that lead to what was added or changed."""
        self.removed: dict[Operation, None] = {}
        self.edits: list[Edit] = []
        """What was asked of operations that were there before, in order."""
        self._kept = kept
        self._leads: dict[Node, Connections] = {}
        self._undo: list[Callable[[], Any]] = []

    # ---------------------------------------------------------------- what is there

    def region(self, node: Node, what: What) -> Region:
        """Where a node is. Raises ForbiddenEdit if the operation cannot see it."""
        if (region := self.find(node)) is None:
            raise ForbiddenEdit("sight", what)
        return region

    def find(self, node: Node) -> Region | None:
        """Where a node is; None if the operation cannot see it."""
        if isinstance(node, Block):
            return "exclusive" if node in self.connected else None
        return self.regions.of(node) if node not in self.removed else None

    def sources(self, node: Node) -> Collection[Node]:
        """Where the connections start that lead to a node."""
        found = self.connected.get(node)
        if found is not None or isinstance(node, Block):
            return found or ()
        added = self.graph.additions.get(node)
        if added is None:
            return sources(node)
        # Connections that concurrent operations made may be there by now or not, so they are ignored.
        return [s for s in sources(node) if s not in added or any(map(self.regions.is_ancestor, added[s]))]

    def targets(self, node: Node) -> list[Node]:
        """Where the connections lead that start at a node, among the operation's descendants."""
        found: Connections = dict(self._leads.get(node, {}))
        if self.find(node) == "ancestor":
            # It has ended, and does not know any more what waited for it.
            found = {**dict.fromkeys(self.regions.descendants()), **found}
        elif isinstance(node, Operation):
            found = {**dict.fromkeys(self.regions.targets(node)), **found}
        return [target for target in found if target not in self.removed and node in self.sources(target)]

    def parts(self) -> list[Node]:
        """The nodes whose thoughts the result takes."""
        found = self.sources(self.result) if self.result is not None else ()
        return [node for node in found if node is not self.operation]

    # ---------------------------------------------------------------- edits

    def add(self, block: Block, after: Iterable[Node]) -> Block:
        """Add operations that take the thoughts of nodes, which may not be shared descendants."""
        what = partial(_cannot, "add {}", block)
        found: Connections = dict.fromkeys(after)
        for source in found:
            may_connect(self.region(source, what), "exclusive", what, gathers=True)
        self.connected[block] = {}
        self._undo.append(lambda: self.connected.pop(block))
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
        """Let a target do without the thoughts of a source."""
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
        if isinstance(target, Operation) and (target.role == "rated" or _looks_back(target)):
            raise GraphError(f"{what()}: it works only on the thoughts that it was made for")
        if isinstance(target, Block) and target.region is not None:
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
        if isinstance(node, Block):
            before = self.connected.pop(node)
            self._undo.append(lambda: self.connected.__setitem__(node, before))
            return
        self._take_away(node)
        if node.role == "join" and node.parts is None:
            # It is the result of a block that is still to be grown.
            for source in node.inputs:
                if not self.targets(source):
                    self._take_away(source)

    # ---------------------------------------------------------------- all or nothing

    def mark(self) -> int:
        """The present state, for `undo`."""
        return len(self._undo)

    def undo(self, mark: int) -> None:
        """Forget the edits since `mark`."""
        while len(self._undo) > mark:
            self._undo.pop()()

    def _note(self, target: Node, source: Node | None, start: Node | None) -> None:
        if isinstance(target, Operation):
            self.edits.append(Edit(target, source, start))
            self._undo.append(self.edits.pop)

    def _take_away(self, operation: Operation) -> None:
        self.removed[operation] = None
        self._undo.append(lambda: self.removed.pop(operation))
        self._note(operation, None, None)

    def _lead(self, target: Node, more: Iterable[Node]) -> None:
        at = self.connected.get(target)
        if at is None:
            at = self.connected[target] = dict.fromkeys(self.sources(target))
            self._undo.append(lambda: self.connected.pop(target))
        for source in more:
            at[source] = None
            self._leads.setdefault(source, {})[target] = None
            self._undo.append(lambda at=at, source=source: at.pop(source))  # type: ignore[misc]

    def _replace(self, target: Node, now: list[Node]) -> None:
        self._lead(target, ())
        before = self.connected[target]
        self.connected[target] = dict.fromkeys(now)
        for source in now:
            self._leads.setdefault(source, {})[target] = None
        self._undo.append(lambda: self.connected.__setitem__(target, before))

    # ---------------------------------------------------------------- what would not run

    def _takes_one(self, target: Node) -> str | None:
        """Why a target cannot take the thoughts of one more operation, or of one less."""
        if isinstance(target, Block):
            if target.region is not None:
                return "its steps are written for the nodes they were added after"
            return None if target.thoughts is None and target.value is None else "its thoughts are known"
        return None if target is self.result else takes_one(target)

    def _check_connected(self, source: Node, target: Node, what: What) -> None:
        if source not in self.sources(target):
            raise GraphError(f"{what()}: there is no such connection")
        grows = isinstance(source, Operation) and source.role in ("grow", "change")
        if grows or (source is self.operation and target is self.result):
            raise GraphError(f"{what()}: a block and its result belong together")

    def _check_no_circle(self, start: Node, target: Node, what: What) -> None:
        """No operation may wait for itself. Only what may be changed can lead from one to the other."""
        if isinstance(target, Block) and target is not start and not self._leads.get(target):
            return  # nothing starts there
        stack, seen = [start], {start}
        while stack:
            at = stack.pop()
            if at is target:
                raise GraphError(f"{what()}: it would wait for itself")
            if isinstance(at, Block) or at.state != DONE:
                for source in self.sources(at):
                    if source not in seen and source is not self.operation:
                        seen.add(source)
                        stack.append(source)


def _looks_back(operation: Operation) -> bool:
    """Whether an operation tests what a round of `repeat` gave."""
    return operation.role == "grow" and operation.name[-1] == "until"


def takes_one(operation: Operation) -> str | None:
    """Why an operation takes the thoughts only of those it is connected to; None if it takes any number."""
    if operation.role != "join":
        return "it does not gather thoughts"
    if operation.parts is None:
        return "it is the result of a block that does not know its parts yet"
    return None if operation.step is None or not operation.step.single else "it stands for one thought"


def kind(node: Node) -> PoolType:
    """What is known of the thoughts of a node before they are there."""
    if isinstance(node, Block):
        return node.pool
    return PoolType(ANY, node.step is not None and node.step.single, True)


def _cannot(what: str, *nodes: Node) -> str:
    return f"cannot {what.format(*map(named, nodes))}"


def named(node: Node) -> str:
    """A node, as messages name it."""
    return f"`{node.text}`" if isinstance(node, Block) else named_operation(node)
