"""Small execution graphs of joins, with the rules for changing them written down a second time: by brute
force, over sets of nodes and edges, from the text of the paper."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from hypothesis import strategies as st
from msgspec.structs import replace

from gotlang.changes.change import Change, GraphError
from gotlang.changes.layout import carry_out
from gotlang.changes.view import Place, View
from gotlang.ir import program as ir
from gotlang.runtime.context import Context
from gotlang.runtime.expansion import Expander
from gotlang.runtime.graph import DONE, READY, RUNNING, STATES, WAITING, Frame, Graph, Operation
from gotlang.runtime.program_tables import ProgramTables
from gotlang.runtime.watch import PythonWatch
from gotlang.thought import Thought, Thoughts
from gotlang.types import ANY

Name = Any
"""What a test calls a node: a number where it was there from the start, else who added it and which."""
Edge = tuple[Name, Name]


@dataclass(frozen=True)
class Shape:
    """A graph on which nothing was changed yet: the sources of each operation, which of them have ended,
    which run (all that they depend on has ended), and which can do without some of their sources."""

    sources: tuple[tuple[int, ...], ...]
    done: frozenset[int]
    running: tuple[int, ...]
    absorbing: frozenset[int] = frozenset()

    def edges(self) -> set[Edge]:
        return {(u, v) for v, sources in enumerate(self.sources) for u in sources}


@st.composite
def shapes(draw: st.DrawFn, runners: int = 1, absorb: bool = False) -> Shape:
    """Graphs in which `runners` operations run side by side; where they `absorb`, some of the operations
    after those can do without some of their sources."""
    count = draw(st.integers(runners + 1, 9))
    sources = tuple(
        tuple(draw(st.lists(st.integers(0, at - 1), max_size=3, unique=True))) if at else ()
        for at in range(count)
    )
    edges = {(u, v) for v, found in enumerate(sources) for u in found}
    running: list[int] = []
    for at in draw(st.permutations(range(count))):
        if (
            len(running) < runners
            and (at < count // 2 + 1)
            and not (above(at, edges) | below(at, edges)) & set(running)
        ):
            running.append(at)
    done = set().union(*(above(at, edges) for at in running))
    for at in range(count):  # others may have ended too, once all before them has
        if at not in running and set(sources[at]) <= done and draw(st.booleans()):
            done.add(at)
    several = [at for at in range(count) if len(sources[at]) > 1 and at not in {*done, *running}]
    absorbing = draw(st.sets(st.sampled_from(several))) if absorb and several else set()
    return Shape(sources, frozenset(done), tuple(running), frozenset(absorbing))


def above(node: Name, edges: Iterable[Edge]) -> set[Name]:
    """Everything from which a path leads to a node."""
    return below(node, {(v, u) for u, v in edges})


def below(node: Name, edges: Iterable[Edge]) -> set[Name]:
    """Everything to which a path leads from a node."""
    edges = list(edges)
    found: set[Name] = set()
    while more := {v for u, v in edges if (u == node or u in found) and v not in found}:
        found |= more
    return found


def exclusive(node: Name, nodes: Iterable[Name], edges: set[Edge]) -> set[Name]:
    """The descendants that no operation outside reaches on a path around this one (Table 4)."""
    descendants = below(node, edges)
    outside = set(nodes) - descendants - {node}
    around = {(u, v) for u, v in edges if node not in (u, v)}
    return {d for d in descendants if not any(d in below(other, around) for other in outside)}


@dataclass
class Oracle:
    """What one operation may do, by the six rules; `edges` and `nodes` are what its edits make of the graph.

    Regions are those of the graph when the operation started; what it adds is exclusively its own.
    """

    me: int
    nodes: set[Name]
    edges: set[Edge]
    own: set[Name] = field(default_factory=set)
    absorbing: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        self.ancestors = above(self.me, self.edges)
        self.exclusive = exclusive(self.me, self.nodes, self.edges)
        # What can do without a source does not wait for one that others may fail.
        sure = self.exclusive | self.absorbing | {self.me}
        surely = {(u, v) for u, v in self.edges if v not in self.absorbing or u in sure}
        self.descendants = below(self.me, surely)

    def region(self, node: Name) -> str | None:
        if node not in self.nodes:
            return None
        if node == self.me:
            return "itself"
        if node in self.own or node in self.exclusive:
            return "exclusive"
        if node in self.ancestors:
            return "ancestor"
        return "shared" if node in self.descendants else None

    def allows(self, kind: str, nodes: tuple[Name, ...]) -> bool:
        """Whether an edit is allowed, and leaves a graph without a circle."""
        at = [self.region(node) for node in nodes]
        starts = ("itself", "exclusive", "ancestor")
        if None in at:
            return False
        match kind:
            case "add":
                return all(region in starts for region in at)
            case "connect":
                u, v = nodes
                new = u != v and (u, v) not in self.edges and u not in below(v, self.edges)
                return new and at[0] in starts and at[1] in ("exclusive", "shared")
            case "disconnect":
                return nodes in self.edges and at[0] in ("itself", "exclusive") and at[1] == "exclusive"
            case "move":
                u, v, w = nodes
                movable = (u, v) in self.edges and at[0] in ("itself", "exclusive") and at[2] in starts
                return movable and w != v and w not in below(v, self.edges)
            case _:
                return at[0] == "exclusive" and not any(u == nodes[0] for u, _ in self.edges)

    def do(self, kind: str, nodes: tuple[Name, ...], new: Name) -> None:
        match kind:
            case "add":
                self.nodes.add(new)
                self.own.add(new)
                self.edges |= {(u, new) for u in nodes}
            case "connect":
                self.edges.add((nodes[0], nodes[1]))
            case "disconnect":
                self.edges.discard((nodes[0], nodes[1]))
            case "move":
                self.edges.discard((nodes[0], nodes[1]))
                self.edges.add((nodes[2], nodes[1]))
            case _:
                self.nodes.discard(nodes[0])
                self.edges = {(u, v) for u, v in self.edges if v != nodes[0]}


STEP = ir.Call("call", ANY, False, "%start", "f", ())


class Built:
    """A shape as a real graph, with a View for each operation that runs."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.graph = Graph()
        self.frame = Frame(None, None, None, {})
        missing = cast(Any, None)
        tables = ProgramTables(ir.Program("t"), {}, PythonWatch(None))
        context = Context(tables, self.graph, missing, missing, {}, {}, {})
        self.x = Expander(context)
        self.operations: list[Operation] = []
        for at, sources in enumerate(shape.sources):
            absorbs = at in shape.absorbing
            operation = Operation(None, "rescue" if absorbs else "join", self.frame, at, None)
            operation.parts = tuple(self.operations[s] for s in sources)
            held = at not in shape.done
            self.graph.add(operation, operation.parts, held=held)
            self.operations.append(operation)
            if at in shape.done:
                self.graph.complete(operation, Thoughts([Thought(at, operation)]))
        self.places: dict[Name, Place] = {at: Place(o) for at, o in enumerate(self.operations)}
        self.names: dict[Operation, Name] = {o: at for at, o in enumerate(self.operations)}
        self.views: dict[int, View] = {}
        self.changes: dict[int, Change] = {}
        self.added: dict[int, list[Name]] = {}
        for at in shape.running:
            self.operations[at].state = RUNNING
            change = self.changes[at] = Change(self.operations[at], self.graph)
            given = Thoughts([Thought(1)])
            self.views[at] = View(change, self.frame, cast(Any, None), given)
            self.added[at] = []

    def edit(self, me: int, kind: str, nodes: tuple[Name, ...], new: Name) -> GraphError | None:
        """Do one edit; the error where it is refused."""
        view, places = self.views[me], [self.places[node] for node in nodes]
        try:
            match kind:
                case "add":
                    self.places[new] = view.add(after=places)
                case "connect":
                    view.connect(*places)
                case "disconnect":
                    view.disconnect(*places)
                case "move":
                    view.move(*places)
                case _:
                    view.remove(*places)
        except GraphError as error:
            return error
        return None

    def carry_out(self, me: int) -> None:
        """Change the graph as an operation asked for."""
        carry_out(self.x, replace(STEP, result=f"call{me}"), self.changes[me])
        for name, place in self.places.items():
            block = place._node
            if not isinstance(block, Operation) and block.built is not None:
                self.names[block.built] = name

    def edges(self) -> set[Edge]:
        """The connections between what the test has names for, and still is there."""
        return {
            (self.names[u], name)
            for operation, name in self.names.items()
            if STATES[operation.state] != "removed"
            for u in operation.inputs
            if u in self.names
        }

    def orders(self) -> dict[Name, list[Name]]:
        """In which order each operation takes thoughts."""
        return {
            name: [self.names.get(o) for o in operation.parts or ()]
            for operation, name in self.names.items()
            if STATES[operation.state] != "removed"
        }

    def states(self) -> dict[Name, str]:
        """How far each operation came."""
        return {name: STATES[operation.state] for operation, name in self.names.items()}

    def go_on(self) -> None:
        """Run all that can, but for what runs already."""
        first = {self.operations[at] for at in self.shape.running}
        more = True
        while more:
            more = False
            for operation in self.graph.operations:
                held = operation in self.operations and operation not in first
                over = all(source.state >= DONE for source in operation.inputs)
                if operation.state == WAITING and operation.waiting == 1 and held and over:
                    self.graph.release(operation)
                if operation.state == READY:
                    self.graph.complete(operation, Thoughts([Thought(1, operation)]))
                    more = True

    def check(self) -> None:
        """Whatever waits waits for just what has not ended, and is told when that ends."""
        for operation in self.graph.operations:
            held = operation in self.names and operation in self.operations
            if operation.state == WAITING:
                left = [o for o in operation.inputs if o.state < DONE]
                assert operation.waiting == len(left) + held
                assert all(o.successors is not None and operation in o.successors for o in left)
