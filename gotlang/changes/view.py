"""A Python function's view of the execution graph, by which it changes the graph.

    from gotlang import View, changes_graph

    @changes_graph
    def spread(view: View, question: str):
        drafts = [view.add("Generate() draft(question, angle)", question=question, angle=a) for a in ANGLES]
        return view.add("Aggregate() merge(thoughts)", after=drafts)

`Call spread(question)` in a program runs it: three operations and the one that takes their thoughts are added
between the call and what follows. Every edit must obey the rules of `gotlang.changes.change`; a ForbiddenEdit
names the violated rule. The graph changes when the function has ended, and not at all if it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any, TypeVar, final

from gotlang.changes.change import AddedBlock, Change, ForbiddenEdit, GraphError, Node, Region, kind
from gotlang.ir.foreign import CHANGES_GRAPH, given_back
from gotlang.ir.program import Region as Steps
from gotlang.runtime.graph import STATES, WAITING, Frame, Operation, path_key, path_text
from gotlang.scope import EVERYTHING, START, PoolType
from gotlang.thought import Thought
from gotlang.types import ANY, of_value

__all__ = ["ForbiddenEdit", "GraphError", "Place", "View", "changes_graph"]

Compile = Callable[[str, Mapping[str, PoolType | None], PoolType], tuple[Steps, PoolType]]
"""Builds steps from their text, the names it may use and the pool it starts from."""

F = TypeVar("F", bound=Callable[..., Any])


def changes_graph(function: F) -> F:
    """Mark a Python function that changes the graph: `Call` passes it a View before its arguments.

    It returns a Place or several, whose thoughts are then those of the call, or a plain value; None if it
    connected something to `view.result` itself.
    """
    setattr(function, CHANGES_GRAPH, True)
    return function


@final
class Place:
    """An operation of the execution graph, or several that were added as one, as a View shows them: in the
    same state as long as its function runs."""

    __slots__ = ("_node", "_region")

    def __init__(self, node: Node, region: Region = "exclusive") -> None:
        self._node = node
        self._region = region

    @property
    def name(self) -> str:
        """Its path in the program's run (`main/part[0]/3`), or the steps that were added."""
        return path_text(self._node) if isinstance(self._node, Operation) else self._node.text

    @property
    def state(self) -> str:
        """`done`, `skipped` or `failed` for ancestors, `running` for the operation itself, `waiting` for
        descendants, even for one that will never run."""
        node = self._node
        if isinstance(node, Operation) and self._region in ("ancestor", "itself"):
            return node.state_name
        return STATES[WAITING]

    @property
    def values(self) -> list[Any]:
        """The values of its thoughts so far."""
        return [t.value for t in self._node.output] if isinstance(self._node, Operation) else []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and other._node is self._node

    def __hash__(self) -> int:
        return hash(self._node)

    def __repr__(self) -> str:
        return f"<{self.name}, {self.state}>"


Places = Place | Iterable[Place]


