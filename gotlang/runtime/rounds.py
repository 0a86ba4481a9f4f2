"""Lays out `repeat`, `if`, labelled blocks and indented pipelines."""

from __future__ import annotations

from typing import Any, final

from gotlang.ir import program as ir
from gotlang.runtime.checks import count
from gotlang.runtime.execution import whole
from gotlang.runtime.expand import Expander, behind
from gotlang.runtime.frame import Frame, Handle
from gotlang.runtime.graph import Operation
from gotlang.syntax import expressions as e


def loop(x: Expander, step: ir.Repeat, frame: Frame, pool: Handle) -> Handle:
    """`repeat`: the body on its own result."""
    join = Operation(step, "join", frame, step.result, frame.origin)
    x.graph.add(join, (), held=1)
    rounds = _Rounds(x, step, join)
    waits = x.waits_for(step.count, frame, pool)
    if all(operation.constant for operation in waits):
        x.attempt(join, lambda: rounds.begin(frame, frame.origin))
    else:
        start = Operation(step, "grow", frame, (step.result, "grow"), frame.origin)
        start.work = lambda operation: rounds.begin(operation.frame, operation)
        x.graph.add(start, waits)
        x.graph.connect((start,), join)
    return Handle(join, step.single)


@final
class _Rounds:
    """One `repeat` while it runs: as many rounds at a time as need no look at their result."""

    def __init__(self, x: Expander, step: ir.Repeat, join: Operation) -> None:
        self.x = x
        self.step = step
        self.join = join
        self.most = 0

    def begin(self, frame: Frame, grow: Operation | None) -> None:
        """Lay out the first rounds."""
        pool = frame.pool(self.step.pool)
        names = whole(frame, pool.operation.output)
        self.most = count(self.x.context.evaluate(self.step.count, names), "repeat")
        self._advance(0, frame, pool, grow)

    def _advance(self, number: int, frame: Frame, handle: Handle, grow: Operation | None) -> None:
        x, step = self.x, self.step
        after, through = x.remaining.after(step), x.remaining.through(step.body)
        while number < self.most:
            names: dict[str, Any] = {step.body.entry: handle}
            if step.counter is not None:
                names[step.counter] = number
            rest = after + (self.most - number - 1) * through
            inner = frame.inside((step.result, number), names, grow, rest)
            handle = x.region(step.body, inner)
            number += 1
            if step.until is not None and number < self.most:
                self._test(step.until, number, frame, inner, handle, grow)
                return
        x.fill(self.join, [handle.operation])

    def _test(
        self,
        until: e.Expression,
        number: int,
        frame: Frame,
        inner: Frame,
        handle: Handle,
        grow: Operation | None,
    ) -> None:
        """Go on, or not, once the last round's result is there: the result of it all waits for that instead
        of what has grown it so far."""
        x = self.x
        test = Operation(self.step, "grow", inner, (self.step.result, "until"), inner.origin)

        def work(operation: Operation) -> None:
            result = Handle(operation.inputs[0], handle.single)
            if holds(x, until, result, operation.frame):
                x.fill(self.join, [result.operation])
            else:
                self._advance(number, frame, result, operation)

        test.work = work
        x.graph.add(test, (handle.operation, *behind(x.uses(until).names, inner)))
        if grow in self.join.inputs:
            x.graph.move(grow, self.join, test)
        else:
            x.graph.connect((test,), self.join)


def holds(x: Expander, condition: e.Expression, handle: Handle, frame: Frame) -> bool:
    """Whether a condition holds for what a handle stands for."""
    return bool(x.context.evaluate(condition, whole(frame, handle.operation.output)))


def branch(x: Expander, step: ir.If, frame: Frame, pool: Handle) -> Handle:
    """`if`: the first block whose condition holds."""
    rest = x.remaining.after(step)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        pool = frame.pool(step.pool)
        for index, (condition, body) in enumerate(step.branches):
            if holds(x, condition, pool, frame):
                return [x.region(body, frame.inside((step.result, index), {}, grow, rest)).operation]
        if step.otherwise is not None:
            inner = frame.inside((step.result, len(step.branches)), {}, grow, rest)
            return [x.region(step.otherwise, inner).operation]
        return [pool.operation]

    waits = x.waits(step, frame)
    if any(x.uses(condition).pool for condition, _ in step.branches):
        waits = [pool.operation, *waits]
    return Handle(x.later(step, frame, waits, build), step.single)


def group(x: Expander, step: ir.Block, frame: Frame, pool: Handle) -> Handle:
    """A labelled block, or an indented pipeline."""
    names = {inner: frame.find(outer) for inner, outer in step.names}
    inner = frame.inside((step.label,), names, None, x.remaining.after(step))
    return Handle(x.region(step.body, inner).operation, step.single)
