"""`Pool`: makes several thoughts, or lists of thoughts, the current ones; bindings and `return` are pools
too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from msgspec.structs import replace

from gotlang.errors import EvaluationError, OperationFailed
from gotlang.flows import FREE, FlowScope, Result
from gotlang.operations.record import NO_FACT, OperationRecord, StepLabel, Syntax, local, no_calls, pure
from gotlang.operations.stages import Checking, Estimating, Running, Verifying
from gotlang.operations.step import Step
from gotlang.scope import EVERYTHING, PoolType
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Call, Expression, Reference
from gotlang.syntax.format import format_expression
from gotlang.thought import Thought, Thoughts, named_thoughts
from gotlang.types import ANY, ListType, Type, checked_later, fits, join, widen


@final
class Pool(Step, frozen=True):
    """Named thoughts as they are, and other values as new thoughts; `checked`: each must be of the type."""

    values: tuple[Expression, ...]
    checked: bool = False


def _check(node: n.Step, c: Checking) -> PoolType:
    found: Type | None = None
    facts = EVERYTHING
    single = len(node.operands) == 1
    for operand in node.operands:
        part = c.value_pool(operand)
        facts, single = facts.both(part.facts), single and part.single
        joined = part.type if found is None else join(found, part.type)
        if joined is None:
            c.error(
                "GOT0207",
                "these thoughts have no type in common",
                operand.span,
                f"this is {widen(part.type)}, those before it are {widen(found or ANY)}",
            )
        found = joined or ANY
    return PoolType(found or ANY, single, facts)


def _verify(step: Pool, v: Verifying) -> PoolType:
    found: Type | None = None
    single = len(step.values) == 1
    for value in step.values:
        type_ = v.infer(value, v.whole)
        variable = v.whole.find(value.name) if isinstance(value, Reference) else None
        if variable is not None and variable.kind == "thoughts" and isinstance(variable.type, ListType):
            type_, single = variable.type.element, False
        found = type_ if found is None else v.joined(found, type_)
    if found is None:
        raise v.fail("it holds nothing")
    if step.checked:
        v.fits(step.type, checked_later(found), "what it is checked to be")
        found = step.type
    return PoolType(found, single)


def _estimate(step: Pool, scope: FlowScope, e: Estimating) -> Result:
    pool = scope.flow(step.pool)
    hops, whole = scope.hops(e.needs(step), pool.hops), scope.whole(pool)
    first, *others = members = [e.gathered(value, whole, hops) for value in step.values]
    for other in others:
        first = replace(first.or_(other), count=first.count + other.count, hops=hops)
    # Two names may refer to the same thoughts.
    repeated = first.repeated or any(each in members[:place] for place, each in enumerate(members))
    return replace(first, hops=hops, single=step.single, part=None, repeated=repeated), FREE


def _run(step: Pool, thoughts: Thoughts, running: Running) -> Thoughts:
    """`Pool`, bindings, `return`: named thoughts as they are, any other value as a new thought.

    A `Pool` of several continues without those that were skipped.
    """
    names = running.whole(thoughts)
    out: list[Thought] = []
    for value in step.values:
        if not running.was_skipped(value):
            out.extend(_pooled(running, value, names, len(out)))
    if not out:
        raise OperationFailed("each of its members was skipped")
    for thought in out if step.checked else ():
        if why := fits(step.type, thought.value):
            raise EvaluationError(f"`{step.result}` is not {step.type}: {why}")
    return Thoughts(out)


def _pooled(running: Running, value: Expression, names: Mapping[str, Any], index: int) -> Sequence[Thought]:
    bound = running.bound(value, names)
    if bound is not None:
        return bound
    parents = [thought for name in running.used_names(value) for thought in named_thoughts(names, name)]
    return (running.derived(running.evaluate(value, names), index, parents),)


def _written(value: Expression) -> str:
    """A value as the program shows it: the last line of a score is inside a function of the compiler."""
    if isinstance(value, Call) and value.function.text.startswith("%"):
        value = value.arguments[0].value
    return format_expression(value)


OPERATION = OperationRecord(
    name="Pool",
    syntax=Syntax({}, "Pool() closed, opened", operands=(1, None)),
    usage="`Pool() a, b, c`",
    doc="makes these thoughts, lists of thoughts or values the current ones; named thoughts keep their "
    "metadata",
    fails="a member has no value; every member was skipped",
    asks=NO_FACT,
    keeps=False,
    check=_check,
    step=Pool,
    build=lambda node, b: Pool(*b.base, node.operands, span=node.span),
    text="Pool {values:expressions} from {pool}[, {checked:flag}]",
    verify=_verify,
    effects=pure,
    estimate=_estimate,
    remaining=no_calls,
    run=local(_run),
    label=lambda step: StepLabel("", ", ".join(map(_written, step.values))),
    family="pass",
)
