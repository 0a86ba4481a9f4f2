"""`first` and `race`: alternatives on the same thoughts, of which one is chosen and the others are abandoned.

Which alternative wins a race depends on timing, so it is recorded in the cache and in recordings: the same
race of a later run starts only the alternative that won. With simulators all alternatives are run, and the
one that took the fewest simulated seconds wins.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, final

from msgspec.structs import replace

from gotlang.errors import EvaluationError, GotError, OperationFailed
from gotlang.ir import program as ir
from gotlang.ir.text import to_text
from gotlang.models.base import DecodingSettings, Message, Request
from gotlang.operations.names import bound_inside, used_names
from gotlang.runtime.execution import whole
from gotlang.runtime.expansion import Expander, behind
from gotlang.runtime.graph import DONE, SKIPPED, Frame, GraphFull, Handle, Operation, handle_of, path_key
from gotlang.runtime.spaces import first_number, inside
from gotlang.syntax import expressions as e
from gotlang.thought import Thoughts, plain
from gotlang.types import DYNAMIC

RACE = "race"
"""The name of a race's record in lists of requests."""


def first(x: Expander, step: ir.First, frame: Frame, pool: Handle) -> Handle:
    """`first`: each alternative starts when the one before has failed its condition; with `at once`, all
    start together. `race`: all start together, unless the winner is known."""
    join = x.graph.add(Operation(step, "join", frame, step.result, frame.origin), (), held=1)
    lines = _Lines(x, step, frame, join)
    if step.way != RACE:
        lines.lay_out(range(1 if step.way == "turn" else len(step.regions)), frame.origin)
        return handle_of(join, step.single)
    lines.names = sorted(used_names(step) - bound_inside(step))
    start = Operation(step, RACE, frame, (step.result, "start"), frame.origin)
    x.graph.work[start] = lines.start
    x.graph.connect((x.graph.add(start, behind(lines.names, frame)),), join)
    return handle_of(join, step.single)


