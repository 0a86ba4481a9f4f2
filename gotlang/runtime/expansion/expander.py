"""Grows the execution graph: each block of the program becomes operations as soon as its shape is known.

What depends on constants alone is laid out at once. What depends on an answer (a `foreach` over a list that
a model writes, an `if` on its verdict, a recursion) becomes a `grow` operation, which adds operations when it
runs, and a `join`, which stands for their result from the start. A `grow` operation adds only between itself
and its own join: its exclusive descendants, as section 3.2 of Framework of Thoughts requires.

A `grow` operation finds what it needs by name in its own frame, so that its connections may be moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, final

from gotlang.errors import GotError
from gotlang.estimate.remaining import CallsRemaining
from gotlang.ir import program as ir
from gotlang.ir.foreign import changes_graph
from gotlang.operations import record_of
from gotlang.operations.names import free_names, looks_at_pool, needed_names
from gotlang.operations.record import Block, Grows
from gotlang.runtime.context import Context
from gotlang.runtime.execution import derived
from gotlang.runtime.graph import NOTHING, Frame, GraphFull, Handle, Operation
from gotlang.syntax import expressions as e
from gotlang.thought import Thought, Thoughts

Layout = Callable[["Expander", Any, Frame, Handle], Handle]
"""Lays out a step that stands for several operations, from its frame and its pool."""
Build = Callable[[Frame, Operation | None], list[Operation]]
"""Adds the operations of a block, from the names in a frame and the operation that adds them (None if the
shape is known when the program is laid out). Returns those whose thoughts are the block's."""

NO_PARTS: tuple[Operation, ...] = ()


class Uses(NamedTuple):
    """The names that an expression uses, and whether it uses the current thoughts."""

    names: tuple[str, ...]
    pool: bool


class Element(NamedTuple):
    """One element of what a block iterates over: a thought, or a `value` with the thoughts it came from."""

    thoughts: tuple[Thought, ...]
    value: Any = None
    computed: bool = False


