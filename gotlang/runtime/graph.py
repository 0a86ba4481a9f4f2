"""The execution graph: operations, the connections that carry thoughts between them, and names for both.

(Framework of Thoughts, section 3.1.) Operations that ran stay, and those removed before they ran stay as
`removed`, so the graph is the whole history of an answer. The reasoning graph, which thought was made from
which, is in the thoughts.
"""

from __future__ import annotations

from abc import ABCMeta
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, final

from msgspec import Struct, StructMeta

from gotlang.errors import EvaluationError, GotError
from gotlang.ir import program as ir
from gotlang.runtime.spaces import ROOT, Space, inside
from gotlang.thought import Thought, Thoughts

WAITING, READY, RUNNING, DONE, FAILED, REMOVED = range(6)
STATES = ("waiting", "ready", "running", "done", "failed", "removed")

NOTHING = Thoughts()
SKIPPED = Thoughts()
"""The output of an operation that was skipped; compared by identity."""

MAX_OPERATIONS = 500_000
"""The maximum number of operations of a run; a program that needs more is assumed never to end."""
_LARGE_VOLUME = 100
"""Number of thoughts that can be visited in negligible time."""
_MOST_NAMED = 3
"""Maximum number of enclosing blocks that a message names."""

PathKey = tuple[tuple[tuple[int, int | str], ...], ...]
"""An operation's path as a value that can be compared with any other's."""


@final
class GraphFull(GotError):
    """A run needs more operations than allowed."""


@final
class Operation(Struct, eq=False):
    """One operation of the execution graph.

    `inputs` are the operations it waits for, `origin` is the operation that added it (None for those that
    exist from the start). Its pool is the thoughts of `parts`; if that is None, those of its first input. The
    parts of a join are known before they have run, so that a merge may start as soon as two neighbours are
    done. `hops` counts the model calls on the critical path that ends here, `seconds` is their latency
    without any cache. A run keeps all of its operations: rare and short-lived data of theirs is in the
    `Graph`.
    """

    step: ir.Step | None
    role: str
    frame: Frame
    name: Any
    origin: Operation | None
    inputs: tuple[Operation, ...] = ()
    successors: list[Operation] | None = None
    waiting: int = 0
    state: int = WAITING
    _output: Thought | Thoughts = NOTHING
    parts: Sequence[Operation] | None = None
    sequence: int = 0
    hops: int = 0
    seconds: float = 0.0

    single: ClassVar[bool] = True

    @property
    def output(self) -> Thoughts:
        """Its thoughts, once it has ended; a single one is stored without a tuple."""
        found = self._output
        return Thoughts((found,)) if isinstance(found, Thought) else found

    @output.setter
    def output(self, thoughts: Thoughts) -> None:
        self._output = thoughts[0] if len(thoughts) == 1 else thoughts

    @property
    def operation(self) -> Operation:
        """Itself, as a `Handle`."""
        return self

    def bound(self, name: str) -> Any:
        """Its thought under a name, once it has ended. Raises EvaluationError if there is none."""
        output = self._output
        if not output:
            raise EvaluationError(f"`{name}` has no thought here")
        return output

    @property
    def path(self) -> tuple[Any, ...]:
        """Its place in the program's run; independent of the order in which operations end."""
        return (*self.frame.path, self.name)

    @property
    def constant(self) -> bool:
        """Whether its thoughts were known when it was added."""
        return self.role == "constant"

    @property
    def pool(self) -> Thoughts:
        """The thoughts it takes."""
        parts = self.parts
        if parts is None:
            return self.inputs[0].output if self.inputs else NOTHING
        if len(parts) == 1:
            return parts[0].output
        found: list[Thought] = []
        for part in parts:
            output = part._output
            if isinstance(output, Thought):
                found.append(output)
            else:
                found += output
        return Thoughts(found)

    @property
    def inputs_optional(self) -> bool:
        """Whether it runs without some of its inputs: a score of several samples, the `else` of a `try`."""
        return self.role in ("rated", "rescue", "wave")

    @property
    def given_up(self) -> bool:
        """Whether it is no longer needed because an enclosing `try` has failed, or another alternative was
        chosen."""
        trial = self.frame.trial
        while trial is not None:
            if trial.state == REMOVED or (trial.inputs and trial.inputs[0].state == FAILED):
                return True
            trial = trial.frame.trial
        return False

    @property
    def skipped(self) -> bool:
        """Whether it is skipped because one of its ended inputs was. A `foreach` continues without that
        element, a `Pool` of several without that member."""
        members: Sequence[Operation] = ()
        if self.inputs_optional and isinstance(self.step, ir.First | ir.Search):
            # It continues without an alternative or a state, but not without what they start from.
            return self.frame.pool(self.step.pool).operation.output is SKIPPED
        if isinstance(self.step, ir.Pool) and len(self.step.values) > 1:
            members = self.inputs
        elif self.role == "join" and (self.name == "done" or isinstance(self.step, ir.Foreach)):
            members = self.parts or ()
        return any(source.output is SKIPPED and source not in members for source in self.inputs)

    @property
    def state_name(self) -> str:
        """The name of its state; `skipped` if it ended as such."""
        return "skipped" if self.output is SKIPPED else STATES[self.state]

    def __repr__(self) -> str:
        return f"<{self.role} {'/'.join(map(str, self.path))} {self.state_name}>"


