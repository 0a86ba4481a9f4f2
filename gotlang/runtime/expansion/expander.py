"""Grows the execution graph: each block of the program becomes operations as soon as its shape is known.

What depends on nothing but constants is laid out at once. What depends on an answer (a `foreach` over a list
that a model writes, an `if` on its verdict, a recursion) becomes a `grow` operation, which adds its
operations when it runs, and a `join`, which stands for their result from the start. An operation that grows
the graph adds only between itself and its own join: its exclusive descendants, as the rules in section 3.2
of Framework of Thoughts ask.

What a `grow` operation needs it finds by name in its own frame, so that its connections may be moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, final

from gotlang.errors import GotError
from gotlang.estimate.remaining import Remaining
from gotlang.ir import program as ir
from gotlang.ir.foreign import changes_graph
from gotlang.operations import record_of
from gotlang.operations.names import free_names, looks_at_pool, needed_names
from gotlang.operations.record import Block, Grows
from gotlang.runtime.context import Context
from gotlang.runtime.execution import derived
from gotlang.runtime.graph import Frame, GraphFull, Handle, Operation
from gotlang.syntax import expressions as e
from gotlang.thought import Thought, Thoughts

Layout = Callable[["Expander", Any, Frame, Handle], Handle]
Build = Callable[[Frame, Operation | None], list[Operation]]
"""Adds the operations of a block, from the names in a frame and the operation that adds them (None where the
shape was known when the program was laid out). Gives those whose thoughts are the block's."""

NO_PARTS: tuple[Operation, ...] = ()


@final
class Expander:
    """Turns regions into operations of one run's graph.

    `blocks` lays out the steps that are several operations, `scores` a Score that asks a model, `changes` a
    `Call` of Python that changes the graph.
    """

    def __init__(
        self,
        context: Context,
        blocks: Mapping[type, Layout],
        remaining: Remaining,
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
        """Lay out a block; the handle of what it yields. Its entry is bound in the frame already."""
        for step in region.steps:
            frame.names[step.result] = self.step(step, frame)
        return frame.pool(region.result)

    def step(self, step: ir.Step, frame: Frame) -> Handle:
        """Lay out one step."""
        pool = frame.pool(step.pool)
        try:
            block = self._layouts[id(step)]
        except KeyError:
            block = self._layouts[id(step)] = self._layout(step)
        if block is not None:
            return block(self, step, frame, pool)
        operation = Operation(step, type(step).__name__, frame, step.result, frame.origin)
        if self._takes_pool(step):
            self.graph.add(operation, (pool.operation, *self.waits(step, frame)))
        else:
            operation.parts = NO_PARTS
            self.graph.add(operation, self.waits(step, frame))
        return Handle(operation, step.single)

    def _layout(self, step: ir.Step) -> Layout | None:
        """What lays out a step that is several operations; None for one that is a single operation."""
        record = record_of(step)
        if isinstance(record, Block):
            return self._blocks[type(step)]
        way = record.run(step, self.context.declared)
        return self._grown[way.layout] if isinstance(way, Grows) else None

    def _takes_pool(self, step: ir.Step) -> bool:
        return not isinstance(step, ir.Pool) or any(self.uses(value).pool for value in step.values)

    # ---------------------------------------------------------------- what waits for what

    def waits(self, step: ir.Step, frame: Frame) -> list[Operation]:
        """The operations behind the names that a step's own expressions use."""
        names = self._needed.get(id(step))
        if names is None:
            names = self._needed[id(step)] = needed_names(step)
        return behind(names, frame) if names else []

    def uses(self, node: e.Expression) -> Uses:
        """What an expression of the program needs; found once."""
        found = self._uses.get(id(node))
        if found is None:
            found = self._uses[id(node)] = Uses(tuple(free_names(node)), looks_at_pool(node))
        return found

    def waits_for(self, node: e.Expression, frame: Frame, pool: Handle) -> list[Operation]:
        """The operations behind what an expression needs, the pool's first."""
        uses = self.uses(node)
        waits = behind(uses.names, frame)
        return [pool.operation, *waits] if uses.pool else waits

    def waits_for_list(self, step: ir.Foreach | ir.Reduce, frame: Frame) -> list[Operation]:
        """What a block waits for that goes through its pool, or through the list that an expression gives."""
        waits = self.waits(step, frame)
        if step.iterable is None or self.uses(step.iterable).pool:
            waits = [frame.pool(step.pool).operation, *waits]
        return waits

    # ---------------------------------------------------------------- now, or when it is known

    def later(self, step: ir.Step, frame: Frame, waits: list[Operation], build: Build) -> Operation:
        """The join of the operations that `build` adds: now where nothing has to be waited for."""
        join = Operation(step, "join", frame, step.result, frame.origin)
        if all(operation.constant for operation in waits):
            self.graph.add(join, (), held=1)
            self.attempt(join, lambda: self.fill(join, build(frame, frame.origin)))
            return join
        grow = Operation(step, "grow", frame, (step.result, "grow"), frame.origin)

        def work(operation: Operation) -> None:
            self.fill(join, build(operation.frame, operation))
            waiting, join.on_parts = join.on_parts, None
            for tell in waiting or ():
                tell()

        grow.work = work
        self.graph.add(grow, waits)
        return self.graph.add(join, (grow,), held=1)

    def fill(self, join: Operation, parts: list[Operation]) -> None:
        """Say what a join that is held back until then joins."""
        join.parts = parts
        self.graph.connect(parts, join)
        self.graph.release(join)

    def attempt(self, join: Operation, work: Callable[[], None]) -> None:
        """Add the operations behind a join; where that fails none is added, and the join fails."""
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

    # ---------------------------------------------------------------- what is there already

    def constant(
        self, frame: Frame, thoughts: tuple[Thought, ...], value: Value | None, grow: Operation | None
    ) -> Operation:
        """An element: the thought itself, or (where `value` is given) a new one made from thoughts."""
        element = self.graph.constant(thoughts, frame, "element", grow)
        if value is not None:
            element.output = Thoughts([derived(element, value.value, 0, thoughts)])
        return element

    def start(self, frame: Frame, origin: Operation | None) -> Handle:
        """The empty thought that a pipeline starts with."""
        start = self.graph.constant((), frame, "start", origin)
        start.output = Thoughts([Thought(None, start, empty=True)])
        return Handle(start, True)


class Uses(NamedTuple):
    """The names that an expression uses, and whether it looks at the current thoughts."""

    names: tuple[str, ...]
    pool: bool


@final
class Value:
    """A value that an element stands for, told apart from none."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def behind(names: Iterable[str], frame: Frame) -> list[Operation]:
    """The operations whose thoughts names stand for."""
    found = []
    for name in names:
        try:
            bound = frame.find(name)
        except KeyError:
            continue
        if isinstance(bound, Handle):
            found.append(bound.operation)
    return found
