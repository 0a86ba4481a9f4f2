"""Operations that need nothing but their thoughts: one function a kind, run at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gotlang.errors import EvaluationError, GotError
from gotlang.ir import program as ir
from gotlang.ir.evaluate import Layer
from gotlang.ir.names import free_names, looks_at_pool
from gotlang.runtime.asking import rate_locally
from gotlang.runtime.context import MEMBERS_FAILED, Context, OperationFailed
from gotlang.runtime.frame import Handle
from gotlang.runtime.graph import DONE, FAILED, NOTHING, Operation
from gotlang.runtime.sites import nothing_left, try_each
from gotlang.runtime.values import (
    count,
    derived,
    each,
    mean,
    number,
    position,
    whole,
)
from gotlang.semantics.functions import frozen
from gotlang.syntax import expressions as e
from gotlang.thought import Thought, Thoughts, named_thoughts


def rate(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`Score` by a local score or an expression. A thought whose score has no value is left out."""
    step = operation.step
    assert isinstance(step, ir.Score)
    score = context.program.score(step.score) if step.score is not None else None

    def find(thought: Thought) -> float:
        names = Layer({"it": thought}, operation.frame)
        if score is not None:
            return rate_locally(context, score, step.arguments, names)
        assert step.value is not None
        return number(context.evaluate(step.value, names), "this score")

    noted = len(context.failures)
    lower = score is not None and score.lower
    found = try_each(context, operation, thoughts, find)
    if thoughts and not found:
        raise nothing_left(context, operation, noted)
    return Thoughts(thoughts[at].known(score=value, lower=lower) for at, value in found)


