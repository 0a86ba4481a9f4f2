"""The trials of a study: what is proposed is run in waves of rows, and stopped as soon as it cannot win."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import final

from gotlang.errors import UsageError
from gotlang.tune.evaluation import Evaluation
from gotlang.tune.objective import Measured, excess, mean
from gotlang.tune.plan import Plan
from gotlang.tune.proposals import Proposals, Told, batch_of, batch_start
from gotlang.tune.racing import Race
from gotlang.tune.records import Record, Records
from gotlang.tune.rows import Row
from gotlang.tune.space import Point

FAILURES = "failures"
"""The constraint that every study has: not more rows without a result than the untuned program."""


@final
@dataclass(slots=True)
class Progress:
    """Where a study stands, for who watches it. `stage` says what it does beside trials, in words."""

    trials: int
    finished: dict[int, Record] = field(default_factory=dict)
    number: int | None = None
    point: Point = field(default_factory=dict)
    seen: int = 0
    rows: int = 0
    best: Record | None = None
    rejected: int = 0
    stage: str = ""


@final
class Search:
    """Runs the trials of a study that are this worker's. `rows` are the train rows: it is given no others."""

    def __init__(
        self,
        plan: Plan,
        evaluation: Evaluation,
        records: Records,
        proposals: Proposals,
        rows: Sequence[Row],
        observe: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self.plan = plan
        self.evaluation = evaluation
        self.records = records
        self.proposals = proposals
        self.train = tuple(rows)
        self.race = Race(**dict(plan.race.arguments)) if plan.race is not None else None
        self.progress = Progress(plan.trials)
        self._observe = observe
        self.on_baseline: Callable[[Record], None] = lambda _: None
        """Told of the untuned program's trial, before the first of the others."""
        self._based = False

    async def run(self) -> None:
        """Run trials until none is left. Raises BudgetExceeded; what is finished is kept."""
        limit = self.plan.trials
        while True:
            number = self.records.orphan(limit)
            if number is None:
                number = self.records.claim(limit)
            if number is None:
                break
            await self._trial(number)
        while len(self.records.wait(limit)) < limit:
            orphan = self.records.orphan(limit)
            if orphan is not None:
                await self._trial(orphan)
        self._show(None, {}, 0)

    async def _trial(self, number: int) -> None:
        """Run one trial, once all those are finished that it is proposed from."""
        start = batch_start(batch_of(number, self.plan.parallel), self.plan.parallel)
        known = self.records.wait(start)
        while len(known) < start:
            orphan = self.records.orphan(start)
            if orphan is not None:
                await self._trial(orphan)
            known = self.records.wait(start)
        if 0 in known and not self._based:
            self._based = True
            self.on_baseline(known[0])
        point = self.proposals.point(number, lambda n: self.records.finished()[n].told)
        record = await self._evaluate(number, point, known)
        self.records.finish(self.evaluation.space, record)
        self._show(None, {}, 0)

    async def _evaluate(self, number: int, point: Point, known: dict[int, Record]) -> Record:
        baseline = known.get(0)
        if baseline is not None and number > 0:
            for other in known.values():
                if dict(other.point) == dict(point) and other.ended != "skipped":
                    return Record(number, point, other.rows, other.told, other.ended)
        best = best_of(self.plan, known.values())
        looks = [len(self.train)]
        if self.race is not None and baseline is not None:
            looks = self.race.waves(len(self.train))
        rows: list[Measured] = []
        for look in looks:
            self._show(number, point, len(rows))
            rows += await self.evaluation.rows(point, self.train[len(rows) : look])
            if baseline is not None and self.race is not None and look < len(self.train):
                ended = self._stopped(rows, baseline, best)
                if ended is not None:
                    return Record(number, point, tuple(rows), told(self.plan, rows, baseline.rows), ended)
        if number == 0 and all(row.failure for row in rows):
            raise UsageError(
                f"the untuned program fails on every train row: {rows[0].failure}",
                help="`gotc run` on one of them shows more",
            )
        against = baseline.rows if baseline is not None else rows
        ended = "failed" if all(row.failure for row in rows) else "full"
        return Record(number, point, tuple(rows), told(self.plan, rows, against), ended)

    def _stopped(self, rows: Sequence[Measured], baseline: Record, best: Record | None) -> str | None:
        """Why a trial need not go on, judged by the rows it has seen; None where it must."""
        assert self.race is not None
        if all(row.failure for row in rows):
            return "failed"
        pairs = list(zip(rows, baseline.rows, strict=False))
        if self.race.worse([float(bool(a.failure)) - float(bool(b.failure)) for a, b in pairs]):
            return "infeasible"
        for place, constraint in enumerate(self.plan.constraints):
            over = [
                excess(constraint, quantity, base)
                for a, b in pairs
                if (quantity := a.quantities[place]) is not None and (base := b.quantities[place]) is not None
            ]
            if self.race.worse(over):
                return "infeasible"
        if best is None or len(self.plan.objectives) > 1:
            return None
        sign = -1.0 if self.plan.objectives[0].maximize else 1.0
        behind = [
            sign * (value - other)
            for a, b in zip(rows, best.rows, strict=False)
            if (value := a.objectives[0]) is not None and (other := b.objectives[0]) is not None
        ]
        return "worse" if self.race.worse(behind) else None

    def show_stage(self, stage: str) -> None:
        """Tell who watches what comes after the trials."""
        self.progress.stage = stage
        self._show(None, {}, 0)

    def _show(self, number: int | None, point: Point, seen: int) -> None:
        progress = self.progress
        progress.finished = self.records.finished()
        progress.best = best_of(self.plan, progress.finished.values())
        progress.number, progress.point, progress.seen, progress.rows = number, point, seen, len(self.train)
        progress.rejected = self.proposals.rejected
        self._observe(progress)


def told(plan: Plan, rows: Sequence[Measured], baseline: Sequence[Measured]) -> Told:
    """What a sampler is told of a trial.

    Where only some rows were seen, the trial's lead over the untuned program on those is added to what that
    has on all rows: rows differ more than points do, so this is nearer to the truth than the mean of the
    rows seen.
    """
    pairs = list(zip(rows, baseline, strict=False))
    values: list[float] = []
    for place in range(len(plan.objectives)):
        whole = mean([row.objectives[place] for row in baseline])
        lead = mean(
            [
                value - other
                for a, b in pairs
                if (value := a.objectives[place]) is not None and (other := b.objectives[place]) is not None
            ]
        )
        if whole is None or lead is None:
            return Told(None, {FAILURES: 1.0})
        values.append(whole + lead)
    broken = {
        FAILURES: (mean([float(bool(a.failure)) - float(bool(b.failure)) for a, b in pairs]) or 0.0),
    }
    for place, constraint in enumerate(plan.constraints):
        quantity = mean([a.quantities[place] for a, _ in pairs])
        base = mean([b.quantities[place] for _, b in pairs])
        over = 1.0 if quantity is None or base is None else excess(constraint, quantity, base)
        broken[constraint.text] = over
    return Told(tuple(values), broken)


def best_of(plan: Plan, records: Iterable[Record]) -> Record | None:
    """The best of the trials that saw every row and break no constraint; the earlier one where two are
    equal."""
    best: Record | None = None
    for record in records:
        if record.ended != "full" or not record.feasible or record.told.values is None:
            continue
        if best is None or _value(plan, record) < _value(plan, best):
            best = record
    return best


def _value(plan: Plan, record: Record) -> float:
    assert record.told.values is not None
    return -record.told.values[0] if plan.objectives[0].maximize else record.told.values[0]


def front(plan: Plan, records: Iterable[Record]) -> list[Record]:
    """The trials that no other beats in every objective, of those that saw every row and break no
    constraint."""
    signs = [-1.0 if objective.maximize else 1.0 for objective in plan.objectives]
    able = [r for r in records if r.ended == "full" and r.feasible and r.told.values]

    def costs(record: Record) -> list[float]:
        return [sign * value for sign, value in zip(signs, record.told.values or (), strict=True)]

    def beaten(record: Record) -> bool:
        mine = costs(record)
        return any(
            all(a <= b for a, b in zip(costs(other), mine, strict=True)) and costs(other) != mine
            for other in able
        )

    return [record for record in able if not beaten(record)]
