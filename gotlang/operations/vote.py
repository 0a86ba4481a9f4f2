"""`Vote`: one thought, with the value that most have (self-consistency) or that has the most weight."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

from gotlang.amounts import ONE
from gotlang.errors import OperationFailed
from gotlang.flows import FREE
from gotlang.operations.checks import frozen, number
from gotlang.operations.record import (
    OperationRecord,
    SettingRule,
    StepLabel,
    Syntax,
    local,
    no_calls,
    passed_on,
    pure,
)
from gotlang.operations.stages import Checking, Running, Verifying
from gotlang.operations.step import Step
from gotlang.scope import PoolType
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Expression
from gotlang.thought import Thought, Thoughts
from gotlang.types import FLOAT


@final
@dataclass(frozen=True, slots=True)
class Vote(Step):
    """Each vote weighs 1, or `weight`; the first thought that has the winning value stays."""

    weight: Expression | None


def _check(node: n.Step, c: Checking) -> PoolType:
    c.needs_thoughts()
    if (weight := c.setting("weight")) is not None:
        c.expect(weight, c.each, FLOAT, "`weight`")
    return PoolType(c.pool.type, True, c.pool.scored)


def _verify(step: Vote, v: Verifying) -> PoolType:
    if step.weight is not None:
        v.expect(step.weight, v.each, FLOAT)
    return PoolType(v.pool.type, True)


def _run(step: Vote, thoughts: Thoughts, running: Running) -> Thoughts:
    """`Vote`: the first thought with the value that most have; ties go to the value that came first."""
    if not thoughts:
        raise OperationFailed("there is no thought to vote on")
    weight = step.weight

    def weigh(thought: Thought) -> float:
        return (
            1.0 if weight is None else number(running.evaluate(weight, running.each(thought)), "this weight")
        )

    weights: dict[Any, float] = {}
    first: dict[Any, Thought] = {}
    for at, found in running.for_each(thoughts, weigh):
        key = frozen(thoughts[at].value)
        first.setdefault(key, thoughts[at])
        weights[key] = weights.get(key, 0.0) + found
    return Thoughts([first[max(weights, key=lambda key: weights[key])]])


OPERATION = OperationRecord(
    name="Vote",
    syntax=Syntax({"weight": SettingRule((FLOAT,), per_thought=True)}, "Vote()", operands=(0, 0)),
    usage="`Vote()`, `Vote(weight=...)`",
    doc="one thought: the value that most have, or that has the most weight; of equal ones the first",
    check=_check,
    step=Vote,
    build=lambda node, b: Vote(*b.base, b.setting("weight"), span=node.span),
    text="Vote from {pool}[, weight {weight}]",
    verify=_verify,
    effects=pure,
    estimate=lambda step, scope, e: (replace(passed_on(step, scope), count=ONE, single=True), FREE),
    remaining=no_calls,
    run=local(_run),
    label=lambda step: StepLabel.of(step.weight, "weight"),
    family="choose",
)
