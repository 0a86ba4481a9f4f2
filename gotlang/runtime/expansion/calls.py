"""Lays out schemes that call schemes, and scores that ask a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gotlang.errors import EvaluationError, GotError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Layer
from gotlang.operations.checks import count
from gotlang.runtime.execution import bound_thoughts, whole
from gotlang.runtime.expansion.blocks import branch, foreach, group, loop, reduce
from gotlang.runtime.expansion.expander import NO_PARTS, Expander, Layout, behind
from gotlang.runtime.graph import Frame, GraphFull, Handle, Operation
from gotlang.syntax import expressions as e
from gotlang.types import ANY

MAX_DEPTH = 200
"""How deep schemes may call schemes."""
EAGER_DEPTH = 8
"""After so many calls inside each other the next one waits for its turn, so that no stack grows too high."""


def scheme(x: Expander, declared: ir.Scheme, frame: Frame) -> Handle:
    """Lay out a scheme whose parameters are bound in a frame."""
    x.remaining.through(declared.body)
    frame.names[declared.body.entry] = x.start(frame, frame.origin)
    result = x.region(declared.body, frame)
    if not declared.collect:
        return Handle(result.operation, not declared.many)
    collect = Operation(None, "collect", frame, "collect", frame.origin)
    x.graph.add(collect, (result.operation,))
    return Handle(collect, True)


def invoke(x: Expander, step: ir.Invoke, frame: Frame, pool: Handle) -> Handle:
    """A scheme's call, once for each current thought."""
    one = pool.single or (pool.operation.constant and len(pool.operation.output) == 1)
    if one and (frame.depth + 1) % EAGER_DEPTH:
        mark = x.graph.mark()
        try:
            return Handle(_call(x, step, frame, pool, 0, frame.origin), step.single)
        except GraphFull:
            raise
        except GotError as error:
            x.graph.undo(mark)
            join = x.graph.add(Operation(step, "join", frame, step.result, frame.origin), (), held=1)
            x.context.lost(join, error)
            return Handle(join, step.single)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        if frame.depth >= MAX_DEPTH:
            raise EvaluationError(f"schemes call each other more than {MAX_DEPTH} deep")
        parts = []
        for index, thought in enumerate(frame.pool(step.pool).operation.output):
            inner = frame.inside((step.result, "it", index), {}, grow)
            element = x.graph.constant((thought,), inner, "element", grow)
            parts.append(_call(x, step, inner, Handle(element, True), index, grow))
        return parts

    waits = [pool.operation, *x.waits(step, frame)]
    if all(operation.constant for operation in waits):
        # Nothing to wait for, but the stack is high: wait for a turn of the scheduler.
        turn = Operation(None, "join", frame, (step.result, "turn"), frame.origin)
        turn.parts = NO_PARTS
        waits = [x.graph.add(turn, ())]
    return Handle(x.later(step, frame, waits, build), step.single)


def _call(
    x: Expander, step: ir.Invoke, frame: Frame, pool: Handle, index: int, grow: Operation | None
) -> Operation:
    names: dict[str, Any] = {}
    inner = Frame(
        root(frame),
        (*frame.path, (step.result, index)),
        names,
        grow if grow is not None else frame.origin,
        context=frame.context,
        depth=frame.depth + 1,
        rest=frame.rest + x.remaining.after(step),
    )
    for name, value in step.arguments:
        names[name] = _argument(x, name, value, frame, pool, inner)
    return scheme(x, x.context.program.scheme(step.scheme), inner).operation


def _argument(x: Expander, name: str, value: e.Expression, frame: Frame, pool: Handle, inner: Frame) -> Any:
    """What a parameter is bound to: thoughts as they are, constants as values, the rest when it is known."""
    if isinstance(value, e.Reference) and value.name != "it":
        try:
            return frame.find(value.name)
        except KeyError:
            pass
    waits = x.waits_for(value, frame, pool)
    if not waits:
        return x.context.evaluate(value, frame)
    step = ir.Pool(name, ANY, True, "", (value,), span=value.span)
    let = Operation(step, "Pool", frame, (*inner.path[-1], name), frame.origin)
    if not x.uses(value).pool:
        let.parts = NO_PARTS
    return Handle(x.graph.add(let, waits), True)


def root(frame: Frame) -> Frame:
    """The frame that holds the params."""
    while frame.parent is not None:
        frame = frame.parent
    return frame


def rate(x: Expander, step: ir.Score, frame: Frame, pool: Handle) -> Handle:
    """`Score` by a score that asks a model: its body once for each thought and sample."""
    assert step.score is not None
    score = x.context.program.score(step.score)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        scored = frame.pool(step.pool).operation
        k = count(x.context.evaluate(step.k, whole(frame, scored.output)), "k", 1)
        numbers: list[Operation] = []
        for index, thought in enumerate(scored.output):
            names = Layer({"it": thought}, frame)
            values = {key: _bind_value(x, value, names) for key, value in step.arguments}
            for sample in range(k):
                inner = Frame(
                    root(frame),
                    (*frame.path, (step.result, index, sample)),
                    dict(values),
                    grow if grow is not None else frame.origin,
                    context=frame.context * k + sample,
                    depth=frame.depth,
                    rest=frame.rest + x.remaining.after(step),
                )
                numbers.append(_sample(x, step, score, inner, grow))
        rated = Operation(step, "rated", frame, (step.result, "rated"), grow)
        x.graph.add(rated, (scored, *numbers))
        return [rated]

    return Handle(x.later(step, frame, [pool.operation, *x.waits(step, frame)], build), step.single)


def _bind_value(x: Expander, value: e.Expression, names: Mapping[str, Any]) -> Any:
    """An argument as a thought where it is one, so that what came from what is not lost."""
    bound = bound_thoughts(x.context, value, names)
    if bound is not None and len(bound) == 1:
        return bound[0]
    return x.context.evaluate(value, names)


def _sample(
    x: Expander, step: ir.Score, score: ir.ScoreFunction, frame: Frame, grow: Operation | None
) -> Operation:
    x.remaining.through(score.body)
    start = frame.names[score.body.entry] = x.start(frame, grow)
    x.region(score.body, frame)
    value = ir.Pool("%score", step.type, True, score.body.entry, (score.value,), span=step.span)
    operation = Operation(value, "Pool", frame, "score", frame.origin)
    names = [name for name in x.uses(score.value).names if name in frame.names]
    return x.graph.add(operation, (start.operation, *behind(names, frame)))


BLOCKS: dict[type, Layout] = {
    ir.Foreach: foreach,
    ir.Reduce: reduce,
    ir.Repeat: loop,
    ir.If: branch,
    ir.Block: group,
    ir.Invoke: invoke,
}
"""How each step that stands for several operations is laid out."""
