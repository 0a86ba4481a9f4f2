"""`KeepTopP`: keeps the best thoughts until their normalised scores sum to p."""

from __future__ import annotations

from typing import final

from msgspec.structs import replace

from gotlang.amounts import ONE, Amount
from gotlang.errors import OperationFailed
from gotlang.flows import FREE, FlowScope, Result
from gotlang.operations.checks import number
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
from gotlang.operations.stages import Checking, Estimating, Running, Verifying
from gotlang.operations.step import Step
from gotlang.scope import PoolType
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Expression
from gotlang.thought import Thoughts
from gotlang.types import FLOAT


@final
class KeepTopP(Step, frozen=True):
    """`share` of the sum of the scores is kept."""

    share: Expression


def _check(node: n.Step, c: Checking) -> PoolType:
    c.needs_thoughts()
    c.compares_scores()
    return PoolType(c.pool.type, c.pool.single)


def _verify(step: KeepTopP, v: Verifying) -> PoolType:
    v.expect(step.share, v.whole, FLOAT)
    return v.pool


def _estimate(step: KeepTopP, scope: FlowScope, e: Estimating) -> Result:
    pool = passed_on(step, scope, e)
    return replace(pool, count=Amount(pool.count.at_most(ONE).low, pool.count.high)), FREE


def _run(step: KeepTopP, thoughts: Thoughts, running: Running) -> Thoughts:
    share = number(running.evaluate(step.share, running.whole(thoughts)), "`p`")
    best = sorted(thoughts, key=lambda thought: thought.goodness, reverse=True)
    weights = [thought.score or 0.0 for thought in best]
    if any(thought.lower for thought in best) or min(weights, default=0.0) < 0:
        raise OperationFailed("`KeepTopP` needs scores of at least 0, of which higher ones are better")
    kept, total = 0, 0.0
    while kept < len(best) and total < share * sum(weights):
        total += weights[kept]
        kept += 1
    return Thoughts(best[: max(1, kept)])


OPERATION = OperationRecord(
    name="KeepTopP",
    syntax=Syntax(
        {"p": SettingRule((FLOAT,), least=0)}, "KeepTopP(0.9)", "p", required=True, operands=(0, 0)
    ),
    usage="`KeepTopP(p)`",
    doc="the best scored, best first, until their scores sum to the share p of all",
    fails="no thought has a score",
    asks=frozenset({"score"}),
    keeps=True,
    check=_check,
    step=KeepTopP,
    build=lambda node, b: KeepTopP(*b.base, b.count("p"), span=node.span),
    text="KeepTopP {share} from {pool}",
    verify=_verify,
    effects=pure,
    estimate=_estimate,
    remaining=no_calls,
    run=local(_run),
    label=lambda step: StepLabel.of(step.share, "p"),
    family="choose",
)
