"""The trials of a study: proposed points run in waves of rows, and stop as soon as they cannot win.

All trials see the same rows in the same order, and equal requests get the same samples, so two trials are
compared pair by pair, with Wilcoxon's one-sided signed-rank test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import final

from gotlang.errors import UsageError
from gotlang.evaluate.rows import Row
from gotlang.statistics import signed_rank
from gotlang.tune.plan import StudyPlan
from gotlang.tune.points import Measured, PointRunner, excess, leads, mean
from gotlang.tune.sampler import Proposals, batch_start
from gotlang.tune.space import Point
from gotlang.tune.trials import DEFAULT_FIRST, Trial, TrialResult, TrialStore, looks

FAILURES = "failures"
"""The constraint that every study has: no more rows without a result than the untuned program."""
DEFAULT_P = 0.1


@final
@dataclass(frozen=True, slots=True)
class Race:
    """Stop a trial if the test says worse with at most `p`; the first look is after `first` rows."""

    p: float = DEFAULT_P
    first: int = DEFAULT_FIRST

    def worse(self, differences: Sequence[float]) -> bool:
        """Whether a trial is worse, by its differences to the best so far (above 0 is worse)."""
        return sum(differences) > 0 and signed_rank(differences) <= self.p


@final
@dataclass(slots=True)
class StudyProgress:
    """How far a study is. `stage` names what it does besides trials."""

    trials: int
    finished: dict[int, Trial] = field(default_factory=dict)
    number: int | None = None
    point: Point = field(default_factory=dict)
    seen: int = 0
    rows: int = 0
    best: Trial | None = None
    rejected: int = 0
    stage: str = ""


@final
class Search:
    """Runs the trials of a study that are this worker's. `rows` are the train rows: it is given no others.

    `on_baseline` is told of the untuned program's trial, before the first of the others.
    """

    def __init__(
        self,
        points: PointRunner,
        store: TrialStore,
        proposals: Proposals,
        rows: Sequence[Row],
        observe: Callable[[StudyProgress], None] = lambda _: None,
        on_baseline: Callable[[Trial], None] = lambda _: None,
    ) -> None:
        self.plan: StudyPlan = points.plan
        self.points = points
        self.store = store
        self.proposals = proposals
        self.train = tuple(rows)
        self.race = Race(**dict(self.plan.race.arguments)) if self.plan.race is not None else None
        self.progress = StudyProgress(self.plan.trials)
        self._observe = observe
        self._on_baseline: Callable[[Trial], None] | None = on_baseline

    async def run(self) -> None:
        """Run trials until none is left. Raises BudgetExceeded; what is finished is stored."""
        limit = self.plan.trials
        while (number := self.store.orphan(limit)) is not None or (
            number := self.store.claim(limit)
        ) is not None:
            await self._run(number)
        await self._all_below(limit)
        self._show()

    async def _all_below(self, limit: int) -> dict[int, Trial]:
        """All trials below a number; runs those whose workers no longer do."""
        known = await self.store.wait(limit)
        while len(known) < limit:
            if (orphan := self.store.orphan(limit)) is not None:
                await self._run(orphan)
            known = await self.store.wait(limit)
        return known

    async def _run(self, number: int) -> None:
        """Run one trial, once all those are finished that it is proposed from."""
        known = await self._all_below(batch_start(number, self.plan.parallel))
        if 0 in known and self._on_baseline is not None:
            self._on_baseline(known[0])
            self._on_baseline = None
        point = self.proposals.point(number, lambda n: self.store.finished()[n].result)
        trial = await self._evaluate(number, point, known)
        self.store.finish(self.points.space, trial)
        self._show()

    async def _evaluate(self, number: int, point: Point, known: dict[int, Trial]) -> Trial:
        baseline = known.get(0) if number > 0 else None
        if baseline is not None:
            for other in known.values():
                if dict(other.point) == dict(point) and other.ended != "skipped":
                    return Trial(number, point, other.rows, other.result, other.ended)
        best = best_of(self.plan, known.values())
        rows: list[Measured] = []
        racing = self.race is not None and baseline is not None
        for look in looks(len(self.train), self.race.first) if self.race and racing else [len(self.train)]:
            self._show(number, point, len(rows))
            rows += await self.points.rows(point, self.train[len(rows) : look])
            if self.race is None or baseline is None or look == len(self.train):
                continue
            if ended := self._stopped(self.race, rows, baseline, best):
                return Trial(number, point, tuple(rows), result_of(self.plan, rows, baseline.rows), ended)
        failed = all(row.failure for row in rows)
        if number == 0 and failed:
            raise UsageError(
                f"the untuned program fails on every train row: {rows[0].failure}",
                help="`gotc run` on one of them shows more",
            )
        result = result_of(self.plan, rows, baseline.rows if baseline is not None else rows)
        return Trial(number, point, tuple(rows), result, "failed" if failed else "complete")

    def _stopped(
        self, race: Race, rows: Sequence[Measured], baseline: Trial, best: Trial | None
    ) -> str | None:
        """Why a trial need not go on, judged by the rows it has seen; None if it must."""
        if all(row.failure for row in rows):
            return "failed"
        if race.worse(leads(rows, baseline.rows, _failed)):
            return "infeasible"
        for place, constraint in enumerate(self.plan.constraints):
            pairs = (
                (a.quantities[place], b.quantities[place]) for a, b in zip(rows, baseline.rows, strict=False)
            )
            over = [excess(constraint, a, b) for a, b in pairs if a is not None and b is not None]
            if race.worse(over):
                return "infeasible"
        if best is None or len(self.plan.objectives) > 1:
            return None
        return "pruned" if race.worse(behind(self.plan, rows, best.rows)) else None

    def show_stage(self, stage: str) -> None:
        """Tell observers what follows the trials."""
        self.progress.stage = stage
        self._show()

    def _show(self, number: int | None = None, point: Point | None = None, seen: int = 0) -> None:
        progress = self.progress
        progress.finished = self.store.finished()
        progress.best = best_of(self.plan, progress.finished.values())
        progress.number, progress.point, progress.seen = number, point or {}, seen
        progress.rows, progress.rejected = len(self.train), self.proposals.rejected
        self._observe(progress)


def _failed(row: Measured) -> float:
    return float(bool(row.failure))


def behind(plan: StudyPlan, rows: Sequence[Measured], others: Sequence[Measured]) -> list[float]:
    """By how much rows are worse than another trial's in the first objective, pair by pair."""
    sign = plan.objectives[0].sign
    return leads(rows, others, lambda row: None if (v := row.objectives[0]) is None else sign * v)