@final
class Expander:
    """Turns regions into operations of one run's graph.

    `blocks` lays out the steps that stand for several operations, `scores` a Score that asks a model,
    `changes` a `Call` of Python that changes the graph.
    """

    def __init__(
        self,
        context: Context,
        blocks: Mapping[type, Layout],
        remaining: CallsRemaining,
        scores: Layout | None = None,
        changes: Layout | None = None,
    ) -> None:
        self.context = context
        self.graph = context.graph
        self.remaining = remaining
        self._blocks = blocks
        self._grown = {"score": scores, "change": changes}
        self._layouts: dict[int, Layout | None] = {}
        self._needed: dict[int, tuple[str, ...]] = {}
        self._uses: dict[int, Uses] = {}
        self.changing = {name for name, f in context.functions.items() if changes_graph(f)}
        """The functions of the program that change graphs."""

    def region(self, region: ir.Region, frame: Frame) -> Handle:
        """Lay out a region whose entry is bound in the frame; the handle of what it yields."""
        for step in region.steps:
            frame.names[step.result] = self.step(step, frame)
        return frame.pool(region.result)

    def step(self, step: ir.Step, frame: Frame) -> Handle:
        """Lay out one step."""
        pool = frame.pool(step.pool)
        try:
            layout = self._layouts[id(step)]
        except KeyError:
            layout = self._layouts[id(step)] = self._layout(step)
        if layout is not None:
            return layout(self, step, frame, pool)
        operation = Operation(step, type(step).__name__, frame, step.result, frame.origin)
        if not isinstance(step, ir.Pool) or any(self.uses(value).pool for value in step.values):
            self.graph.add(operation, (pool.operation, *self.waits(step, frame)))
        else:
            operation.parts = NO_PARTS
            self.graph.add(operation, self.waits(step, frame))
        return Handle(operation, step.single)

    def _layout(self, step: ir.Step) -> Layout | None:
        """What lays out a step that stands for several operations; None for one that is a single one."""
        record = record_of(step)
        if isinstance(record, Block):
            return self._blocks[type(step)]
        way = record.run(step, self.context.declared)
        return self._grown[way.layout] if isinstance(way, Grows) else None

    # ---------------------------------------------------------------- what waits for what

    def waits(self, step: ir.Step, frame: Frame) -> list[Operation]:
        """The operations behind the names that a step's own expressions use."""
        names = self._needed.get(id(step))
        if names is None:
            names = self._needed[id(step)] = needed_names(step)
        return behind(names, frame) if names else []

    def uses(self, node: e.Expression) -> Uses:
        """What an expression of the program uses; computed once."""
        found = self._uses.get(id(node))
        if found is None:
            found = self._uses[id(node)] = Uses(tuple(free_names(node)), looks_at_pool(node))
        return found

    def waits_for(self, node: e.Expression, frame: Frame, pool: Handle) -> list[Operation]:
        """The operations behind what an expression uses, the pool's first."""
        uses = self.uses(node)
        waits = behind(uses.names, frame)
        return [pool.operation, *waits] if uses.pool else waits

    # ---------------------------------------------------------------- now, or later

    def later(self, step: ir.Step, frame: Frame, waits: list[Operation], build: Build) -> Operation:
        """The join of the operations that `build` adds: at once if there is nothing to wait for."""
        join = Operation(step, "join", frame, step.result, frame.origin)
        if all(operation.constant for operation in waits):
            self.graph.add(join, (), held=1)
            self.attempt(join, lambda: self.fill(join, build(frame, frame.origin)))
            return join

        def work(operation: Operation) -> None:
            self.fill(join, build(operation.frame, operation))
            waiting, join.on_parts = join.on_parts, None
            for tell in waiting or ():
                tell()

        return self.graph.add(join, (self.grow(step, frame, waits, work),), held=1)

    def grow(
        self,
        step: ir.Step,
        frame: Frame,
        waits: Iterable[Operation],
        work: Callable[[Operation], None],
        name: str = "grow",
    ) -> Operation:
        """Add an operation that does `work`, which adds more, when it runs."""
        operation = Operation(step, "grow", frame, (step.result, name), frame.origin)
        operation.work = work
        return self.graph.add(operation, waits)

    def fill(self, join: Operation, parts: list[Operation]) -> None:
        """Give a join that is held back the operations it joins."""
        join.parts = parts
        self.graph.connect(parts, join)
        self.graph.release(join)

    def attempt(self, join: Operation, work: Callable[[], None]) -> None:
        """Add the operations of a join; if that fails none is added, and the join fails."""
        mark = self.graph.mark()
        try:
            work()
        except GraphFull:
            raise  # whatever is around it has no room either
        except GotError as error:
            self.graph.undo(mark)
            self.context.lost(join, error)

    def joined(
        self,
        frame: Frame,
        name: Any,
        parts: Sequence[Operation],
        origin: Operation | None,
        after: Sequence[Operation] = (),
    ) -> Operation:
        """The thoughts of several operations as those of one, which waits for `after` too."""
        join = Operation(None, "join", frame, name, origin)
        join.parts = parts
        return self.graph.add(join, (*parts, *after))

    # ---------------------------------------------------------------- constants

    def element(self, frame: Frame, element: Element, grow: Operation | None) -> Operation:
        """An element: the thought itself, or a new one with its value."""
        thoughts, value, computed = element
        operation = self.graph.constant(thoughts, frame, "element", grow)
        if computed:
            operation.output = Thoughts([derived(operation, value, 0, thoughts)])
        return operation

    def empty(self, frame: Frame, name: Any, origin: Operation | None) -> Operation:
        """The empty thought, which a pipeline starts with."""
        operation = self.graph.constant((), frame, name, origin)
        operation.output = Thoughts([Thought(None, operation, empty=True)])
        return operation


def behind(names: Iterable[str], frame: Frame) -> list[Operation]:
    """The operations whose thoughts names refer to."""
    handles = map(frame.handle, names)
    return [handle.operation for handle in handles if handle is not None]


# -------------------------------------------------------------------- how the added operations run


def join(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """The thoughts of several operations as those of one."""
    return thoughts


def collect(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """The result of a scheme that returns a list: the values of its thoughts as one."""
    return Thoughts([derived(operation, [t.value for t in thoughts], 0, thoughts)])


def grow(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """Add operations to the graph, or none if that fails."""
    work, operation.work = operation.work, None
    assert work is not None
    mark = context.graph.mark()
    try:
        work(operation)
    except GotError:
        context.graph.undo(mark)
        raise
    return NOTHING
