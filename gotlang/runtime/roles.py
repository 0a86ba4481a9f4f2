"""Functions that run the operations that expansion adds, by their role."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from gotlang.errors import EvaluationError, OperationFailed
from gotlang.ir import program as ir
from gotlang.operations.checks import claim, claimed, mean, number
from gotlang.runtime.context import Context, cut_off
from gotlang.runtime.execution import derived
from gotlang.runtime.graph import DONE, NOTHING, SKIPPED, Operation, PathKey, path_key
from gotlang.thought import EmptyThought, Thoughts, validity


def join(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """The thoughts of several operations as those of one; an empty one for a skipped operation that others
    waited for, so that each keeps its position."""
    step = operation.step
    if operation.name == "done" and context.graph.any_skipped:
        given = ((part, part.output) for part in operation.parts or ())
        thoughts = Thoughts(t for part, out in given for t in out or (EmptyThought(None, part),))
    elif isinstance(step, ir.Foreach) and not thoughts:
        raise OperationFailed("each of its elements was skipped" if operation.parts else "its list is empty")
    elif isinstance(step, ir.Repeat) and thoughts and thoughts[0].empty:
        raise OperationFailed("it starts from no thoughts and has no rounds")
    return thoughts


def collect(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """The result of a scheme that returns a list: the values of its thoughts as one."""
    values = derived(operation, [t.value for t in thoughts], 0, thoughts)
    return Thoughts([values.known(valid=validity(thoughts))])


def grow(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """Add operations to the graph, or none if that fails; returns the thoughts that it used, for pictures."""
    work = context.graph.work.pop(operation)
    with context.graph.all_or_nothing():
        return work(operation) or NOTHING


def rescue(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """Continue after a possible failure: a `try` with its `else`, a `first` with its next alternative, a
    `search` with other states. A limit, an interruption and an exhausted budget end the run all the same."""
    for lost in operation.inputs:
        for _, error in context.causes(lost):
            if not error.handled:
                raise error
    return grow(context, operation, thoughts)


def wave(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """Continue a `search`, or return its result so far if the budget is exhausted. Any other reason to end a
    run ends it."""
    for lost in operation.inputs:
        for _, error in context.causes(lost):
            if not error.handled and not cut_off(error):
                raise error
    return grow(context, operation, thoughts)


def rated(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """Thoughts with the mean of the numbers that the samples of a score returned for each."""
    step = operation.step
    assert isinstance(step, ir.Score) and step.score is not None
    declared = context.program.score(step.score)
    what = f"score `{declared.name}`"
    samples = iter(operation.inputs[1:])
    out = []
    for thought, (by, k) in zip(thoughts, operation.frame.names["asked"], strict=True):
        if (said := thought.said(by)) is not None:
            out.append(thought.rated(step.note, by, said, declared.lower, claim(declared, said)))
        numbers = []
        for sample in islice(samples, k):
            if sample.state == DONE and sample.output:
                try:
                    numbers.append(number(sample.output[0].value, what))
                except EvaluationError as error:
                    context.failed(operation, error.message, thought.index)
        try:
            if numbers:
                score = mean(numbers, what)
                beyond = claim(declared, score) if step.note is None else claimed(declared, score) is None
                out.append(thought.rated(step.note, by, score, declared.lower, beyond))
        except EvaluationError as error:
            context.failed(operation, error.message, thought.index)
    if thoughts and not out:
        raise OperationFailed(f"{what} has no value for any thought")
    return Thoughts(out) if out else NOTHING


def answered(context: Context, operation: Operation, thoughts: Thoughts) -> Thoughts:
    """The answers of models with tools. Conversations that failed recorded it at one of their turns."""
    if thoughts:
        return thoughts
    *around, _, _ = path_key(operation)
    place, name = len(around), operation.frame.key[0]

    def own(path: PathKey) -> bool:
        return path[:place] == tuple(around) and path[place][0] == (1, name) and path[-1] == ((1, "turn"),)

    if any(own(path_key(asked)) for asked in context.cut_off):
        raise OperationFailed("not every model call was made", cut_off=True)
    noted = dict.fromkeys(failure.reason for failure in context.failures if own(failure.key))
    raise OperationFailed(f"every thought failed: {'; '.join(list(noted)[:3])}")


ROLES: dict[str, Callable[[Context, Operation, Thoughts], Thoughts]] = {
    "join": join,
    "collect": collect,
    "grow": grow,
    "rescue": rescue,
    "wave": wave,
    "skip": lambda context, operation, thoughts: SKIPPED,
    "rated": rated,
    "answered": answered,
}
"""Functions that run the operations that expansion adds, by their role."""