@final
class View:
    """The part of the graph that an operation may see and change while its function runs; raises GraphError
    afterwards.

    `itself` is the operation, `result` the operation that takes its thoughts, `given` the thought that the
    function was called for.
    """

    def __init__(
        self, change: Change, frame: Frame, compile: Compile, given: tuple[Thought, ...] = ()
    ) -> None:
        self._change = change
        self._frame = frame
        self._compile = compile
        self._over = False
        self._lock = RLock()
        self._results = len(change.sources(change.result)) if change.result is not None else 0
        self.itself = Place(change.operation, "itself")
        empty = all(thought.empty for thought in given)
        block = AddedBlock(
            "the current thought", START if empty else PoolType(ANY, True, EVERYTHING), thoughts=given
        )
        self.given = Place(change.add(block, (change.operation,)))

    @property
    def result(self) -> Place:
        """The operation that takes the function's thoughts."""
        assert self._change.result is not None
        return Place(self._change.result)

    # ---------------------------------------------------------------- queries

    def ancestors(self) -> Iterator[Place]:
        """The operations that this one depends on, the nearest first."""
        return self._as_places(self._change.regions.ancestors(), "ancestor")

    def descendants(self) -> Iterator[Place]:
        """The operations that depend on this one, the nearest first, before this function changed any."""
        return self._as_places(self._change.regions.descendants(), "shared")

    def region(self, place: Place) -> Region:
        """The region of a place: `itself`, `ancestor`, `exclusive` (reached only through the operation) or
        `shared` (a descendant also reached from elsewhere). Raises ForbiddenEdit for any other."""
        with self._open():
            return self._change.region(_node(place), lambda: f"cannot look at {place.name}")

    def inputs(self, place: Place) -> list[Place]:
        """The visible places with a connection to this place: in the order of their paths, then added ones.
        Raises ForbiddenEdit if the place cannot be seen."""
        with self._open():
            self.region(place)
            # Concurrent operations that move a connection change the order of the place's inputs.
            nodes = sorted(self._change.sources(_node(place)), key=_order)
            found = ((node, self._change.find(node)) for node in nodes)
            return [Place(node, region) for node, region in found if region is not None]

    def outputs(self, place: Place) -> list[Place]:
        """The places with a connection from this place, among the operation's descendants. Raises
        ForbiddenEdit if the place cannot be seen."""
        with self._open():
            self.region(place)
            return [Place(node) for node in self._change.targets(_node(place))]

    def named(self, name: str) -> Place:
        """The place of the thoughts bound to a name of the program. Raises GraphError if there are none,
        ForbiddenEdit if the place cannot be seen."""
        bound = self._frame.handle(name)
        if bound is None:
            raise GraphError(f"`{name}` is not bound to thoughts here")
        with self._open():
            region = self._change.region(bound.operation, lambda: f"cannot use `{name}`")
            return Place(bound.operation, region)

    # ---------------------------------------------------------------- edits

    def add(self, steps: str | None = None, *, after: Places | None = None, **names: Any) -> Place:
        """Add operations that start from the thoughts of `after` (default: `given`).

        `steps` are written as in a program, one per line; they may use its declarations, `it` and `thoughts`,
        and the names given here, of places or of plain values. Without steps the thoughts are gathered as
        they are. Raises ForbiddenEdit, and EvaluationError for the first mistake in `steps`.
        """
        before = (self.given,) if after is None else (after,) if isinstance(after, Place) else tuple(after)
        sources = [_node(place) for place in before]
        used = {
            key: value._node if isinstance(value, Place) else given_back(value, key)
            for key, value in names.items()
        }
        pool = kind(sources[0]) if len(sources) == 1 else PoolType(ANY, False, EVERYTHING)
        region = None
        if steps is not None:
            kinds = {
                key: kind(value) if isinstance(value, Operation | AddedBlock) else None
                for key, value in used.items()
            }
            region, pool = self._compile(steps, kinds, pool)
        block = AddedBlock(steps or "a gathering", pool, region, used, after=sources)
        nodes = (node for node in used.values() if isinstance(node, Operation | AddedBlock))
        with self._open():
            return Place(self._change.add(block, (*sources, *nodes)))

    def connect(self, source: Place, target: Place) -> None:
        """Let a target take the thoughts of a source too. Raises ForbiddenEdit, GraphError."""
        with self._open():
            self._change.connect(_node(source), _node(target))

    def disconnect(self, source: Place, target: Place) -> None:
        """Remove a connection. Raises ForbiddenEdit, GraphError."""
        with self._open():
            self._change.disconnect(_node(source), _node(target))

    def move(self, source: Place, target: Place, start: Place) -> None:
        """Move the start of the connection from `source` to `target` to `start`, whose thoughts the target
        then uses. Raises ForbiddenEdit, GraphError."""
        with self._open():
            self._change.move(_node(source), _node(target), _node(start))

    def remove(self, place: Place) -> None:
        """Remove a place that has not run and whose thoughts are not used. Raises ForbiddenEdit,
        GraphError."""
        with self._open():
            self._change.remove(_node(place))

    # ---------------------------------------------------------------- the end

    def close(self) -> None:
        """Close the view, also for a function that timed out but still runs, or for a thread it started."""
        with self._lock:
            self._over = True

    def take(self, value: Any, name: str) -> None:
        """Record the return value of the function as the thoughts of the call. Raises GraphError for None
        without a connection, EvaluationError for an unsupported value."""
        change, result = self._change, _node(self.result)
        places = [value] if isinstance(value, Place) else value
        if isinstance(places, list | tuple) and places and all(isinstance(place, Place) for place in places):
            for place in places:
                if _node(place) not in change.sources(result):
                    change.connect(_node(place), result)
        elif value is not None:
            block = AddedBlock(
                "a value",
                PoolType(of_value(value), True),
                value=given_back(value, name),
                after=[_node(self.given)],
            )
            change.connect(change.add(block, block.after), result)
        elif len(change.sources(result)) == self._results:
            raise GraphError(f"`{name}` returned None and connected nothing to its result")

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Use the view; it does not close before that is done. Raises GraphError if it is closed."""
        with self._lock:
            if self._over:
                raise GraphError("a View cannot be used once its function has ended")
            yield

    def _as_places(self, operations: Iterator[Operation], region: Region) -> Iterator[Place]:
        """Each as a place, while the view is open."""
        while True:
            with self._open():
                found = next(operations, None)
            if found is None:
                return
            yield Place(found, region)


def _order(node: Node) -> tuple[bool, Any]:
    return (False, path_key(node)) if isinstance(node, Operation) else (True, ())


def _node(place: Place) -> Node:
    if not isinstance(place, Place):
        raise GraphError(f"expected a place, not {place!r:.60}")
    return place._node
