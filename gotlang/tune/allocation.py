"""Allocation of the search budget: which point is to run on which rows.

A cell is a point on a row. All points see the same rows in the same order, and equal requests get equal
samples, so points are compared cell by cell. The untuned program is one of them: it runs on further rows only
where it may be the best, or where it is uncertain whether another satisfies a bound. Beyond the train rows
cells repeat them with new samples. A model of all points (`surrogate`) estimates the objectives of each,
`prices` the cost of its next cells; the cells with the largest expected gain per price are measured, and all
that are nearly free. The search ends when the expected gain is small.

The expected gain is that of choosing with the knowledge of the cells (the knowledge gradient: Frazier, Powell
and Dayanik, 2008), by joint samples from the model. With several objectives each sample weighs them
differently, so that the whole front is searched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, final

from gotlang.tune.noise import estimated
from gotlang.tune.plan import SEEDS
from gotlang.tune.points import TOLERANCE, mean
from gotlang.tune.prices import Prices
from gotlang.tune.selections import Selections, gains_of
from gotlang.tune.space import Point, Space, key_of
from gotlang.tune.surrogate import Surrogate, gaps_of

FIRST = 4
"""Rows on which a point runs first."""
AT_ONCE = 8
"""Number of measurements that are planned from the same knowledge, and so can be shared by workers."""
LISTING = 0.45
"""Maximum share of the search for running all points of a finite space on the first rows: neighbours do not
predict a point that is good only by an interaction of categories."""
UNLIKELY = 0.02
"""Points that are feasible with a smaller probability are not run even if they are free."""
MOST_FREE = 64
"""Number of measurements planned at once if they cost next to nothing."""
NEARLY_FREE = 0.1
"""Next to nothing: a share of the cost of the untuned program."""
CELLS = 5
"""If cells are nearly free, the search may have this many times as many: they take time."""
MOST_TIMES = 4.0
"""Maximum factor by which the search's limit rises with the mean cost of the points."""
PASSES = 3
"""Maximum number of times that a point runs on the train rows, each time with new samples; more than once
only up to as many cells as there are test rows, which could not show smaller differences anyway."""
ENOUGH = 0.003
OF_LEAD = 0.008
"""The search ends when the expected gain is below this share of the untuned program's objective, or of the
lead over it if that is larger."""
RELEVANT = 0.5
"""Points with less than this share of the largest expected gain wait."""
CLOSINGS = 3
"""Maximum number of times that the best point may change while it runs on the last train rows."""
DRAWS = 128
MOST_RIVALS = 4
"""Maximum number of points of the front that also run on the cells of the points compared with them."""
_BELIEF = 3
"""The weight, in rows, of the median spread of all points' rows against a point's own."""
_LEAST = 0.1
"""The mean spread is used if the median is below this share of it: if rows are right or wrong, most points
have no spread on few rows."""
_EXACT = 0.02
"""The maximum squared error of a point's excess, relative to its spread over points, for its own mean to be
used; with noisier ones, the luckiest would seem to satisfy a bound."""
_RESULTS = 4
"""The number of excesses over a bound that two programs can have which are right or wrong."""
_SURELY = 4.0
"""It is also used if it exceeds the bound by this many standard errors: a smooth model cannot excuse that."""


def _covariance(rows: dict[int, list[float]], places: Sequence[int], errors: dict[int, float]) -> Any:
    """The covariance of the errors of points' means, by their variances. Points that ran on the same cells
    have correlated errors, as far as their rows vary together: many similar points on a few rows provide no
    more information than one of them."""
    import numpy as np

    values = np.zeros((len(places), max(len(rows[p]) for p in places)))
    seen = np.zeros_like(values)
    for at, p in enumerate(places):
        values[at, : len(rows[p])] = np.array(rows[p]) - math.fsum(rows[p]) / len(rows[p])
        seen[at, : len(rows[p])] = 1.0
    both, squares, counts = seen @ seen.T, values**2 @ seen.T, seen.sum(axis=1)
    alike = values @ values.T / np.sqrt(np.maximum(squares * squares.T, 1e-30)) * both / (both + _BELIEF)
    np.fill_diagonal(alike, 1.0)
    alike *= np.sqrt(np.minimum.outer(counts, counts) / np.maximum.outer(counts, counts))
    spreads = np.sqrt([errors[p] for p in places])
    shares, vectors = np.linalg.eigh(alike * np.outer(spreads, spreads))
    return (vectors * shares.clip(0.0)) @ vectors.T


