"""Operations that need nothing but their thoughts: one function a kind, run at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from gotlang.errors import EvaluationError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Layer
from gotlang.ir.thought import Thought, Thoughts, named_thoughts
from gotlang.runtime.asking import each, number, positive, rate_locally, real, whole
from gotlang.runtime.context import Context, OperationFailed
from gotlang.runtime.graph import Operation
from gotlang.syntax import expressions as e


def rate(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`Score` by a local score or an expression. A thought whose score has no value is left out."""
    step = operation.step
    assert isinstance(step, ir.Rate)
    score = context.program.score(step.score) if step.score is not None else None
    out = []
    before = len(context.failures)
    for thought in thoughts:
        names = Layer({"it": thought}, operation.frame)
        try:
            if score is not None:
                found = rate_locally(context, score, step.arguments, names)
            else:
                found = number(context.evaluate(step.value, names), "of this step")  # type: ignore[arg-type]
            out.append(thought.known(score=found, lower=score is not None and score.lower))
        except EvaluationError as error:
            context.failed(operation, error.message, thought.index)
    if not out and thoughts:
        reasons = list(dict.fromkeys(f.reason for f in context.failures[before:]))
        raise OperationFailed(f"no thought could be scored: {'; '.join(reasons[:3])}")
    return Thoughts(out)


def keep_valid(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`KeepValid`."""
    kept = Thoughts(t for t in thoughts if t.valid)
    if thoughts and not kept:
        raise OperationFailed(f"none of {len(thoughts)} thoughts is valid")
    return kept


def keep_best(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`KeepBestN`."""
    step = operation.step
    assert isinstance(step, ir.KeepBest)
    count = positive(context.evaluate(step.count, whole(operation, thoughts)), "n")
    scored = [t for t in thoughts if t.score is not None]
    if thoughts and not scored:
        raise OperationFailed("no thought has a score")
    # `sorted` is stable, so ties keep the earlier thought first.
    return Thoughts(sorted(scored, key=lambda t: t.goodness, reverse=True)[:count])


def select(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`Select`."""
    step = operation.step
    assert isinstance(step, ir.Select)
    if step.condition is not None:
        return Thoughts(t for t in thoughts if context.evaluate(step.condition, each(operation, t)))
    assert step.positions is not None
    positions = context.evaluate(step.positions, whole(operation, thoughts))
    for position in positions:
        if not -len(thoughts) <= position < len(thoughts):
            raise OperationFailed(f"position {position} of {len(thoughts)} thoughts")
    return Thoughts(thoughts[position] for position in positions)


def same(value: Any) -> str:
    """A text that is equal for equal values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def vote(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`Vote`: the first thought with the value that most have; ties go to the value that came first."""
    step = operation.step
    assert isinstance(step, ir.Vote)
    if not thoughts:
        raise OperationFailed("there is no thought to vote on")
    weights: dict[str, float] = {}
    for thought in thoughts:
        weight = 1.0 if step.weight is None else context.evaluate(step.weight, each(operation, thought))
        key = same(thought.value)
        weights[key] = weights.get(key, 0.0) + number(weight, "weight")
    winner = max(weights, key=lambda key: weights[key])
    return Thoughts([next(t for t in thoughts if same(t.value) == winner)])


def map_(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`Map`."""
    step = operation.step
    assert isinstance(step, ir.Map)
    out = []
    before = len(context.failures)
    for index, thought in enumerate(thoughts):
        try:
            value = context.evaluate(step.value, each(operation, thought))
        except EvaluationError as error:
            context.failed(operation, error.message, thought.index)
            continue
        out.append(derived(operation, value, index, (thought,)))
    if thoughts and not out:
        raise OperationFailed(context.failures[before].reason)
    return Thoughts(out)


def derived(operation: Operation, value: Any, index: int, parents: tuple[Thought, ...]) -> Thought:
    """A thought that was computed, not asked for; the empty thought is nobody's parent."""
    return Thought(value, operation, index, real(parents))  # type: ignore[arg-type]


def gather(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`Pool`, bindings, `return`: named thoughts as they are, any other value as a new thought."""
    step = operation.step
    assert isinstance(step, ir.Gather)
    names = whole(operation, thoughts)
    out: list[Thought] = []
    for value in step.values:
        bound = bound_thoughts(context, value, names)
        if bound is not None:
            out.extend(bound)
        else:
            parents = tuple(t for name in references(value) for t in named_thoughts(names, name))
            out.append(derived(operation, context.evaluate(value, names), len(out), parents))
    return Thoughts(out)


def bound_thoughts(
    context: Context, value: e.Expression, names: Mapping[str, Any]
) -> tuple[Thought, ...] | None:
    """The thoughts that a name, or a position among named thoughts, stands for; None for any other value."""
    if isinstance(value, e.Reference):
        bound = names[value.name]
        if isinstance(bound, Thought):
            return (bound,)
        return tuple(bound) if isinstance(bound, Thoughts) else None
    if isinstance(value, e.Index) and isinstance(value.value, e.Reference):
        bound = names[value.value.name]
        if isinstance(bound, Thoughts):
            position = context.evaluate(value.index, names)
            if not -len(bound) <= position < len(bound):
                raise OperationFailed(f"position {position} of {len(bound)} thoughts")
            return (bound[position],)
    return None


def references(node: e.Expression) -> list[str]:
    """The names that an expression uses, each once, in order; those it binds itself left out."""
    from gotlang.ir.names import free_names

    return list(free_names(node))


def measure(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`GroundTruth`: noted for the first thought; unknown where the truth is not known."""
    step = operation.step
    assert isinstance(step, ir.Measure)
    for thought in thoughts[:1]:
        names: dict[str, Any] = {"it": thought}
        if context.has_truth:
            names["truth"] = context.truth
        try:
            found = bool(context.evaluate(step.condition, Layer(names, operation.frame)))
        except EvaluationError:
            if context.has_truth or "truth" not in references(step.condition):
                raise
            context.measured[operation.path] = None
        else:
            context.measured[operation.path] = found
    return thoughts


def join(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """Thoughts of several operations as those of one."""
    return thoughts


LOCAL: dict[type, Callable[[Context, Operation, Thoughts], Thoughts]] = {
    ir.Rate: rate,
    ir.KeepValid: keep_valid,
    ir.KeepBest: keep_best,
    ir.Select: select,
    ir.Vote: vote,
    ir.Map: map_,
    ir.Gather: gather,
    ir.Measure: measure,
}
