"""How the operations run that the runtime itself adds to a graph."""

from __future__ import annotations

from collections.abc import Callable

from gotlang.errors import EvaluationError, GotError, OperationFailed
from gotlang.ir import program as ir
from gotlang.operations.checks import mean, number
from gotlang.runtime.context import Context
from gotlang.runtime.execution import derived
from gotlang.runtime.graph import DONE, NOTHING, Operation
from gotlang.thought import Thoughts


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


ROLES: dict[str, Callable[[Context, Operation, Thoughts], Thoughts]] = {
    "join": join,
    "collect": collect,
    "grow": grow,
    "rated": rated,
}
"""What runs an operation that the runtime itself adds, by its role."""
