"""Runs of a scheme over rows, and their metrics, by row and aggregated; a missing metric of a row is counted,
with the reason."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal, Protocol, Self, final

from msgspec import structs

from gotlang.errors import GotError, RunError, UsageError
from gotlang.evaluate.rows import Dataset, Row, looks_at_truth
from gotlang.evaluate.runs import METRICS, SPENDINGS, StoredRuns, Tally
from gotlang.evaluate.runs import RowRun as RowRun
from gotlang.ir import program as ir
from gotlang.ir.program import Program, Scheme
from gotlang.metric import NO_TRUTH, Metric, ScoreKind, kind_of, measure, steps
from gotlang.metric import looks_at_truth as needs_truth
from gotlang.models.base import Address
from gotlang.models.prices import NOTHING_SPENT, Spent
from gotlang.records import to_json
from gotlang.result import FORMAT_VERSION, Displayed
from gotlang.runtime.outcome import Outcome
from gotlang.runtime.python import resolve
from gotlang.runtime.run import Runner
from gotlang.runtime.sampler.events import Asked, Event, MissingSample, Observer, guarded
from gotlang.session import Session
from gotlang.statistics import Interval, mean_interval, share_interval, within

CostMetric = Literal["cost", "tokens", "calls"]
DEFAULT_PARALLEL = 16
"""Default number of rows that run at a time. They take turns at the gate, so that a long row does not block
the others."""
DEFAULT_MAX_FAILED = 0.5
"""The share of runs that may fail before no more are started."""

_MOST_ROWS = 5
_UNMEASURED = (
    "quality is not measured: end the scheme with `Score()` or `GroundTruth()`, or name a metric, such as "
    "`--metrics accuracy`"
)
"""Maximum number of rows that a remark names."""
_KINDS = {
    "correct": ScoreKind("correct", share=True, best=1),
    **{name: ScoreKind(name, lower=True) for name in SPENDINGS},
}


@final
@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(Displayed):
    """A scheme evaluated on rows, with `repeat` runs per row (consecutive seeds).

    `not_run` counts runs that were not started because of a limit, an interruption or too many failures, and
    `stopped` is the reason. `columns` maps inputs to columns of `data`, of which the rows of `selection` ran.
    `spent` is the cost of this evaluation. `unscored` is a hint if the program does not define how its
    results are scored. `endpoints` are the addresses used, except providers' own. `kinds` are the metrics
    that the program declares or the user named.
    """

    scheme: str
    kind: ScoreKind
    runs: Sequence[RowRun]
    repeat: int = 1
    not_run: int = 0
    stopped: str | None = None
    program: str = ""
    model: str = ""
    simulated: bool = False
    seed: int = 0
    data: str = ""
    selection: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    spent: Spent = NOTHING_SPENT
    unscored: str | None = None
    endpoints: Sequence[Address] = ()
    kinds: Mapping[str, ScoreKind] = field(default_factory=dict)
    _tally: list[Tally] = field(default_factory=list, init=False, compare=False)
    _intervals: dict[tuple[str, int], Interval] = field(default_factory=dict, init=False, compare=False)

    @property
    def tally(self) -> Tally:
        """The data of its sums and means."""
        if isinstance(self.runs, StoredRuns):
            return self.runs.tally
        if not self._tally:
            tally = Tally()
            for run in self.runs:
                tally.add(run)
            self._tally.append(tally)
        return self._tally[0]

    @property
    def row_count(self) -> int:
        """The number of rows with a finished run, including failed ones."""
        return self.tally.row_count

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of all metrics, in the order of tables."""
        score, *others = METRICS
        return (score, *self.kinds, *others)

    def kind_of(self, metric: str) -> ScoreKind:
        """The description of a metric."""
        return self.kind if metric == "score" else self.kinds.get(metric) or _KINDS[metric]

    def unit(self, metric: str) -> str:
        """The metric whose values have the same format as another's: shares are written like `correct`."""
        return "correct" if self.kind_of(metric).share else metric

    def failures(self) -> Counter[str]:
        """The number of failed runs by reason. Quoted responses are left out of a reason, so that equal
        reasons count together; `reason` of a run has them."""
        return self.tally.failures()

    def invalid(self) -> list[int]:
        """The rows with an invalid result."""
        return self.tally.invalid()

    def unknown(self) -> list[tuple[str, str, list[int]]]:
        """Missing metrics that the program measures: the metric, the reason, and the rows. Failed and partial
        runs are counted elsewhere."""
        return self.tally.unknown()

    def remarks(self) -> Iterator[str]:
        """Facts that the means do not show: invalid results, and missing metrics."""

        def of(rows: list[int]) -> str:
            first = ", ".join(map(str, rows[:_MOST_ROWS])) + (", ..." if len(rows) > _MOST_ROWS else "")
            return f"{len(rows)} of {self.row_count} rows (row {first})"

        if rows := self.invalid():
            yield f"not valid: the result of {of(rows)}; its metrics count"
        alike: dict[str, list[str]] = {}
        for metric, reason, rows in self.unknown():
            alike.setdefault(f"{of(rows)}: {reason[:300]}", []).append(self.kind_of(metric).name)
        for where, names in alike.items():
            yield f"{', '.join(names)} unknown: {where}"
        if self.unscored is not None and not self.values("score") and not self.values("correct"):
            yield f"score unknown: {self.unscored}"
        elif (
            not alike
            and self.values("calls")
            and not any(map(self.values, ("score", "correct", *self.kinds)))
        ):
            yield _UNMEASURED

    def values(self, metric: str) -> Mapping[int, float]:
        """A metric by row: the mean over its runs that have it.

        Partial runs are omitted. A failed run has no score, and counts as incorrect if correctness is known
        for other runs; its cost counts, so that failing does not appear cheap.
        """
        return dict(zip(*self._by_row(metric), strict=True))

    def _by_row(self, metric: str) -> tuple[Sequence[int], Sequence[float]]:
        return self.tally.values(metric, of_failed=metric in SPENDINGS or metric in self.kinds)

    def mean(self, metric: str) -> float | None:
        """The mean of a metric over the rows; None if no row has it."""
        _, values = self._by_row(metric)
        return fmean(values) if values else None

    @property
    def cost_metric(self) -> CostMetric:
        """The unit of its cost."""
        return cost_metric([self])

    def interval(self, metric: str, *, seed: int = 0) -> Interval | None:
        """The mean of a metric over the rows with its 95% CI, by a bootstrap with this `seed`; None if no row
        has it. Bounds are limited to possible values: no negative cost, nothing beyond the best score."""
        if (metric, seed) in self._intervals:
            return self._intervals[metric, seed]
        _, values = self._by_row(metric)
        if not values:
            return None
        kind = self.kind_of(metric)
        if kind.share:
            return share_interval(values)
        best = 0.0 if metric in SPENDINGS else kind.best
        ends = [end for end in (best, kind.worst) if end is not None]
        least = max((end for end in ends if end <= min(values)), default=-math.inf)
        most = min((end for end in ends if end >= max(values)), default=math.inf)
        found = within(mean_interval(values, seed=seed), least, most)
        self._intervals[metric, seed] = found
        return found

    def median(self, metric: str) -> float | None:
        """The median of a metric over the rows; None if no row has it."""
        _, values = self._by_row(metric)
        return median(values) if values else None

    def sum(self, metric: str) -> float | None:
        """The sum of a metric over every run that ended; None if one of them does not have it."""
        return self.tally.sum(metric)

    def about(self) -> dict[str, Any]:
        """The description of the evaluation at the start of documents and reports."""
        names = ("program", "scheme", "model", "simulated", "seed", "data", "selection", "repeat")
        endpoints = [structs.asdict(one) for one in self.endpoints]
        return {"rows": self.row_count, **{n: getattr(self, n) for n in names}, "endpoints": endpoints}

    def summary(self) -> dict[str, Any]:
        """Means with intervals, sums, and failures by reason."""
        return {
            "metric_name": self.kind.name,
            "metric_of": self.kind.of,
            "lower_is_better": self.kind.lower,
            "metrics": {
                name: {**found, "median": self.median(name)}
                if (found := interval_dict(self.interval(name))) is not None
                else None
                for name in self.metrics
            },
            "declared": {
                name: {"of": kind.of, "lower_is_better": kind.lower, "best": kind.best, "share": kind.share}
                for name, kind in self.kinds.items()
            },
            "sum": {name: self.sum(name) for name in SPENDINGS},
            "invalid": self.invalid(),
            "unknown": [{"metric": m, "reason": reason, "rows": rows} for m, reason, rows in self.unknown()],
            "failed": [{"reason": reason, "runs": runs} for reason, runs in self.failures().most_common()],
            "stopped": self.stopped,
            "not_run": self.not_run,
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what was run, each metric's mean with its interval, failures by reason, every run."""
        return {
            "format_version": FORMAT_VERSION,
            **self.about(),
            **self.summary(),
            "spent": self.spent.to_dict(),
            "columns": dict(self.columns),
            **(
                {"out": str(self.runs.path)}
                if isinstance(self.runs, StoredRuns)
                else {"runs": [run.to_dict() for run in self.runs]}
            ),
        }

    def rows(self) -> list[dict[str, Any]]:
        """The runs, with inputs and known answers: a data frame has one row per run."""
        return [
            {**{f"input_{k}": v for k, v in run.row.inputs.items()}, "truth": run.row.truth, **run.to_dict()}
            for run in self.runs
        ]

    def facts(self) -> list[tuple[str, str]]:
        """The metrics with their intervals, and the model."""
        known = {self.kind_of(name).name: self.interval(name) for name in self.metrics}
        found = [(name, str(interval)) for name, interval in known.items() if interval is not None]
        model = self.model + (" (simulated)" if self.simulated else "")
        return [("evaluation", f"of {self.scheme}: {self.row_count} rows"), *found, ("model", model)]


def interval_dict(found: Interval | None) -> dict[str, Any] | None:
    """An interval as plain data."""
    return None if found is None else dataclasses.asdict(found)


def cost_metric(evaluations: Iterable[Evaluation]) -> CostMetric:
    """The unit in which costs are compared: dollars if all runs have a cost, else tokens, else calls."""
    ended = [found for found in evaluations if found.tally.states()["done"]]
    for metric in ("cost", "tokens"):
        means = [found.mean(metric) for found in ended]
        if means and None not in means and any(means):
            return metric
    return "calls"


class Notes(Protocol):
    """Collected data about runs, wherever they run; created without arguments."""

    def note(self, event: Event) -> None:
        """Process an event of a run."""

    def add(self, more: Self) -> None:
        """Add data that was collected elsewhere."""


class Engine(Protocol):
    """Runs rows elsewhere."""

    def parallel(self, rows: int) -> int:
        """Maximum number of concurrent rows, given the maximum for one process."""

    def job(
        self,
        runner: Runner,
        scheme: Scheme,
        metric: Metric,
        measures: Sequence[ir.MetricFunction],
        *,
        count_missing: bool,
        notes: Notes | None,
    ) -> Callable[[Row, int], Awaitable[RowRun]]:
        """A function that runs a row, as `run_one` does; the data that it collects is added to `notes`."""

    async def settle(self) -> None:
        """Count in the session's budget all that was spent elsewhere."""


async def evaluate(
    session: Session,
    data: Dataset,
    *,
    scheme: str | Scheme | None = None,
    metrics: Sequence[str] = (),
    repeat: int = 1,
    first_repeat: int = 0,
    parallel: int = DEFAULT_PARALLEL,
    max_failed: float = DEFAULT_MAX_FAILED,
    on_start: Callable[[Evaluation], None] = lambda evaluation: None,
    on_row: Callable[[RowRun], None] | None = None,
    stopping: Callable[[], str | None] = lambda: None,
    engine: Engine | None = None,
    out: str | Path | None = None,
) -> Evaluation:
    """Run a scheme (default: the program's own choice) on every row of a dataset, on an engine, if one is
    given.

    Each row runs `repeat` times, with seeds from the session's plus `first_repeat` on, at most `parallel`
    rows at a time. Once a limit is reached, the session is stopped, `stopping` gives a reason, or a larger
    share than `max_failed` of the runs has failed, no more are started, and the result says why. `on_start`
    is called with the evaluation as it is without runs, `on_row` for each run that ended. With a file `out`
    runs are written there as they end and read from there, and those with a result that it has already, from
    the same evaluation, are not repeated. `metrics` are measured first, before the others that the program
    declares. Raises UsageError for inputs that the scheme does not accept, for `metrics` that are unknown, do
    not match the scheme or need known answers that the data does not have, and for `out` if it cannot be
    written or has other results.
    """
    if not isinstance(scheme, Scheme):
        scheme = session.ir.scheme(session.program.scheme(scheme).name)
    session.check_answered()
    metric, measures = session.program.metric(scheme), session.program.metrics(scheme, metrics)
    check_truth(data, [each for each in measures if each.name in metrics])
    total = repeat * len(data.rows)
    model = session.options.chosen_model
    empty = Evaluation(
        scheme.name,
        metric.kind,
        (),
        repeat,
        total,
        None,
        session.program.name,
        model if isinstance(model, str) else session.model.name,
        session.model.simulated,
        session.options.seed,
        data.name,
        str(data.selection),
        data.matching.columns,
        unscored=metric.help,
        kinds={each.name: kind_of(each) for each in measures},
    )
    on_start(empty)
    runs: list[RowRun] | StoredRuns = []
    if out is not None:
        runs = StoredRuns(out, _identity(session, data, scheme, metrics, (repeat, first_repeat)), data.row)
        if on_row is not None:
            for run in runs:
                on_row(run)
    failed, stopped = 0, stopping()

    def stop() -> bool:
        nonlocal stopped
        stopped = stopped or stopping()
        return stopped is not None

    started = run_each(
        _with_scheme(session.runner, scheme),
        scheme,
        data.rows,
        metric=metric,
        measures=measures,
        repeat=repeat,
        first_repeat=first_repeat,
        parallel=parallel,
        stop=stop,
        engine=engine,
        ended=lambda row, repeat: isinstance(runs, StoredRuns) and runs.has(row, repeat),
    )
    async with aclosing(started):
        async for run in started:
            runs.append(run)
            failed += run.state == "failed"
            if run.state == "partial":
                stopped = stopped or run.reason
            elif failed > math.floor(max_failed * total) and stopped is None:
                many = "1 run" if failed == 1 else f"{failed} runs"
                stopped = f"{many} failed, which is more than --max-failed allows"
            if on_row is not None:
                on_row(run)
    if engine is not None:
        await engine.settle()
    if isinstance(runs, StoredRuns):
        runs.close()
    return dataclasses.replace(
        empty,
        runs=runs if isinstance(runs, StoredRuns) else sorted(runs, key=lambda r: (r.row.number, r.repeat)),
        not_run=total - len(runs),
        stopped=stopped,
        spent=session.spent,
        endpoints=session.endpoints,
    )


def _identity(
    session: Session, data: Dataset, scheme: Scheme, metrics: Sequence[str], repeats: tuple[int, int]
) -> str:
    """16 hexadecimal digits of all that the runs depend on."""
    options, program = session.options, session.program
    digest = sha256()
    sources = program.compilation.sources.values()
    settings = (options.seed, options.level, options.prefer, options.wave, options.batching, *repeats)
    model = (session.model.name, session.model.endpoint, sorted(session.params.items()), *metrics)
    for part in (*(source.text for source in sources), scheme.name, *settings, *model):
        digest.update(f"{part}\0".encode("utf-8", "replace"))
    for entry in (*session.ir.python, *session.ir.simulators):
        file = resolve(entry.folder, entry.path)
        digest.update(file.read_bytes() if file.is_file() else b"")
    for row in data.rows:
        digest.update(to_json([row.number, row.inputs, row.truth]).encode() + b"\n")
    return digest.hexdigest()[:16]


def check_truth(data: Dataset, metrics: Sequence[ir.MetricFunction]) -> None:
    """Raise UsageError for a metric that needs known answers if no row has one."""
    lacking = [each.name for each in metrics if needs_truth(each)]
    if lacking and all(row.truth is None for row in data.rows):
        raise UsageError(
            f"metric `{lacking[0]}` needs the known answers, and {data.name} has no column for them",
            help="name it: `--map truth=COLUMN`",
        )


async def run_each(
    runner: Runner,
    scheme: Scheme,
    rows: Sequence[Row],
    *,
    metric: Metric,
    measures: Sequence[ir.MetricFunction] = (),
    repeat: int = 1,
    first_repeat: int = 0,
    parallel: int = DEFAULT_PARALLEL,
    stop: Callable[[], bool] = lambda: False,
    count_missing: bool = False,
    engine: Engine | None = None,
    notes: Notes | None = None,
    ended: Callable[[Row, int], bool] = lambda row, repeat: False,
) -> AsyncGenerator[RowRun, None]:
    """Run a scheme on rows and yield each run as it ends; one that fails does not end the others.

    Once `stop` returns true no more runs are started, and those in progress are awaited. `count_missing`
    counts the calls that the model did not answer. With an `engine` rows run elsewhere; `notes` collects data
    about them. Runs that have `ended` are left out. Raises UsageError for inputs that no run accepts.
    """
    if engine is not None:
        run = engine.job(runner, scheme, metric, measures, count_missing=count_missing, notes=notes)
    else:
        if notes is not None:
            runner = structs.replace(runner, observe=guarded([runner.observe, notes.note], {}))

        def run(row: Row, repeat: int) -> Awaitable[RowRun]:
            return run_one(runner, scheme, row, repeat, metric, measures, count_missing=count_missing)

    all_runs = ((row, first_repeat + number) for number in range(repeat) for row in rows)
    waiting = (each for each in all_runs if not ended(*each))
    done: asyncio.Queue[asyncio.Task[RowRun]] = asyncio.Queue()
    running: set[asyncio.Task[RowRun]] = set()
    try:
        while True:
            most = parallel if engine is None else engine.parallel(parallel)
            while len(running) < most and not stop() and (chosen := next(waiting, None)) is not None:
                task = asyncio.ensure_future(run(*chosen))
                running.add(task)
                task.add_done_callback(done.put_nowait)
            if not running:
                return
            task = await done.get()
            running.discard(task)
            yield task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _with_scheme(runner: Runner, scheme: Scheme) -> Runner:
    """The runner; for a scheme that is not in its program, a runner whose program has it too."""
    if any(known.name == scheme.name for known in runner.program.schemes):
        return runner
    program = structs.replace(runner.program, schemes=(*runner.program.schemes, scheme))
    return structs.replace(runner, program=program)


async def run_one(
    runner: Runner,
    scheme: Scheme,
    row: Row,
    repeat: int,
    metric: Metric,
    measures: Sequence[ir.MetricFunction],
    *,
    count_missing: bool,
) -> RowRun:
    """One run of a row. Raises UsageError for inputs that no run accepts."""
    counter, evaluate = _MissingCounter(runner.observe), runner.tables.evaluate
    if repeat or count_missing:
        settings = structs.replace(runner.settings, seed=runner.settings.seed + repeat)
        observe = counter if count_missing else runner.observe
        runner = structs.replace(runner, settings=settings, observe=observe)
    found: dict[str, Any]
    try:
        outcome = await runner.run(scheme, row.inputs, row.truth, has_truth=row.truth is not None)
    except UsageError:
        raise
    except GotError as error:
        counted = (each for each in measures if row.truth is not None or not needs_truth(each))
        lost = {each.name: float(each.failed) for each in counted if each.failed is not None}
        found = {"state": "failed", "reason": _reason(error), "error": error, "metrics": lost}
        spent = error.outcome if isinstance(error, RunError) else None
        if spent is None:
            return RowRun(row, repeat, **found)
        outcome = spent  # its spending until then counts; its seconds are not those of a path to a result
    else:
        scored = metric.score(outcome.score, outcome.value, row.inputs, evaluate, runner.params)
        more = measure(measures, outcome.value, row.inputs, row.truth, evaluate, runner.params)
        why = {"score": scored.reason, "correct": _unmeasured(runner.program, scheme, row, outcome)}
        why |= {name: each.reason for name, each in more.items()}
        found = {
            "state": "done" if outcome.partial is None else "partial",
            "value": outcome.value,
            "valid": outcome.valid,
            "score": scored.value,
            "truth": outcome.truth,
            "seconds": outcome.times[1],
            "reason": outcome.partial,
            "metrics": {name: each.value for name, each in more.items() if each.value is not None},
            "unknown": {name: why for name, why in why.items() if why and outcome.partial is None},
        }
    account = outcome.ledger.accounts[1]
    return RowRun(
        row,
        repeat,
        **found,
        usd=account.usd,
        tokens=account.input_tokens + account.output_tokens,
        calls=account.calls,
        failed_thoughts=len(outcome.failures),
        notes=tuple(failure.reason for failure in outcome.failures[:3]),
        missing=counter.count,
        away=counter.away,
    )


def _unmeasured(program: Program, scheme: Scheme, row: Row, outcome: Outcome) -> str | None:
    """Why it is unknown whether the result of a row is right, although the scheme measures it."""
    measures = [step for step in steps(program, scheme) if isinstance(step, ir.GroundTruth)]
    if outcome.truth is not None or not measures:
        return None
    spans = {step.span for step in measures}
    failed = (failure.reason for failure in outcome.failures if failure.span in spans)
    if row.truth is None and looks_at_truth(program, scheme):
        return NO_TRUTH
    return next(failed, "`GroundTruth` was not reached")


@final
class _MissingCounter:
    """Counts calls that the model did not answer; forwards events to another observer."""

    def __init__(self, other: Observer | None) -> None:
        self._other = other
        self.count = 0
        self.away = False

    def __call__(self, event: Event) -> None:
        """Process an event of the run."""
        if isinstance(event, Asked):
            lost = [s for s in event.samples if isinstance(s, MissingSample) and not s.cut_off]
            self.count += len(lost)
            self.away = self.away or any(sample.retryable for sample in lost)
        if self._other is not None:
            self._other(event)


def _reason(error: GotError) -> str:
    """Why a run failed, without the place in its graph, so that equal reasons count together."""
    failures: Sequence[Any] = getattr(error, "failures", ())
    fatal = [failure for failure in failures if failure.sample is None] or list(failures)
    return str(fatal[0].reason) if fatal else error.message
