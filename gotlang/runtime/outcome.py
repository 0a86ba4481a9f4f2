"""What a run ends with: its result, the best so far, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, final

from gotlang.errors import GotError, OperationFailed, RunError
from gotlang.ir import program as ir
from gotlang.operations import title
from gotlang.runtime.context import Context
from gotlang.runtime.graph import (
    DONE,
    FAILED,
    REMOVED,
    Graph,
    Handle,
    Operation,
    PathKey,
    before,
    largest_volume,
    path_key,
    path_text,
    within,
)
from gotlang.runtime.sampler.events import Failure
from gotlang.runtime.sampler.ledger import Ledger, Times
from gotlang.span import Span
from gotlang.thought import Thought
from gotlang.types import ListType, fits


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run ended with. `value` is None, and `partial` is the reason, if a budget or an interruption
    ended it without one. `hops` counts the model calls on the critical path to the result, `skipped` the
    samples that were not requested; `stopped` says that the run was interrupted. `notes` are remarks of
    models and of the runtime."""

    scheme: str
    value: Any
    score: float | None
    truth: bool | None
    thoughts: tuple[Thought, ...]
    ledger: Ledger
    times: Times
    hops: int
    volume: int
    operations: int
    thought_count: int
    failures: tuple[Failure, ...]
    wall_s: float
    partial: str | None = None
    skipped: int = 0
    stopped: bool = False
    notes: tuple[str, ...] = ()
    graph: Graph = field(default_factory=Graph, repr=False, compare=False)


def outcome_of(
    context: Context, scheme: ir.Scheme, handle: Handle, wall: float, stopped: str | None
) -> Outcome:
    """The outcome of a run that has ended; `stopped` is why it was interrupted, if it was. Raises RunError,
    with the outcome, for one without a result."""
    operation, sampler, graph = handle.operation, context.sampler, context.graph
    done = operation.state == DONE and bool(operation.output)
    partial = sampler.budget.reason() if sampler.refused else None
    # An interruption changes nothing if no sample was left to request.
    if stopped is not None and (context.skipped or not done):
        partial = stopped
    thoughts: tuple[Thought, ...] = ()
    lost: RunError | None = None
    if done:
        thoughts = tuple(operation.output)
    elif partial is None or truly_failed(context, operation):
        lost = _no_result(context, operation)
    else:
        operation, thoughts = _best_so_far(graph, scheme)
    many = scheme.many and operation is handle.operation
    value: Any = [t.value for t in thoughts] if many else thoughts[0].value if thoughts else None
    if done and (why := fits(ListType(scheme.result) if many else scheme.result, value)):
        # Values of Python functions, and `none`, have no type before.
        lost = RunError(
            f"the result of scheme `{scheme.name}` is not {scheme.result}: {why}",
            span=_span(operation) or scheme.span,
            help="declare the type that it returns; `any` accepts every value",
        )
    ledger = sampler.ledger
    ledger.settle(graph, operation)
    outcome = Outcome(
        scheme=scheme.name,
        value=value,
        score=max(thoughts, key=lambda t: t.goodness).score if thoughts else None,
        truth=_measured(context, scheme) if done else None,
        thoughts=thoughts,
        ledger=ledger,
        times=ledger.times,
        hops=operation.hops,
        volume=largest_volume(thoughts),
        operations=len(graph.operations) - graph.constants,
        thought_count=sum(t.maker is o and not t.empty for o in graph.operations for t in o.output),
        failures=tuple(sorted(context.failures, key=_order)),
        wall_s=wall,
        partial=partial,
        skipped=context.skipped,
        stopped=partial is not None and partial == stopped,
        notes=tuple(sampler.notes),
        graph=graph,
    )
    if lost is not None:
        lost.outcome = outcome  # what was spent can be looked at
        raise lost
    return outcome


def truly_failed(context: Context, result: Operation) -> bool:
    """Whether the result was lost by more than a budget or an interruption."""
    return any(True for _ in _culprits(context, result))


def named(operation: Operation) -> str:
    """An operation as the program writes it, and the blocks around it: `Generate sort in part[3]`."""
    step = operation.step
    if step is None:
        name = "the result"
    elif isinstance(step, ir.Pool) and not step.result.startswith("%"):
        name = step.result
    else:
        name = title(step)
    return name + within(path_text(operation))


def _order(failure: Failure) -> tuple[PathKey, int, str]:
    return failure.key, -1 if failure.sample is None else failure.sample, failure.reason


def _span(operation: Operation) -> Span | None:
    return operation.step.span if operation.step is not None else None


def _measured(context: Context, scheme: ir.Scheme) -> bool | None:
    """The last `GroundTruth` of the scheme itself, else the last one anywhere."""

    def order(operation: Operation) -> tuple[bool, int, PathKey]:
        span = _span(operation)
        return (
            operation.frame.path == (scheme.name,),
            span.start if span is not None else 0,
            path_key(operation),
        )

    return context.measured[max(context.measured, key=order)] if context.measured else None


def _best_so_far(graph: Graph, scheme: ir.Scheme) -> tuple[Operation, tuple[Thought, ...]]:
    """The thought of the result's type that is latest in the graph, the best scored one of those."""
    best: tuple[Operation, Thought] | None = None
    most: tuple[int, float] = (-1, 0.0)
    for operation in sorted(graph.operations, key=lambda o: o.hops, reverse=True):
        if best is not None and operation.hops < most[0]:
            break
        if operation.state != DONE or operation.constant:
            continue
        for thought in operation.output:
            if thought.empty or fits(scheme.result, thought.value) is not None:
                continue
            rank = (operation.hops, thought.goodness)
            if best is None or rank > most or (rank == most and path_key(operation) > path_key(best[0])):
                best, most = (operation, thought), rank
    return (best[0], (best[1],)) if best is not None else (graph.operations[0], ())


def _no_result(context: Context, result: Operation) -> RunError:
    """Why a run has no result: what failed, where in the source, and why."""
    failures = sorted(context.failures, key=_order)
    culprits = sorted(_culprits(context, result), key=lambda pair: path_key(pair[0]))
    if not culprits:
        at = result
        # The first operation that left none of its thoughts.
        while not at.pool and at.inputs:
            at = at.parts[0] if at.parts else at.inputs[0]
        return RunError(
            f"{named(at)}: no thought was left",
            failures=failures,
            span=_span(at),
            help="the scheme ended normally, with an empty result",
        )
    operation, error = culprits[0]
    others = len(culprits) - 1
    more = f" (and {others} more operation{'s' if others != 1 else ''} failed)" if others else ""
    found = RunError(
        f"{named(operation)}: {error.in_words()}{more}", failures=failures, span=_span(operation)
    )
    found.__cause__ = error.__cause__
    return found


def _culprits(context: Context, result: Operation) -> Iterator[tuple[Operation, GotError]]:
    """The operations that lost the result by failing themselves, except for a budget or an interruption, and
    their errors."""
    if result.state != FAILED:
        return
    seen = {result}
    stack = [result]
    while stack:
        at = stack.pop()
        failed = [o for o in before(at) if o.state in (FAILED, REMOVED)]
        # A pool all members of which failed is not to blame.
        if at in context.culprits and not failed:
            error = context.culprits[at]
            if not (isinstance(error, OperationFailed) and error.cut_off):
                yield at, error
        for operation in failed:
            if operation not in seen:
                seen.add(operation)
                stack.append(operation)
