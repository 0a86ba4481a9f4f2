"""`first` and `race`: lines from the same thoughts, of which one is taken and the others are given up."""

from __future__ import annotations

from typing import final

from gotlang.errors import EvaluationError, GotError
from gotlang.ir import program as ir
from gotlang.runtime.execution import whole
from gotlang.runtime.expansion import Expander, behind
from gotlang.runtime.graph import DONE, Frame, GraphFull, Handle, Operation, path_key
from gotlang.syntax import expressions as e


def first(x: Expander, step: ir.First, frame: Frame, pool: Handle) -> Handle:
    """`first`: the next line once the one before has not passed; with `at once`, all from the start."""
    join = x.graph.add(Operation(step, "join", frame, step.result, frame.origin), (), held=1)
    lines = _Lines(x, step, frame, join)
    for _ in range(1 if step.way == "turn" else len(step.regions)):
        lines.lay_out(frame.origin)
    return Handle(join, step.single)


@final
class _Lines:
    """The lines of one `first` while it runs. `judges` are the operations that look at what each has left,
    `passed` is what they have found so far."""

    def __init__(self, x: Expander, step: ir.First, frame: Frame, join: Operation) -> None:
        self.x = x
        self.step = step
        self.frame = frame
        self.join = join
        self.judges: list[Operation] = []
        self.passed: dict[int, bool] = {}

    def lay_out(self, origin: Operation | None) -> None:
        """Add the next line, and the operation that looks at what it leaves."""
        x, step, at = self.x, self.step, len(self.judges)
        inner = self.frame.inside((step.result, "line", at), {}, origin, x.remaining.after(step))
        judge = inner.trial = Operation(step, "rescue", self.frame, (step.result, "until", at), origin)
        self.judges.append(judge)
        handle = self._line(step.regions[at], inner)
        judge.work = lambda operation: self._judge(
            at, inner, Handle(operation.inputs[0], handle.single), operation
        )
        x.graph.connect((x.graph.add(judge, (handle.operation, *self._waits(at, inner))),), self.join)

    def _line(self, region: ir.Region, inner: Frame) -> Handle:
        x = self.x
        try:
            with x.graph.all_or_nothing():
                return x.region(region, inner)
        except GraphFull:
            raise
        except GotError as error:
            lost = x.graph.add(Operation(self.step, "join", inner, "lost", inner.origin), (), held=1)
            x.context.lost(lost, error)
            return Handle(lost, True)

    def _until(self, at: int) -> e.Expression | None:
        return self.step.branches[at][0] if at < len(self.step.branches) else None

    def _waits(self, at: int, inner: Frame) -> list[Operation]:
        """The operations behind the names of a line's condition."""
        until = self._until(at)
        return behind(self.x.uses(until).names, inner) if until is not None else []

    def _judge(self, at: int, inner: Frame, left: Handle, operation: Operation) -> None:
        """A line has ended: take it, or look at the others."""
        x, until = self.x, self._until(at)
        self.passed[at] = left.operation.state == DONE
        if self.passed[at] and until is not None:
            try:
                self.passed[at] = bool(x.context.evaluate(until, whole(inner, left.operation.output)))
            except EvaluationError as error:
                self.passed[at] = False
                x.context.failed(operation, error.message, handled=True)
        if not self.passed[at]:
            x.context.handled.append(path_key(inner))
        turn, known = self.step.way == "turn", len(self.passed) == len(self.step.regions)
        if turn and not self.passed[at] and not known:
            return self.lay_out(operation)
        order = range(len(self.judges)) if self.step.way != "race" else [at]
        for line in order:
            if line not in self.passed:
                return None
            if self.passed[line]:
                return self._take(line)
        if known:
            # None has passed: the last one that has left something.
            ended = [judge.inputs[0].state == DONE for judge in self.judges]
            self._take(max(range(len(ended)), key=lambda line: (ended[line], line)))
        return None

    def _take(self, at: int) -> None:
        """Give the result of a line, and give up those that the result does not hang on."""
        x, graph = self.x, self.x.graph
        for line, judge in enumerate(self.judges):
            if line > at or (self.step.way == "race" and line != at):
                graph.move(judge, self.join, None)
                if judge.state < DONE and judge is not self.judges[at]:
                    graph.remove(judge)
        x.fill(self.join, [self.judges[at].inputs[0]])
        x.context.give_up()