@final
@dataclass(frozen=True, slots=True)
class Cells:
    """A point's cells from `first` up to `last`, to be measured."""

    point: Point
    first: int
    last: int


@final
@dataclass(slots=True)
class PointFacts:
    """The measurements of a point: by cell its value of each objective (lower is better) and its excess over
    each bound (above 0 violates it), None if unknown; of a bound that depends on the untuned program only as
    far as that ran. `asked` are the samples that its first cells requested, `cost` is the mean cost of a cell
    without a cache. `failed`: no cell has a result. `selections` are the selections in its cells."""

    point: Point
    cells: int
    values: Sequence[Sequence[float | None]]
    excess: Sequence[Sequence[float | None]]
    asked: bytes
    cost: float
    failed: bool = False
    selections: Selections = field(default_factory=dict)

    @property
    def feasible(self) -> bool:
        """Whether it violates no constraint on its own cells."""
        return not self.failed and all((mean(over) or 0.0) <= 0 for over in self.excess)


@final
@dataclass(slots=True)
class Allocation:
    """Plans measurements. `rows` is the number of train rows, `judged` that of the test rows, `most` the
    maximum cost of the search in cells of the untuned program, where shared samples count once. `refuse`
    tells that a point surely violates a constraint, before any call. Equal knowledge yields equal plans."""

    space: Space
    rows: int
    judged: int
    most: int
    seed: int
    refuse: Callable[[Point], bool]
    grows: bool = False
    """Whether points may cost many times what the untuned program does, as other structures of it do: `most`
    then counts cells at the mean cost of the points, up to `MOST_TIMES` times the untuned program's."""
    shares: frozenset[int] = frozenset()
    """The places in `excess` of quantities that may be 0 or 1 in each row, such as right or wrong: equal
    results on a few rows do not show that the shares are equal."""
    expected: list[float] = field(default_factory=list)
    """The expected losses of the points that were measured, at the last plan."""
    _limit: float = 0.0
    _spent: float = 0.0
    _closings: int = 0
    _models: dict[object, Surrogate] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)

    def plan(
        self, known: Sequence[PointFacts], new: Sequence[Point], scale: Sequence[float], *, finite: bool
    ) -> tuple[list[Cells], list[int]]:
        """The next measurements, empty if the search is over; and the places of the best points in `known`.

        `known` starts with the untuned program. `new` are points that were not measured: all of them in a
        `finite` space, otherwise those that are proposed.
        """
        base = known[0]
        times = fmean(each.cost for each in known) / (base.cost or 1.0) if self.grows else 1.0
        self._limit = self.most * min(max(1.0, times), MOST_TIMES)
        new = [point for point in new if not self._is_refused(point)]
        first = min(FIRST, self.rows)
        if len(known) == 1:
            spread = self._spread(new, min(len(new), 2 * AT_ONCE))
            priced = [(Cells(point, 0, first), first * base.cost) for point in spread]
            planned = self._within(priced, known, [0])
            return planned or self._closing(known, [0]), [0]
        candidates = [*(each.point for each in known), *new]
        gaps = gaps_of(self.space, candidates)
        prices = self._prices(gaps, known)
        gains, left, best, able, means = self._gains(gaps, known, len(candidates), scale)
        self.expected = [float(mean) for mean in means[:, : len(known)].mean(axis=0)]
        firsts = {p: prices.price(p, 0, first) for p in range(len(known), len(candidates))}
        whole = sum(firsts.values()) + first * base.cost * len(known)
        listed = finite and whole <= LISTING * self._limit * base.cost
        chosen: list[tuple[float, Cells]] = []
        least = max(1e-12, RELEVANT * float(max(gains)))
        free: list[Cells] = []
        for place, point in enumerate(candidates):
            start = known[place].cells if place < len(known) else 0
            near = listed or (place in firsts and firsts[place] <= NEARLY_FREE * base.cost * first)
            if place in firsts and near and able[place] > UNLIKELY:
                free.append(Cells(point, 0, first))
            if gains[place] < least or (place < len(known) and known[place].failed):
                continue
            stop = self._look(start) if place else min(self._look(start), self.rows)
            if stop <= start:
                continue
            price = firsts[place] if place in firsts else prices.price(place, start, stop)
            worth = gains[place] * (1 - math.sqrt(start / stop)) / price
            chosen.append((worth, Cells(point, start, stop)))
        enough = self._enough(means, best)
        over = left <= enough
        if over and (more := self._doubted(known, best, able)):
            return more, best
        if over and len(best) == 1:  # among points that are as good, one that has run on all train rows
            run = [p for p, k in enumerate(known) if k.feasible and k.cells >= self.rows]
            run = [p for p in run if means[0, p] <= means[0, best[0]] + enough]
            best = [min(run, key=lambda p: float(means[0, p]))] if run else best
        if over and not (finite and free):
            return self._last(known, best, means)
        chosen.sort(key=lambda each: -each[0])
        planned = [cells for _, cells in chosen[: AT_ONCE if not over else 0]]
        planned += [cells for cells in free[:MOST_FREE] if cells not in planned]
        priced = [
            (cells, prices.price(candidates.index(cells.point), cells.first, cells.last))
            for cells in self._with_rivals(planned, known, best, able)
        ]
        planned = self._within(priced, known, best)
        return (planned, best) if planned else self._last(known, best, means)

    def share(self, cells: int) -> float:
        """The share of the search's limit that is used up by this number of measured cells."""
        return min(1.0, max(self._spent, cells / CELLS) / (self._limit or self.most))

    def _within(
        self, planned: Sequence[tuple[Cells, float]], known: Sequence[PointFacts], best: Sequence[int]
    ) -> list[Cells]:
        """The part of a plan, of cells and their prices, that can be measured if the best point is to run on
        all train rows in the end."""
        out, last = list[Cells](), self._ending(known, best)
        base = known[0].cost or 1.0
        count = sum(each.cells for each in known)
        spent = self._spent + min(FIRST, self.rows)
        spent += sum(max(0, self.rows - known[p].cells) * known[p].cost / base for p in last)
        spent += self.rows - min(FIRST, self.rows) if not any(last) else 0
        for cells, price in planned:
            spent += price / base
            count += cells.last - cells.first
            if spent <= self._limit and count <= CELLS * self.most:
                self._spent += price / base
                out.append(cells)
        return out

    def _look(self, seen: int) -> int:
        """The number of cells after which a point is evaluated next."""
        if seen < FIRST:
            return min(FIRST, self.rows)
        if seen < self.rows:
            return self.rows if 3 * seen > 2 * self.rows else min(2 * seen, self.rows)
        return min(seen + max(1, self.rows // 2), max(self.rows, min(self.judged, PASSES * self.rows)))

    def _with_rivals(
        self, planned: Sequence[Cells], known: Sequence[PointFacts], best: Sequence[int], able: Any
    ) -> list[Cells]:
        """The plan, with the best so far on the same cells. The untuned program goes first if it is uncertain
        whether one of these satisfies a bound on more rows than it ran on, or if one failed on such a row."""
        last, start = max((cells.last for cells in planned), default=0), known[0].cells
        rivals = best[:MOST_RIVALS]
        uncertain = [known[p].cells for p in rivals if UNLIKELY < able[p] < 1 - UNLIKELY]
        uncertain += [k.cells for k in known if any(x and x > 0 for x in k.excess[0][start : self.rows])]
        if start < min(self.rows, max(uncertain, default=0)):
            return [Cells(known[0].point, start, self._look(start))]
        further = [
            Cells(known[place].point, known[place].cells, last if place else min(last, self.rows))
            for place in rivals
            if all(cells.point != known[place].point for cells in planned)
        ]
        return [*planned, *(cells for cells in further if cells.first < cells.last)]

    def _doubted(self, known: Sequence[PointFacts], best: Sequence[int], able: Any) -> list[Cells]:
        """Further cells of the untuned program, if it is uncertain whether a best point satisfies a bound on
        more cells than that ran on."""
        start = known[0].cells
        ran = [known[p].cells for p in best[:MOST_RIVALS] if UNLIKELY < able[p] < 1 - UNLIKELY]
        if start >= min(self.rows, max(ran, default=0)):
            return []
        further = Cells(known[0].point, start, self._look(start))
        return self._within([(further, (further.last - start) * known[0].cost)], known, best)

    def _ending(self, known: Sequence[PointFacts], best: Sequence[int]) -> list[int]:
        """The points that run on all train rows in the end: the best, and, if there are several objectives,
        the untuned program, which is one of the front."""
        several = len(known[0].values) > 1
        return [0] * several + [place for place in best[:MOST_RIVALS] if place]

    def _closing(self, known: Sequence[PointFacts], best: Sequence[int]) -> list[Cells]:
        """What is missing for the best to have run on all train rows."""
        short = [place for place in self._ending(known, best) if known[place].cells < self.rows]
        short = [0] if 0 in short else short
        return [Cells(known[place].point, known[place].cells, self.rows) for place in short]

    def _last(
        self, known: Sequence[PointFacts], best: list[int], means: Any
    ) -> tuple[list[Cells], list[int]]:
        """The measurements that are missing until the best point has run on all train rows. If that changes
        the best point too often: none, and the best of those that have."""
        planned = self._closing(known, best)
        self._closings += bool(planned)
        if self._closings <= CLOSINGS:
            return planned, best
        run = [p for p, each in enumerate(known) if each.feasible and each.cells >= self.rows] or [0]
        return [], [min(run, key=lambda p: float(means[:, p].mean()))]

    def _enough(self, means: Any, best: Sequence[int]) -> float:
        """The expected gain below which the search ends, in units of its scale."""
        lead = max(float((means[:, 0] - means[:, place]).mean()) for place in best)
        return max(ENOUGH, OF_LEAD * lead)

    def _is_refused(self, point: Point) -> bool:
        if refused := self.refuse(point):
            self._refused.add(key_of(point))
        elif self._refused:
            self._refused.discard(key_of(point))
        return refused

    @property
    def rejected(self) -> int:
        """The number of points that are refused with the current knowledge."""
        return len(self._refused)

    def _spread(self, points: Sequence[Point], count: int) -> list[Point]:
        """Points that lie far apart, the first the farthest from the untuned program."""
        import numpy as np

        if not points:
            return []
        gaps = sum(gaps_of(self.space, [self.space.start, *points]))
        nearest, chosen = np.array(gaps[0]), list[int]()
        while len(chosen) < count:
            place = int(nearest.argmax())
            chosen.append(place)
            nearest = np.minimum(nearest, gaps[place])
            nearest[place] = -1.0
        return [points[place - 1] for place in chosen if place]

    def _model(self, name: object) -> Surrogate:
        return self._models.setdefault(name, Surrogate())

    def _prices(self, gaps: Sequence[Any], known: Sequence[PointFacts]) -> Prices:
        return Prices(
            gaps,
            {place: each.asked for place, each in enumerate(known)},
            {place: each.cost for place, each in enumerate(known)},
            {place: each.cells for place, each in enumerate(known)},
            known[0].cost or 1.0,
            (self._model("cost"), self._model("fresh")),
        )

    def _gains(
        self, gaps: Sequence[Any], known: Sequence[PointFacts], size: int, scale: Sequence[float]
    ) -> tuple[Any, float, list[int], Any, Any]:
        """The expected improvement of each candidate over the best point; the same of all together; the
        places of the best points, one for a single objective; the probability that each is feasible; and the
        model's means by sample."""
        import numpy as np

        rng = np.random.default_rng([self.seed % SEEDS, len(known), sum(each.cells for each in known)])
        weights = np.ones((DRAWS, 1)) if len(scale) == 1 else rng.dirichlet(np.ones(len(scale)), DRAWS)
        losses, means = np.zeros((DRAWS, size)), np.zeros((DRAWS, size))
        features = self._features(gaps, known, size)
        for at, unit in enumerate(scale):
            places = [p for p, each in enumerate(known) if any(x is not None for x in each.values[at])]
            found, wrong = estimated([known[p].values[at] for p in places], [known[p].asked for p in places])
            center, drawn = self._model(("lead", at)).draws(
                gaps, places, found / unit, wrong / unit**2, rng, DRAWS, features
            )
            losses += weights[:, [at]] * drawn
            means += weights[:, [at]] * center
        beyond = np.zeros((DRAWS, size))
        for at in range(len(known[0].excess)):
            rows = {p: [x for x in k.excess[at] if x is not None] for p, k in enumerate(known)}
            every = [x for xs in rows.values() for x in xs]
            usual, least = max(map(abs, every), default=0.0), 0.0
            if at in self.shares and usual <= 1 and len({*every}) <= _RESULTS:
                usual, least = usual or 1.0, 1 / (2 + max(map(len, rows.values())))
            if usual > 0:
                rows = {p: [x / usual for x in xs] for p, xs in rows.items()}
                drawn = self._excess(("excess", at), gaps, rows, rng, least / usual**2)
                drawn -= TOLERANCE / usual if at == 0 else 0.0  # rare failures are tolerated
                beyond += np.where(drawn > 1e-9, 0.1 + drawn, 0.0)
        able = (beyond <= 0).mean(axis=0)
        if known[0].feasible:  # it stays in samples in which another violates a bound
            losses = np.where(beyond > 0, losses[:, [0]], losses)
            means = able * means + (1 - able) * means[:, [0]]
        else:
            losses += (float(losses.max() - losses.min()) + 1.0) * beyond
        fit = [p for p, each in enumerate(known) if each.feasible] or [0]
        best = [fit[int(i)] for i in means[:, fit].argmin(axis=1)]
        at_best = losses[np.arange(DRAWS), best]
        gains = np.maximum(0.0, at_best[:, None] - losses).mean(axis=0)
        left = float((at_best - losses.min(axis=1)).mean())
        for place, each in enumerate(known):
            gains[place] = 0.0 if each.failed else gains[place]
        return gains, left, sorted(set(best), key=lambda place: (-best.count(place), place)), able, means

    def _features(self, gaps: Sequence[Any], known: Sequence[PointFacts], size: int) -> Any:
        """The gains of each candidate's selections, a column per step, with mean 0 and spread 1; of points
        that were not measured, estimated from their neighbours."""
        import numpy as np

        ran = [place for place, each in enumerate(known) if not each.failed]
        columns = []
        for step, gains in gains_of([(known[p].cells, known[p].selections) for p in ran]).items():
            exact = [1e-6 * float(np.var(gains))] * len(ran)
            column, _ = self._model(("gains", step)).posterior(gaps, ran, gains, exact, spreads=False)
            column[ran] = gains
            if (spread := float(column.std())) > 1e-9:
                columns.append((column - column.mean()) / spread)
        return np.array(columns).T if columns else None

    def _excess(
        self, name: object, gaps: Sequence[Any], rows: dict[int, list[float]], rng: Any, least: float
    ) -> Any:
        """Joint samples of a quantity from its values on rows, which vary by at least a variance of `least`;
        for a measured point its own mean is used, with its own error, if that is small."""
        import numpy as np

        places = [place for place, values in rows.items() if values]
        counts = {place: len(rows[place]) for place in places}
        middles = {place: math.fsum(rows[place]) / counts[place] for place in places}
        squares = {p: math.fsum((x - middles[p]) ** 2 for x in rows[p]) for p in places}
        spreads = sorted(squares[p] / (counts[p] - 1) for p in places if counts[p] > 1)
        free = max(1, sum(counts.values()) - len(places))
        usual, all_ = spreads[len(spreads) // 2] if spreads else 0.0, math.fsum(squares.values()) / free
        usual = max(least, usual if usual > _LEAST * all_ else all_)
        errors = {p: (squares[p] + _BELIEF * usual) / (counts[p] - 1 + _BELIEF) / counts[p] for p in places}
        errors[0] = errors[0] if squares[0] else 0.0
        wrong = _covariance(rows, places, errors)
        _, drawn = self._model(name).draws(gaps, places, [middles[p] for p in places], wrong, rng, DRAWS)
        noise = rng.standard_normal((DRAWS, len(places)))
        between = float(np.var([*middles.values()]))
        over = {p for p in places if middles[p] > _SURELY * math.sqrt(errors[p])}
        own = places if least and not between else ()  # nothing to learn from one another
        at = [p for p in places if errors[p] <= _EXACT * between or p in over or p in own]
        drawn[:, at] = [middles[p] for p in at] + noise[:, : len(at)] * np.sqrt([errors[p] for p in at])
        return drawn