def result_of(plan: StudyPlan, rows: Sequence[Measured], baseline: Sequence[Measured]) -> TrialResult:
    """What a sampler is told of a trial.

    If only some rows were seen, the trial's lead over the untuned program on those is added to what that has
    on all rows: rows differ more than points do, so this is nearer to the truth than the mean of the rows
    seen."""
    values: list[float] = []
    for place in range(len(plan.objectives)):
        whole = mean([row.objectives[place] for row in baseline])
        lead = mean(leads(rows, baseline, lambda row: row.objectives[place]))  # noqa: B023
        if whole is None or lead is None:
            return TrialResult(None, {FAILURES: 1.0})
        values.append(whole + lead)
    pairs = list(zip(rows, baseline, strict=False))
    broken = {FAILURES: mean(leads(rows, baseline, _failed)) or 0.0}
    for place, constraint in enumerate(plan.constraints):
        quantity = mean([a.quantities[place] for a, _ in pairs])
        base = mean([b.quantities[place] for _, b in pairs])
        known = quantity is not None and base is not None
        broken[constraint.text] = excess(constraint, quantity, base) if known else 1.0  # type: ignore[arg-type]
    return TrialResult(tuple(values), broken)


def _costs(plan: StudyPlan, trial: Trial) -> list[float]:
    """A trial's objectives, so that less of each is better."""
    return [o.sign * v for o, v in zip(plan.objectives, trial.result.values or (), strict=True)]


def _able(trials: Iterable[Trial]) -> list[Trial]:
    """The trials that saw every row and violate no constraint."""
    return [t for t in trials if t.ended == "complete" and t.feasible and t.result.values is not None]


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
