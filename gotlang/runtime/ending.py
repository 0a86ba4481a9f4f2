"""What a run has when it ends: its result, the best so far, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gotlang.errors import GotError, OperationFailed, RunError
from gotlang.ir import program as ir
from gotlang.ir.program import Scheme
from gotlang.runtime.context import Context
from gotlang.runtime.graph import DONE, FAILED, REMOVED, Graph, Operation, before
from gotlang.runtime.places import path_text, place, within
from gotlang.span import Span
from gotlang.thought import Thought
from gotlang.types import fits


def best_score(thoughts: Sequence[Thought]) -> float | None:
    """The score of the best of some thoughts, None where there is none."""
    return max(thoughts, key=lambda t: t.goodness).score if thoughts else None


def measured(context: Context, scheme: Scheme) -> bool | None:
    """What `GroundTruth` found: the last one of the scheme itself, else the last one anywhere."""
    found = sorted(context.measured, key=lambda o: (o.frame.path == (scheme.name,), _line(o), place(o)))
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
            if best is None or rank > most or (rank == most and place(operation) > place(best[0])):
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
    failures = sorted(context.failures, key=lambda f: (f.place, -1 if f.draw is None else f.draw))
    culprits = [(o, error) for o, error in _culprits(context, result) if not _cut_off(error)]
    if not culprits:
        return _nothing(context, result, failures)
    operation, error = min(culprits, key=lambda pair: place(pair[0]))
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


def _written(step: ir.AnyStep | None) -> str:
    match step:
        case ir.Sampling():
            return f"{type(step).__name__} {step.prompt}"
        case ir.ValidateAndImprove():
            return f"ValidateAndImprove {step.prompt}"
        case ir.Score():
            return f"Score {step.score}" if step.score is not None else "Score"
        case ir.Call():
            return f"Call {step.function}"
        case ir.Retrieve():
            return f"Retrieve {step.corpus}"
        case ir.Foreach():
            return f"foreach {step.name}"
        case ir.Invoke():
            return f"scheme {step.scheme}"
        case ir.Block():
            return step.label
        case ir.Pool() if not step.result.startswith("%"):
            return step.result
    return _WORDS.get(type(step), "the result")


_WORDS: dict[type, str] = {
    ir.Validate: "Validate",
    ir.KeepValid: "KeepValid",
    ir.KeepBestN: "KeepBestN",
    ir.Select: "Select",
    ir.Vote: "Vote",
    ir.Map: "Map",
    ir.Pool: "Pool",
    ir.GroundTruth: "GroundTruth",
    ir.Reduce: "reduce",
    ir.Repeat: "repeat",
    ir.If: "if",
}


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
