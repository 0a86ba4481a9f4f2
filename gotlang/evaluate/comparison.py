"""Contenders held against one of them on the same rows, also where each may spend the same.

At equal cost the dearest contender sets what may be spent. Each cheaper one runs as often as comes nearest
to it, every time with a seed of its own, and the best result of a row counts: by its score, else the most
frequent one. What is shown is whether the same money is better spent on a larger scheme or on asking again.
Where nothing has a price, as with a model on one's own machine, answers are what is spent.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Literal, final

from gotlang.errors import UsageError
from gotlang.evaluate.contenders import MATCHED, Contender
from gotlang.evaluate.evaluation import METRICS, Evaluation, RowRun
from gotlang.evaluate.measure import ScoreKind
from gotlang.statistics import Interval, Verdict, difference_interval, verdict

MOST_REPEATS: Final = 1000
"""One that is cheaper by a larger factor does not reach equal cost, which its cost in the table shows."""
PILOT_ROWS: Final = 5
PILOT_ANSWERS: Final = (1, 8)

Spent = Literal["cost", "calls"]
SPENT: Final[Mapping[Spent, str]] = {"cost": "cost", "calls": "answers"}
"""What is spent, in a word."""

Runs = Callable[[Contender, int, int, int | None], Awaitable[Evaluation]]
"""Runs a contender: `(contender, first_repeat, repeats, rows)`, on the first rows or (None) on all."""


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """A contender with what came of it. `repeats` is how often it ran on each row for one result;
    `to_baseline` holds the paired difference to the baseline by metric, `verdict` what that of the quality
    shows."""

    name: str
    evaluation: Evaluation
    repeats: int = 1
    to_baseline: dict[str, Interval] = dataclasses.field(default_factory=dict)
    verdict: Verdict | None = None


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Several entries; `metric` is the quality they are held against each other by, `score` or `correct`.

    One entry alone may have neither: then its cost stands in their place. `spent` is what they pay with:
    their `cost`, or `calls` where nothing has a price.
    """

    metric: str
    kind: ScoreKind
    baseline: str
    entries: tuple[Entry, ...]
    equal_cost: bool = False
    spent: Spent = "cost"

    @property
    def lower_is_better(self) -> bool:
        """Which end of the quality is good."""
        return self.kind.lower

    @property
    def label(self) -> str:
        """What the quality is called."""
        return self.kind.name

    def front(self) -> list[Entry]:
        """The entries that none beats in both spending and quality (the Pareto front), cheapest first."""
        known = [(point, entry) for entry in self.entries if (point := self.point(entry)) is not None]
        sign = 1 if self.lower_is_better else -1
        best = math.inf
        front = []
        for (_, quality), entry in sorted(known, key=lambda pair: (pair[0][0], sign * pair[0][1])):
            if sign * quality < best:
                best = sign * quality
                front.append(entry)
        return front

    def point(self, entry: Entry) -> tuple[float, float] | None:
        """What an entry spends and its quality, as means; None where one is not known."""
        cost, quality = entry.evaluation.interval(self.spent), entry.evaluation.interval(self.metric)
        return None if cost is None or quality is None else (cost.mean, quality.mean)


async def compare(
    sides: Sequence[Contender],
    run: Runs,
    remake: Callable[[Contender, int], Contender],
    *,
    baseline: str,
    equal_cost: bool,
) -> Comparison:
    """Run every contender and hold them against each other.

    `remake` gives a baseline contender another number of answers. Raises UsageError where nothing that all of
    them have in common can be compared.
    """
    found: dict[str, Entry] = {}
    fixed = [side for side in sides if side.answers != MATCHED]
    if not fixed:
        raise UsageError("`best-of-n` and `vote-of-n` are matched to another scheme: name one beside them")
    for side in fixed:
        found[side.name] = Entry(side.name, await run(side, 0, 1, None))
    spent = spending(list(found.values()))
    target = max((_mean(entry.evaluation, spent) or 0.0 for entry in found.values()), default=0.0)
    for side in sides:
        if side.answers == MATCHED:
            made = remake(side, await _answers(side, target, spent, run, remake))
            found[side.name] = Entry(made.name, await run(made, 0, 1, None))
        elif equal_cost:
            entry = found[side.name]
            found[side.name] = await _repeated(side, entry, target, spent, run)
    entries = [found[side.name] for side in sides]
    return assemble(entries, found[baseline].name, equal_cost=equal_cost)


def assemble(entries: Sequence[Entry], baseline: str, *, equal_cost: bool = False) -> Comparison:
    """Hold entries against the one of a name. Raises UsageError where they have no quality in common."""
    metric, kind = _quality(entries)
    first = next(entry for entry in entries if entry.name == baseline)
    done = []
    for entry in entries:
        if entry is first:
            done.append(entry)
            continue
        differences = {name: d for name in METRICS if (d := _difference(entry, first, name)) is not None}
        shown = verdict(differences[metric], lower_is_better=kind.lower) if metric in differences else None
        done.append(dataclasses.replace(entry, to_baseline=differences, verdict=shown))
    return Comparison(metric, kind, baseline, tuple(done), equal_cost, spending(entries))


