"""The trials of a study and its finals: what runs on which rows, what stops early, and who wins.

Proposed points run in waves of rows, and stop as soon as they cannot win. All trials see the same rows in the
same order, and equal requests get the same samples, so two trials are compared pair by pair, with Wilcoxon's
one-sided signed-rank test.

That distinguishes trials at little cost, but what those samples favor by chance looks like merit, the more so
the more trials there are. So the few best ones that the race cannot tell from the first are rerun with new
samples on the train rows. A trial that was pruned against a lucky one may be among them: it then sees the
rows that it missed as well. Both measurements together decide. A finalist too far behind to catch up leaves,
and the finals end when only one is left.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

from gotlang.errors import BudgetExceeded, UsageError
from gotlang.evaluate.rows import Row
from gotlang.statistics import signed_rank
from gotlang.tune.plan import StudyPlan
from gotlang.tune.points import Measured, PointRunner, excess, known_pairs, leads, mean
from gotlang.tune.sampler import Proposals, batch_start
from gotlang.tune.space import Point, Space
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
            pairs = known_pairs(rows, baseline.rows, lambda row: row.quantities[place])  # noqa: B023
            if race.worse([excess(constraint, a, b) for a, b in pairs]):
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
    seen.
    """
    values: list[float] = []
    for place in range(len(plan.objectives)):
        whole = mean([row.objectives[place] for row in baseline])
        lead = mean(leads(rows, baseline, lambda row: row.objectives[place]))  # noqa: B023
        if whole is None or lead is None:
            return TrialResult(None, {FAILURES: 1.0})
        values.append(whole + lead)
    return TrialResult(tuple(values), violations(plan, rows, baseline))


def violations(plan: StudyPlan, rows: Sequence[Measured], baseline: Sequence[Measured]) -> dict[str, float]:
    """By how much rows violate each constraint on average, 0 or less if it holds; 1 if that is unknown."""
    found = {FAILURES: mean(leads(rows, baseline, _failed)) or 0.0}
    for place, constraint in enumerate(plan.constraints):
        quantity = mean([row.quantities[place] for row in rows])
        base = mean([row.quantities[place] for row in baseline[: len(rows)]])
        if quantity is None or base is None:
            found[constraint.text] = 1.0
        else:
            found[constraint.text] = excess(constraint, quantity, base)
    return found


def _costs(plan: StudyPlan, trial: Trial) -> list[float]:
    """A trial's objectives, so that less of each is better."""
    return [o.sign * v for o, v in zip(plan.objectives, trial.result.values or (), strict=True)]


def _able(trials: Iterable[Trial], ended: Iterable[str] = ("complete",)) -> list[Trial]:
    """The trials that ended so and violate no constraint; by default those that saw every row."""
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


# ---------------------------------------------------------------- finals


UNLIKELY = 0.25
"""A finalist that catches up with at most this probability leaves the finals."""

FEWEST = 8
"""Trials below which their own means are used."""
MOST = 150
"""Trials that are fitted; of more, those that saw the most rows."""
_SCALES = (0.15, 0.3, 0.6, 1.2, 2.5, 10.0)
_NOISES = (0.25, 0.5, 1.0)
_SIGNALS = (0.3, 1.0, 3.0)
_PASSES = 2


@final
@dataclass(frozen=True, slots=True)
class Finalist:
    """A trial in the finals: its mean on the train rows `before`, with new samples on the first `rows` of
    them (`again`, None if it was not rerun), and over both.

    `mean` compares: for one that did not see all rows again it differs from the winner's by as much as the
    two differ on the rows that both ran.
    """

    trial: Trial
    before: float
    again: float | None
    mean: float
    rows: int = 0

    def to_dict(self) -> dict[str, Any]:
        """As documents show it."""
        shown = {"train": self.before, "rerun": self.again, "rows": self.rows, "mean": self.mean}
        return {"trial": self.trial.number, **shown}


async def finals(points: PointRunner, trials: Mapping[int, Trial], rows: Sequence[Row]) -> list[Finalist]:
    """The finalists, the winner first; none if no trial is feasible, one if it has no contest.

    If the budget does not last for all of them, what was known before decides.
    """
    plan = points.plan
    chosen = candidates(plan, points.space, trials, pruned=True)
    if len(chosen) > 1:
        try:
            seen = [await _completed(points, trial, trials[0], rows) for trial in chosen]
            if able := [trial for trial in seen if best_of(plan, [trial]) is not None]:
                return await _rerun(points, able, rows)
        except BudgetExceeded:
            pass
    return [_finalist(trial, ()) for trial in candidates(plan, points.space, trials, pruned=False)]


