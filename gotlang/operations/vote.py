"""`Vote`: one thought, with the most frequent value (self-consistency) or the one with the largest weight."""

from __future__ import annotations

from typing import Any, final

from msgspec.structs import replace

from gotlang.amounts import ONE
from gotlang.errors import OperationFailed
from gotlang.flows import FREE
from gotlang.operations.checks import frozen, number
from gotlang.operations.names import free_names, is_own_score
from gotlang.operations.record import (
    NO_FACT,
    OperationRecord,
    SettingRule,
    StepLabel,
    Syntax,
    local,
    no_calls,
    passed_on,
    pure,
)
from gotlang.operations.stages import Building, Checking, Running, Verifying
from gotlang.operations.step import Step
from gotlang.scope import PoolType
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Expression
from gotlang.syntax.walk import walk
from gotlang.thought import Thought, Thoughts
from gotlang.types import ANY, FLOAT


@final
class Vote(Step, frozen=True):
    """Each vote has the weight 1, or `weight`, and counts for the thought's value, or its `key`; the first
    thought with the winning one is kept. `lower`: the weight is a score where lower is better."""

    weight: Expression | None
    lower: bool = False
    key: Expression | None = None


def _check(node: n.Step, c: Checking) -> PoolType:
    c.needs_thoughts()
    if (weight := c.setting("weight")) is not None:
        c.expect(weight, c.each, FLOAT, "`weight`")
        c.prefers_high(weight, mirrored=True)
        if "score" in free_names(weight) or any(is_own_score(part) for part in walk(weight)):
            c.compares_scores()
    if (key := c.setting("key")) is not None:
        c.expect(key, c.each, ANY, "`key`")
    return PoolType(c.pool.type, True)


def _build(node: n.Step, b: Building) -> Vote:
    weight = b.setting("weight")
    lower = weight is not None and b.is_lower(weight)
    return Vote(*b.base, weight, lower, b.setting("key"), span=node.span)


def _verify(step: Vote, v: Verifying) -> PoolType:
    if step.weight is not None:
        v.expect(step.weight, v.each, FLOAT)
    if step.key is not None:
        v.expect(step.key, v.each, ANY)
    return PoolType(v.pool.type, True)


def _run(step: Vote, thoughts: Thoughts, running: Running) -> Thoughts:
    """`Vote`: the first thought with the most frequent value; ties go to the value that came first."""
    if not thoughts:
        raise OperationFailed("there are no thoughts to vote on")
    weight, key = step.weight, step.key

    def cast(thought: Thought) -> tuple[Any, float]:
        names = running.each(thought)
        voted = thought.value if key is None else running.evaluate(key, names)
        return frozen(voted), 1.0 if weight is None else number(
            running.evaluate(weight, names), "this weight"
        )

    weights: dict[Any, float] = {}
    first: dict[Any, Thought] = {}
    found = running.for_each(thoughts, cast)
    # For a score where lower is better, each thought gets the weight of the one at its place from the other
    # end.
    given = [value for _, (_, value) in found]
    ends = min(given) + max(given) if step.lower else 0.0
    for at, (voted, value) in found:
        first.setdefault(voted, thoughts[at])
        weights[voted] = weights.get(voted, 0.0) + (ends - value if step.lower else value)
    return Thoughts([first[max(weights, key=lambda voted: weights[voted])]])


OPERATION = OperationRecord(
    name="Vote",
    syntax=Syntax(
        {"weight": SettingRule((FLOAT,), per_thought=True), "key": SettingRule((ANY,), per_thought=True)},
        "Vote()",
        operands=(0, 0),
    ),
    usage="`Vote()`, `Vote(weight=...)`, `Vote(key=lower(it))`",
    doc="keeps one thought: the most frequent value, or the one with the largest weight; of equal ones the "
    "first, see [votes](#votes). With `key`, votes are counted by its value, and the first thought with the "
    "winning key is kept",
    fails="no weight, or no key, has a value",
    asks=NO_FACT,
    keeps=True,
    check=_check,
    step=Vote,
    build=_build,
    text="Vote from {pool}[, weight {weight}][, {lower:flag}][, key {key}]",
    verify=_verify,
    effects=pure,
    estimate=lambda step, scope, e: (replace(passed_on(step, scope, e), count=ONE, single=True), FREE),
    remaining=no_calls,
    run=local(_run),
    label=lambda step: StepLabel.of(step.weight, "weight"),
    family="choose",
)
