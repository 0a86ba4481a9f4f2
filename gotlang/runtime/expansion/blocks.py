"""Lays out `foreach`, `reduce`, `repeat`, `if`, labelled blocks and indented pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from gotlang.errors import EvaluationError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Layer
from gotlang.operations.checks import count
from gotlang.operations.names import free_names
from gotlang.runtime.execution import bound_thoughts, whole
from gotlang.runtime.expansion.expander import Element, Expander, behind
from gotlang.runtime.graph import FAILED, Frame, Handle, Operation
from gotlang.syntax import expressions as e
from gotlang.thought import Thoughts, named_thoughts

# -------------------------------------------------------------------- foreach


def foreach(x: Expander, step: ir.Foreach, frame: Frame, pool: Handle) -> Handle:
    """`foreach`: the body once per thought or element."""
    rest = x.remaining.after(step)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        tails: list[Operation] = []
        for index, found in enumerate(_elements(x, step, frame)):
            names: dict[str, Any] = {}
            inner = frame.inside((step.result, index), names, grow, rest)
            element = x.element(inner, found, grow)
            names[step.name] = Handle(element, True)
            if step.position is not None:
                names[step.position] = index
            if step.after is not None:
                names["done"] = Handle(_done(x, step, step.after, inner, element, tails, grow), False)
            tails.append(x.region(step.body, inner).operation)
        return tails

    return Handle(x.later(step, frame, _list_waits(x, step, frame), build), False)


def _list_waits(x: Expander, step: ir.Foreach | ir.Reduce, frame: Frame) -> list[Operation]:
    """The operations that a block waits for which iterates over its pool, or over a list."""
    waits = x.waits(step, frame)
    if step.iterable is None or x.uses(step.iterable).pool:
        waits = [frame.pool(step.pool).operation, *waits]
    return waits


def _elements(x: Expander, step: ir.Foreach | ir.Reduce, frame: Frame) -> list[Element]:
    """What a block iterates over."""
    thoughts = frame.pool(step.pool).operation.output
    if step.iterable is None:
        return [Element((thought,)) for thought in thoughts]
    names = whole(frame, thoughts)
    bound = bound_thoughts(x.context, step.iterable, names)
    if bound is not None and (
        isinstance(bound, Thoughts) or not (len(bound) == 1 and isinstance(bound[0].value, list))
    ):
        return [Element((thought,)) for thought in bound]
    values = x.context.evaluate(step.iterable, names)
    if not isinstance(values, list):
        raise EvaluationError(f"expected a list to iterate over, not {values!r:.60}")
    used = (thought for name in free_names(step.iterable) for thought in named_thoughts(names, name))
    parents = tuple(thought for thought in used if not thought.empty)
    return [Element(parents, value, True) for value in values]


def _done(
    x: Expander,
    step: ir.Foreach,
    after: e.Expression,
    frame: Frame,
    element: Operation,
    tails: list[Operation],
    grow: Operation | None,
) -> Operation:
    """The results of the earlier elements that an element waits for; an empty thought for any other index, so
    that each keeps its position."""
    positions = x.context.evaluate(after, Layer({step.name: element.output[0]}, frame))
    if not isinstance(positions, list):
        raise EvaluationError("`after` takes a list of positions")
    parts = [
        tails[position]
        if isinstance(position, int) and 0 <= position < len(tails)
        else x.empty(frame, ("missing", number), grow)
        for number, position in enumerate(positions)
    ]
    return x.joined(frame, "done", parts, grow)


# -------------------------------------------------------------------- reduce


def reduce(x: Expander, step: ir.Reduce, frame: Frame, pool: Handle) -> Handle:
    """`reduce`: neighbours merged pairwise, level by level."""
    source: Operation | None = pool.operation
    if step.iterable is not None:
        name = step.iterable.name if isinstance(step.iterable, e.Reference) else None
        handle = frame.handle(name) if name is not None else None
        source = handle.operation if handle is not None else None
    # Python that changes graphs may let the list gather more than its parts: then it has to be complete.
    if source is not None and _one_each(source) and not x.changing:
        return Handle(_merge_parts(x, step, frame, source), True)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        items = [
            x.element(frame.inside((step.result, "element", index), {}, grow), element, grow)
            for index, element in enumerate(_elements(x, step, frame))
        ]
        return [_tree(x, step, frame, items, grow)]

    return Handle(x.later(step, frame, _list_waits(x, step, frame), build), True)


def _one_each(operation: Operation) -> bool:
    """Whether an operation joins the results of a `foreach` whose body leaves exactly one thought."""
    step = operation.step
    if operation.role != "join" or not isinstance(step, ir.Foreach):
        return False
    result = (inner for inner in reversed(step.body.steps) if inner.result == step.body.result)
    return next((inner.single for inner in result), True)


def _merge_parts(x: Expander, step: ir.Reduce, frame: Frame, source: Operation) -> Operation:
    """Merge two neighbours as soon as both are done: the shape is known before the thoughts are.

    Whether the source knows its parts by now may be a matter of time. So the graph is the same either way:
    a join that waits for the operation that adds the parts, if there is one.
    """
    join = Operation(step, "join", frame, step.result, frame.origin)
    grower = tuple(o for o in source.inputs[:1] if o.role == "grow")
    # A source without parts that no operation grows failed when it was laid out.
    x.graph.add(join, grower or ((source,) if source.parts is None else ()), held=1)

    def build() -> None:
        parts = source.parts
        assert parts is not None
        if join.state != FAILED:  # else the block around it could not be laid out
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
        for at in range(0, len(items) - 1, 2):
            left, right = items[at], items[at + 1]
            names: dict[str, Any] = {step.left: Handle(left, True), step.right: Handle(right, True)}
            position = at // 2 + 1
            key = (step.result, level, position)
            inner = frame.inside(key, names, grow, rest + (levels - level) * through)
            pair = x.joined(inner, "pair", [left, right], grow, after)
            names[step.body.entry] = Handle(pair, False)
            if step.step is not None:
                names[step.step] = {"level": level, "position": position, "last": len(items) == 2}
            merged.append(x.region(step.body, inner).operation)
        if len(items) % 2:
            merged.append(items[-1])
        items = merged
    return items[0]


# -------------------------------------------------------------------- repeat


def repeat(x: Expander, step: ir.Repeat, frame: Frame, pool: Handle) -> Handle:
    """`repeat`: the body on its own result."""
    join = Operation(step, "join", frame, step.result, frame.origin)
    x.graph.add(join, (), held=1)
    rounds = _Rounds(x, step, join)
    waits = x.waits_for(step.count, frame, pool)
    if all(operation.constant for operation in waits):
        x.attempt(join, lambda: rounds.begin(frame, frame.origin))
    else:
        start = x.grow(step, frame, waits, lambda operation: rounds.begin(operation.frame, operation))
        x.graph.connect((start,), join)
    return Handle(join, step.single)


@final
class _Rounds:
    """One `repeat` while it runs: as many rounds at a time as depend on no result."""

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
        """Continue, or not, once the result of the last round is known. The join waits for this test instead
        of the operation that has grown it so far."""
        x = self.x

        def work(operation: Operation) -> None:
            result = Handle(operation.inputs[0], handle.single)
            if _holds(x, until, result, operation.frame):
                x.fill(self.join, [result.operation])
            else:
                self._advance(number, frame, result, operation)

        waits = (handle.operation, *behind(x.uses(until).names, inner))
        test = x.grow(self.step, inner, waits, work, "until")
        if grow in self.join.inputs:
            x.graph.move(grow, self.join, test)
        else:
            x.graph.connect((test,), self.join)


def _holds(x: Expander, condition: e.Expression, handle: Handle, frame: Frame) -> bool:
    """Whether a condition holds for the thoughts of a handle."""
    return bool(x.context.evaluate(condition, whole(frame, handle.operation.output)))


# -------------------------------------------------------------------- if, blocks


def if_(x: Expander, step: ir.If, frame: Frame, pool: Handle) -> Handle:
    """`if`: the first branch whose condition holds."""
    rest = x.remaining.after(step)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        pool = frame.pool(step.pool)
        at, chosen = len(step.branches), step.otherwise
        for index, (condition, body) in enumerate(step.branches):
            if _holds(x, condition, pool, frame):
                at, chosen = index, body
                break
        if chosen is None:
            return [pool.operation]
        return [x.region(chosen, frame.inside((step.result, at), {}, grow, rest)).operation]

    waits = x.waits(step, frame)
    if any(x.uses(condition).pool for condition, _ in step.branches):
        waits = [pool.operation, *waits]
    return Handle(x.later(step, frame, waits, build), step.single)


def block(x: Expander, step: ir.Block, frame: Frame, pool: Handle) -> Handle:
    """A labelled block, or an indented pipeline."""
    names = {inner: frame.find(outer) for inner, outer in step.names}
    inner = frame.inside((step.label,), names, None, x.remaining.after(step))
    return Handle(x.region(step.body, inner).operation, step.single)
