"""`Score` by a score that calls a model: its body once for each thought and sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gotlang.ir import program as ir
from gotlang.ir.evaluate import Layer
from gotlang.operations.checks import count
from gotlang.operations.score import scorer
from gotlang.runtime.execution import bound_thoughts, whole
from gotlang.runtime.expansion import Expander, behind
from gotlang.runtime.graph import Frame, Handle, Operation, handle_of
from gotlang.runtime.spaces import Ranks, inside
from gotlang.syntax import expressions as e


def score(x: Expander, step: ir.Score, frame: Frame, pool: Handle) -> Handle:
    """`Score` by a score that calls a model: its body once per thought and sample."""
    assert step.score is not None
    declared = x.context.program.score(step.score)

    def build(frame: Frame, grow: Operation | None) -> list[Operation]:
        pool = frame.pool(step.pool)
        scored, ranks = pool.operation, Ranks()
        shared = any(x.context.evaluate(value, whole(frame, scored.output)) for _, value in step.settings)
        k = count(x.context.evaluate(step.k, whole(frame, scored.output)), "k", 1)
        numbers: list[Operation] = []
        asked: list[tuple[Any, int]] = []
        for index, thought in enumerate(scored.output):
            names = frame if thought.empty else Layer({"it": thought}, frame)
            values = {key: _bind_value(x, value, names) for key, value in step.arguments}
            by = scorer(step, k, x.context.evaluate, names)
            said = thought.said(by) is not None
            asked.append((by, 0 if said else k))
            if said:
                continue
            marks = () if pool.single else ranks.marks(thought.value)
            for sample in range(k):
                key = (step.result, index, sample)
                where = ("score", *(step.line or ()), *marks, "sample", sample)
                inner = frame.apart(key, dict(values), grow, x.remaining.after(step), *where)
                if sample:
                    inner.shared = inside(frame.shared, sample)
                if shared:
                    inner.space, inner.common = inside(inner.shared, declared.name), True
                numbers.append(_sample(x, step, declared, inner, grow))
        last = frame.inside((step.result, "asked"), {"asked": asked}, grow)
        return [x.graph.add(Operation(step, "rated", last, "rated", grow), (scored, *numbers))]

    return handle_of(x.later(step, frame, x.waits(step, frame, True), build), step.single)


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
    frame.names[score.body.entry] = handle_of(start, True)
    x.region(score.body, frame)
    value = ir.Pool("%score", step.type, True, score.body.entry, (score.value,), span=step.span)
    operation = Operation(value, "Pool", frame, "score", frame.origin)
    names = [name for name in x.uses(score.value).names if name in frame.names]
    return x.graph.add(operation, (start, *behind(names, frame)))
