"""What a point will cost, before a call is made for it: the static estimate, measured against the original.

The estimate knows how many calls a scheme makes and bounds their tokens. Where between its bounds the truth
lies is read off the untuned program, whose cost is known once its trial is over. A point that is then still
beyond a bound, with something to spare, is refused before anything is paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import final

from gotlang.errors import GotError
from gotlang.ir.cost import Range, estimate
from gotlang.ir.evaluate import evaluate
from gotlang.ir.names import free_names
from gotlang.models.base import ModelOptions
from gotlang.runtime.estimating import Sizes
from gotlang.tune.evaluation import Evaluation
from gotlang.tune.objective import Measured, excess, mean
from gotlang.tune.plan import Constraint, Plan
from gotlang.tune.rows import Row
from gotlang.tune.space import Point

SPARE = 0.8
"""A point is refused where even so much of what is estimated breaks a bound."""
KNOWN = frozenset({"cost", "calls"})
"""What is estimated."""


@final
class Estimated:
    """Estimates for the points of a study; says nothing before `learn`."""

    def __init__(self, plan: Plan, evaluation: Evaluation, rows: Sequence[Row]) -> None:
        self.plan = plan
        self._evaluation = evaluation
        self._rows = rows
        options = evaluation.session.options
        self._sizes = Sizes(
            options.chosen_model, ModelOptions(base_url=options.base_url, prices=options.prices)
        )
        self._early = options.early_stop and options.level > 0
        self._bounds = {
            place: constraint
            for place, constraint in enumerate(plan.constraints)
            if (names := free_names(constraint.quantity).keys()) and names <= KNOWN and not constraint.least
        }
        self._row: Row | None = None
        self._base: dict[str, Range] = {}
        self._share: dict[str, float] = {}
        self._factor: dict[str, float] = {}
        self._measured: dict[int, float] = {}
        self._seen: dict[str, dict[str, float]] = {}

    def learn(self, baseline: Sequence[Measured]) -> None:
        """What the untuned program's rows cost, all train rows in their order."""
        ran = [(row, m) for row, m in zip(self._rows, baseline, strict=False) if m.failure is None]
        if self._row is not None or not self._bounds or not ran:
            return
        self._row, first = ran[0]
        truth = {"calls": float(first.calls), "cost": first.usd}
        means = {"calls": fmean(m.calls for _, m in ran), "cost": mean([m.usd for _, m in ran])}
        self._base = self._ranges(self._evaluation.space.start)
        for name, range_ in self._base.items():
            known, whole = truth[name], means[name]
            if known is None or whole is None:
                continue
            self._share[name] = _share(range_, known)
            guessed = _between(range_, self._share[name])
            if guessed > 0:
                self._factor[name] = whole / guessed
        for place in self._bounds:
            quantity = mean([m.quantities[place] for _, m in ran])
            if quantity is not None:
                self._measured[place] = quantity

    def broken(self, point: Point) -> dict[str, float]:
        """The constraints that a point would break, with how far it would be beyond their bounds."""
        if not self._factor:
            return {}
        key = repr(sorted(point.items()))
        if key not in self._seen:
            self._seen[key] = self._judged(point)
        return self._seen[key]

    def _judged(self, point: Point) -> dict[str, float]:
        try:
            ranges = self._ranges(point)
        except GotError:
            return {}
        guessed = {
            name: self._factor[name] * _between(range_, self._share[name])
            for name, range_ in ranges.items()
            if name in self._factor
        }
        out: dict[str, float] = {}
        for place, constraint in self._bounds.items():
            if place in self._measured and free_names(constraint.quantity).keys() <= guessed.keys():
                base = self._measured[place]
                if self._over(constraint, guessed, SPARE, base) > 0:
                    out[constraint.text] = self._over(constraint, guessed, 1.0, base)
        return out

    def _over(self, constraint: Constraint, guessed: dict[str, float], part: float, base: float) -> float:
        names = {name: part * value for name, value in guessed.items()}
        return excess(constraint, float(evaluate(constraint.quantity, names)), base)

    def _ranges(self, point: Point) -> dict[str, Range]:
        runner = self._evaluation.runner(point)
        assert self._row is not None
        scheme = runner.program.scheme(self.plan.scheme)
        found = estimate(runner.program, scheme, self._sizes, inputs=self._row.inputs, params=runner.params)
        costs = found.early if self._early else found.costs
        return {"calls": costs.calls} | ({"cost": costs.usd} if costs.usd is not None else {})


def _share(range_: Range, truth: float) -> float:
    """Where between the bounds the truth lies, from 0 to 1."""
    if range_.high is None or range_.high <= range_.low:
        return 0.0
    return min(1.0, max(0.0, (truth - range_.low) / (range_.high - range_.low)))


def _between(range_: Range, share: float) -> float:
    return range_.low + (0.0 if range_.high is None else share * (range_.high - range_.low))