async def _rerun(points: PointRunner, able: Sequence[Trial], rows: Sequence[Row]) -> list[Finalist]:
    """Rerun trials in waves, until all rows are seen or one is left; the winner first, then those that were
    left with it, then the others, the last to leave first."""
    plan, sign = points.plan, points.plan.objectives[0].sign
    again: dict[int, list[Measured]] = {trial.number: [] for trial in able}
    left, gone = list(able), list[Trial]()

    def trails(trial: Trial) -> list[float]:
        """By how much it is worse than the first, wherever both ran."""
        first = left[0]
        new = behind(plan, again[trial.number], again[first.number])
        return behind(plan, trial.rows, first.rows) + new

    for look in (0, *looks(len(rows))):
        for trial in left:
            seen = again[trial.number]
            seen += await points.rows(trial.point, rows[len(seen) : look], again=1)
        left.sort(key=lambda trial: (sign * _finalist(trial, again[trial.number]).mean, trial.number))
        out = [trial for trial in left[1:] if not may_win(trails(trial), len(rows) - look)]
        gone = out + gone
        left = [trial for trial in left if trial not in out]
        if len(left) < 2:
            break
    met = [_finalist(trial, again[trial.number]) for trial in left]
    for trial in gone:
        apart = sign * (mean(trails(trial)) or 0.0)
        met.append(replace(_finalist(trial, again[trial.number]), mean=met[0].mean + apart))
    return met


def may_win(trailing: Sequence[float], left: int) -> bool:
    """Whether a trailing finalist could still win after `left` more rows.

    The probability that the sum changes sign is that of a normal distribution with the spread of the rows.
    """
    total = math.fsum(trailing)
    if left == 0 or len(trailing) < Race().first:
        return True
    spread = math.sqrt(math.fsum((x - total / len(trailing)) ** 2 for x in trailing) / (len(trailing) - 1))
    if spread == 0:
        return False
    return 0.5 * math.erfc(total / (spread * math.sqrt(2 * left))) > UNLIKELY


async def _completed(points: PointRunner, trial: Trial, baseline: Trial, rows: Sequence[Row]) -> Trial:
    """A trial with all rows, those included that it was stopped before."""
    if trial.ended == "complete":
        return trial
    whole = (*trial.rows, *await points.rows(trial.point, rows[len(trial.rows) :]))
    return replace(trial, rows=whole, result=result_of(points.plan, whole, baseline.rows), ended="complete")


def candidates(plan: StudyPlan, space: Space, trials: Mapping[int, Trial], *, pruned: bool) -> list[Trial]:
    """The trials that may be the best, likeliest first: of the feasible ones the `finals` best by the shrunk
    means, without those surely worse than the first.

    `pruned` says whether trials count that did not see every row because others seemed better. With several
    objectives it is the best in the first one alone.
    """
    able = _able(trials.values(), ("complete", "pruned") if pruned else ("complete",))
    if not able:
        return []
    if len(plan.objectives) > 1:
        best = best_of(plan, able)
        return [best] if best is not None else []
    worth, sign = shrunk(space, trials), plan.objectives[0].sign
    distinct: dict[str, Trial] = {}
    for trial in sorted(able, key=lambda trial: (sign * worth[trial.number], trial.number)):
        distinct.setdefault(_key(trial.point), trial)
    first, *others = distinct.values()
    if plan.finals < 2 or noise(trials) == 0:
        return [first]
    trails = [(trial, behind(plan, trial.rows, first.rows)) for trial in others[: plan.finals - 1]]
    # One that did the same on every row has nothing to win, one that is surely worse nothing to hope for.
    return [first, *(trial for trial, by in trails if any(by) and not Race().worse(by))]


def _key(point: Point) -> str:
    return json.dumps(dict(point), sort_keys=True)


def _finalist(trial: Trial, again: Sequence[Measured]) -> Finalist:
    first, whole = ([row.objectives[0] for row in rows] for rows in (trial.rows, (*trial.rows, *again)))
    rerun = mean([row.objectives[0] for row in again])
    return Finalist(trial, mean(first) or 0.0, rerun, mean(whole) or 0.0, len(again))


