"""`GroundTruth`: whether the result is right: recorded, but never visible to the scheme."""

from __future__ import annotations

from typing import final

from gotlang.errors import EvaluationError
from gotlang.flows import FREE
from gotlang.operations.names import free_names
from gotlang.operations.record import NO_FACT, OperationRecord, StepLabel, Syntax, local, no_calls, passed_on
from gotlang.operations.stages import Checking, Running, Verifying
from gotlang.operations.step import Step
from gotlang.scope import PoolType, Variable
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Expression
from gotlang.thought import Thoughts
from gotlang.types import BOOL


@final
class GroundTruth(Step, frozen=True):
    """The pool is unchanged; the condition's result is recorded beside the run."""

    condition: Expression


def _check(node: n.Step, c: Checking) -> PoolType:
    truth = c.each.inside(Variable("truth", c.truth, "value", used=True))
    c.expect(node.operands[0], truth, BOOL, "what `GroundTruth` measures")
    return c.pool


def _verify(step: GroundTruth, v: Verifying) -> PoolType:
    v.expect(step.condition, v.each.inside(Variable("truth", v.truth)), BOOL)
    return v.pool


def _run(step: GroundTruth, thoughts: Thoughts, running: Running) -> Thoughts:
    """`GroundTruth`: recorded for the first thought; None if the truth is not known.

    It only measures: if it fails, that is recorded, and the scheme continues.
    """
    for thought in thoughts[:1]:
        running.note_truth(None)
        try:
            running.note_truth(bool(running.evaluate(step.condition, running.with_truth(thought))))
        except EvaluationError as error:
            if running.has_truth or "truth" not in free_names(step.condition):
                running.failed(error.message, thought.index)
    return thoughts


OPERATION = OperationRecord(
    name="GroundTruth",
    syntax=Syntax({}, "GroundTruth() it == sorted(numbers)"),
    usage="`GroundTruth() condition`",
    doc="whether the result is right: recorded, but never visible to the scheme",
    fails="never: the truth is then unknown",
    asks=NO_FACT,
    keeps=True,
    check=_check,
    step=GroundTruth,
    build=lambda node, b: GroundTruth(*b.base, node.operands[0], span=node.span),
    text="GroundTruth {condition} from {pool}",
    verify=_verify,
    effects=lambda step, declared: frozenset({"measures"}),
    estimate=lambda step, scope, e: (passed_on(step, scope, e), FREE),
    remaining=no_calls,
    run=local(_run),
    label=lambda step: StepLabel.of(step.condition),
    family="truth",
)
