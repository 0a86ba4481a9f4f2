"""The execution graph: operations, and the connections that carry thoughts between them.

(Framework of Thoughts, section 3.1.) What ran stays, and what is taken away before it ran stays as `removed`,
so the graph is the whole history of an answer. The reasoning graph, which thought came from which, is in the
thoughts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, final

from gotlang.errors import EvaluationError, GotError
from gotlang.ir.program import Pool, Step
from gotlang.thought import Thought, Thoughts

WAITING, READY, RUNNING, DONE, FAILED, REMOVED = range(6)
STATES = ("waiting", "ready", "running", "done", "failed", "removed")

NOTHING = Thoughts()

MANY = 100
"""Thoughts that it takes no time to go through."""
MAX_OPERATIONS = 500_000
"""A program that needs more is taken for one that never ends."""


@final
class GraphFull(GotError):
    """A run needs more operations than any run may have."""


Gathered = tuple[tuple["Operation", ...], tuple["Operation", ...], Callable[["Operation"], Any]]
"""What a join was made to join, what it gathers beside, and the order of that."""

Mark = tuple[int, int, int, int]
"""Where a graph stands, for `Graph.undo`."""


@final
class Operation:
    """One operation of the execution graph.

    `inputs` are the operations it waits for, `origin` the operation that put it into the graph (None for
    those there from the start). Its pool is the thoughts of `parts`; where that is None, those of its first
    input. A join's parts are known before they have run: then a merge may start as soon as two neighbours are
    there. `work` is what an operation that grows the graph does. `hops` counts the model calls on the longest
    path that ends here, `seconds` how long they took, as if there were no cache.
    """

    __slots__ = (
        "frame",
        "hops",
        "inputs",
        "name",
        "on_parts",
        "origin",
        "output",
        "parts",
        "role",
        "seconds",
        "sequence",
        "state",
        "step",
        "successors",
        "waiting",
        "work",
    )

    def __init__(
        self, step: Step | None, role: str, frame: Frame, name: Any, origin: Operation | None
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
        self.parts: Sequence[Operation] | None = None
        self.on_parts: list[Callable[[], None]] | None = None
        self.work: Callable[[Any], Any] | None = None
        self.sequence = 0
        self.hops = 0
        self.seconds = 0.0

    @property
    def path(self) -> tuple[Any, ...]:
        """Where in the program's run it stands; the same whatever the order in which things end."""
        return (*self.frame.path, self.name)

    @property
    def constant(self) -> bool:
        """Whether its thoughts were known when it was made."""
        return self.role == "constant"

    @property
    def pool(self) -> Thoughts:
        """The thoughts it takes."""
        parts = self.parts
        if parts is None:
            return self.inputs[0].output if self.inputs else NOTHING
        if len(parts) == 1:
            return parts[0].output
        return Thoughts(chain.from_iterable(part.output for part in parts))

    @property
    def absorbs(self) -> bool:
        """Whether it can do without some of its inputs: a `Pool` of several, a score of several samples."""
        return self.role == "rated" or (isinstance(self.step, Pool) and len(self.step.values) > 1)

    def __repr__(self) -> str:
        return f"<{self.role} {'/'.join(map(str, self.path))} {STATES[self.state]}>"