# ---------------------------------------------------------------- shrinking


def shrunk(space: Space, trials: Mapping[int, Trial], place: int = 0) -> dict[int, float]:
    """Means of an objective by the number of the trial, shrunk by a Gaussian process, for trials with a
    value.

    The best of many noisy means is mostly a lucky one. Points that are near each other have nearly the same
    mean, so the rows of all trials, also of pruned ones, say what each is worth. Length scales and noise are
    the likeliest of a few candidates each. With fewer trials than `FEWEST`, or if no row differs from any
    other, these are the trials' own means.
    """
    known = {n: t for n, t in trials.items() if t.result.values is not None and t.rows}
    own = {n: t.result.values[place] for n, t in known.items() if t.result.values is not None}
    # Trials of one point share their samples: together they say no more than the one that saw the most rows.
    firsts: dict[str, int] = {}
    for number in sorted(known, key=lambda n: (-len(known[n].rows), n)):
        firsts.setdefault(_key(known[number].point), number)
    most = list(firsts.values())[:MOST]
    row = noise({n: trials[n] for n in (0, *most) if n in trials}, place)
    if len(firsts) < FEWEST or row == 0:
        return own
    import numpy as np

    values = np.array([own[n] for n in most])
    errors = np.array([row / len(known[n].rows) for n in most])
    center, spread = float(np.average(values, weights=1 / errors)), float(values.var()) or row
    fitted = _fitted(_gaps(space, [known[n].point for n in most]), values - center, errors, spread)
    worth = {n: center + float(value) for n, value in zip(most, fitted, strict=True)}
    return {n: worth.get(firsts[_key(t.point)], own[n]) for n, t in known.items()}


def noise(trials: Mapping[int, Trial], place: int = 0) -> float:
    """The variance of one row of one trial, from how its lead over the untuned program differs by row."""
    squares, count = 0.0, 0
    for number, trial in trials.items() if 0 in trials else ():
        lead = leads(trial.rows, trials[0].rows, lambda row: row.objectives[place]) if number else []
        if len(lead) > 1:
            middle = math.fsum(lead) / len(lead)
            squares += math.fsum((x - middle) ** 2 for x in lead)
            count += len(lead) - 1
    return squares / count if count else 0.0


def _gaps(space: Space, points: Sequence[Point]) -> list[Any]:
    """For each dimension the squared distances of points in it: 0 to 1, and 1 for other choices."""
    import numpy as np

    out = []
    for dimension in space.dimensions:
        values = [point.get(dimension.name) for point in points]
        if dimension.choices:
            out.append(np.array([[float(a != b) for b in values] for a in values]))
            continue
        places = np.array([0.0 if value is None else dimension.scaled(value) for value in values])
        absent = np.array([value is None for value in values])
        apart = np.subtract.outer(places, places) ** 2
        out.append(np.where(absent[:, None] != absent[None, :], 1.0, apart))
    return out


def _fitted(gaps: list[Any], values: Any, errors: Any, spread: float) -> Any:
    """The posterior means at the points, with the likeliest scales."""
    import numpy as np

    def solved(scales: list[float], noise: float, signal: float) -> tuple[float, Any]:
        far = sum((gap / scale**2 for gap, scale in zip(gaps, scales, strict=True)), np.zeros((1, 1)))
        near = signal * spread * np.exp(-0.5 * far) * np.ones((len(values), len(values)))
        lower = np.linalg.cholesky(near + np.diag(noise * errors + 1e-9 * spread))
        half = np.linalg.solve(lower, values)
        weights = np.linalg.solve(lower.T, half)
        return -0.5 * float(half @ half) - float(np.log(np.diag(lower)).sum()), near @ weights

    scales, noise, signal = [0.6] * len(gaps), 0.5, 1.0
    best = solved(scales, noise, signal)
    for _ in range(_PASSES):
        for place in range(len(gaps)):
            for scale in _SCALES:
                tried = [*scales[:place], scale, *scales[place + 1 :]]
                if (found := solved(tried, noise, signal))[0] > best[0]:
                    best, scales = found, tried
        for more in _NOISES:
            for most in _SIGNALS:
                if (found := solved(scales, more, most))[0] > best[0]:
                    best, noise, signal = found, more, most
    return best[1]
