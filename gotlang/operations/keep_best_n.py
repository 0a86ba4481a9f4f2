"""`KeepBestN`: keeps the n best scored thoughts, best first; of equal ones the earlier."""

from __future__ import annotations

from typing import final

from msgspec.structs import replace

from gotlang.amounts import ONE
from gotlang.errors import OperationFailed
from gotlang.flows import FREE, FlowScope, Result
from gotlang.operations.checks import MOST
from gotlang.operations.record import (
    OperationRecord,
    SettingRule,
    StepLabel,
    Syntax,
    is_one,
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
from gotlang.thought import Thoughts, raise_beyond
from gotlang.types import INT


@final
class KeepBestN(Step, frozen=True):
    """`count` thoughts stay."""

    count: Expression


def _check(node: n.Step, c: Checking) -> PoolType:
    c.compares_scores()
    return PoolType(c.pool.type, c.pool.single or is_one(c.setting("n")))


def _verify(step: KeepBestN, v: Verifying) -> PoolType:
    v.expect(step.count, v.whole, INT)
    return PoolType(v.pool.type, v.pool.single or is_one(step.count))


def _estimate(step: KeepBestN, scope: FlowScope, e: Estimating) -> Result:
    pool = scope.flow(step.pool)
    count = e.amount(step.count, scope.whole(pool)).at_most(pool.count)
    return replace(passed_on(step, scope, e), count=ONE if step.single else count, single=step.single), FREE


def _run(step: KeepBestN, thoughts: Thoughts, running: Running) -> Thoughts:
    """`KeepBestN`."""
    n = running.count(step.count, thoughts, "n", 1)
    scored = [t for t in thoughts if t.score is not None]
    if not scored:
        raise OperationFailed("no thought has a score")
    # Thoughts after the n-th that reaches `best` may never have been sampled, so they do not count.
    reached = 0
    for at, thought in enumerate(scored):
        raise_beyond((thought,))
        reached += bool(thought.claim)
        if reached == n:
            scored = scored[: at + 1]
            break
    # `sorted` is stable, so ties keep the earlier thought first.
    return Thoughts(sorted(scored, key=lambda t: t.goodness, reverse=True)[:n])


OPERATION = OperationRecord(
    name="KeepBestN",
    syntax=Syntax(
        {"n": SettingRule((INT,), 1, MOST)}, "KeepBestN(1)", first="n", required=True, operands=(0, 0)
    ),
    usage="`KeepBestN(n)`",
    doc="keeps the n thoughts with the best scores, best first; of equal scores the earlier",
    fails="no thought has a score",
    asks=frozenset({"score"}),
    keeps=True,
    check=_check,
    step=KeepBestN,
    build=lambda node, b: KeepBestN(*b.base, b.count("n"), span=node.span),
    text="KeepBestN {count} from {pool}",
    verify=_verify,
    effects=pure,
    estimate=_estimate,
    remaining=no_calls,
    run=local(_run),
    label=lambda step: StepLabel.of(step.count, "n"),
    family="choose",
)
