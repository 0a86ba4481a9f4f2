"""Lays out `Call` of a Python function that changes the graph, and makes the changes it asked for.

As for every block that grows the graph there are two operations from the start: one that runs the function,
once per thought, and a join that stands for its result. When the function has ended for all thoughts, the
operations that it added are laid out, the connections of those after it changed, and the join gets its parts;
until then, and if that fails, the graph stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, final

from gotlang.changes.added import ENTRY, AddedSteps
from gotlang.changes.change import Block, Change, Edit, Node, kind
from gotlang.changes.view import View
from gotlang.errors import EvaluationError, GotError, OperationFailed
from gotlang.ir import program as ir
from gotlang.runtime.execution import Execution
from gotlang.runtime.expansion import Element, Expander
from gotlang.runtime.graph import REMOVED, Frame, Handle, Operation
from gotlang.runtime.python import call_function
from gotlang.thought import Thought

MAX_NESTED = 1_000
"""How deeply operations that change the graph may be nested in operations that others of them added."""


@final
class GraphChanges:
    """Lays out each `Call` of a function that changes the graph; `compile` builds the steps that it adds."""

    def __init__(self, compile: AddedSteps) -> None:
        self.compile = compile

    def __call__(self, x: Expander, step: ir.Call, frame: Frame, pool: Handle) -> Handle:
        change = Operation(step, "change", frame, (step.result, "change"), frame.origin)
        join = Operation(step, "join", frame, step.result, frame.origin)
        change.work = _Changing(x, step, join, self.compile)
        x.graph.add(change, (pool.operation, *x.waits(step, frame)))
        return Handle(x.graph.add(join, (change,), held=1), step.single)


@final
class _Changing:
    """One `Call` while it runs."""

    def __init__(self, x: Expander, step: ir.Call, join: Operation, compile: AddedSteps) -> None:
        self.x = x
        self.step = step
        self.join = join
        self.compile = compile

    async def __call__(self, running: Execution) -> None:
        """Run the function for each thought in turn, then change the graph. Raises GotError."""
        context, step, operation = self.x.context, self.step, running.operation
        if len(operation.frame.path) > MAX_NESTED:
            raise EvaluationError(f"calls that change the graph are nested more than {MAX_NESTED:,} deep")
        thoughts = operation.pool
        gave = 0
        change = Change(operation, self.x.graph, self.join, context.result)
        for thought in thoughts:
            mark = change.mark()
            try:
                await self._run(running, change, thought)
                gave += 1
            except GotError as error:
                change.undo(mark)
                running.failed(error.message, thought.index)
        if thoughts and not gave:
            raise running.nothing_left()
        parts = change.parts()
        if step.single and not (len(parts) == 1 and kind(parts[0]).single):
            raise OperationFailed(
                f"`{step.function}` returned several thoughts, and the program needs one: "
                "end the added steps with `KeepBestN(1)`, `Vote()` or `Aggregate()`"
            )
        carry_out(self.x, step, change)

    async def _run(self, running: Execution, change: Change, thought: Thought) -> None:
        context, step = self.x.context, self.step
        names = running.each(thought)
        values = [(key, context.evaluate(value, names)) for key, value in step.arguments]
        positional = [value for key, value in values if key is None]
        named = {key: value for key, value in values if key is not None}
        function, timeout_s = context.functions[step.function], context.settings.timeout_s
        view = View(change, running.frame, partial(self.compile, span=step.span), (thought,))
        try:
            async with context.calls:
                value = await call_function(
                    function, step.function, [view, *positional], named, timeout_s, raw=True
                )
        finally:
            view.close()
        view.take(value, step.function)


def carry_out(x: Expander, step: ir.Call, change: Change) -> None:
    """Change the graph as an operation asked for. Raises GotError, and changes nothing, if what it added
    cannot be laid out."""
    with x.graph.all_or_nothing():
        builder = _Builder(x, step, change)
    _rewire(x, change, builder.operation, step)
    if change.result is not None and change.result.state != REMOVED:
        x.fill(change.result, [builder.operation(node) for node in change.parts()])


@final
class _Builder:
    """Lays out what was added, each block after those whose thoughts it takes."""

    def __init__(self, x: Expander, step: ir.Call, change: Change) -> None:
        self.x = x
        self.change = change
        self.step = step
        self.at = change.operation
        blocks = [node for node in change.connected if isinstance(node, Block)]
        numbers = {block: number for number, block in enumerate(blocks)}
        for block in blocks:
            stack = [block]
            while stack:
                top = stack[-1]
                sources = (node for node in change.sources(top) if isinstance(node, Block))
                if missing := [node for node in sources if node.built is None]:
                    stack.extend(missing)
                else:
                    stack.pop()
                    if top.built is None:
                        top.built = self._build(top, numbers[top])

    def operation(self, node: Node) -> Operation:
        """The operation of a node."""
        if isinstance(node, Operation):
            return node
        if node.built is None:
            # It was added, connected and removed again; it is never part of the graph.
            node.built = Operation(None, "join", self.at.frame, (self.step.result, "removed"), self.at)
        return node.built

    def _build(self, block: Block, number: int) -> Operation:
        x, at = self.x, self.at
        frame = at.frame.inside((self.step.result, number), {}, at, x.remaining.after(self.step))
        if block.thoughts is not None:
            return x.element(frame, Element(block.thoughts), at)
        if block.value is not None:
            (given,) = block.after
            return x.element(frame, Element(tuple(self.operation(given).output), block.value, True), at)
        if block.region is None:
            return x.joined(frame, "gathered", list(map(self.operation, self.change.sources(block))), at)
        after = [self.operation(node) for node in block.after]
        pool = after[0] if len(after) == 1 else x.joined(frame, "given", after, at)
        frame.names[ENTRY] = Handle(pool, len(after) == 1 and kind(block.after[0]).single)
        for name, value in block.names.items():
            is_node = isinstance(value, Operation | Block)
            frame.names[name] = Handle(self.operation(value), kind(value).single) if is_node else value
        x.remaining.through(block.region)
        return x.region(block.region, frame).operation


def _rewire(x: Expander, change: Change, built: Callable[[Node], Operation], step: ir.Call) -> None:
    """Make the changes to operations that were there before."""
    graph = x.graph
    more: dict[Operation, list[Operation]] = {}
    targets = dict.fromkeys(edit.target for edit in change.edits)
    for target in targets:
        target.waiting += 1  # none of them becomes ready before all is done
    for edit in change.edits:
        target = edit.target
        match edit:
            case _ if target is change.result and edit.start is not None:
                pass  # the result gets its parts at the end
            case Edit(source=None, start=None):
                error = OperationFailed(f"it was removed by `{step.function}`")
                x.context.culprits[target] = error
                more.pop(target, None)
                graph.remove(target)
            case Edit(source=None, start=start) if start is not None:
                more.setdefault(target, []).append(built(start))
            case Edit(source=source) if source is not None:
                start = None
                if edit.start is not None:
                    start = built(edit.start)
                    _rebind(target, built(source), Handle(start, kind(edit.start).single))
                    graph.note_addition(target, start, change.operation)
                if target in more:
                    graph.gather(target, more.pop(target), change.operation)
                graph.move(built(source), target, start)
    for target, added in more.items():
        graph.gather(target, added, change.operation)
    for target in targets:
        graph.release(target)


def _rebind(target: Operation, old: Operation, handle: Handle) -> None:
    """Bind the names by which an operation uses the thoughts of `old` to another handle."""
    names: dict[str, Any] = {}
    frame: Frame | None = target.frame
    while frame is not None:
        for name, bound in frame.names.items():
            names.setdefault(name, bound)
        frame = frame.parent
    found = {n: handle for n, bound in names.items() if isinstance(bound, Handle) and bound.operation is old}
    if found:
        at = target.frame
        target.frame = Frame(at, at.path, found, at.origin, at.context, at.depth, at.rest, at.scheme)
