"""Lays out schemes that call schemes, and scores that ask a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gotlang.errors import EvaluationError, GotError, OperationFailed
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Layer
from gotlang.operations.checks import count, mean, number
from gotlang.runtime.context import Context
from gotlang.runtime.execution import bound_thoughts, whole
from gotlang.runtime.expansion import blocks
from gotlang.runtime.expansion.expander import (
    NO_PARTS,
    Element,
    Expander,
    Layout,
    behind,
    collect,
    grow,
    join,
)
from gotlang.runtime.graph import DONE, NOTHING, Frame, GraphFull, Handle, Operation
from gotlang.syntax import expressions as e
from gotlang.thought import Thoughts
from gotlang.types import ANY

MAX_DEPTH = 200
"""How deeply schemes may call schemes."""
EAGER_DEPTH = 8
"""After so many nested calls the next one waits for the scheduler, which bounds the depth of the stack."""


def scheme(x: Expander, declared: ir.Scheme, frame: Frame) -> Handle:
    """Lay out a scheme whose parameters are bound in a frame."""
    x.remaining.through(declared.body)
    frame.names[declared.body.entry] = Handle(x.empty(frame, "start", frame.origin), True)
    result = x.region(declared.body, frame)
    if not declared.collect:
        return Handle(result.operation, not declared.many)
    values = Operation(None, "collect", frame, "collect", frame.origin)
    return Handle(x.graph.add(values, (result.operation,)), True)


def invoke(x: Expander, step: ir.Invoke, frame: Frame, pool: Handle) -> Handle:
    """A call of a scheme, once per current thought."""
    one = pool.single or (pool.operation.constant and len(pool.operation.output) == 1)
    if one and (frame.depth + 1) % EAGER_DEPTH:
        mark = x.graph.mark()
        try:
            return Handle(_call(x, step, frame, pool, 0, frame.origin), step.single)
        except GraphFull:
            raise
        except GotError as error:
            x.graph.undo(mark)
            lost = x.graph.add(Operation(step, "join", frame, step.result, frame.origin), (), held=1)
            x.context.lost(lost, error)
            return Handle(lost, step.single)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        if frame.depth >= MAX_DEPTH:
            raise EvaluationError(f"schemes call each other more than {MAX_DEPTH} deep")
        parts = []
        for index, thought in enumerate(frame.pool(step.pool).operation.output):
            inner = frame.inside((step.result, "it", index), {}, grow)
            inner.scheme = step.scheme
            element = x.element(inner, Element((thought,)), grow)
            parts.append(_call(x, step, inner, Handle(element, True), index, grow))
        return parts

    waits = [pool.operation, *x.waits(step, frame)]
    if all(operation.constant for operation in waits):
        # There is nothing to wait for, but the stack is deep: wait for a turn of the scheduler.
        waits = [x.joined(frame, (step.result, "turn"), NO_PARTS, frame.origin)]
    return Handle(x.later(step, frame, waits, build), step.single)


def _call(
    x: Expander, step: ir.Invoke, frame: Frame, pool: Handle, index: int, grow: Operation | None
) -> Operation:
    names: dict[str, Any] = {}
    inner = frame.apart((step.result, index), names, grow, x.remaining.after(step))
    inner.depth, inner.scheme = frame.depth + 1, step.scheme
    for name, value in step.arguments:
        names[name] = _argument(x, name, value, frame, pool, inner)
    return scheme(x, x.context.program.scheme(step.scheme), inner).operation


def _argument(x: Expander, name: str, value: e.Expression, frame: Frame, pool: Handle, inner: Frame) -> Any:
    """The binding of a parameter: thoughts as they are, constants as values, anything else once known."""
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


# -------------------------------------------------------------------- scores that ask a model


def score(x: Expander, step: ir.Score, frame: Frame, pool: Handle) -> Handle:
    """`Score` by a score that asks a model: its body once per thought and sample."""
    assert step.score is not None
    declared = x.context.program.score(step.score)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        scored = frame.pool(step.pool).operation
        k = count(x.context.evaluate(step.k, whole(frame, scored.output)), "k", 1)
        numbers: list[Operation] = []
        for index, thought in enumerate(scored.output):
            names = Layer({"it": thought}, frame)
            values = {key: _bind_value(x, value, names) for key, value in step.arguments}
            for sample in range(k):
                key = (step.result, index, sample)
                inner = frame.apart(key, dict(values), grow, x.remaining.after(step))
                inner.context = frame.context * k + sample
                numbers.append(_sample(x, step, declared, inner, grow))
        rated = Operation(step, "rated", frame, (step.result, "rated"), grow)
        return [x.graph.add(rated, (scored, *numbers))]

    return Handle(x.later(step, frame, [pool.operation, *x.waits(step, frame)], build), step.single)


def _bind_value(x: Expander, value: e.Expression, names: Mapping[str, Any]) -> Any:
    """An argument, as a thought if it is one, so that the reasoning graph stays connected."""
    bound = bound_thoughts(x.context, value, names)
    if bound is not None and len(bound) == 1:
        return bound[0]
    return x.context.evaluate(value, names)


def _sample(
    x: Expander, step: ir.Score, score: ir.ScoreFunction, frame: Frame, grow: Operation | None
) -> Operation:
    x.remaining.through(score.body)
    start = x.empty(frame, "start", grow)
    frame.names[score.body.entry] = Handle(start, True)
    x.region(score.body, frame)
    value = ir.Pool("%score", step.type, True, score.body.entry, (score.value,), span=step.span)
    operation = Operation(value, "Pool", frame, "score", frame.origin)
    names = [name for name in x.uses(score.value).names if name in frame.names]
    return x.graph.add(operation, (start, *behind(names, frame)))


def rated(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """Thoughts with the mean of the numbers that the samples of a score gave for each."""
    step = operation.step
    assert isinstance(step, ir.Score) and step.score is not None
    declared = context.program.score(step.score)
    what = f"score `{declared.name}`"
    samples = operation.inputs[1:]
    share = len(samples) // max(1, len(thoughts))
    out = []
    for at, thought in enumerate(thoughts):
        numbers = []
        for sample in samples[at * share : (at + 1) * share]:
            if sample.state == DONE and sample.output:
                try:
                    numbers.append(number(sample.output[0].value, what))
                except EvaluationError as error:
                    context.failed(operation, error.message, thought.index)
        try:
            if numbers:
                out.append(thought.known(score=mean(numbers, what), lower=declared.lower))
        except EvaluationError as error:
            context.failed(operation, error.message, thought.index)
    if thoughts and not out:
        raise OperationFailed(f"{what} has no value for any thought")
    return Thoughts(out) if out else NOTHING


BLOCKS: dict[type, Layout] = {
    ir.Foreach: blocks.foreach,
    ir.Reduce: blocks.reduce,
    ir.Repeat: blocks.repeat,
    ir.If: blocks.if_,
    ir.Block: blocks.block,
    ir.Invoke: invoke,
}
"""How each step that stands for several operations is laid out."""

ROLES: dict[str, Callable[[Context, Operation, Thoughts], Thoughts]] = {
    "join": join,
    "collect": collect,
    "grow": grow,
    "rated": rated,
}
"""How the operations run that expansion adds, by their role."""
