"""Many rows on one session: they share its model, cache, limits and gate; one that fails ends no other."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from gotlang.errors import GotError, RunError, UsageError
from gotlang.evaluate.evaluation import Evaluation, RowRun
from gotlang.evaluate.measure import Measure, measure
from gotlang.evaluate.rows import Row
from gotlang.ir.evaluate import Evaluator
from gotlang.ir.program import Scheme
from gotlang.runtime.run import Outcome, Runner
from gotlang.session import Session

DEFAULT_PARALLEL = 16
"""Rows under way at a time. They take turns at the gate, so that a long row does not hold up the others."""
DEFAULT_MAX_FAILED = 0.5
"""The share of the runs that may fail before the rest is not started."""


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """How to run rows: `repeat` times each, run i with the session's seed plus `first_repeat` plus i.

    `row_done` is told of each run that ended; `stopping` gives a reason once no more may start.
    """

    repeat: int = 1
    parallel: int = DEFAULT_PARALLEL
    max_failed: float = DEFAULT_MAX_FAILED
    first_repeat: int = 0
    row_done: Callable[[RowRun], None] | None = None
    stopping: Callable[[], str | None] = lambda: None


@final
@dataclass(slots=True)
class _State:
    """What the runs of one evaluation share."""

    allowed: int
    failed: int = 0
    not_run: int = 0
    stopped: str | None = None
    runs: list[RowRun] = field(default_factory=list)


async def run_rows(session: Session, scheme: Scheme, rows: Sequence[Row], plan: Plan) -> Evaluation:
    """Run a scheme on every row. Raises UsageError for inputs that no run can take; all else is counted.

    Once a limit is reached, the session is stopped, or more runs fail than may, what has not started is left
    out and the evaluation says why.
    """
    todo = [(row, plan.first_repeat + repeat) for repeat in range(plan.repeat) for row in rows]
    state = _State(allowed=math.floor(plan.max_failed * len(todo)))
    waiting = iter(todo)
    runner = _runner(session, scheme)
    found = measure(session.ir, scheme)

    async def worker() -> None:
        for row, repeat in waiting:
            state.stopped = state.stopped or plan.stopping()
            if state.stopped is not None:
                state.not_run += 1
                continue
            run = await _one(runner, scheme, row, repeat, state, found)
            state.runs.append(run)
            if plan.row_done is not None:
                plan.row_done(run)

    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(min(plan.parallel, len(todo))):
                workers.create_task(worker())
    except ExceptionGroup as group:
        raise group.exceptions[0] from None  # a mistake in the input is the same for all
    runs = sorted(state.runs, key=lambda run: (run.row.number, run.repeat))
    return Evaluation(
        scheme.name,
        found.kind,
        runs,
        plan.repeat,
        state.not_run,
        state.stopped,
    )


def _runner(session: Session, scheme: Scheme) -> Runner:
    """The session's runner; for a scheme that is not in its program, one that knows it beside all else."""
    runner = session.runner
    if any(known.name == scheme.name for known in runner.program.schemes):
        return runner
    program = dataclasses.replace(runner.program, schemes=(*runner.program.schemes, scheme))
    return dataclasses.replace(runner, program=program)


async def _one(
    runner: Runner, scheme: Scheme, row: Row, repeat: int, state: _State, found: Measure
) -> RowRun:
    if repeat:
        settings = dataclasses.replace(runner.settings, seed=runner.settings.seed + repeat)
        runner = dataclasses.replace(runner, settings=settings)
    try:
        outcome = await runner.run(scheme, row.inputs, row.truth, has_truth=row.truth is not None)
    except UsageError:
        raise
    except GotError as error:
        state.failed += 1
        if state.failed > state.allowed and state.stopped is None:
            runs = "1 run" if state.failed == 1 else f"{state.failed} runs"
            state.stopped = f"{runs} failed, which is more than --max-failed allows"
        return _failed(row, repeat, error)
    if outcome.partial is not None:
        state.stopped = state.stopped or outcome.partial
    score = outcome.score
    if found.step is not None:
        evaluate = Evaluator({s.name: s for s in runner.program.scores}, runner.functions)
        score = found.of(outcome.value, row, evaluate, runner.params)
    return _measured(row, repeat, outcome, score)


def _measured(row: Row, repeat: int, outcome: Outcome, score: float | None) -> RowRun:
    account = outcome.ledger.accounts[1]
    return RowRun(
        row,
        repeat,
        "done" if outcome.partial is None else "partial",
        outcome.value,
        score,
        outcome.truth,
        account.usd,
        account.calls,
        outcome.times[1],
        outcome.partial,
        len(outcome.failures),
    )


def _failed(row: Row, repeat: int, error: GotError) -> RowRun:
    """A run without a result. What it paid until then counts; its seconds are of no path to a result."""
    run = RowRun(row, repeat, "failed", reason=_reason(error))
    outcome = error.outcome if isinstance(error, RunError) else None
    if outcome is None:
        return run
    spent = outcome.ledger.accounts[1]
    return dataclasses.replace(
        run,
        usd=spent.usd,
        calls=spent.calls,
        failed_thoughts=len(outcome.failures),
    )


def _reason(error: GotError) -> str:
    """Why a run failed, without the place in its graph, so that equal reasons count together."""
    failures: Sequence[Any] = getattr(error, "failures", ())
    fatal = [failure for failure in failures if failure.draw is None] or list(failures)
    return str(fatal[0].reason) if fatal else error.message
