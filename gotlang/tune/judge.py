"""Judges points on held-out rows: intervals, constraints, verdicts, and the front of points to choose from.

All intervals of objectives hold simultaneously with 95%: each one's level is correspondingly higher
(Bonferroni). There are interim looks before all planned rows were run, to stop once `better` has become
improbable or impossible, and more rows may follow: the intervals of the planned rows take the share
`FIRST` of the error probability, and a confidence sequence, which is valid at all numbers of rows at once,
the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, final

from gotlang.errors import UsageError
from gotlang.statistics import (
    LEVEL,
    RESAMPLES,
    Interval,
    chance_of_lead,
    confidence_sequence,
    fewest_rows,
    mean_interval,
    rows_to_decide,
    verdict,
    within,
)
from gotlang.tune.plan import OF_RUNS, Constraint, Objective, StudyPlan
from gotlang.tune.points import TOLERANCE, Measured, bound, excess, known_pairs, leads, mean
from gotlang.tune.search import FAILURES
from gotlang.tune.trials import Trial

FIRST = 0.6
"""The share of the error probability for the intervals of the planned rows; those of more rows have the
rest."""
MOST = 8
"""Maximum number of points of a front besides the original."""
_ROUNDING = 1e-9
"""A smaller share of a bound is not an excess."""

VERDICTS = {
    "better": "the tuned program is better on held-out rows",
    "trade-off": "better in an objective, but worse, or possibly worse, in another",
    "not significant": "the interval of the difference contains 0: the original stays",
    "worse": "the tuned program is worse on held-out rows: the original stays",
    "constraint violated": "the tuned program violates a constraint on held-out rows: the original stays",
    "original": "this is the untuned program itself",
    "no improvement found": "no trial was feasible and better than the original",
    "no feasible trial": "no trial satisfies the constraints, and the original does not either",
}

_UNKNOWN = Interval(math.nan, -math.inf, math.inf, 0)


@final
@dataclass(frozen=True, slots=True)
class Compared:
    """One quantity of both programs: means with the interval of the tuned one's, and its lead (tuned minus
    original). An objective has a verdict: `better`, `worse`, `no worse` (by more than 2%) or `not
    significant`."""

    name: str
    original: float | None
    tuned: float | None
    lead: Interval
    interval: Interval
    verdict: str = ""

    def __str__(self) -> str:
        lead, both = self.lead, f"{amount(self.name, self.original)} -> {amount(self.name, self.tuned)}"
        low, middle, high = (amount(self.name, x, sign=True) for x in (lead.low, lead.mean, lead.high))
        level = f"{LEVEL:.0%} CI" if lead.level == LEVEL else f"simultaneous {LEVEL:.0%} CI"
        return f"{both} ({middle}, {level} {low} to {high})"


@final
@dataclass(frozen=True, slots=True)
class Bounded:
    """A constraint on held-out rows: its quantity in both programs, the bound, and the excess of the tuned
    one over it (negative: it is within). An excess up to `tolerance` is accepted."""

    text: str
    original: float | None
    tuned: float | None
    bound: float
    least: bool
    excess: Interval
    tolerance: float

    @property
    def violated(self) -> bool:
        """Whether the excess is above the tolerance, or surely above 0. Unknown counts as violated."""
        over, certain = self.excess.mean, self.excess.low > _ROUNDING * abs(self.bound)
        return not over <= self.tolerance or certain

    @property
    def tolerated(self) -> bool:
        """Whether it is satisfied only because of the tolerance."""
        return not self.violated and self.excess.mean > _ROUNDING * abs(self.bound)

    @property
    def percent(self) -> list[float] | None:
        """The excess and its interval in percent of the bound; None for a bound of 0."""
        ends = self.excess.mean, self.excess.low, self.excess.high
        low, middle, high = sorted(100 * end / abs(self.bound) for end in ends) if self.bound else (0, 0, 0)
        return [middle, low, high] if self.bound and all(map(math.isfinite, ends)) else None

    def __str__(self) -> str:
        name = self.text.split(maxsplit=1)[0]
        limit = f"{'at least' if self.least else 'at most'} {amount(name, self.bound)}"
        shares = (
            "" if self.percent is None else " ({:+.2f}%, 95% CI {:+.2f}% to {:+.2f}%)".format(*self.percent)
        )
        state = "violated" if self.violated else "kept"
        within = ", within the tolerance" if self.tolerated else ""
        return f"{amount(name, self.tuned)} where {limit}{shares}: {state}{within}"


@final
@dataclass(frozen=True, slots=True)
class HeldOut:
    """A point compared with the original on the test rows. `verdict` is one of `VERDICTS`. `more_rows` would
    decide quantities that are not significant if means and spread stay the same, for about `more_usd` (None:
    unknown, or more than reasonable)."""

    rows: int
    compared: tuple[Compared, ...]
    constraints: tuple[Bounded, ...]
    verdict: str
    more_rows: int | None = None
    more_usd: float | None = None

    @property
    def unchanged(self) -> bool:
        """Whether this is the original itself, so that there was nothing to compare."""
        return self.verdict in {"original", "no improvement found", "no feasible trial"}

    @property
    def fewest(self) -> int:
        """The number of rows below which no difference is significant: more, if more is compared at once."""
        return max(fewest_rows(each.lead.level) for each in self.compared)

    @property
    def few(self) -> bool:
        """Whether an objective has too few rows for any difference to be significant."""
        return any(each.verdict and each.lead.rows < self.fewest for each in self.compared)

    @property
    def meaning(self) -> str:
        """The verdict in words."""
        if self.verdict == "not significant" and self.few:
            return f"with fewer than {self.fewest} rows no difference is significant: the original stays"
        if self.verdict == "not significant" and any(each.verdict == "worse" for each in self.compared):
            return "worse in an objective, and not shown to be better in another: the original stays"
        return VERDICTS[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """The form in files."""
        constraints = [{**asdict(c), "violated": c.violated, "percent": c.percent} for c in self.constraints]
        compared = [asdict(each) for each in self.compared]
        return {**asdict(self), "compared": compared, "constraints": constraints, "meaning": self.meaning}


def compare_held_out(
    plan: StudyPlan,
    original: Sequence[Measured],
    tuned: Sequence[Measured],
    *,
    same: str | None = None,
    level: float = LEVEL,
    planned: int | None = None,
    brief: bool = False,
) -> HeldOut:
    """Judge a point by rows that both programs ran. `same` is the verdict for the original itself, `level`
    that of each interval, `planned` the number of rows that was planned first. `brief` leaves out what the
    verdict does not depend on."""
    planned, later = planned or len(original), 1 - (1 - FIRST) * (1 - level)

    def interval(values: Sequence[float], unit: float = 0.0) -> Interval:
        if len(original) != planned:
            found = confidence_sequence(values, level=later, planned=planned, unit=unit)
        else:
            resamples = RESAMPLES * (1 if level == LEVEL else 4)
            found = mean_interval(values, level=1 - FIRST * (1 - level), resamples=resamples, unit=unit)
        return replace(found, level=level)

    def compared(name: str, of: Callable[[Measured], float | None], judged: str = "") -> Compared:
        before, after = [of(row) for row in original], [of(row) for row in tuned]
        share = name not in OF_RUNS and _are_shares([*before, *after])
        lead = interval(leads(tuned, original, of), share)
        own = _UNKNOWN if brief else interval([value for value in after if value is not None], share)
        if share:
            lead, own = within(lead, -1, 1), within(own, 0, 1)
        word = judged and _word(lead, mean(before), judged == "maximize", len(plan.objectives) > 1)
        return Compared(name, mean(before), mean(after), lead, own, word)

    found = {
        each.text: compared(each.text, _objective(place), "maximize" if each.maximize else "minimize")
        for place, each in enumerate(plan.objectives)
    }
    for name, of in () if brief else _OTHERS.items():
        found.setdefault(name, compared(name, of))
    constraints = tuple(_bounded(plan, original, tuned, interval))
    if same is None and any(each.violated for each in constraints):
        same = "constraint violated"
    judged = same or _verdict([each for each in found.values() if each.verdict], plan.objectives)
    more = None
    if judged == "not significant" and not brief:
        each_row = (mean([row.usd for row in rows]) for rows in (original, tuned))
        needed = (
            rows_to_decide(leads(tuned, original, _objective(place)), level=later, planned=planned)
            for place in range(len(plan.objectives))
        )
        more = min((rows for rows in needed if rows), default=None)
        usd = [cost for cost in each_row if cost is not None]
    money = more * math.fsum(usd) if more is not None and len(usd) == 2 else None
    return HeldOut(len(original), tuple(found.values()), constraints, judged, more, money)


def _objective(place: int) -> Callable[[Measured], float | None]:
    return lambda row: row.objectives[place]


_OTHERS: Mapping[str, Callable[[Measured], float | None]] = {
    "cost": lambda row: row.usd,
    "latency": lambda row: row.seconds,
    "calls": lambda row: float(row.calls),
    "failures": lambda row: float(bool(row.failure)),
}


def _word(lead: Interval, original: float | None, maximize: bool, several: bool) -> str:
    word = verdict(lead, lower_is_better=not maximize)
    worst = -lead.low if maximize else lead.high
    if several and word == "not significant" and worst <= TOLERANCE * abs(original or 0.0):
        return "no worse"
    return word


def _verdict(compared: Sequence[Compared], objectives: Sequence[Objective]) -> str:
    """The verdict on a point by its objectives. A point that may be better in one of them is not `worse`."""
    words = {each.verdict for each in compared}
    if "better" in words:
        return "better" if words <= {"better", "no worse"} else "trade-off"
    ahead = any(o.sign * each.lead.mean < 0 for o, each in zip(objectives, compared, strict=True))
    return "worse" if "worse" in words and not ahead else "not significant"


def _are_shares(values: Sequence[float | None]) -> bool:
    """Whether each row has 0 or 1, such as right or wrong."""
    return {value for value in values if value is not None} <= {0.0, 1.0}


def _bounded(
    plan: StudyPlan,
    original: Sequence[Measured],
    tuned: Sequence[Measured],
    interval: Callable[[Sequence[float], float], Interval],
) -> Sequence[Bounded]:
    """Every constraint of a study, including that on failures."""
    failures = _OTHERS["failures"]
    before, after = (mean([failures(row) for row in rows]) or 0.0 for rows in (original, tuned))
    more = within(interval(leads(tuned, original, failures), 1.0), -1, 1)
    found = [Bounded(FAILURES, before, after, before, False, more, TOLERANCE)]
    for place, constraint in enumerate(plan.constraints):

        def of(row: Measured, place: int = place) -> float | None:
            return row.quantities[place]

        base, quantity = (mean([of(row) for row in rows]) for rows in (original, tuned))
        if base is None or quantity is None:
            found.append(Bounded(constraint.text, base, quantity, math.nan, constraint.least, _UNKNOWN, 0.0))
            continue
        limit, over = bound(constraint, base), excess(constraint, quantity, base)
        pairs = known_pairs(tuned, original, of)
        share = constraint.of_results and _are_shares([value for pair in pairs for value in pair])
        by_row = _shifted(interval(_excesses(constraint, pairs), share), over)
        if share:
            ends = _excesses(constraint, [(a, b) for a in (0.0, 1.0) for b in (0.0, 1.0)])
            by_row = within(by_row, min(ends, default=-math.inf), max(ends, default=math.inf))
        tolerance = TOLERANCE * abs(limit)
        found.append(Bounded(constraint.text, base, quantity, limit, constraint.least, by_row, tolerance))
    return found


def _excesses(constraint: Constraint, pairs: Sequence[tuple[float, float]]) -> list[float]:
    """The excess row by row; none if a bound has no value for a single row."""
    try:
        return [excess(constraint, a, b) for a, b in pairs]
    except UsageError:
        return []


def _shifted(found: Interval, middle: float) -> Interval:
    """The interval of means by row, shifted to the excess of the means, which differs for a bound that is not
    a multiple of the baseline."""
    by = middle - found.mean if math.isfinite(found.mean) else 0.0
    return replace(found, mean=middle, low=found.low + by, high=found.high + by)


def amount(name: str, value: float | None, *, sign: bool = False) -> str:
    """A quantity for reports: dollars, seconds, or four digits."""
    if value is None or not math.isfinite(value):
        return "–"
    before = "-" if value < 0 else "+" if sign else ""
    size = abs(value)
    if name == "cost":
        digits = 4 if size >= 0.001 or size == 0 else 2 - math.floor(math.log10(size))
        return f"{before}${size:.{digits}f}"
    return f"{before}{size:.4g}{' s' if name == 'latency' else ''}"


# ---------------------------------------------------------------- the front


@final
@dataclass(frozen=True, slots=True)
class FrontPoint:
    """A point to choose. `names` are `original`, or `p7` by the number of its trial, and also `best` (in the
    first objective) and `knee` (nearest to the best of all objectives at once). `cost` is in US dollars per
    row: on the test rows (`measured`) if it ran on them, else in the search; None if unknown."""

    names: tuple[str, ...]
    trial: Trial
    cost: float | None
    measured: tuple[Measured, ...] = ()
    held_out: HeldOut | None = None

    @property
    def title(self) -> str:
        """`p7 (best, knee)`."""
        first, *more = self.names
        return f"{first} ({', '.join(more)})" if more else first

    def to_dict(self) -> dict[str, Any]:
        """The form in documents."""
        held_out = self.held_out.to_dict() if self.held_out is not None else None
        point = {"names": self.names, "trial": self.trial.number, "point": dict(self.trial.point)}
        return {
            **point,
            "train": list(self.trial.result.values or ()),
            "cost": self.cost,
            "held_out": held_out,
        }


def front_of(plan: StudyPlan, trials: Mapping[int, Trial], best: Sequence[Trial]) -> list[FrontPoint]:
    """The points to choose from, the original first, then by the first objective. `best` are the best points
    of the search, the best in the first objective first; empty if the original is best.

    With one objective these are its best point, and those that are cheaper and not worse than any as cheap.
    """
    original, costs = trials[0], {n: cost_of(trial, trials[0]) for n, trial in trials.items()}
    best = best or [original]

    def order(trial: Trial) -> tuple[float, ...]:
        values = trial.result.values or [math.inf] * len(plan.objectives)
        return tuple(each.sign * value for each, value in zip(plan.objectives, values, strict=True))

    def with_cost(trial: Trial) -> tuple[float, ...]:
        cost = costs[trial.number]
        return (*order(trial), *([] if cost is None or len(plan.objectives) > 1 else [cost]))

    rivals = list(best)
    if len(plan.objectives) == 1:
        able = [t for t in trials.values() if t.ended == "complete" and t.feasible and t.result.values]
        top = with_cost(best[0])
        rivals += [t for t in able if with_cost(t)[1:] < top[1:] and not _beaten(t, able, with_cost)]
    distinct = {tuple(trial.point.items()): trial for trial in reversed(rivals)}
    found = {t.number: t for t in sorted(distinct.values(), key=order)}
    knee = _knee([t for t in found.values() if t.result.values], with_cost) or best[0]
    kept = {best[0].number, knee.number, *_spread(list(found), MOST - 2)} - {0}
    points = []
    for trial in (original, *(t for n, t in found.items() if n in kept)):
        names = [f"p{trial.number}" if trial.number else "original"]
        names += ["best"] * (trial.number == best[0].number) + ["knee"] * (trial.number == knee.number)
        points.append(FrontPoint(tuple(names), trial, costs[trial.number]))
    return points


def named(trials: Mapping[int, Trial], names: Mapping[int, tuple[str, ...]]) -> list[FrontPoint]:
    """The same front, reconstructed from the names of its points by the numbers of their trials."""
    return [
        FrontPoint(each, trials[n], cost_of(trials[n], trials[0])) for n, each in names.items() if n in trials
    ]


def cost_of(trial: Trial, original: Trial) -> float | None:
    """Dollars per row: the cost of the original on all its rows, plus the excess of this point on the rows
    that it ran on."""
    lead, whole = (
        mean(leads(trial.rows, original.rows, _OTHERS["cost"])),
        mean([r.usd for r in original.rows]),
    )
    return None if lead is None or whole is None else max(0.0, whole + lead)


def _beaten(trial: Trial, others: Sequence[Trial], of: Callable[[Trial], tuple[float, ...]]) -> bool:
    mine = of(trial)
    return any(of(t) != mine and all(a <= b for a, b in zip(of(t), mine, strict=False)) for t in others)


def _knee(trials: Sequence[Trial], of: Callable[[Trial], tuple[float, ...]]) -> Trial | None:
    """The nearest to the best of all quantities at once, each from 0 (best) to 1 (worst of these)."""
    ends = [(min(values), max(values)) for values in zip(*map(of, trials), strict=False)]

    def away(trial: Trial) -> float:
        scaled = ((x - low) / ((high - low) or 1.0) for x, (low, high) in zip(of(trial), ends, strict=False))
        return math.hypot(*scaled)

    return min(trials, key=away, default=None)


def _spread(numbers: Sequence[int], most: int) -> set[int]:
    """At most this many, evenly spaced, including the first and the last."""
    step = max(1.0, (len(numbers) - 1) / (most - 1))
    return {numbers[round(place * step)] for place in range(min(most, len(numbers)))}


def compare_front(
    plan: StudyPlan,
    front: Sequence[FrontPoint],
    measured: Mapping[int, Sequence[Measured]],
    *,
    same: str,
    planned: int | None = None,
    brief: bool = False,
) -> list[FrontPoint]:
    """The front with each point compared that ran on the test rows: `measured` has them by the number of the
    trial, in one order. `same` is the verdict on the original if it is the best, `planned` and `brief` as in
    `compare_held_out`; a `brief` comparison leaves out the original."""
    original = measured.get(front[0].trial.number)
    if original is None:
        return list(front)
    quantities = {each.text for each in plan.objectives}
    quantities |= {"cost"} if len(quantities) > 1 else set()
    judged = sum(1 for point in front[1:] if point.trial.number in measured)
    level = 1 - (1 - LEVEL) / max(1, judged * len(quantities))
    found = []
    for point in front:
        if (rows := measured.get(point.trial.number)) is None:
            found.append(point)
            continue
        own = same if "best" in point.names else "original"
        verdict = None if point.trial.number else own
        held = None
        if point.trial.number or not brief:
            held = compare_held_out(
                plan, original, rows, same=verdict, level=level, planned=planned, brief=brief
            )
        cost = mean([row.usd for row in rows])
        found.append(replace(point, cost=cost, measured=tuple(rows), held_out=held))
    return found


FEWEST = 12
"""Test rows of the first wave; each later one has a tenth more, at least `MORE` rows, the last one all."""
MORE = 4


def waves(rows: int) -> list[int]:
    """The numbers of test rows at which it is checked whether the verdicts are certain."""
    found, seen = list[int](), FEWEST
    while seen < rows:
        found.append(seen)
        seen += max(MORE, seen // 10)
    return [*found, rows]


ENOUGH = 59
"""Test rows after which a point may be said to be better before all planned rows were run: of so many, one in
twenty that is much worse is among them with 95%."""
IMPROBABLE = 0.05
"""A point runs on no more test rows once the probability that all of them would show it to be better, as
predicted from those that ran, is below this."""


def is_settled(plan: StudyPlan, front: Sequence[FrontPoint], rows: int, planned: int | None = None) -> bool:
    """Whether to run no more of the `rows` test rows: no point can be shown to be `better` by them, or enough
    were run. `better` takes `ENOUGH` rows, or all that were planned: a rare row that is much worse is seldom
    among a few. To stop never adds a false `better`: what is improbable keeps the verdict that it has.
    `planned` is as in `compare_held_out`."""
    original, once = front[0].measured, not planned or planned == rows

    def hopeless(point: FrontPoint, held: HeldOut) -> bool:
        level = 1 - (FIRST if once else 1 - FIRST) * (1 - held.compared[0].lead.level)

        def chance(place: int) -> float:
            sign, found = plan.objectives[place].sign, leads(point.measured, original, _objective(place))
            values = [sign * lead for lead in found]
            return chance_of_lead(values, rows, level=level, planned=None if once else planned)

        return all(
            held.compared[place].verdict != "better" and chance(place) < IMPROBABLE
            for place in range(len(plan.objectives))
        )

    held = [(p, p.held_out) for p in front if p.trial.number and p.held_out is not None]
    return all(_is_certain(one, planned or rows) or hopeless(point, one) for point, one in held)


def _is_certain(held: HeldOut, planned: int) -> bool:
    """Whether more test rows would not change the verdict: a constraint is surely violated, or each objective
    is better, worse or no worse on enough rows, or worse on some."""
    words = {each.verdict for each in held.compared if each.verdict}
    decided = "not significant" not in words if held.rows >= min(planned, ENOUGH) else words == {"worse"}
    return decided or any(c.excess.low > _ROUNDING * abs(c.bound) for c in held.constraints)


def reserve_of(
    front: Sequence[FrontPoint], trials: Mapping[int, Trial], expected: Mapping[int, float]
) -> FrontPoint | None:
    """The point to run on the test rows because the best one violates a constraint there; None if it does
    not, or if there is no such point. `expected` are the expected losses by trial number.

    It has the smallest expected loss, below the original's, of the points that would satisfy the constraint
    even if their quantity rose from train to test rows by as much as that of the best point. Failures on
    train rows predict hardly any others, so a point needs none there.
    """
    best = next(point for point in front if "best" in point.names)
    held, train = best.held_out, best.trial.result.excess
    if held is None or held.verdict != "constraint violated":
        return None
    violated = [c for c in held.constraints if c.violated and c.text != FAILURES]
    more = {c.text: c.excess.mean - train.get(c.text, 0.0) for c in violated}
    able = [
        trial
        for number, trial in trials.items()
        if trial.feasible and number != best.trial.number and expected.get(number, math.inf) < expected[0]
        if all(trial.result.excess.get(text, math.inf) + by <= 0 for text, by in more.items())
    ]
    if not able:
        return None
    found = min(able, key=lambda trial: expected[trial.number])
    known = (point for point in front if point.trial.number == found.number)
    return next(known, FrontPoint((f"p{found.number}",), found, cost_of(found, trials[0])))


def judged_point(front: Sequence[FrontPoint]) -> FrontPoint:
    """The point of a study's verdict: of those that are better the `best`, the `knee` or the first, else the
    `best`. All intervals hold simultaneously, so that choosing among them introduces no bias."""
    ranked = sorted(front, key=lambda point: ("best" not in point.names, "knee" not in point.names))
    better = (p for p in ranked if p.held_out is not None and p.held_out.verdict == "better")
    return next(better, ranked[0])


def pick(
    plan: StudyPlan, front: Sequence[FrontPoint], trials: Mapping[int, Trial], wanted: str
) -> FrontPoint:
    """The point with this name, any trial's `p7`, or with `cost=0.5` the best feasible point of the front
    that costs at most this many US dollars per row. Raises UsageError if there is none."""
    known = ", ".join(name for point in front for name in point.names)
    word, equals, text = wanted.partition("=")
    if not equals:
        for point in front:
            if wanted in point.names:
                return point
        number = int(wanted[1:]) if wanted[:1] == "p" and wanted[1:].isdecimal() else 0
        if number and number in trials:
            return FrontPoint((f"p{number}",), trials[number], cost_of(trials[number], trials[0]))
        raise UsageError(f"the study has no point `{wanted}`", help=f"there are {known}")
    try:
        most = float(text.removeprefix("$"))
    except ValueError:
        most = math.nan
    if word.strip() != "cost" or not most >= 0:
        raise UsageError(f"`{wanted}` selects no point", help=f"`cost=0.5`, in dollars per row, or {known}")
    able = [p for p in front if p.cost is not None and not _violates(p)]
    within = [p for p in able if p.cost is not None and p.cost <= most]
    if not within:
        costs = [(p.cost, p.title) for p in able if p.cost is not None]
        least = (
            f"the cheapest is {min(costs)[1]} at {amount('cost', min(costs)[0])}"
            if costs
            else "none is known"
        )
        raise UsageError(f"no point of the front costs at most {amount('cost', most)} per row", help=least)
    first = plan.objectives[0].sign
    return min(within, key=lambda point: first * (point.trial.result.values or [math.inf * first])[0])


def _violates(point: FrontPoint) -> bool:
    held = point.held_out
    return held.verdict == "constraint violated" if held is not None else not point.trial.feasible
