"""Lays out `foreach` and `reduce`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from gotlang.errors import EvaluationError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Layer
from gotlang.operations.checks import count
from gotlang.operations.names import free_names
from gotlang.runtime.execution import bound_thoughts, whole
from gotlang.runtime.expansion.expander import Expander, Value, behind
from gotlang.runtime.graph import FAILED, Frame, Handle, Operation
from gotlang.syntax import expressions as e
from gotlang.thought import Thought, Thoughts, named_thoughts


def foreach(x: Expander, step: ir.Foreach, frame: Frame, pool: Handle) -> Handle:
    """`foreach`: the body once for each thought or element."""
    rest = x.remaining.after(step)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        tails: list[Operation] = []
        for index, (thoughts, value) in enumerate(_elements(x, step, frame)):
            names: dict[str, Any] = {}
            inner = frame.inside((step.result, index), names, grow, rest)
            element = x.constant(inner, thoughts, value, grow)
            names[step.name] = Handle(element, True)
            if step.position is not None:
                names[step.position] = index
            if step.after is not None:
                names["done"] = Handle(_done(x, step, inner, element, tails, grow), False)
            tails.append(x.region(step.body, inner).operation)
        return tails

    return Handle(x.later(step, frame, x.waits_for_list(step, frame), build), False)


def _elements(
    x: Expander, step: ir.Foreach | ir.Reduce, frame: Frame
) -> list[tuple[tuple[Thought, ...], Value | None]]:
    """What a block goes through: thoughts, or values with the thoughts they were taken from."""
    thoughts = frame.pool(step.pool).operation.output
    if step.iterable is None:
        return [((thought,), None) for thought in thoughts]
    names = whole(frame, thoughts)
    bound = bound_thoughts(x.context, step.iterable, names)
    if bound is not None and (
        isinstance(bound, Thoughts) or not (len(bound) == 1 and isinstance(bound[0].value, list))
    ):
        return [((thought,), None) for thought in bound]
    values = x.context.evaluate(step.iterable, names)
    if not isinstance(values, list):
        raise EvaluationError(f"only a list can be gone through, not {values!r:.60}")
    parents = tuple(
        thought
        for name in free_names(step.iterable)
        for thought in named_thoughts(names, name)
        if not thought.empty
    )
    return [(parents, Value(value)) for value in values]


def _done(
    x: Expander,
    step: ir.Foreach,
    frame: Frame,
    element: Operation,
    tails: list[Operation],
    grow: Operation | None,
) -> Operation:
    """The results of the earlier elements that an element waits for; an empty thought for any other
    position, so that each keeps its place."""
    assert step.after is not None
    positions = x.context.evaluate(step.after, Layer({step.name: element.output[0]}, frame))
    if not isinstance(positions, list):
        raise EvaluationError("`after` takes a list of positions")
    parts = []
    for number, position in enumerate(positions):
        if isinstance(position, int) and 0 <= position < len(tails):
            parts.append(tails[position])
        else:
            missing = x.graph.constant((), frame, ("missing", number), grow)
            missing.output = Thoughts([Thought(None, missing, empty=True)])
            parts.append(missing)
    return x.joined(frame, "done", parts, grow)


def reduce(x: Expander, step: ir.Reduce, frame: Frame, pool: Handle) -> Handle:
    """`reduce`: neighbours merged pairwise, level by level."""
    source = _source(step, frame, pool)
    # Python that changes graphs may let the list gather more than its parts: then it has to be whole.
    if source is not None and _one_each(source) and not x.changing:
        return Handle(_merge_parts(x, step, frame, source), True)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        items = []
        for index, (thoughts, value) in enumerate(_elements(x, step, frame)):
            inner = frame.inside((step.result, "element", index), {}, grow)
            items.append(x.constant(inner, thoughts, value, grow))
        return [_tree(x, step, frame, items, grow)]

    return Handle(x.later(step, frame, x.waits_for_list(step, frame), build), True)


def _source(step: ir.Reduce, frame: Frame, pool: Handle) -> Operation | None:
    """The operation whose thoughts are merged, where a name or the pool says which."""
    if step.iterable is None:
        return pool.operation
    if isinstance(step.iterable, e.Reference):
        try:
            bound = frame.find(step.iterable.name)
        except KeyError:
            return None
        return bound.operation if isinstance(bound, Handle) else None
    return None


def _one_each(operation: Operation) -> bool:
    """Whether an operation joins the results of a `foreach` whose block leaves exactly one thought."""
    step = operation.step
    if operation.role != "join" or not isinstance(step, ir.Foreach):
        return False
    for inner in reversed(step.body.steps):
        if inner.result == step.body.result:
            return inner.single
    return True


def _merge_parts(x: Expander, step: ir.Reduce, frame: Frame, source: Operation) -> Operation:
    """Merge neighbours as soon as both are there: the shape is known before the thoughts are.

    Whether the source knows its parts by now may be a matter of time. So the graph is the same either way:
    a join that waits for whatever adds the parts, if something does.
    """
    join = Operation(step, "join", frame, step.result, frame.origin)
    grower = tuple(o for o in source.inputs[:1] if o.role == "grow")
    # A source that nothing grows and that has no parts failed when it was laid out.
    x.graph.add(join, grower or ((source,) if source.parts is None else ()), held=1)

    def build() -> None:
        parts = source.parts
        assert parts is not None
        if join.state == FAILED:
            return  # the block it stands in could not be laid out
        x.attempt(join, lambda: x.fill(join, [_tree(x, step, frame, parts, frame.origin, grower)]))

    if source.parts is not None:
        build()
    elif source.state != FAILED:
        source.on_parts = [*(source.on_parts or ()), build]
    return join


def _tree(
    x: Expander,
    step: ir.Reduce,
    frame: Frame,
    items: Sequence[Operation],
    grow: Operation | None,
    after: Sequence[Operation] = (),
) -> Operation:
    """The operations that merge neighbours until one is left; each merge waits for `after` too."""
    if not items:
        raise EvaluationError("`reduce` has nothing to merge")
    rest, through = x.remaining.after(step), x.remaining.through(step.body)
    level, levels = 0, (len(items) - 1).bit_length()
    while len(items) > 1:
        level += 1
        merged: list[Operation] = []
        for position in range(0, len(items) - 1, 2):
            left, right = items[position], items[position + 1]
            names: dict[str, Any] = {step.left: Handle(left, True), step.right: Handle(right, True)}
            place = position // 2 + 1
            inner = frame.inside((step.result, level, place), names, grow, rest + (levels - level) * through)
            pair = x.joined(inner, "pair", [left, right], grow, after)
            names[step.body.entry] = Handle(pair, False)
            if step.step is not None:
                names[step.step] = {"level": level, "position": place, "last": len(items) == 2}
            merged.append(x.region(step.body, inner).operation)
        if len(items) % 2:
            merged.append(items[-1])
        items = merged
    return items[0]


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
