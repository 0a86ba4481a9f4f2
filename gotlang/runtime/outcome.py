"""What a run ends with: its result, the best so far, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from gotlang.errors import GotError, OperationFailed, RunError
from gotlang.ir import program as ir
from gotlang.ir.program import Scheme
from gotlang.operations import title
from gotlang.runtime.context import Context, Failure
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
from gotlang.runtime.sampler.ledger import Ledger, Times
from gotlang.span import Span
from gotlang.thought import Thought
from gotlang.types import ListType, fits


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave. `value` is None, and `partial` tells why, where a budget or an interruption ended it
    without one. `hops` are the model calls on the longest path to the result. `stopped` tells that somebody
    stopped the run before its end; `notes` is what models said beside their answers, and what went wrong
    beside the run."""

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


def outcome_of(context: Context, scheme: Scheme, handle: Handle, wall: float, stopped: str | None) -> Outcome:
    operation, sampler, graph = handle.operation, context.sampler, context.graph
    done = operation.state == DONE and bool(operation.output)
    partial = sampler.budget.reason() if sampler.refused else None
    # A stop that came when nothing was left to ask changes nothing.
    if stopped is not None and (context.skipped or not done):
        partial = stopped
    thoughts: tuple[Thought, ...] = ()
    lost: RunError | None = None
    if done:
        thoughts = tuple(operation.output)
    elif partial is None or truly_failed(context, operation):
        lost = no_result(context, operation)
    else:
        operation, thoughts = best_so_far(graph, scheme)
    many = scheme.many and operation is handle.operation
    value: Any = [t.value for t in thoughts] if many else thoughts[0].value if thoughts else None
    if done and (why := fits(ListType(scheme.result) if many else scheme.result, value)):
        lost = wrong_result(scheme, operation, why)
    ledger = sampler.ledger
    ledger.settle(graph, operation)
    outcome = Outcome(
        scheme.name,
        value,
        best_score(thoughts),
        measured(context, scheme) if done else None,
        thoughts,
        ledger,
        ledger.times,
        operation.hops,
        largest_volume(thoughts),
        len(graph.operations) - graph.constants,
        sum(t.maker is o and not t.empty for o in graph.operations for t in o.output),
        tuple(sorted(context.failures, key=lambda f: (_order(f), f.reason))),
        wall,
        partial,
        context.skipped,
        partial is not None and partial == stopped,
        tuple(sampler.notes),
        graph,
    )
    if lost is not None:
        lost.outcome = outcome  # what failed was paid for all the same, and can be looked at
        raise lost
    return outcome


def _order(failure: Failure) -> tuple[PathKey, int]:
    return failure.key, -1 if failure.sample is None else failure.sample


def best_score(thoughts: Sequence[Thought]) -> float | None:
    """The score of the best of some thoughts, None where there is none."""
    return max(thoughts, key=lambda t: t.goodness).score if thoughts else None


def measured(context: Context, scheme: Scheme) -> bool | None:
    """What `GroundTruth` found: the last one of the scheme itself, else the last one anywhere."""
    found = sorted(context.measured, key=lambda o: (o.frame.path == (scheme.name,), _line(o), path_key(o)))
    return context.measured[found[-1]] if found else None


def _line(operation: Operation) -> int:
    return operation.step.span.start if operation.step is not None else 0


def best_so_far(graph: Graph, scheme: Scheme) -> tuple[Operation, tuple[Thought, ...]]:
    """The thought of the result's type that stands latest in the graph, the best scored one of those."""
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


def wrong_result(scheme: Scheme, result: Operation, why: str) -> RunError:
    """Why what a run gave is no result: what Python gives, and `none`, have no type before."""
    span = result.step.span if result.step is not None else scheme.span
    return RunError(
        f"the result of scheme `{scheme.name}` is not {scheme.result}: {why}",
        span=span,
        help="declare what it gives, be it `any`",
    )


def truly_failed(context: Context, result: Operation) -> bool:
    """Whether the result was lost by more than a budget or a stop."""
    return any(not _cut_off(error) for _, error in _culprits(context, result))


def no_result(context: Context, result: Operation) -> RunError:
    """Why a run has no result: what failed, where in the source it stands, and why."""
    failures = sorted(context.failures, key=_order)
    culprits = [(o, error) for o, error in _culprits(context, result) if not _cut_off(error)]
    if not culprits:
        return _nothing(context, result, failures)
    operation, error = min(culprits, key=lambda pair: path_key(pair[0]))
    others = len({id(o) for o, _ in culprits}) - 1
    more = f" (and {others} more operation{'s' if others != 1 else ''} failed)" if others else ""
    found = RunError(
        f"{named(operation)}: {error.in_words()}{more}", failures=failures, span=_span(operation)
    )
    found.__cause__ = error.__cause__
    return found


def _nothing(context: Context, result: Operation, failures: Sequence[object]) -> RunError:
    at = result
    # The first operation that left nothing of what it got.
    while not at.pool and at.inputs:
        at = at.parts[0] if at.parts else at.inputs[0]
    return RunError(
        f"{named(at)}: no thought was left",
        failures=failures,
        span=_span(at),
        help="the scheme ended in order, and has nothing to show",
    )


def named(operation: Operation) -> str:
    """An operation as the program writes it, and what it stands in: `Generate sort in part[3]`."""
    return f"{_written(operation.step)}{within(path_text(operation))}"


def _span(operation: Operation) -> Span | None:
    return operation.step.span if operation.step is not None else None


def _written(step: ir.Step | None) -> str:
    if step is None:
        return "the result"
    if isinstance(step, ir.Pool) and not step.result.startswith("%"):
        return step.result
    return title(step)


def _culprits(context: Context, result: Operation) -> Iterator[tuple[Operation, GotError]]:
    """The operations that lost the result by failing themselves, with how they failed."""
    if result.state != FAILED:
        return
    seen = {result}
    stack = [result]
    while stack:
        at = stack.pop()
        failed = [o for o in before(at) if o.state in (FAILED, REMOVED)]
        # A pool whose members have all failed is not to blame.
        if at in context.culprits and not failed:
            yield at, context.culprits[at]
        for operation in failed:
            if operation not in seen:
                seen.add(operation)
                stack.append(operation)


def _cut_off(error: GotError) -> bool:
    return isinstance(error, OperationFailed) and error.cut_off
