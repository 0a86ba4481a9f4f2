"""The execution graph: operations, and the connections that carry thoughts between them.

(Framework of Thoughts, section 3.1.) Operations are only ever added; what ran stays, so the graph is the
whole history of an answer. The reasoning graph, which thought came from which, is in the thoughts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, final

from gotlang.errors import EvaluationError
from gotlang.ir.program import AnyStep
from gotlang.ir.thought import Thought, Thoughts
from gotlang.runtime.ledger import NO_TIMES, Times

if TYPE_CHECKING:
    from gotlang.runtime.frame import Frame

WAITING, READY, RUNNING, DONE, FAILED = range(5)
STATES = ("waiting", "ready", "running", "done", "failed")

NOTHING = Thoughts()

MAX_OPERATIONS = 2_000_000
"""A program that needs more is taken for one that never ends."""


@final
class Operation:
    """One operation of the execution graph.

    `inputs` are the operations whose thoughts it takes, `origin` the operation that put it into the graph
    (None for those there from the start). `parts` is set on a join once it is known what it joins: then a
    merge may start as soon as two neighbours are there. `hops` counts the model calls on the longest path
    that ends here, `times` the seconds along it (see Ledger).
    """

    __slots__ = (
        "frame",
        "grow",
        "hops",
        "inputs",
        "name",
        "on_parts",
        "origin",
        "output",
        "parts",
        "role",
        "sequence",
        "state",
        "step",
        "successors",
        "times",
        "waiting",
    )

    def __init__(
        self, step: AnyStep | None, role: str, frame: Frame, name: Any, origin: Operation | None
    ) -> None:
        self.step = step
        self.role = role
        self.frame = frame
        self.name = name
        self.origin = origin
        self.inputs: tuple[Operation, ...] = ()
        self.successors: list[Operation] | None = None
        self.waiting = 0
        self.state = WAITING
        self.output: Thoughts = NOTHING
        self.parts: list[Operation] | None = None
        self.on_parts: list[Callable[[list[Operation], Operation], None]] | None = None
        self.grow: Callable[[Operation], None] | None = None
        self.sequence = 0
        self.hops = 0
        self.times: Times = NO_TIMES

    @property
    def path(self) -> tuple[Any, ...]:
        """Where in the program's run it stands; the same whatever the order in which things end."""
        return (*self.frame.path, self.name)

    @property
    def constant(self) -> bool:
        """Whether its thoughts were known when it was made."""
        return self.role == "constant"

    def __repr__(self) -> str:
        return f"<{self.role} {'/'.join(map(str, self.path))} {STATES[self.state]}>"


@final
class Graph:
    """Operations by the order they were added, and the bookkeeping that tells which are ready."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.ready: list[Operation] = []
        self.constants = 0

    def add(self, operation: Operation, inputs: Iterable[Operation], *, held: int = 0) -> Operation:
        """Add an operation that takes the thoughts of `inputs`; `held` keeps it waiting for as many releases."""
        if len(self.operations) >= MAX_OPERATIONS:
            raise EvaluationError(f"this run needs more than {MAX_OPERATIONS:,} operations")
        operation.sequence = len(self.operations)
        self.operations.append(operation)
        operation.waiting = held
        self.connect(inputs, operation)
        if operation.waiting == 0:
            self._make_ready(operation)
        return operation

    def connect(self, inputs: Iterable[Operation], operation: Operation) -> None:
        """Add connections from `inputs` to an operation that has not started."""
        unique = tuple(dict.fromkeys((*operation.inputs, *inputs)))
        for source in unique[len(operation.inputs) :]:
            if source.state != DONE:
                if source.successors is None:
                    source.successors = []
                source.successors.append(operation)
                operation.waiting += 1
        operation.inputs = unique

    def release(self, operation: Operation) -> None:
        """Take one hold, or one finished input, off an operation."""
        operation.waiting -= 1
        if operation.waiting == 0 and operation.state == WAITING:
            self._make_ready(operation)

    def _make_ready(self, operation: Operation) -> None:
        operation.state = READY
        self.ready.append(operation)

    def constant(
        self, thoughts: Iterable[Thought], frame: Frame, name: Any, origin: Operation | None
    ) -> Operation:
        """An operation whose thoughts are there already: where a block starts."""
        operation = Operation(None, "constant", frame, name, origin)
        operation.output = Thoughts(thoughts)
        operation.state = DONE
        operation.sequence = len(self.operations)
        if origin is not None:
            operation.hops, operation.times = origin.hops, origin.times
        self.constants += 1
        self.operations.append(operation)
        return operation

    def complete(
        self, operation: Operation, output: Thoughts, hops: int = 0, times: Times = NO_TIMES
    ) -> None:
        """Note what an operation gave, with the model calls and the seconds it added to its longest path."""
        operation.output = output
        before = self.before(operation)
        operation.hops = max((o.hops for o in before), default=0) + hops
        operation.times = tuple(  # type: ignore[assignment]
            max((o.times[i] for o in before), default=0.0) + times[i] for i in range(3)
        )
        operation.state = DONE
        successors, operation.successors = operation.successors, None
        for successor in successors or ():
            self.release(successor)

    @staticmethod
    def before(operation: Operation) -> tuple[Operation, ...]:
        """What an operation directly depends on: its inputs, and the operation that added it."""
        return (*operation.inputs, operation.origin) if operation.origin is not None else operation.inputs

    @staticmethod
    def is_ancestor(candidate: Operation, operation: Operation) -> bool:
        """Whether a directed path leads from one operation to another (A(o) in Table 4 of the paper)."""
        seen: set[int] = set()
        stack = list(Graph.before(operation))
        while stack:
            at = stack.pop()
            if at is candidate:
                return True
            if id(at) not in seen:
                seen.add(id(at))
                stack.extend(Graph.before(at))
        return False


def reasoning(thoughts: Iterable[Thought]) -> Iterator[Thought]:
    """The thoughts from which these can be reached, these included, each once."""
    seen: set[tuple[int, int]] = set()
    stack = list(thoughts)
    while stack:
        thought = stack.pop()
        key = thought.identity
        if key in seen:
            continue
        seen.add(key)
        yield thought
        stack.extend(thought.parents)


def volume(thought: Thought) -> int:
    """The number of thoughts from which a path leads to this one (Graph of Thoughts, section 6)."""
    return sum(1 for _ in reasoning([thought])) - 1