# -------------------------------------------------------------------- names


@final
class Several(Struct, eq=False):
    """A name for the thoughts of an operation as a list."""

    operation: Operation

    single: ClassVar[bool] = False

    def bound(self, name: str) -> Thoughts:
        """The thoughts, once the operation has ended."""
        return self.operation.output


Handle = Operation | Several
"""A name for the thoughts of an operation: the operation itself if there is exactly one (`single`)."""
_HANDLES = (Operation, Several)
"""The same, for which `isinstance` is faster."""


def handle_of(operation: Operation, single: bool) -> Handle:
    """A name for an operation's one thought, or for all of its thoughts."""
    return operation if single else Several(operation)


_NO_NAMES: dict[str, Any] = {}


class _StructMapping(StructMeta, ABCMeta):
    """The class of a `Struct` that is a `Mapping`."""


@final
class Frame(Struct, Mapping[str, Any], eq=False, metaclass=_StructMapping):
    """The names of a block, over those of the enclosing blocks.

    `key` identifies this execution of the block within `around` (None for what the whole run sees), whatever
    names it sees from `parent`; `space` separates its samples from those of others, `shared` those that are
    shared with the rest of the run; `depth` counts nested scheme calls; `rest` estimates how many sequential
    model calls follow the block; `scheme` is set for a call of one; `trial` is the operation that handles the
    failure of the enclosing `try`; `again` are the settings of a later repetition; `common` tells that other
    blocks may have the same space; `live` counts its operations that have not ended with thoughts, and the
    nested blocks.
    """

    parent: Frame | None
    around: Frame | None
    key: Any
    names: dict[str, Any]
    origin: Operation | None = None
    space: Space = ROOT
    shared: Space = ROOT
    depth: int = 0
    rest: int = 0
    scheme: str | None = None
    trial: Operation | None = None
    again: Mapping[str, Any] = {}
    common: bool = False
    live: int = 0

    @property
    def path(self) -> tuple[Any, ...]:
        """The keys from the run's scheme to this block."""
        keys: list[Any] = []
        frame = self
        while frame.around is not None:
            keys.append(frame.key)
            frame = frame.around
        return tuple(reversed(keys))

    def inside(
        self, key: Any, names: dict[str, Any], origin: Operation | None, rest: int = 0, *marks: str | int
    ) -> Frame:
        """A frame for a nested block; `rest` more calls follow it in this block. `marks` separate its samples
        from those of other executions of the block."""
        self.live += 1
        return Frame(
            self,
            self,
            key,
            names,
            origin or self.origin,
            inside(self.space, *marks) if marks else self.space,
            self.shared,
            self.depth,
            self.rest + rest,
            None,
            self.trial,
            self.again,
            self.common,
        )

    def apart(
        self, key: Any, names: dict[str, Any], origin: Operation | None, rest: int = 0, *marks: str | int
    ) -> Frame:
        """A frame like `inside`, which sees only the params: of a scheme or a score that is called."""
        root = self
        while root.parent is not None:
            root = root.parent
        frame = self.inside(key, names, origin, rest, *marks)
        frame.parent = root
        return frame

    def close(self) -> None:
        """Free the data that only further operations would need: the names that it adds, and its space."""
        self.names, self.space = _NO_NAMES, ROOT

    def find(self, name: str) -> Any:
        """The binding of a name, a Handle or a plain value. Raises KeyError for an unbound one."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.parent
        raise KeyError(name)

    def handle(self, name: str) -> Handle | None:
        """The handle that a name is bound to; None for a plain value or an unbound name."""
        try:
            bound = self.find(name)
        except KeyError:
            return None
        return bound if isinstance(bound, _HANDLES) else None

    def pool(self, name: str) -> Handle:
        """The handle that the name of a pool is bound to."""
        found: Handle = self.find(name)
        return found

    def __getitem__(self, name: str) -> Any:
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                found = frame.names[name]
                return found.bound(name) if isinstance(found, _HANDLES) else found
            frame = frame.parent
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        frame: Frame | None = self
        while frame is not None:
            yield from frame.names
            frame = frame.parent

    def __len__(self) -> int:
        return sum(1 for _ in self)


# -------------------------------------------------------------------- the graph


@final
class Graph:
    """Operations in the order they were added, and those that are ready to run.

    `constants` counts the operations whose thoughts were known when they were added; `ended` contains the
    others in the order in which they ended, so after everything they depend on.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.ready: deque[Operation] = deque()
        self.ended: list[Operation] = []
        self.constants = 0
        self.any_skipped = False
        self.additions: dict[Operation, dict[Operation, list[Operation]]] = {}
        """Which operations connected a source to a target, by target and source; only connections that
        Python added are here."""
        self.work: dict[Operation, Callable[[Any], Any]] = {}
        """The functions of operations that grow or change the graph, until they run."""
        self.on_parts: dict[Operation, list[Callable[[], None]]] = {}
        """Callbacks for when the parts of a join are known."""
        self._gathered: dict[Operation, _Gathered] = {}

    def add(self, operation: Operation, inputs: Collection[Operation], *, held: int = 0) -> Operation:
        """Add an operation that waits for `inputs`, and for `held` calls of `release`."""
        if len(self.operations) >= MAX_OPERATIONS:
            raise GraphFull(f"this run needs more than {MAX_OPERATIONS:,} operations")
        operation.sequence = len(self.operations)
        self.operations.append(operation)
        operation.waiting = held
        operation.frame.live += 1
        if inputs:
            self.connect(inputs, operation)
        if operation.waiting == 0 and operation.state == WAITING:
            self._make_ready(operation)
        return operation

    def constant(
        self, thoughts: Iterable[Thought], frame: Frame, name: Any, origin: Operation | None
    ) -> Operation:
        """Add an operation whose thoughts are known: the start of a block."""
        operation = Operation(None, "constant", frame, name, origin, state=DONE)
        operation.output = Thoughts(thoughts)
        operation.sequence = len(self.operations)
        if origin is not None:
            operation.hops, operation.seconds = origin.hops, origin.seconds
        self.constants += 1
        self.operations.append(operation)
        return operation

    def connect(self, inputs: Iterable[Operation], operation: Operation) -> None:
        """Add connections from `inputs` to an operation that has not started."""
        known = operation.inputs
        operation.inputs = tuple(dict.fromkeys((*known, *inputs) if known else inputs))
        lost = False
        for source in operation.inputs[len(known) :]:
            lost |= source.state != DONE and not self._follow(source, operation)
        if lost and not operation.inputs_optional:
            self.fail(operation)

    def _follow(self, source: Operation, operation: Operation) -> bool:
        """Let an operation wait for a source; returns whether the source has thoughts to give, now or
        later."""
        if source.state == DONE:
            return True
        if source.successors is None:
            source.successors = [operation]
        else:
            source.successors.append(operation)
        if source.state > DONE:
            return False
        operation.waiting += 1
        return True

    def gather(self, target: Operation, sources: Sequence[Operation], by: Operation) -> None:
        """Let a join take the thoughts of more sources, after those it was made for, sorted by path: the
        result does not depend on which operation adds first."""
        for source in sources:
            self.note_addition(target, source, by)
        gathered = self._gathered.get(target)
        if gathered is None:
            assert target.parts is not None
            gathered = self._gathered[target] = _Gathered(tuple(target.parts))
        gathered.more = (*gathered.more, *sources)
        self.connect(sources, target)
        target.parts = gathered.parts()

    def note_addition(self, target: Operation, source: Operation, by: Operation) -> None:
        """Record that an operation is about to connect a source to a target."""
        found = self.additions.setdefault(target, {})
        if source in found or source not in target.inputs:
            found.setdefault(source, []).append(by)

    def move(self, source: Operation, target: Operation, start: Operation | None) -> None:
        """Move the start of the connection from `source` to a target that has not started to `start`, in its
        place among the target's inputs; None removes the connection."""
        new = start is not None and start not in target.inputs
        target.inputs = _replaced(target.inputs, source, start)
        if (gathered := self._gathered.get(target)) is not None:
            gathered.own = _replaced(gathered.own, source, start)
            gathered.more = _replaced(gathered.more, source, start)
            target.parts = gathered.parts()
        elif target.parts is not None:
            target.parts = _replaced(target.parts, source, start)
        lost = new and start is not None and not self._follow(start, target)
        if source.successors is not None:
            source.successors.remove(target)
        if source.state < DONE:
            self.release(target)
        if lost and not target.inputs_optional:
            self.fail(target)

    def remove(self, operation: Operation) -> None:
        """Remove an operation that has not started; operations that still need its thoughts fail."""
        operation.state = REMOVED
        for source in operation.inputs:
            if source.successors is not None:
                source.successors.remove(operation)
        successors, operation.successors = operation.successors, None
        for successor in successors or ():
            if successor.inputs_optional:
                self.release(successor)
            elif successor.state < DONE:
                self.fail(successor)

    def release(self, operation: Operation) -> None:
        """Decrement the number of events that an operation waits for."""
        operation.waiting -= 1
        if operation.waiting == 0 and operation.state == WAITING:
            self._make_ready(operation)

    def _make_ready(self, operation: Operation) -> None:
        operation.state = READY
        self.ready.append(operation)

    def complete(self, operation: Operation, output: Thoughts, hops: int = 0, seconds: float = 0.0) -> None:
        """Record that an operation ended with thoughts; `hops` and `seconds` are its contribution to its
        critical path."""
        operation.output = output
        self.any_skipped |= output is SKIPPED
        self._end(operation, DONE, hops, seconds)
        frame = operation.frame
        frame.live -= 1
        if not frame.live:
            frame.close()
        successors = operation.successors
        if successors is not None:
            operation.successors = None
            for successor in successors:
                self.release(successor)

    def skip(self, operation: Operation) -> None:
        """Skip an operation; one that would have added operations skips their join."""
        held = operation.successors if operation.role in ("grow", "change", "rescue") else None
        for join in held or ():
            if join.role == "join" and join.parts is None:
                join.parts = ()
                join.waiting -= 1
        self.complete(operation, SKIPPED)

    def fail(self, operation: Operation, hops: int = 0, seconds: float = 0.0) -> None:
        """Record that an operation failed, and with it every operation that needs its thoughts."""
        if operation.state == FAILED:
            return
        if operation.state == WAITING:
            self._never_ran(operation)
        else:
            self._end(operation, FAILED, hops, seconds)
        stack = [operation]
        while stack:
            # It keeps its successors: what could be seen from elsewhere stays visible, see `gotlang.changes`.
            for successor in stack.pop().successors or ():
                if successor.inputs_optional:
                    self.release(successor)
                elif successor.state != FAILED:
                    self._never_ran(successor)
                    stack.append(successor)

    def _never_ran(self, operation: Operation) -> None:
        # It adds nothing to any path: which of its inputs have ended by now depends on timing.
        operation.state = FAILED
        self.ended.append(operation)

    def _end(self, operation: Operation, state: int, hops: int, seconds: float) -> None:
        operation.hops, operation.seconds = critical_path(operation)
        operation.hops += hops
        if seconds:  # adding 0.0 creates another number, which takes memory
            operation.seconds += seconds
        operation.state = state
        self.ended.append(operation)

    @property
    def thought_count(self) -> int:
        """The number of its thoughts, each counted where it was made."""
        found = 0
        for operation in self.operations:
            output = operation._output
            if isinstance(output, Thought):
                found += output.maker is operation and not output.empty
            else:
                found += sum([thought.maker is operation and not thought.empty for thought in output])
        return found

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Remove what its block added if that raises GotError."""
        operations, ready, ended = len(self.operations), len(self.ready), len(self.ended)
        constants = self.constants
        try:
            yield
        except GotError:
            self.constants = constants
            gone = set(self.operations[operations:])
            for source in {source for operation in gone for source in operation.inputs} - gone:
                if source.successors is not None:
                    source.successors = [o for o in source.successors if o not in gone]
            for operation in gone:
                operation.state = FAILED
            del self.operations[operations:]
            while len(self.ready) > ready:
                self.ready.pop()
            del self.ended[ended:]
            raise


@final
class _Gathered(Struct):
    """The parts of a join: those it was made for, and those connected later, sorted by path."""

    own: tuple[Operation, ...]
    more: tuple[Operation, ...] = ()

    def parts(self) -> tuple[Operation, ...]:
        return tuple(dict.fromkeys((*self.own, *sorted(self.more, key=path_key))))


def _replaced(
    operations: Sequence[Operation], old: Operation, new: Operation | None
) -> tuple[Operation, ...]:
    """Operations with one replaced by another (or removed), without duplicates."""
    instead = (new if o is old else o for o in operations)
    return tuple(dict.fromkeys(o for o in instead if o is not None))


# -------------------------------------------------------------------- questions about a graph


def before(operation: Operation) -> tuple[Operation, ...]:
    """The direct dependencies of an operation: its inputs, and the operation that added it."""
    return (*operation.inputs, operation.origin) if operation.origin is not None else operation.inputs


def critical_path(operation: Operation) -> tuple[int, float]:
    """Model calls, and their latency in seconds, on the critical path that leads to an operation."""
    origin = operation.origin
    hops, seconds = (origin.hops, origin.seconds) if origin is not None else (0, 0.0)
    for source in operation.inputs:
        if source.hops > hops:
            hops = source.hops
        if source.seconds > seconds:
            seconds = source.seconds
    return hops, seconds


def calls_before(operation: Operation) -> int:
    """Model calls on the critical path that leads to an operation."""
    origin = operation.origin
    hops = 0 if origin is None else origin.hops
    for source in operation.inputs:
        if source.hops > hops:
            hops = source.hops
    return hops


def path_text(operation: Operation) -> str:
    """An operation's path in the run, as one word: `sort128/part[3]/generate`."""
    out = []
    for part in operation.path:
        name, *numbers = part if isinstance(part, tuple) else (part,)
        out.append(str(name).lstrip("%") + "".join(f"[{number}]" for number in numbers))
    return "/".join(out)