@final
class Graph:
    """Operations by the order they were added, and the bookkeeping that tells which are ready.

    `constants` counts those whose thoughts were known when they were made; `ended` holds the others by
    the order in which they ended, so that what an operation depends on stands before it.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.ready: list[Operation] = []
        self.ended: list[Operation] = []
        self.constants = 0
        self.additions: dict[Operation, dict[Operation, list[Operation]]] = {}
        """Who let a target take thoughts of a source, by target and source; nobody where it was made so."""
        self._gathered: dict[Operation, Gathered] = {}

    def add(self, operation: Operation, inputs: Iterable[Operation], *, held: int = 0) -> Operation:
        """Add an operation that waits for `inputs`; `held` keeps it waiting for as many releases."""
        if len(self.operations) >= MAX_OPERATIONS:
            raise GraphFull(f"this run needs more than {MAX_OPERATIONS:,} operations")
        operation.sequence = len(self.operations)
        self.operations.append(operation)
        operation.waiting = held
        self.connect(inputs, operation)
        if operation.waiting == 0 and operation.state == WAITING:
            self._make_ready(operation)
        return operation

    def connect(self, inputs: Iterable[Operation], operation: Operation) -> None:
        """Add connections from `inputs` to an operation that has not started."""
        known = len(operation.inputs)
        unique = tuple(dict.fromkeys((*operation.inputs, *inputs)))
        failed = False
        for source in unique[known:]:
            if source.state == DONE:
                continue
            if source.successors is None:
                source.successors = [operation]
            else:
                source.successors.append(operation)
            if source.state < DONE:
                operation.waiting += 1
            else:
                failed = True
        operation.inputs = unique
        if failed and not operation.absorbs:
            self.fail(operation)

    def note_addition(self, target: Operation, source: Operation, by: Operation) -> None:
        """Note that an operation is about to let a target take thoughts of a source."""
        found = self.additions.setdefault(target, {})
        if source in found or source not in target.inputs:
            found.setdefault(source, []).append(by)

    def gather(
        self, target: Operation, sources: Iterable[Operation], order: Callable[[Operation], Any]
    ) -> None:
        """Let a join gather the thoughts of more operations, after those it was made to join. They come in
        the order that `order` gives: whoever adds first, the join is the same in the end."""
        assert target.parts is not None
        if target not in self._gathered:
            self._gathered[target] = (tuple(target.parts), (), order)
        own, more, _ = self._gathered[target]
        self._gathered[target] = (own, tuple(sorted((*more, *sources), key=order)), order)
        self.connect(sources, target)
        self._gather(target)

    def _gather(self, target: Operation) -> None:
        own, more, _ = self._gathered[target]
        target.parts = tuple(dict.fromkeys((*own, *more)))

    def move(self, source: Operation, target: Operation, start: Operation | None) -> None:
        """Let the connection from `source` to a target that has not started begin at `start` instead, in its
        place among the target's inputs, or nowhere."""
        new = start is not None and start not in target.inputs
        target.inputs = _replaced(target.inputs, source, start)
        if target in self._gathered:
            own, more, order = self._gathered[target]
            more = tuple(sorted(_replaced(more, source, start), key=order))
            self._gathered[target] = (_replaced(own, source, start), more, order)
            self._gather(target)
        elif target.parts is not None:
            target.parts = _replaced(target.parts, source, start)
        failed = False
        if new and start is not None and start.state != DONE:
            if start.successors is None:
                start.successors = []
            start.successors.append(target)
            if start.state < DONE:
                target.waiting += 1
            else:
                failed = True
        if source.successors is not None:
            source.successors.remove(target)
        if source.state < DONE:
            self.release(target)
        if failed and not target.absorbs:
            self.fail(target)

    def remove(self, operation: Operation) -> None:
        """Take away an operation that has not started; what takes its thoughts all the same fails."""
        operation.state = REMOVED
        for source in operation.inputs:
            if source.successors is not None:
                source.successors.remove(operation)
        successors, operation.successors = operation.successors, None
        for successor in successors or ():
            if successor.absorbs:
                self.release(successor)
            elif successor.state < DONE:
                self.fail(successor)

    def release(self, operation: Operation) -> None:
        """Take one hold, or one ended input, off an operation."""
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
            operation.hops, operation.seconds = origin.hops, origin.seconds
        self.constants += 1
        self.operations.append(operation)
        return operation

    def complete(self, operation: Operation, output: Thoughts, hops: int = 0, seconds: float = 0.0) -> None:
        """Note what an operation gave, with the model calls and the seconds it added to its longest path."""
        operation.output = output
        self._end(operation, DONE, hops, seconds)
        successors, operation.successors = operation.successors, None
        for successor in successors or ():
            self.release(successor)

    def fail(self, operation: Operation, hops: int = 0, seconds: float = 0.0) -> None:
        """Note that an operation gives no thoughts, nor does what cannot do without them."""
        if operation.state == FAILED:
            return
        if operation.state == WAITING:
            self._never_ran(operation)
        else:
            self._end(operation, FAILED, hops, seconds)
        stack = [operation]
        while stack:
            # It keeps its successors: whoever can see them sees them still, see `gotlang.changes.regions`.
            for successor in stack.pop().successors or ():
                if successor.absorbs:
                    self.release(successor)
                elif successor.state != FAILED:
                    self._never_ran(successor)
                    stack.append(successor)

    def _never_ran(self, operation: Operation) -> None:
        # It adds nothing to any path: which of its inputs have ended by now is a matter of time.
        operation.state = FAILED
        self.ended.append(operation)

    def _end(self, operation: Operation, state: int, hops: int, seconds: float) -> None:
        before_hops, before_seconds = critical_path(operation)
        operation.hops, operation.seconds = before_hops + hops, before_seconds + seconds
        operation.state = state
        self.ended.append(operation)

    def mark(self) -> Mark:
        """Where the graph stands, for `undo`."""
        return len(self.operations), len(self.ready), len(self.ended), self.constants

    def undo(self, mark: Mark) -> None:
        """Take back what was added since `mark`: what fails while it grows the graph adds nothing to it."""
        operations, ready, ended, self.constants = mark
        gone = set(self.operations[operations:])
        for source in {source for operation in gone for source in operation.inputs} - gone:
            if source.successors is not None:
                source.successors = [o for o in source.successors if o not in gone]
        for operation in gone:
            operation.state = FAILED
        del self.operations[operations:]
        del self.ready[ready:]
        del self.ended[ended:]


