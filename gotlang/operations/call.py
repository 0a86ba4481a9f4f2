"""`Call`: the result of an imported Python function, for each current thought."""

from __future__ import annotations

from typing import Any, final

from msgspec.structs import replace

from gotlang.amounts import ONE, ZERO
from gotlang.flows import FREE, NOTHING_KNOWN, FlowScope, Result
from gotlang.operations.record import NO_FACT, Grows, OperationRecord, StepLabel, Syntax, Tool, passed_on
from gotlang.operations.sampled import one_call
from gotlang.operations.stages import Building, Checking, Estimating, Running, Verifying
from gotlang.operations.step import PythonArguments, Step
from gotlang.scope import PoolType
from gotlang.syntax import expressions
from gotlang.syntax import nodes as n
from gotlang.syntax.expressions import Argument, Identifier
from gotlang.thought import Thought, Thoughts


@final
class Call(Step, frozen=True):
    """A Python function's value, as a new thought for each current one."""

    function: str
    arguments: PythonArguments


def _check(node: n.Step, c: Checking) -> PoolType:
    operand = node.operands[0]
    found = c.infer(operand, c.each)
    if not c.function(operand):
        c.error(
            "GOT0315",
            "`Call` calls a Python function",
            operand.span,
            help='import it: `import python "tools.py": search`, then write `Call search(it)`',
        )
    return PoolType(found, c.pool.single)


def _build(node: n.Step, b: Building) -> Call:
    call = node.operands[0]
    assert isinstance(call, expressions.Call)
    given = tuple((a.name.text if a.name else None, a.value) for a in call.arguments)
    return Call(*b.base, call.function.text, given, span=node.span)


def _verify(step: Call, v: Verifying) -> PoolType:
    given = tuple(
        Argument(step.span, Identifier(step.span, key) if key else None, value)
        for key, value in step.arguments
    )
    call = expressions.Call(step.span, Identifier(step.span, step.function), given)
    return PoolType(v.infer(call, v.each), v.pool.single)


def _estimate(step: Call, scope: FlowScope, e: Estimating) -> Result:
    pool = scope.flow(step.pool)
    volume = ZERO if pool.start else pool.volume + ONE
    found = passed_on(step, scope, e)
    return replace(found, each=NOTHING_KNOWN, scorer=None, volume=volume, start=False), FREE


async def _call(step: Call, thoughts: Thoughts, running: Running) -> Thoughts:
    """`Call`: a thought for which the function fails is left out."""

    async def run(thought: Thought) -> Any:
        return await running.call_python(step.function, step.arguments, running.each(thought))

    found = await running.for_each_call(thoughts, run)
    return Thoughts(running.derived(value, at, (thoughts[at],)) for at, value in found)


OPERATION = OperationRecord(
    name="Call",
    syntax=Syntax({}, "Call search(it)", bare=True),
    usage="`Call f(args)`",
    doc="the result of an imported Python function, for each current thought",
    fails="the function has no value for any thought",
    asks=NO_FACT,
    keeps=False,
    check=_check,
    step=Call,
    build=_build,
    text="Call {function(arguments):python} from {pool}[, {line:line}]",
    verify=_verify,
    effects=lambda step, declared: frozenset({"acts"}),
    estimate=_estimate,
    remaining=one_call,
    run=lambda step, declared: Grows("change") if declared.changes_graph(step.function) else Tool(_call),
    label=lambda step: StepLabel(step.function),
    family="tool",
)
