"""Runs the tests and laws of a program: examples that must be true, and claims about random inputs.

A law holds if the whole Wilson interval of its share is at or above the claimed share, does not hold if the
whole interval is below, and is undecided otherwise. One that claims no share must be true for each input. A
run with requests that its recording does not contain decides nothing.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, Literal, final

from gotlang.cache.cassette import ReplayModel
from gotlang.errors import UsageError
from gotlang.evaluate.evaluation import run_one
from gotlang.evaluate.rows import Row, read_dataset
from gotlang.evaluate.runs import RowRun
from gotlang.ir.program import Scheme
from gotlang.ir.text import LOCAL_SCORE
from gotlang.metric import Metric, ScoreKind
from gotlang.runtime.python import resolve
from gotlang.semantics.generators import DataRows as FileRows
from gotlang.semantics.generators import Generator
from gotlang.semantics.test_declarations import HOLDS, DeclaredTest
from gotlang.session import Session
from gotlang.span import Span
from gotlang.statistics import Interval, share_interval
from gotlang.types import DYNAMIC, RecordType

DRAWS: Final = 100
"""Default number of inputs of a law."""
PARALLEL: Final = 16
MOST_SHRINKS: Final = 60
"""Maximum number of runs in search of a simpler counterexample."""

Verdict = Literal["holds", "does not hold", "undecided"]


@final
@dataclass(frozen=True, slots=True)
class TestResult:
    """The result of a test or a law. It was true in `held` of `times` runs, whose share has the confidence
    interval `interval`; `claimed` is the share to be reached (None: every run). `inputs` are those of the
    simplest counterexample, and `seen` are the results of its calls, by their texts. `reason` says why a run
    failed or a limit ended it. `calls`, `usd` (None: unknown) and `seconds` are those of all its runs with an
    empty cache."""

    name: str
    kind: str
    verdict: Verdict
    span: Span
    held: int
    times: int
    claimed: float | None = None
    interval: Interval | None = None
    inputs: Mapping[str, Any] | None = None
    seen: Mapping[str, Any] | None = None
    reason: str | None = None
    calls: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The result as plain JSON."""
        shown = {name: getattr(self, name) for name in self.__slots__ if name not in ("span", "interval")}
        interval = None if self.interval is None else [self.interval.low, self.interval.high]
        return {**shown, "interval": interval, "file": self.span.source}


