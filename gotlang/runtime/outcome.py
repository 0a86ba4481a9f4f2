"""The outcome of a run: its result, the best so far, or the reason why there is none."""

from __future__ import annotations

from typing import Any, final

from msgspec import Struct, field, structs

from gotlang.errors import BeyondBest, RunError
from gotlang.ir import program as ir
from gotlang.operations import title
from gotlang.runtime.context import Context, cut_off
from gotlang.runtime.graph import (
    DONE,
    Graph,
    Handle,
    Operation,
    PathKey,
    largest_volume,
    path_key,
    path_text,
    within,
)
from gotlang.runtime.person import Question
from gotlang.runtime.sampler.events import Failure
from gotlang.runtime.sampler.ledger import Ledger, Times
from gotlang.span import Span
from gotlang.thought import Thought, validity
from gotlang.types import ListType, fits


@final
class Outcome(Struct, frozen=True, eq=False):
    """The outcome of a run. `partial` is the reason if a budget or an interruption ended it early; `value` is
    None if the result has no thought then. `valid` is the last validation of the value (None: none), `score`
    the score that the scheme gave it. `hops` counts the model calls on the critical path to the result,
    `skipped` the samples that were not requested; `stopped` is why it was stopped, if that skipped any.
    `notes` are remarks of models and of the runtime."""

    scheme: str
    value: Any
    valid: bool | None
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
    stopped: str | None = None
    notes: tuple[str, ...] = ()
    waiting: tuple[Question, ...] = ()
    """The questions to people that have no answer yet."""
    graph: Graph = field(default_factory=Graph)


def outcome_of(
    context: Context, scheme: ir.Scheme, handle: Handle, wall: float, stopped: str | None
) -> Outcome:
    """The outcome of a run that has ended; `stopped` is why it was interrupted, if it was. Raises RunError,
    with the outcome, for one without a result."""
    operation, sampler, graph = handle.operation, context.sampler, context.graph
    done = operation.state == DONE
    partial = sampler.budget.reason() if sampler.refused else None
    if waiting := tuple(sorted(sampler.waiting)):
        partial = f"{len(waiting)} question{'s' * (len(waiting) != 1)} to a person without an answer"
    # An interruption changes nothing if no sample was left to request.
    if stopped is not None and (context.skipped or not done):
        partial = stopped
    thoughts: tuple[Thought, ...] = ()
    lost: RunError | None = None
    if done:
        thoughts = tuple(operation.output)
        if beyond := [thought.claim for thought in thoughts if isinstance(thought.claim, BeyondBest)]:
            lost = RunError(beyond[0].message, span=beyond[0].span, help=beyond[0].help)
    elif partial is None or truly_failed(context, operation):
        lost = _no_result(context, operation)
    else:
        from gotlang.runtime.partial import partial_result

        operation, thoughts = partial_result(operation, scheme) or (graph.operations[0], ())
    if sampler.outside is not None and lost is None:
        lost = RunError(sampler.outside.message, help=sampler.outside.help)
    many = scheme.many
    value: Any = None if not thoughts else [t.value for t in thoughts] if many else thoughts[0].value
    if done and (why := fits(ListType(scheme.result) if many else scheme.result, value)):
        # Values of Python functions, and `none`, have no static type.
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
        valid=validity(thoughts),
        score=max(thoughts, key=lambda t: t.goodness).score if thoughts else None,
        truth=_measured(context, scheme) if done else None,
        thoughts=thoughts,
        ledger=ledger,
        times=ledger.times,
        hops=operation.hops,
        volume=largest_volume(thoughts),
        operations=len(graph.operations) - graph.constants,
        thought_count=graph.thought_count,
        failures=_failures(context),
        wall_s=wall,
        partial=partial,
        skipped=context.skipped,
        stopped=stopped if partial is not None and partial == stopped else None,
        notes=tuple(sampler.notes),
        waiting=waiting,
        graph=graph,
    )
    if lost is not None:
        lost.outcome = outcome  # so that the spending can be inspected
        raise lost
    return outcome


def judged(outcome: Outcome) -> Operation | None:
    """The last step that found thoughts of the result invalid; None if none did."""
    wrong = {t.identity for each in outcome.thoughts for t in (each, *each.parents) if t.valid is False}
    for operation in reversed(outcome.graph.ended):
        if isinstance(operation.step, ir.Validate | ir.ValidateAndImprove) and any(
            t.valid is False and t.identity in wrong for t in operation.output
        ):
            return operation
    return None


def truly_failed(context: Context, result: Operation) -> bool:
    """Whether the result was lost for a reason other than a budget or an interruption."""
    return any(not cut_off(error) for _, error in context.causes(result))


def named(operation: Operation) -> str:
    """An operation as the program writes it, and its enclosing blocks: `Generate sort in part[3]`."""
    step = operation.step
    if step is None:
        name = "the result"
    elif isinstance(step, ir.Pool) and not step.result.startswith("%"):
        name = step.result
    else:
        name = title(step)
    return name + within(path_text(operation))


def _failures(context: Context) -> tuple[Failure, ...]:
    """All failures, sorted by path; those in a block whose failure a `try` has handled are marked."""
    handled = context.handled
    found = (
        structs.replace(f, handled=f.handled or any(f.key[: len(path)] == path for path in handled))
        for f in context.failures
    )
    return tuple(sorted(found, key=lambda f: (f.key, -1 if f.sample is None else f.sample, f.reason)))


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

    measured = [operation for operation in context.measured if not operation.given_up]
    return context.measured[max(measured, key=order)] if measured else None


def _no_result(context: Context, result: Operation) -> RunError:
    """Why a run has no result: what failed, where in the source, and why."""
    failures = _failures(context)
    causes = ((operation, error) for operation, error in context.causes(result) if not cut_off(error))
    culprits = sorted(causes, key=lambda cause: path_key(cause[0]))
    operation, error = culprits[0]
    others = len(culprits) - 1
    more = f" (and {others} more operation{'s' if others != 1 else ''} failed)" if others else ""
    element = bool(within(path_text(operation))) and error.handled
    found = RunError(
        f"{named(operation)}: {error.in_words()}{more}",
        failures=failures,
        span=error.span if isinstance(error, BeyondBest) else _span(operation),
        help="to continue without it, use `try:` with `skip` below `else:`" if element else None,
    )
    found.__cause__ = error.__cause__
    return found
