"""The partial result of a run that was cut off: a thought of the scheme's own result, never one of a
subproblem."""

from __future__ import annotations

from collections.abc import Iterator

from gotlang.ir import program as ir
from gotlang.ir.names import ROUND
from gotlang.runtime.graph import DONE, Frame, Handle, Operation
from gotlang.syntax.expressions import Reference
from gotlang.thought import Thought
from gotlang.types import fits

_PASSED_ON = (
    *(ir.Score, ir.Validate, ir.KeepValid, ir.ValidateAndImprove, ir.Improve),
    *(ir.KeepBestN, ir.Select, ir.Vote, ir.GroundTruth),
)
"""Steps that pass on the thoughts they take, or a better version of them: the input of one may be the
result."""


def partial_result(result: Operation, scheme: ir.Scheme) -> tuple[Operation, tuple[Thought, ...]] | None:
    """The thoughts that would be the result if the missing steps had changed nothing, and their operation.

    From the operation of the result back over steps that judge, choose and improve, into the last block and
    the last called scheme, and to the previous round of a `repeat`. Several are reduced to the best scored
    one, the first of equals, unless the scheme returns `many`. None if no thought of the result was made.
    """
    valid_only = False
    for operation in _sources(result):
        valid_only = valid_only or isinstance(operation.step, ir.KeepValid)
        if operation.state != DONE:
            continue
        found = [t for t in operation.output if not t.empty and fits(scheme.result, t.value) is None]
        found = [t for t in found if t.valid is not False or not valid_only]
        if found:
            return operation, tuple(found) if scheme.many else (max(found, key=lambda t: t.goodness),)
        return None
    return None


def _sources(operation: Operation | None) -> Iterator[Operation]:
    """An operation, and those that its thoughts would come from, the nearest first."""
    while operation is not None:
        yield operation
        operation = _source(operation) or _round_before(operation)


def _source(operation: Operation) -> Operation | None:
    """The one operation whose thoughts this one passes on."""
    step, inputs, parts = operation.step, operation.inputs, operation.parts
    if operation.role == "join" and parts is not None:
        return parts[0] if len(parts) == 1 and not isinstance(step, ir.Foreach) else None
    if operation.role == "join" and inputs and isinstance(step, ir.Repeat):
        return inputs[-1].inputs[0] if inputs[-1].name[-1] == "until" else None
    if isinstance(step, ir.Pool):
        bound = len(step.values) == 1 and isinstance(step.values[0], Reference)
        return inputs[0] if bound and inputs else None
    if not isinstance(step, _PASSED_ON) or not inputs:
        return None
    # A score that calls a model is a join, behind the operation that lays it out.
    return inputs[0].inputs[0] if inputs[0].role == "grow" and inputs[0].inputs else inputs[0]


def _round_before(operation: Operation) -> Operation | None:
    """The result of the previous round, for an operation in a round of a `repeat` other than the first."""
    frame: Frame | None = operation.frame
    while frame is not None:
        before = frame.names.get(ROUND)
        if before is not None and frame.key[1] > 0:
            return before.operation if isinstance(before, Handle) else None
        frame = frame.parent
    return None