@final
@dataclass(frozen=True, slots=True)
class TestReport:
    """The results of a program's tests in the order of the source; `stopped` is why no more were run."""

    program: str
    model: str
    simulated: bool
    results: tuple[TestResult, ...]
    stopped: str | None = None

    @property
    def ok(self) -> bool:
        """Whether every test holds."""
        return self.stopped is None and all(result.verdict == "holds" for result in self.results)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON."""
        head = {"program": self.program, "model": self.model, "simulated": self.simulated}
        return {**head, "stopped": self.stopped, "tests": [result.to_dict() for result in self.results]}


async def run_tests(
    session: Session, tests: tuple[DeclaredTest, ...], on_test: Callable[[TestResult], None]
) -> TestReport:
    """Run tests in sequence, the inputs of a law concurrently. `on_test` gets each result. The session is
    that of a program whose tests are among its schemes. Raises UsageError for rows that cannot be read."""
    drawn = [_draws(test, session) for test in tests]
    results: list[TestResult] = []
    for test, inputs in zip(tests, drawn, strict=True):
        if session.stopped is not None:
            break
        limits, budget = test.limits, session.runner.budget
        calls = limits.get("calls")
        with budget.at_most(limits.get("usd"), None if calls is None else int(calls)):
            budget.check(session.model)
            results.append(await _Trial(session, test).run(inputs))
        on_test(results[-1])
    return TestReport(
        session.program.name, session.model.name, session.model.simulated, tuple(results), session.stopped
    )


def _draws(test: DeclaredTest, session: Session) -> list[dict[str, Any]]:
    """The inputs of each run: none for a test, random ones for a law. Each depends on the session's seed, the
    law, its own number and the name of the input, so that a larger number begins with the same ones."""
    if not test.inputs:
        return [{}]
    times = test.node.times or DRAWS
    seed = f"{session.options.seed} {test.node.name.value}"
    columns: dict[str, list[Any]] = {}
    for name, made in test.inputs:
        if made.rows is None:
            columns[name] = [made.draw(random.Random(f"{seed} {number} {name}")) for number in range(times)]
        else:
            rows = _rows(made, made.rows, session)
            order = random.Random(f"{seed} {name}").sample(range(len(rows)), len(rows))
            columns[name] = [rows[order[number % len(rows)]] for number in range(times)]
    if all(made.rows is not None for _, made in test.inputs):
        times = min(times, max(len(set(map(repr, column))) for column in columns.values()))
    return [{name: column[number] for name, column in columns.items()} for number in range(times)]


def _rows(made: Generator, rows: FileRows, session: Session) -> list[Any]:
    """The rows of a file as records. Raises UsageError for one that cannot be read."""
    assert isinstance(made.type, RecordType)
    folder = PurePosixPath(rows.span.source).parent
    reader = Scheme("rows", made.type.fields, DYNAMIC, False, False, DYNAMIC, LOCAL_SCORE)
    try:
        data = read_dataset(resolve(str(folder), rows.path), session.ir, reader, dict(rows.columns))
    except UsageError as error:
        help = 'name the column of a field: `rows("data.csv", {n: int}, n="Number")`'
        raise UsageError(f"rows of a law: {error.message}", help=help) from None
    return [dict(row.inputs) for row in data.rows]


_NO_METRIC = Metric(ScoreKind())


@final
class _Trial:
    """Runs one test or law."""

    def __init__(self, session: Session, test: DeclaredTest) -> None:
        self.session = session
        self.test = test
        self.scheme = session.ir.scheme(test.scheme.name.text)
        self.replayed = isinstance(session.model, ReplayModel)
        self.runs: list[RowRun] = []

    async def run(self, draws: list[dict[str, Any]]) -> TestResult:
        """All runs, and after one that is false those that look for a simpler counterexample."""
        most = asyncio.Semaphore(PARALLEL)

        async def one(number: int, inputs: dict[str, Any]) -> RowRun | None:
            async with most:
                cut = self.session.stopped is not None or any(run.state == "partial" for run in self.runs)
                return None if cut else await self._once(number, inputs)

        # In a group the first one that fails by itself ends the others.
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(number, inputs)) for number, inputs in enumerate(draws)]
        runs = [run for task in tasks if (run := task.result()) is not None and _complete(run)]
        return await self._result(runs, len(draws))

    async def _once(self, number: int, inputs: dict[str, Any]) -> RowRun:
        """One run; each input has a seed of its own, so that equal ones are requested separately."""
        row = Row(number, inputs)
        run = await run_one(
            self.session.runner, self.scheme, row, number, _NO_METRIC, (), count_missing=self.replayed
        )
        self.runs.append(run)
        return run

    async def _result(self, runs: list[RowRun], planned: int) -> TestResult:
        test = self.test
        held, law = sum(map(_held, runs)), bool(test.inputs)
        cut = next((_unknown(run) for run in self.runs if not _complete(run)), self.session.stopped)
        share = test.node.share
        claimed = float(str(share.value)) if share is not None else None
        interval = share_interval([float(_held(run)) for run in runs]) if law and runs else None
        failing = next((run for run in runs if not _held(run)), None)
        verdict: Verdict = "undecided"
        if claimed is None or claimed == 1:
            if failing is not None:
                verdict = "does not hold"
            elif len(runs) == planned:
                verdict = "holds"
        elif interval is not None and len(runs) == planned:  # a limit leaves the cheaper inputs
            if interval.low >= claimed:
                verdict = "holds"
            elif interval.high < claimed:
                verdict = "does not hold"
        if failing is not None and verdict == "does not hold":
            failing = await self._simplest(failing)
        seen = dict(failing.value) if failing is not None and isinstance(failing.value, dict) else None
        spent = [run.usd for run in self.runs]
        return TestResult(
            str(test.node.name.value),
            "law" if law else "test",
            verdict,
            test.node.span,
            held,
            len(runs),
            claimed,
            interval,
            failing.row.inputs if failing is not None and law else None,
            {name: value for name, value in seen.items() if name != HOLDS} if seen else None,
            cut if verdict == "undecided" else failing.reason if failing is not None else None,
            sum(run.calls or 0 for run in self.runs),
            None if None in spent else sum(usd or 0.0 for usd in spent),
            sum(run.seconds or 0.0 for run in self.runs),
        )

    async def _simplest(self, failing: RowRun) -> RowRun:
        """The simplest counterexample found by trying simpler inputs, one at a time."""
        generators, tried = dict(self.test.inputs), 0
        while True:
            inputs = failing.row.inputs
            for other in (
                {**inputs, name: value} for name in inputs for value in generators[name].simpler(inputs[name])
            ):
                if tried == MOST_SHRINKS or self.session.stopped is not None:
                    return failing
                tried += 1
                run = await self._once(failing.repeat, other)
                if run.state == "partial":
                    return failing
                if _complete(run) and not _held(run):
                    failing = run
                    break
            else:
                return failing


def _complete(run: RowRun) -> bool:
    """Whether a run had all samples that it requested: no limit ended it, and nothing is missing in its
    recording."""
    return run.state != "partial" and not run.missing


def _unknown(run: RowRun) -> str | None:
    """Why an incomplete run decides nothing."""
    if not run.missing:
        return run.reason
    return f"{run.missing} of its calls not recorded: {next(iter(run.notes), run.reason)}"


def _held(run: RowRun) -> bool:
    return run.state == "done" and isinstance(run.value, dict) and run.value[HOLDS] is True