def _replaced(
    operations: Sequence[Operation], old: Operation, new: Operation | None
) -> tuple[Operation, ...]:
    """Operations with one in the place of another, each once."""
    instead = (new if o is old else o for o in operations)
    return tuple(dict.fromkeys(o for o in instead if o is not None))


def before(operation: Operation) -> tuple[Operation, ...]:
    """What an operation directly depends on: its inputs, and the operation that added it."""
    return (*operation.inputs, operation.origin) if operation.origin is not None else operation.inputs


def critical_path(operation: Operation) -> tuple[int, float]:
    """Model calls, and their seconds, on the longest path that leads to an operation."""
    hops, seconds = 0, 0.0
    for source in before(operation):
        if source.hops > hops:
            hops = source.hops
        if source.seconds > seconds:
            seconds = source.seconds
    return hops, seconds


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


def largest_volume(thoughts: Iterable[Thought]) -> int:
    """The largest volume among some thoughts. Those with the same parents have the same, which is remembered
    where it took long to find."""
    most = 0
    known: set[tuple[tuple[int, int], ...]] = set()
    for thought in thoughts:
        parents = tuple([parent.identity for parent in thought.parents])
        if parents not in known:
            found = volume(thought)
            most = max(most, found)
            if found > MANY:
                known.add(parents)
    return most


@final
class Handle:
    """A name for the thoughts that an operation gives or will give: exactly one (`single`), or a list."""

    __slots__ = ("operation", "single")

    def __init__(self, operation: Operation, single: bool) -> None:
        self.operation = operation
        self.single = single

    def bound(self, name: str) -> Any:
        """The thought or the thoughts; the operation has ended. Raises EvaluationError where one is meant and
        there is none."""
        output = self.operation.output
        if not self.single:
            return output
        if not output:
            raise EvaluationError(f"`{name}` has no thought here")
        return output[0] if len(output) == 1 else output


@final
class Frame(Mapping[str, Any]):
    """A block's names over those of the blocks around it.

    `path` tells this block's run from others; `context` numbers the separate contexts in which the same
    step asks anew (the k samples of a score); `depth` counts schemes calling schemes; `rest` estimates how
    many model calls in a row follow once the block has ended.
    """

    __slots__ = ("context", "depth", "names", "origin", "parent", "path", "rest")

    def __init__(
        self,
        parent: Frame | None,
        path: tuple[Any, ...],
        names: dict[str, Any],
        origin: Operation | None = None,
        *,
        context: int = 0,
        depth: int = 0,
        rest: int = 0,
    ) -> None:
        self.parent = parent
        self.path = path
        self.names = names
        self.origin = origin
        self.context = context
        self.depth = depth
        self.rest = rest

    def inside(self, key: Any, names: dict[str, Any], origin: Operation | None, rest: int = 0) -> Frame:
        """A frame for a block inside this one; `rest` more calls follow it in the block around."""
        return Frame(
            self,
            (*self.path, key),
            names,
            origin if origin is not None else self.origin,
            context=self.context,
            depth=self.depth,
            rest=self.rest + rest,
        )

    def find(self, name: str) -> Any:
        """What a name is bound to, a Handle or a plain value; KeyError where it is not."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.parent
        raise KeyError(name)

    def pool(self, name: str) -> Handle:
        """The handle that a pool's name stands for."""
        found: Handle = self.find(name)
        return found

    def __getitem__(self, name: str) -> Any:
        found = self.find(name)
        return found.bound(name) if isinstance(found, Handle) else found

    def __iter__(self) -> Iterator[str]:
        frame: Frame | None = self
        while frame is not None:
            yield from frame.names
            frame = frame.parent

    def __len__(self) -> int:
        return sum(1 for _ in self)


PathKey = tuple[tuple[tuple[int, int | str], ...], ...]
"""An operation's path as a value that can be compared with any other's."""

_MOST_NAMED = 3
"""So many blocks around a step are named at most."""


def path_text(operation: Operation) -> str:
    """An operation's place in the run, in one word: `sort128/part[3]/generate`."""
    out = []
    for part in operation.path:
        if isinstance(part, tuple):
            name, *numbers = part
            out.append(str(name).lstrip("%") + "".join(f"[{number}]" for number in numbers))
        else:
            out.append(str(part))
    return "/".join(out)


def within(where: str) -> str:
    """What the program itself names of a place in a run: ` in part[3]` for `sort128/part[3]/1`, nothing for
    `sort128/1`."""
    named = [part for part in where.split("/")[1:] if part.endswith("]") and not part[0].isdigit()]
    return f" in {' in '.join(dict.fromkeys(reversed(named[-_MOST_NAMED:])))}" if named else ""


def path_key(operation: Operation) -> PathKey:
    """An operation's path, to sort by."""
    parts = (part if isinstance(part, tuple) else (part,) for part in operation.path)
    return tuple(tuple((0, x) if isinstance(x, int) else (1, str(x)) for x in part) for part in parts)