def spending(entries: Sequence[Entry]) -> Spent:
    """What entries can be held to: their cost, where all of them have one and it is not nothing."""
    costs = [_mean(entry.evaluation, "cost") for entry in entries if _ended(entry)]
    return "cost" if costs and None not in costs and any(costs) else "calls"


def _quality(entries: Sequence[Entry]) -> tuple[str, ScoreKind]:
    kinds = {entry.evaluation.kind for entry in entries if entry.evaluation.values("score")}
    scored = all(entry.evaluation.values("score") or not _ended(entry) for entry in entries)
    if len(kinds) == 1 and scored:
        return "score", next(iter(kinds))
    if all(entry.evaluation.values("correct") or not _ended(entry) for entry in entries):
        return "correct", ScoreKind("correct")
    if len(entries) == 1:
        return "cost", ScoreKind("cost", lower=True)
    names = ", ".join(sorted(kind.name for kind in kinds)) or "none"
    raise UsageError(
        f"these schemes have no measure in common (scores: {names})",
        help="give each the same `Score()`, or `GroundTruth()`, at its end; `--map truth=COLUMN` says where "
        "the known answers are",
    )


def _ended(entry: Entry) -> bool:
    return any(run.state == "done" for run in entry.evaluation.runs)


def _difference(entry: Entry, first: Entry, metric: str) -> Interval | None:
    """The paired difference over the rows that both have."""
    own, other = entry.evaluation.values(metric), first.evaluation.values(metric)
    rows = [number for number in own if number in other]
    if not rows:
        return None
    return difference_interval([own[number] for number in rows], [other[number] for number in rows])


def _mean(found: Evaluation, metric: str) -> float | None:
    values = found.values(metric)
    return fmean(values.values()) if values else None


async def _repeated(side: Contender, entry: Entry, target: float, spent: Spent, run: Runs) -> Entry:
    """The entry with as many repeats as bring it nearest to what may be spent."""
    cost = _mean(entry.evaluation, spent)
    repeats = min(MOST_REPEATS, round(target / cost)) if cost else 1
    if repeats <= 1:
        return entry
    more = await run(side, 1, repeats - 1, None)
    runs = [*entry.evaluation.runs, *more.runs]
    kind = entry.evaluation.kind
    numbers = dict.fromkeys(run.row.number for run in runs)
    combined = [combine([run for run in runs if run.row.number == number], kind) for number in numbers]
    stopped = entry.evaluation.stopped or more.stopped
    evaluation = Evaluation(entry.evaluation.scheme, kind, combined, 1, more.not_run, stopped)
    return dataclasses.replace(entry, evaluation=evaluation, repeats=repeats)


def combine(runs: Sequence[RowRun], kind: ScoreKind) -> RowRun:
    """Several runs of a row as one: the best result, at the cost of all, in the time of the slowest."""
    done = [run for run in runs if run.state == "done"]
    if not done:
        return _at_the_cost_of_all(runs[0], runs)
    scored = [run for run in done if run.score is not None]
    if scored:
        sign = 1 if kind.lower else -1
        chosen = min(scored, key=lambda run: sign * (run.score or 0.0))
    else:
        votes = Counter(_written(run) for run in done)
        chosen = max(done, key=lambda run: votes[_written(run)])  # the first of those that are equal
    return _at_the_cost_of_all(chosen, runs)


def _at_the_cost_of_all(chosen: RowRun, runs: Sequence[RowRun]) -> RowRun:
    """A run that stands for several. Those that failed were paid for too."""
    paid = [run for run in runs if run.state != "partial" and run.calls is not None]
    if not paid:
        return chosen
    costs = [run.usd for run in paid]
    return dataclasses.replace(
        chosen,
        repeat=0,
        usd=None if None in costs else math.fsum(cost for cost in costs if cost is not None),
        calls=sum(run.calls or 0 for run in paid),
        seconds=max(run.seconds or 0.0 for run in paid),
    )


def _written(run: RowRun) -> str:
    return json.dumps(run.value, sort_keys=True, default=str)


async def _answers(
    side: Contender, target: float, spent: Spent, run: Runs, remake: Callable[[Contender, int], Contender]
) -> int:
    """How many answers a baseline gets for a cost a row: lines through trials on a few rows, the second time
    through one near the aim (several answers may share what a request costs, so one line is not enough)."""

    async def trial(answers: int) -> float:
        return _mean(await run(remake(side, answers), 0, 1, PILOT_ROWS), spent) or 0.0

    low, high = PILOT_ANSWERS
    cheap, dear = await trial(low), await trial(high)
    for _ in range(2):
        if dear <= cheap:
            break
        found = low + (target - cheap) / ((dear - cheap) / (high - low))
        high = max(low + 1, min(MOST_REPEATS, round(found)))
        dear = await trial(high)
    return low if target <= cheap else high