def path_key(at: Operation | Frame) -> PathKey:
    """The path of an operation or of a block, to sort by."""
    parts = (part if isinstance(part, tuple) else (part,) for part in at.path)
    return tuple(tuple((0, x) if isinstance(x, int) else (1, str(x)) for x in part) for part in parts)


def within(path: str) -> str:
    """The named blocks of a path, for messages: ` in part[3]` for `sort128/part[3]/1`, nothing for
    `sort128/1`."""
    named = [part for part in path.split("/")[1:] if part.endswith("]") and not part[0].isdigit()]
    return f" in {' in '.join(dict.fromkeys(reversed(named[-_MOST_NAMED:])))}" if named else ""


def volume(thought: Thought) -> int:
    """The number of thoughts from which a path leads to this one (Graph of Thoughts, section 6)."""
    seen: set[tuple[int, int]] = set()
    stack = [thought]
    while stack:
        at = stack.pop()
        if at.identity not in seen:
            seen.add(at.identity)
            stack.extend(at.parents)
    return len(seen) - 1


def largest_volume(thoughts: Iterable[Thought]) -> int:
    """The largest volume among some thoughts. Those with the same parents have the same volume, which is
    cached if it took long to compute."""
    most = 0
    known: set[tuple[tuple[int, int], ...]] = set()
    for thought in thoughts:
        if isinstance(made_from := thought.made_from, Thought) and not made_from.parents:
            most = most or 1
            continue
        parents = tuple([parent.identity for parent in thought.parents])
        if parents not in known:
            found = volume(thought)
            most = max(most, found)
            if found > _LARGE_VOLUME:
                known.add(parents)
    return most