def keep_valid(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`KeepValid`."""
    kept = Thoughts(t for t in thoughts if t.valid)
    if thoughts and not kept:
        if context.skipped and any(t.valid is None for t in thoughts):
            raise OperationFailed("not every thought was judged", cut_off=True)
        raise OperationFailed(f"none of {len(thoughts)} thoughts is valid")
    return kept


def keep_best(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`KeepBestN`."""
    step = operation.step
    assert isinstance(step, ir.KeepBestN)
    n = count(context.evaluate(step.count, whole(operation.frame, thoughts)), "n")
    scored = [t for t in thoughts if t.score is not None]
    if thoughts and not scored:
        raise OperationFailed("no thought has a score")
    # `sorted` is stable, so ties keep the earlier thought first.
    return Thoughts(sorted(scored, key=lambda t: t.goodness, reverse=True)[:n])


def select(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`Select`."""
    step = operation.step
    assert isinstance(step, ir.Select)
    if step.condition is not None:
        condition, noted = step.condition, len(context.failures)
        found = try_each(
            context, operation, thoughts, lambda t: context.evaluate(condition, each(operation, t))
        )
        if thoughts and not found:
            raise nothing_left(context, operation, noted)
        return Thoughts(thoughts[at] for at, holds in found if holds)
    assert step.positions is not None
    positions = context.evaluate(step.positions, whole(operation.frame, thoughts))
    if not isinstance(positions, list):
        raise EvaluationError(f"positions must be a list of whole numbers, not {positions!r:.60}")
    return Thoughts(thoughts[position(at, thoughts)] for at in positions)


def vote(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`Vote`: the first thought with the value that most have; ties go to the value that came first."""
    step = operation.step
    assert isinstance(step, ir.Vote)
    if not thoughts:
        raise OperationFailed("there is no thought to vote on")
    weight, noted = step.weight, len(context.failures)

    def weigh(thought: Thought) -> float:
        if weight is None:
            return 1.0
        return number(context.evaluate(weight, each(operation, thought)), "this weight")

    weights: dict[Any, float] = {}
    first: dict[Any, Thought] = {}
    for at, found in try_each(context, operation, thoughts, weigh):
        key = frozen(thoughts[at].value)
        first.setdefault(key, thoughts[at])
        weights[key] = weights.get(key, 0.0) + found
    if not weights:
        raise nothing_left(context, operation, noted)
    return Thoughts([first[max(weights, key=lambda key: weights[key])]])


def map_(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`Map`."""
    step = operation.step
    assert isinstance(step, ir.Map)
    value, noted = step.value, len(context.failures)
    found = try_each(context, operation, thoughts, lambda t: context.evaluate(value, each(operation, t)))
    if thoughts and not found:
        raise nothing_left(context, operation, noted)
    return Thoughts(derived(operation, made, at, (thoughts[at],)) for at, made in found)


def gather(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`Pool`, bindings, `return`: named thoughts as they are, any other value as a new thought.

    A `Pool` of several goes on without those that failed.
    """
    step = operation.step
    assert isinstance(step, ir.Pool)
    names = whole(operation.frame, thoughts)
    if len(step.values) == 1:
        return Thoughts(_gathered(context, operation, step.values[0], names, 0))
    out: list[Thought] = []
    lost = {o for o in operation.inputs if o.state == FAILED}
    left = len(step.values)
    for value in step.values:
        if lost and _needs(operation, value, lost):
            left -= 1
            continue
        try:
            out.extend(_gathered(context, operation, value, names, len(out)))
        except EvaluationError as error:
            context.failed(operation, error.message, len(out))
            left -= 1
    if not left:
        raise OperationFailed(MEMBERS_FAILED)
    return Thoughts(out)


def _gathered(
    context: Context, operation: Operation, value: e.Expression, names: Mapping[str, Any], index: int
) -> Sequence[Thought]:
    bound = bound_to(context, value, names)
    if bound is not None:
        return bound
    parents = [thought for name in free_names(value) for thought in named_thoughts(names, name)]
    return (derived(operation, context.evaluate(value, names), index, parents),)


def _needs(operation: Operation, value: e.Expression, lost: set[Operation]) -> bool:
    """Whether a value takes the thoughts of an operation that failed."""
    if looks_at_pool(value) and operation.inputs[0] in lost:
        return True
    for name in free_names(value):
        try:
            bound = operation.frame.find(name)
        except KeyError:
            continue
        if isinstance(bound, Handle) and bound.operation in lost:
            return True
    return False


def bound_to(context: Context, value: e.Expression, names: Mapping[str, Any]) -> tuple[Thought, ...] | None:
    """The thoughts that a name, or a position among named thoughts, stands for (`Thoughts` where it is a name
    for any number of them); None for any other value."""
    if isinstance(value, e.Reference):
        bound = _bound(names, value.name)
        if isinstance(bound, Thought):
            return (bound,)
        return bound if isinstance(bound, Thoughts) else None
    if isinstance(value, e.Index) and isinstance(value.value, e.Reference):
        bound = _bound(names, value.value.name)
        if isinstance(bound, Thoughts):
            return (bound[position(context.evaluate(value.index, names), bound)],)
    return None


def _bound(names: Mapping[str, Any], name: str) -> Any:
    """What a name is bound to; None where it is not: `pi`, or `score` where it is short for `score(it)`."""
    try:
        return names[name]
    except KeyError:
        return None


def measure(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """`GroundTruth`: noted for the first thought; unknown where the truth is not known.

    It is only measured: where it cannot be, that is noted, and the scheme goes on.
    """
    step = operation.step
    assert isinstance(step, ir.GroundTruth)
    for thought in thoughts[:1]:
        names: dict[str, Any] = {"it": thought}
        if context.has_truth:
            names["truth"] = context.truth
        context.measured[operation] = None
        try:
            found = context.evaluate(step.condition, Layer(names, operation.frame))
            context.measured[operation] = bool(found)
        except EvaluationError as error:
            if context.has_truth or "truth" not in free_names(step.condition):
                context.failed(operation, error.message, thought.index)
    return thoughts


def join(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """Thoughts of several operations as those of one."""
    return thoughts


def collect(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """The result of a scheme that gives a list: the values of its thoughts as one."""
    return Thoughts([derived(operation, [t.value for t in thoughts], 0, thoughts)])


def grow(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """Add operations to the graph, or nothing where that fails."""
    work, operation.work = operation.work, None
    assert work is not None
    mark = context.graph.mark()
    try:
        work(operation)
    except GotError:
        context.graph.undo(mark)
        raise
    return NOTHING


def rated(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """Thoughts with the mean of the numbers that a score's samples gave for each."""
    step = operation.step
    assert isinstance(step, ir.Score) and step.score is not None
    score = context.program.score(step.score)
    if not thoughts:
        return NOTHING
    samples = operation.inputs[1:]
    share = len(samples) // len(thoughts)
    out = []
    for at, thought in enumerate(thoughts):
        numbers = []
        for sample in samples[at * share : (at + 1) * share]:
            if sample.state == DONE and sample.output:
                try:
                    numbers.append(number(sample.output[0].value, f"score `{score.name}`"))
                except EvaluationError as error:
                    context.failed(operation, error.message, thought.index)
        try:
            if numbers:
                found = mean(numbers, f"score `{score.name}`")
                out.append(thought.known(score=found, lower=score.lower))
        except EvaluationError as error:
            context.failed(operation, error.message, thought.index)
    if not out:
        raise OperationFailed(f"score `{score.name}` has no value for any thought")
    return Thoughts(out)


Local = Callable[[Context, Operation, Thoughts], Thoughts]

ROLES: dict[str, Local] = {"join": join, "collect": collect, "grow": grow, "rated": rated}
"""What runs an operation that the runtime itself adds, by its role."""

STEPS: dict[type, Local] = {
    ir.Score: rate,
    ir.KeepValid: keep_valid,
    ir.KeepBestN: keep_best,
    ir.Select: select,
    ir.Vote: vote,
    ir.Map: map_,
    ir.Pool: gather,
    ir.GroundTruth: measure,
}
"""What runs an operation that is a step of the program, by its step."""