@final
class _Lines:
    """The alternatives of one `first` while it runs. `judges` are the operations that evaluate each
    alternative's output, `passed` their verdicts so far, `note` the request under which a race is
    recorded."""

    def __init__(self, x: Expander, step: ir.First, frame: Frame, join: Operation) -> None:
        self.x = x
        self.step = step
        self.frame = frame
        self.join = join
        self.names: list[str] = []
        self.note: Request | None = None
        self.simulated = x.context.models(None).simulated
        self.judges: dict[int, Operation] = {}
        self.passed: dict[int, bool] = {}
        self.taken = False

    # ---------------------------------------------------------------- laying out

    def lay_out(self, lines: Iterable[int], origin: Operation | None) -> None:
        """Add alternatives, and the operations that judge their outputs."""
        x, step = self.x, self.step
        for at in lines:
            inner = self.frame.inside((step.result, "line", at), {}, origin, x.remaining.after(step))
            judge = inner.trial = Operation(step, "rescue", self.frame, (step.result, "until", at), origin)
            inner.live += 1  # the judge uses its names
            handle = self._line(step.regions[at], inner)
            x.graph.work[judge] = self._judging(at, inner, handle)
            until = self._until(at)
            waits = behind(x.uses(until).names, inner) if until is not None else []
            self.judges[at] = x.graph.add(judge, (handle.operation, *waits))
        x.graph.connect((self.judges[at] for at in lines), self.join)

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
            return handle_of(lost, True)

    def _until(self, at: int) -> e.Expression | None:
        return self.step.branches[at][0] if at < len(self.step.branches) else None

    def _judging(self, at: int, inner: Frame, left: Handle) -> Any:
        return lambda operation: self._judge(at, inner, left, operation)

    # ---------------------------------------------------------------- outputs

    def _judge(self, at: int, inner: Frame, left: Handle, operation: Operation) -> Thoughts:
        """An alternative has ended: choose it, or wait for the others; returns its output."""
        x, until = self.x, self._until(at)
        if self.taken:
            return left.operation.output
        self.passed[at] = _left(left.operation)
        if self.passed[at] and until is not None:
            try:
                self.passed[at] = bool(x.context.evaluate(until, whole(inner, left.operation.output)))
            except EvaluationError as error:
                self.passed[at] = False
                x.context.failed(operation, error.message, handled=True)
        if not self.passed[at]:
            x.context.handled.append(path_key(inner))
        if self.step.way == "turn" and not self.passed[at] and at + 1 < len(self.step.regions):
            self.lay_out([at + 1], operation)
        elif (line := self._chosen(at)) is not None:
            self._take(line)
        return left.operation.output

    def _chosen(self, at: int) -> int | None:
        """The chosen alternative, once that is certain; `at` has ended last."""
        known = len(self.passed) == len(self.judges)
        if self.step.way == RACE:
            if self.passed[at] and not self.simulated:
                return at
            winners = [line for line, passed in self.passed.items() if passed] if known else []
            if winners:
                return min(sorted(winners), key=lambda line: self.judges[line].inputs[0].seconds)
        else:
            for line in sorted(self.judges):
                if self.passed.get(line, True):
                    return line if line in self.passed else None
        # None has passed: the last one with an output, else the last one that failed.
        ends = ((line, judge.inputs[0]) for line, judge in self.judges.items())
        left = [(_left(end), end.state != DONE, line) for line, end in ends]
        return max(left)[2] if known else None

    def _take(self, at: int) -> None:
        """Use the output of an alternative, and abandon those that it does not depend on."""
        x, graph, self.taken = self.x, self.x.graph, True
        for line, judge in self.judges.items():
            if line > at or (self.step.way == RACE and line != at):
                graph.move(judge, self.join, None)
                if judge.state < DONE and not self.simulated:
                    graph.remove(judge)
        left = self.judges[at].inputs[0]
        if left.output is SKIPPED:
            return x.context.lost(self.join, OperationFailed("each of its alternatives was skipped"))
        if (note := self.note) is not None and left.state == DONE:
            end = Operation(self.step, RACE, self.frame, (self.step.result, "end"), self.frame.origin)
            graph.work[end] = lambda running: x.context.sampler.note(note, str(at))
            graph.connect((graph.add(end, (left,)),), self.join)
        x.fill(self.join, [left])
        if not self.simulated:
            x.context.give_up()
        return None

    # ---------------------------------------------------------------- races

    async def start(self, running: Any) -> None:
        """Lay out the recorded winner, or all alternatives."""
        request = self._request()
        known = await self.x.context.sampler.noted(request)
        lines = range(len(self.step.regions))
        with self.x.graph.all_or_nothing():
            if known is not None and known.isdigit() and int(known) in lines:
                self.lay_out([int(known)], running.operation)
            else:
                self.note = request
                self.lay_out(lines, running.operation)

    def _request(self) -> Request:
        """The identity of a race: its place, its alternatives with all that they use, the thoughts it starts
        from, and the model."""
        context, model = self.x.context, self.x.context.models(None)
        body = ir.Region(self.step.pool, (self.step,), self.step.result)
        race = ir.Scheme("%race", (), self.step.type, False, False, DYNAMIC, body)
        program = replace(context.program, schemes=(*context.program.schemes, race))
        used = program.reached(race)
        text = to_text(
            ir.Program(
                "",
                (),
                tuple(each for each in program.prompts if each.name in used),
                tuple(each for each in program.scores if each.name in used),
                tuple(each for each in program.schemes if each.name in used),
            )
        )
        values = {name: value for name, value in context.params.items() if name in used}
        for name in self.names:
            try:
                found = self.frame.find(name)
            except KeyError:
                continue
            values[name] = plain(found.operation.output if isinstance(found, Handle) else found)
        place = first_number(inside(self.frame.space, RACE))
        about = json.dumps([place, values], sort_keys=True, default=str)
        messages = (
            Message("system", "Which line of this race was the first?"),
            Message("user", text + about),
        )
        settings = DecodingSettings(temperature=0)
        return Request(model.name, messages, settings, context.settings.seed, RACE, {}, model.endpoint)


def _left(end: Operation) -> bool:
    """Whether an alternative has an output."""
    return end.state == DONE and end.output is not SKIPPED
