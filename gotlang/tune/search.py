"""The search of a study: planned measurements are made, by any number of workers, until little can be gained.

A study's trials are measurements: a point on some more rows. They are planned in batches (see `allocation`),
each from the results of earlier ones alone: independent of the worker, of which trial ended first, and of
whether the study was killed and resumed. All points of a space of up to `LISTED` points are candidates; of a
larger one some are proposed by Optuna's samplers, at random, and as neighbours of good points.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, pstdev
from typing import final

from gotlang.errors import UsageError
from gotlang.evaluate.rows import Row
from gotlang.tune.allocation import FIRST, Allocation, Cells, PointFacts
from gotlang.tune.plan import StudyPlan
from gotlang.tune.points import CellSamples, Measured, PointRunner, excess, leads, mean, more_failures
from gotlang.tune.prices import packed
from gotlang.tune.sampler import Proposals
from gotlang.tune.selections import SelectionStatistics, add
from gotlang.tune.space import Point, key_of
from gotlang.tune.structure import variants_of
from gotlang.tune.trials import Trial, TrialResult, TrialStore

FAILURES = "failures"
"""The constraint that every study has: no more rows without a result than the untuned program."""
LISTED, MOST_POINTS = 512, 256
"""Maximum number of points of a space that is listed, and approximately of the points of a larger one that
run: the time of the model of all points grows with the cube of their number."""
PROPOSED = 16
NEAR = 6
BY_CHANCE = 48
"""Number of candidates at a time in a larger one: by Optuna, near the best, at random."""
SHARE, FEW = 0.45, 4
"""The search spends at most this share of the cost of its trials on all train rows without a cache; or of
this number of trials, if it has few."""
PARALLEL = 8
"""Measurements that one worker runs at a time; one if time is simulated, and if runs do not know which
requests of others are in flight."""
CLAIM_S = 0.02
"""Seconds between two claims of a worker, which needs a free slot for requests to claim another measurement:
what it has no slots for is left to other workers."""


@final
@dataclass(slots=True)
class StudyProgress:
    """The progress of a study: how many `cells` (a point on a row) were measured, and their `share` of the
    search's limit. `finished` are the points that were run, by the number of their first trial. `stage` names
    the current stage other than the search."""

    cells: int = 0
    share: float = 0.0
    finished: dict[int, Trial] = field(default_factory=dict)
    best: Trial | None = None
    rejected: int = 0
    stage: str = ""


@final
class StudySearch:
    """Runs this worker's measurements of a study. `rows` are the train rows: it is given no others, only the
    number of those by which its best point will be `judged`.

    `on_known` is called with the points that were measured, the untuned program first, and the best of them,
    before each batch. `refuse` tells that a point surely violates a constraint.
    """

    def __init__(
        self,
        points: PointRunner,
        store: TrialStore,
        rows: Sequence[Row],
        judged: int,
        refuse: Callable[[Point], bool],
        observe: Callable[[StudyProgress], None] = lambda _: None,
        on_known: Callable[[Sequence[Trial], Sequence[Trial]], None] = lambda _, __: None,
    ) -> None:
        self.plan: StudyPlan = points.plan
        self.points = points
        self.store = store
        self.train = tuple(rows)
        seed = points.session.options.seed
        trials = self.plan.trials
        most = round(max(SHARE * trials, min(trials, FEW)) * len(rows))
        grows = bool(variants_of(self.plan))
        shares = frozenset(at for at, each in enumerate(self.plan.constraints, start=1) if each.of_results)
        self.allocation = Allocation(points.space, len(rows), judged, most, seed, refuse, grows, shares)
        self.progress = StudyProgress()
        self.best: list[Trial] = []
        """The best points so far, a single one if there is one objective."""
        self.expected: dict[int, float] = {}
        """The expected losses of points, by the numbers of their trials."""
        self._merged: Merged = {}
        self._observe = observe
        self._on_known = on_known
        self._chance = random.Random(f"points {seed}")
        grid = self.plan.sampler.name == "grid"
        listed = points.space.points(points.space.combinations if grid else LISTED)
        self._listed = None if listed is None else {key_of(point): point for point in listed}
        self._proposals: Proposals | None = None
        if self._listed is None:
            maximize = [objective.maximize for objective in self.plan.objectives]
            self._proposals = Proposals(points.space, self.plan.sampler, seed=seed, maximize=maximize)

    async def run(self) -> None:
        """Measure until the search is over. Raises BudgetExceeded; finished measurements are stored."""
        self._show()
        start = 0
        while planned := self._planned(start):
            await self._measure(start, planned)
            start += len(planned)
        self.store.skip()
        self._show()

    def measured(self, below: int | None = None) -> dict[int, Trial]:
        """The measurements of the trials below a number, point by point."""
        return merged(self.plan, self.store.finished(below).values(), len(self.train), self._merged)

    # ---------------------------------------------------------------- planning

    def _planned(self, start: int) -> list[Cells]:
        """The measurements that follow those below a number."""
        space, rows = self.points.space, len(self.train)
        grid = self.plan.sampler.name == "grid"
        if start == 0:
            return [Cells(space.start, 0, rows if grid else min(FIRST, rows))]
        known = self.measured(start)
        answered = (row for row, run in zip(self.train, known[0].rows, strict=False) if run.calls)
        self.points.answered = self.points.answered or next(answered, None)
        trials = list(known.values())
        self._on_known(trials, [known[trial.number] for trial in self.best])
        if grid:
            others = [point for point in (self._listed or {}).values() if dict(point) != dict(space.start)]
            self.best = [best_of(self.plan, known.values()) or known[0]]
            self.expected = {n: _costs(self.plan, t)[0] for n, t in known.items() if t.result.values}
            return [Cells(point, 0, rows) for point in others] if start == 1 else []
        facts = [self._facts(trial, trials[0]) for trial in trials]
        planned, best = self.allocation.plan(
            facts, self._new(trials), self._scale(trials), finite=self._listed is not None
        )
        self.best = [trials[place] for place in best]
        self.expected = dict(zip(known, self.allocation.expected, strict=False))
        return planned

    def _new(self, trials: Sequence[Trial]) -> list[Point]:
        """Points that were not run yet: all, or some that are proposed."""
        seen, space = {key_of(trial.point) for trial in trials}, self.points.space
        if self._listed is not None:
            return [point for key, point in self._listed.items() if key not in seen]
        if len(trials) >= MOST_POINTS:
            return []
        assert self._proposals is not None
        for trial in trials:
            self._proposals.tell(trial.point, trial.result)
        found: list[Point] = [*self._proposals.points(PROPOSED)]
        for trial in (*self.best, *sorted(trials, key=self._order)[:2]):
            found += [space.near(trial.point, self._chance) for _ in range(NEAR)]
        found += [space.sample(self._chance) for _ in range(BY_CHANCE)]
        return list({key: p for p in found if (key := key_of(p)) not in seen}.values())

    def _order(self, trial: Trial) -> tuple[bool, float]:
        values = trial.result.values
        return not trial.feasible, self.plan.objectives[0].sign * values[0] if values else 0.0

    def _scale(self, trials: Sequence[Trial]) -> list[float]:
        """By objective, the scale of differences: the untuned program's mean, or the spread of the points if
        that is larger."""
        out = []
        for at, _ in enumerate(self.plan.objectives):
            means = [trial.result.values[at] for trial in trials if trial.result.values is not None]
            own = trials[0].result.values
            out.append(max(abs(own[at]) if own else 0.0, pstdev(means) if means else 0.0) or 1.0)
        return out

    def _facts(self, trial: Trial, baseline: Trial) -> PointFacts:
        """The data about a point for the plan."""
        plan, others = self.plan, beside(baseline.rows, len(trial.rows), len(self.train))

        def values(at: int, sign: float) -> list[float | None]:
            return [None if (value := row.objectives[at]) is None else sign * value for row in trial.rows]

        def over(at: int) -> list[float | None]:
            constraint, own = plan.constraints[at], [row.quantities[at] for row in trial.rows]
            middle = mean([row.quantities[at] for row in others])
            bases = [row.quantities[at] for row in others]
            if not constraint.relative:
                bases = [middle] * len(own)

            def by(a: float | None, b: float | None) -> float | None:
                if a is None or b is None or middle is None:
                    return None
                try:
                    return excess(constraint, a, b)
                except UsageError:  # a bound that single rows do not have
                    return excess(constraint, a, middle)

            return [by(a, b) for a, b in zip(own, bases, strict=False)]

        costs = [row.usd for row in trial.rows]
        known = [cost for cost in costs if cost is not None]
        return PointFacts(
            trial.point,
            len(trial.rows),
            [values(at, objective.sign) for at, objective in enumerate(plan.objectives)],
            [
                more_failures(trial.rows, others),
                *(over(at) for at in range(len(plan.constraints))),
            ],
            trial.asked,
            fmean(known) if len(known) == len(costs) and any(known) else fmean(r.calls for r in trial.rows),
            trial.result.values is None or all(row.failure for row in trial.rows),
            trial.selections,
        )

    # ---------------------------------------------------------------- measuring

    async def _measure(self, start: int, planned: Sequence[Cells]) -> None:
        """Run this worker's part of what is planned, and wait for the others' parts."""
        end, known = start + len(planned), self.measured(start)
        running: set[asyncio.Task[None]] = set()
        session = self.points.session
        most = 1 if session.model.simulated or session.coordination is None else PARALLEL
        slots, more = session.runner.limits.total, True
        try:
            while True:
                if not running or (more and slots.free and len(running) < most):
                    if (number := self._number(end)) is not None:
                        running.add(asyncio.ensure_future(self._run(number, planned[number - start], known)))
                    more = number is not None
                if running:
                    pause = CLAIM_S if more and len(running) < most else None
                    done, running = await asyncio.wait(
                        running, timeout=pause, return_when=asyncio.FIRST_COMPLETED
                    )
                    more = more or bool(done)
                    if failed := [error for task in done if (error := task.exception()) is not None]:
                        if session.stopped is not None and running:
                            await asyncio.wait(running)  # they send no more; sent requests are paid for
                        raise failed[0]
                elif len(await self.store.wait(end)) >= end:
                    return
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _number(self, end: int) -> int | None:
        """The number of a measurement to run now: one whose worker no longer runs, else a new one."""
        orphan = self.store.orphan(end)
        return orphan if orphan is not None else self.store.claim(end)

    async def _run(self, number: int, cells: Cells, known: Mapping[int, Trial]) -> None:
        noted = CellSamples()
        rows = await self._cells(cells, noted)
        if number == 0 and all(row.failure for row in rows) and len(rows) < len(self.train):
            rows += await self._cells(Cells(cells.point, len(rows), len(self.train)), noted)
        if number == 0 and all(row.failure for row in rows):
            raise UsageError(
                f"the untuned program fails on every train row: {rows[0].failure}",
                help="`gotc run` on one of them shows more",
            )
        mine = next((t for t in known.values() if dict(t.point) == dict(cells.point)), None)
        whole = [*(mine.rows if mine is not None else ()), *rows]
        base = known[0].rows if number and mine is not known[0] else whole
        others = max([base, *(trial.rows for trial in known.values())], key=len)
        result = result_of(self.plan, whole, base, others, len(self.train))
        ended = "failed" if all(row.failure for row in whole) else "complete"
        first = packed(noted.asked) if cells.first == 0 else b""
        self.store.finish(
            self.points.space,
            Trial(number, cells.point, tuple(rows), result, ended, cells.first, first, noted.selections),
        )
        self._show()

    async def _cells(self, cells: Cells, noted: CellSamples) -> list[Measured]:
        """Measure cells: those beyond the train rows repeat these with new samples."""
        found: list[Measured] = []
        count, at = len(self.train), cells.first
        while at < cells.last:
            stop = min(cells.last, (at // count + 1) * count)
            rows = [self.train[cell % count] for cell in range(at, stop)]
            found += await self.points.rows(cells.point, rows, again=at // count, noted=noted)
            at = stop
        return found

    def show_stage(self, stage: str) -> None:
        """Report to observers the stage that follows the search."""
        self.progress.stage = stage
        self._show()

    def _show(self) -> None:
        progress = self.progress
        progress.finished = self.measured()
        progress.cells = sum(len(trial.rows) for trial in progress.finished.values())
        progress.share = self.allocation.share(progress.cells)
        numbers = {trial.number for trial in self.best}
        progress.best = next((t for n, t in progress.finished.items() if n in numbers), None)
        progress.rejected = self.allocation.rejected
        self._observe(progress)


Merged = dict[int, tuple[tuple[int, ...], Trial]]
"""The results of `merged` for points, by the number of the first trial, with the numbers of their cells, of
those of the untuned program and of the point with the most, and which point that is."""


def merged(
    plan: StudyPlan, trials: Iterable[Trial], rows: int, known: Merged | None = None
) -> dict[int, Trial]:
    """The trials of each point as one, by the number of its first, with all cells that were measured. `known`
    caches them."""
    points: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.ended != "skipped":
            parts = points.setdefault(key_of(trial.point), [])
            if trial.first == sum(len(part.rows) for part in parts):
                parts.append(trial)
    found = {parts[0].number: parts for parts in points.values() if parts}
    cells = {number: tuple(row for part in parts for row in part.rows) for number, parts in found.items()}
    baseline = next(iter(cells.values()), ())
    longest = max(cells, key=lambda number: len(cells[number]), default=0)
    known = {} if known is None else known
    for number, measured in cells.items():
        size = (len(measured), len(baseline), longest, len(cells[longest]))
        if number not in known or known[number][0] != size:
            selections = dict[str, SelectionStatistics]()
            for part in found[number]:
                add(selections, part.selections)
            result = result_of(plan, measured, baseline, cells[longest], rows)
            whole = replace(found[number][0], rows=measured, result=result, selections=selections)
            ended = "pruned" if whole.feasible else "infeasible"
            ended = ended if number and len(measured) < rows else "complete"
            ended = "failed" if all(row.failure for row in measured) else ended
            known[number] = size, replace(whole, ended=ended)
    return {number: known[number][1] for number in cells}


def beside(others: Sequence[Measured], count: int, train: int) -> Sequence[Measured]:
    """Another point's rows for as many cells of a point: its first run on the train rows, which is reused for
    repetitions of them; fewer if it did not run on all of them."""
    return [others[cell % train] for cell in range(count)] if len(others) >= train else others[:count]


def result_of(
    plan: StudyPlan,
    rows: Sequence[Measured],
    baseline: Sequence[Measured],
    longest: Sequence[Measured],
    train: int,
) -> TrialResult:
    """The result of a trial for a sampler, with so many train rows. `baseline` are the rows of the untuned
    program, `longest` those of the point that has the most.

    If only some rows were seen, the trial's lead over that point on those is added to its mean on all of its
    rows: rows differ more than points do, so this is nearer to the truth than the mean of the rows seen.
    """
    values: list[float] = []
    for place in range(len(plan.objectives)):
        whole = mean([row.objectives[place] for row in longest[:train]])
        others = beside(longest, len(rows), train)
        lead = mean(leads(rows, others, lambda row: row.objectives[place]))  # noqa: B023
        if whole is None or lead is None:
            return TrialResult(None, {FAILURES: 1.0})
        values.append(whole + lead)
    return TrialResult(tuple(values), violations(plan, rows, beside(baseline, len(rows), train)))


def violations(plan: StudyPlan, rows: Sequence[Measured], baseline: Sequence[Measured]) -> dict[str, float]:
    """The mean violation of each constraint by rows, 0 or less if it is satisfied; 1 if unknown. `baseline`
    are the rows of the untuned program, as far as it ran on them."""
    found = {FAILURES: mean(more_failures(rows, baseline)) or 0.0}
    for place, constraint in enumerate(plan.constraints):
        compared = rows[: len(baseline)] if constraint.relative else rows
        quantity = mean([row.quantities[place] for row in compared])
        base = mean([row.quantities[place] for row in baseline])
        if quantity is None or base is None:
            found[constraint.text] = 1.0
        else:
            found[constraint.text] = excess(constraint, quantity, base)
    return found


def _costs(plan: StudyPlan, trial: Trial) -> list[float]:
    """A trial's objectives with their signs turned so that lower is better."""
    return [o.sign * v for o, v in zip(plan.objectives, trial.result.values or (), strict=True)]


def _able(trials: Iterable[Trial], ended: Iterable[str] = ("complete",)) -> list[Trial]:
    """The trials with this end that violate no constraint; by default those that saw every row."""
    return [t for t in trials if t.ended in ended and t.feasible and t.result.values is not None]


def best_of(plan: StudyPlan, trials: Iterable[Trial]) -> Trial | None:
    """The best of the complete feasible trials in the first objective; the first of equals."""
    return min(_able(trials), key=lambda trial: _costs(plan, trial)[0], default=None)


def front(plan: StudyPlan, trials: Iterable[Trial]) -> list[Trial]:
    """The Pareto-optimal ones of the complete feasible trials."""
    able = [(trial, _costs(plan, trial)) for trial in _able(trials)]

    def dominated(mine: list[float]) -> bool:
        return any(
            theirs != mine and all(a <= b for a, b in zip(theirs, mine, strict=True)) for _, theirs in able
        )

    return [trial for trial, mine in able if not dominated(mine)]
