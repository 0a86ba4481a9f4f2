"""`Pool`: makes several thoughts, or lists of thoughts, the current ones; bindings and `return` are pools
too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from gotlang.errors import MEMBERS_FAILED, EvaluationError, OperationFailed
from gotlang.flows import FREE, FlowScope, Result
from gotlang.operations.names import free_names, needed_names
from gotlang.operations.record import OperationRecord, StepLabel, Syntax, local, no_calls, pure
from gotlang.operations.stages import Checking, Estimating, Running, Verifying
from gotlang.operations.step import Step
from gotlang.scope import PoolType
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Expression, Reference
from gotlang.syntax.format import format_expression
from gotlang.thought import Thought, Thoughts, named_thoughts
from gotlang.types import ANY, ListType, Type, join, widen


@final
@dataclass(frozen=True, slots=True)
class Pool(Step):
    """Named thoughts as they are, and other values as new thoughts."""

    values: tuple[Expression, ...]


def _check(node: n.Step, c: Checking) -> PoolType:
    found: Type | None = None
    scored = True
    single = len(node.operands) == 1
    for operand in node.operands:
        part = c.value_pool(operand)
        scored, single = scored and part.scored, single and part.single
        joined = part.type if found is None else join(found, part.type)
        if joined is None:
            c.error(
                "GOT0207",
                "these thoughts have no type in common",
                operand.span,
                f"this is {widen(part.type)}, those before it are {widen(found or ANY)}",
            )
        found = joined or ANY
    return PoolType(found or ANY, single, scored)


def _verify(step: Pool, v: Verifying) -> PoolType:
    found: Type | None = None
    single = len(step.values) == 1
    for value in step.values:
        type_ = v.infer(value, v.whole)
        variable = v.whole.find(value.name) if isinstance(value, Reference) else None
        if variable is not None and variable.kind == "thoughts" and isinstance(variable.type, ListType):
            type_, single = variable.type.element, False
        found = type_ if found is None else join(found, type_) or ANY
    if found is None:
        raise v.fail("it holds nothing")
    return PoolType(found, single)


def _estimate(step: Pool, scope: FlowScope, e: Estimating) -> Result:
    pool = scope.flow(step.pool)
    hops, whole = scope.hops(needed_names(step), pool.hops), scope.whole(pool)
    first, *others = [e.gathered(value, whole, hops) for value in step.values]
    for other in others:
        first = replace(first.or_(other), count=first.count + other.count, hops=hops)
    return replace(first, hops=hops, single=step.single, part=None), FREE


def _run(step: Pool, thoughts: Thoughts, running: Running) -> Thoughts:
    """`Pool`, bindings, `return`: named thoughts as they are, any other value as a new thought.

    A `Pool` of several goes on without those that failed.
    """
    names = running.whole(thoughts)
    if len(step.values) == 1:
        return Thoughts(_pooled(running, step.values[0], names, 0))
    out: list[Thought] = []
    lost, left = running.inputs_failed(), len(step.values)
    for value in step.values:
        if lost and running.uses_failed(value):
            left -= 1
            continue
        try:
            out.extend(_pooled(running, value, names, len(out)))
        except EvaluationError as error:
            running.failed(error.message, len(out))
            left -= 1
    if not left:
        raise OperationFailed(MEMBERS_FAILED)
    return Thoughts(out)


def _pooled(running: Running, value: Expression, names: Mapping[str, Any], index: int) -> Sequence[Thought]:
    bound = running.bound(value, names)
    if bound is not None:
        return bound
    parents = [thought for name in free_names(value) for thought in named_thoughts(names, name)]
    return (running.derived(running.evaluate(value, names), index, parents),)


OPERATION = OperationRecord(
    name="Pool",
    syntax=Syntax({}, "Pool() closed, opened", operands=(1, None)),
    usage="`Pool() a, b, c`",
    doc="these thoughts, lists of thoughts or values as the current ones",
    check=_check,
    step=Pool,
    build=lambda node, b: Pool(*b.base, node.operands, span=node.span),
    text="Pool {values:expressions} from {pool}",
    verify=_verify,
    effects=pure,
    estimate=_estimate,
    remaining=no_calls,
    run=local(_run),
    label=lambda step: StepLabel("", ", ".join(map(format_expression, step.values))),
    family="pass",
)
