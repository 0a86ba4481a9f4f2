"""What an operation wants changed in the graph: checked edit by edit, done all at once in the end.

Nothing happens to the graph while the Python that asks for a change runs; where it fails, nothing ever
happens. Edits lie over the graph as it is: `sources` and `targets` tell what they would be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

from gotlang.changes.regions import (
    GraphError,
    Region,
    Regions,
    What,
    may_connect,
    may_disconnect,
    may_move,
    may_remove,
    may_see,
    sources,
)
from gotlang.ir import program as ir
from gotlang.runtime.graph import DONE, Graph, Operation
from gotlang.runtime.outcome import named as named_operation
from gotlang.scope import PoolType
from gotlang.thought import Thought
from gotlang.types import ANY


@final
class Block:
    """Operations that are to be added as one: the steps of `region` on the thoughts of `after`, with what
    they use by name. Without steps it is the thoughts that it is connected to, or `thoughts` or a `value`
    that are there already. `pool` is what it leaves."""

    __slots__ = ("after", "built", "names", "pool", "region", "text", "thoughts", "value")

    def __init__(
        self,
        text: str,
        pool: PoolType,
        region: ir.Region | None = None,
        names: Mapping[str, Any] | None = None,
        *,
        after: Sequence[Node] = (),
        thoughts: tuple[Thought, ...] | None = None,
        value: Any = None,
    ) -> None:
        self.text = text
        self.pool = pool
        self.region = region
        self.names = names or {}
        self.after = after
        self.thoughts = thoughts
        self.value = value
        self.built: Operation | None = None


Node = Operation | Block
Connections = dict[Node, None]


@final
@dataclass(frozen=True, slots=True)
class Edit:
    """A connection to a target that is new (no `source`), gone (no `start`), or starts elsewhere; with
    neither, the target itself is gone."""

    target: Operation
    source: Node | None = None
    start: Node | None = None


@final
class Change:
    """The edits of one operation of a graph. `result` is the join that takes what it gives; `kept` is what
    nobody may take away. Raises ForbiddenEdit and GraphError for what may not be."""

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
        """Where something stands. Raises ForbiddenEdit where the operation cannot see it."""
        return may_see(self.find(node), what)

    def find(self, node: Node) -> Region | None:
        """Where something stands; None where the operation cannot see it."""
        if isinstance(node, Block):
            return "exclusive" if node in self.connected else None
        return self.regions.of(node) if node not in self.removed else None

    def sources(self, node: Node) -> Collection[Node]:
        """Where the connections start that lead to something."""
        found = self.connected.get(node)
        if found is not None or isinstance(node, Block):
            return found or ()
        added = self.graph.additions.get(node)
        if added is None:
            return sources(node)
        # What operations beside this one connected may be there by now or not, so it is not looked at.
        return [s for s in sources(node) if s not in added or any(map(self.regions.is_ancestor, added[s]))]

    def targets(self, node: Node) -> list[Node]:
        """Where the connections lead that start at something, among the operation's descendants."""
        found: Connections = dict(self._leads.get(node, {}))
        if self.find(node) == "ancestor":
            # It has ended, and knows no more what waited for it.
            found = {**dict.fromkeys(self.regions.descendants()), **found}
        elif isinstance(node, Operation):
            found = {**dict.fromkeys(self.regions.targets(node)), **found}
        return [target for target in found if target not in self.removed and node in self.sources(target)]

    def parts(self) -> list[Node]:
        """What the result gathers."""
        found = self.sources(self.result) if self.result is not None else ()
        return [node for node in found if node is not self.operation]

    # ---------------------------------------------------------------- edits

    def add(self, block: Block, after: Iterable[Node]) -> Block:
        """Add operations that take the thoughts of others, which may not be shared with other operations."""
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
            raise GraphError(f"{what()}: it is connected already")
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
        """Let a connection start elsewhere: the target takes the thoughts of `start` in the place of those of
        `source`."""
        what = partial(_cannot, "move the connection from {} to {}", source, target)
        region = self.region(source, what)
        self.region(target, what)
        may_move(region, self.region(start, what), what)
        self._check_connected(source, target, what)
        self._check_no_circle(start, target, what)
        if isinstance(target, Operation) and (target.role == "rated" or _looks_back(target)):
            raise GraphError(f"{what()}: it looks at just the thoughts that it was made for")
        if isinstance(target, Block) and target.region is not None:
            raise GraphError(f"{what()}: it was added just now", help="add it after something else")
        if start is source:
            return
        self._note(target, source, start)
        self._replace(target, [start if node is source else node for node in self.sources(target)])

    def remove(self, node: Node) -> None:
        """Take something away that has not run, with the connections that lead to it."""
        what = partial(_cannot, "remove {}", node)
        may_remove(self.region(node, what), what)
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
            # What it waits for grows a block of which it is the result.
            for source in node.inputs:
                if not self.targets(source):
                    self._take_away(source)

    # ---------------------------------------------------------------- all or nothing

    def mark(self) -> int:
        """Where the change stands, for `undo`."""
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
        """Why a target cannot take thoughts of one more operation, or of one less."""
        if isinstance(target, Block):
            if target.region is not None:
                return "its steps are written for what they were added after"
            return None if target.thoughts is None and target.value is None else "its thoughts are there"
        return None if target is self.result else takes_one(target)

    def _check_connected(self, source: Node, target: Node, what: What) -> None:
        if source not in self.sources(target):
            raise GraphError(f"{what()}: there is none")
        if source is self.operation and target is self.result:
            raise GraphError(f"{what()}: a block and its result belong together")
        if isinstance(source, Operation) and source.role in ("grow", "change"):
            raise GraphError(f"{what()}: a block and its result belong together")

    def _check_no_circle(self, start: Node, target: Node, what: What) -> None:
        """Nothing may wait for itself. Only what the operation may change can lead from one to the other."""
        if isinstance(target, Block) and target is not start and not self._leads.get(target):
            return  # nothing starts there
        stack, seen = [start], {start}
        while stack:
            at = stack.pop()
            if at is target:
                raise GraphError(f"{what()}: then it would wait for itself")
            if isinstance(at, Block) or at.state != DONE:
                for source in self.sources(at):
                    if source not in seen and source is not self.operation:
                        seen.add(source)
                        stack.append(source)


def _looks_back(operation: Operation) -> bool:
    """Whether an operation tests what a round of `repeat` gave."""
    return operation.role == "grow" and operation.name[-1] == "until"


def takes_one(operation: Operation) -> str | None:
    """Why an operation takes the thoughts of just those that it is connected to; None where it takes any
    number: what gathers thoughts, and what works on whatever it gets."""
    if operation.role == "join":
        if operation.parts is None:
            return "it is the result of a block that does not know its parts yet"
        return None if operation.step is None or not operation.step.single else "it stands for one thought"
    return "it does not gather thoughts"


def kind(node: Node) -> PoolType:
    """What is known of the thoughts that a node gives, before they are there."""
    if isinstance(node, Block):
        return node.pool
    return PoolType(ANY, node.step is not None and node.step.single, True)


def _cannot(what: str, *nodes: Node) -> str:
    return f"cannot {what.format(*map(named, nodes))}"


def named(node: Node) -> str:
    """What an edit calls an operation."""
    return f"`{node.text}`" if isinstance(node, Block) else named_operation(node)
