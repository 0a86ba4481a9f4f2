"""What to try next: a sampler of Optuna that sees the same history in every worker.

Trials are proposed in batches. The point of a trial depends on its number, the study's seed and the results
of earlier batches only: not on the worker, not on which trial ended first, not on whether the study was
killed and resumed. Each worker replays the history in a study of its own in memory, so the shared storage
holds no sampler's state.

Points that would violate a constraint are refused before any call: by the static cost estimate, calibrated on
the untuned program, and by a ridge regression through the trials so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from statistics import fmean
from typing import Any, final

from gotlang.errors import GotError, UsageError
from gotlang.estimate.cost import CostRange, estimate
from gotlang.evaluate.rows import Row
from gotlang.ir.evaluate import evaluate
from gotlang.operations.names import free_names
from gotlang.runtime.estimating import Sizes
from gotlang.tune.plan import SEEDS, Constraint, Method
from gotlang.tune.points import Measured, PointRunner, excess, mean
from gotlang.tune.space import Point, Space, Value
from gotlang.tune.trials import TrialResult, quiet

MOST_RETRIES = 30
"""How often a sampler is asked again if it proposes what is known, or what cannot be allowed."""
FEWEST = 4
"""Trials beyond the number of its slopes that a regression needs."""
_RIDGE = 1e-3
SPARE = 0.8
"""A point is refused if even this share of its estimate violates a bound."""
ESTIMATED = frozenset({"cost", "calls"})
_SAMPLERS: dict[str, tuple[str, str, dict[str, tuple[str, int]]]] = {
    "tpe": ("TPESampler", "optuna", {"n_startup_trials": ("startup", 10)}),
    "gp": ("GPSampler", "torch", {"n_startup_trials": ("startup", 10)}),
    "cmaes": ("CmaEsSampler", "cmaes", {"n_startup_trials": ("startup", 1)}),
    "nsga2": ("NSGAIISampler", "optuna", {"population_size": ("population", 20)}),
    "random": ("RandomSampler", "optuna", {}),
}
"""Samplers by name: the class, the package it needs, and its arguments with ours and their defaults."""


def batch_start(number: int, size: int) -> int:
    """The first trial of the batch of a trial. The first batch is the untuned program alone."""
    return number - (number - 1) % size if number else 0


@final
class Proposals:
    """Points by the number of their trial; `rejected` counts those refused before any call.

    `estimate` tells which constraints a point would violate by what is known of the program, `forecast`
    whether the trials so far tell it too.
    """

    def __init__(
        self,
        space: Space,
        sampler: Method,
        *,
        seed: int,
        size: int,
        maximize: Sequence[bool],
        forecast: bool = True,
        estimate: Callable[[Point], Mapping[str, float]] = lambda _: {},
    ) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._states = optuna.trial.TrialState
        self.size = size
        self.space = space
        self.rejected = 0
        self._learns = forecast
        self._estimate = estimate
        self._excess: list[Mapping[str, float]] = []
        self._forecast = Forecast(space, (), ())
        self._points: list[dict[str, Value]] = []
        self._trials: list[Any] = []
        directions: Any = ["maximize" if upwards else "minimize" for upwards in maximize]
        with quiet():
            self._study: Any = optuna.create_study(
                sampler=_sampler(optuna, sampler, space, seed, size), directions=directions
            )

    def point(self, number: int, result: Callable[[int], TrialResult]) -> dict[str, Value]:
        """The point of a trial; `result` gives the results of the trials of earlier batches."""
        while len(self._points) <= number:
            with quiet():
                self._propose_batch(result)
        return self._points[number]

    def _propose_batch(self, result: Callable[[int], TrialResult]) -> None:
        for known in range(len(self._excess), len(self._trials)):
            self._tell(self._trials[known], result(known))
        if self._learns:
            self._forecast = Forecast(self.space, self._points, self._excess)
        if not self._points:
            self._study.enqueue_trial({d.name: d.default for d in self.space.dimensions})
            self._trials.append(self._study.ask())
            self.space.suggest(self._trials[0])
            self._points.append(self.space.start)
            return
        for _ in range(self.size):
            self._propose()

    def _propose(self) -> None:
        for attempt in range(MOST_RETRIES):
            trial = self._study.ask()
            point = self.space.suggest(trial)
            if attempt < MOST_RETRIES - 1:
                broken = self._forecast.broken(point) or self._estimate(point)
                if point in self._points or broken:
                    self._refuse(trial, broken)
                    continue
            self._points.append(point)
            self._trials.append(trial)
            return

    def _refuse(self, trial: Any, broken: Mapping[str, float]) -> None:
        """Refuse a point; the sampler learns what it would violate."""
        self.rejected += bool(broken)
        for name, over in broken.items():
            trial.set_constraint(name, over)
        learns = broken and len(self._study.directions) == 1
        self._study.tell(trial, state=self._states.PRUNED if learns else self._states.FAIL)

    def _tell(self, trial: Any, result: TrialResult) -> None:
        self._excess.append(result.excess)
        for name, over in result.excess.items():
            trial.set_constraint(name, over)
        # What the untuned program has for a setting is not a value in its range: nothing is learnt from it.
        if result.values is None or (trial.number == 0 and self.space.settings):
            self._study.tell(trial, state=self._states.FAIL)
        else:
            self._study.tell(trial, list(result.values))


def _sampler(optuna: Any, method: Method, space: Space, seed: int, size: int) -> Any:
    given, samplers = dict(method.arguments), optuna.samplers
    seed = given.get("seed", seed) % SEEDS
    if method.name == "grid":
        base: Any = samplers.GridSampler

        class Grid(base):
            """Every combination once, and then again: Optuna's own would end the process instead."""

            def after_trial(self, study: Any, trial: Any, state: Any, values: Any) -> None:
                pass

        return Grid(space.grid(), seed=seed)
    kind, package, arguments = _SAMPLERS[method.name]
    try:
        import_module(package)
    except ImportError as error:
        raise UsageError(
            f"the sampler `{method.name}` needs {error.name}", help=f"pip install {error.name}"
        ) from None
    settings = {of_optuna: given.get(name, default) for of_optuna, (name, default) in arguments.items()}
    if method.name == "tpe":
        guarded = any(d.guard is not None for d in space.dimensions)
        settings |= {"multivariate": True, "group": guarded, "constant_liar": size > 1}
    return getattr(samplers, kind)(seed=seed, **settings)


@final
class Forecast:
    """A ridge regression of each constraint's excess on the values of points. A point is refused if twice the
    scatter of the trials does not bring it within the bound."""

    def __init__(self, space: Space, points: Sequence[Point], excess: Sequence[Mapping[str, float]]) -> None:
        self._space = space
        self._lines: list[tuple[str, Any, float]] = []
        known = [(self._features(p), e) for p, e in zip(points, excess, strict=True) if e]
        if not known or len(known) < len(known[0][0]) + FEWEST:
            return
        import numpy as np

        matrix = np.array([features for features, _ in known])
        self._inverse = np.linalg.inv(matrix.T @ matrix + _RIDGE * np.eye(matrix.shape[1]))
        for name in known[-1][1]:
            wanted = np.array([e.get(name, 0.0) for _, e in known])
            line = self._inverse @ (matrix.T @ wanted)
            spread = wanted - matrix @ line
            self._lines.append((name, line, float(spread @ spread) / max(1, len(known) - matrix.shape[1])))

    def broken(self, point: Point) -> dict[str, float]:
        """The constraints that a point would surely violate, with its predicted excess."""
        if not self._lines:
            return {}
        import numpy as np

        x = np.array(self._features(point))
        reach = 1.0 + float(x @ self._inverse @ x)
        predicted = ((name, float(x @ line), variance) for name, line, variance in self._lines)
        return {name: far for name, far, variance in predicted if far > 2.0 * math.sqrt(variance * reach)}

    def _features(self, point: Point) -> list[float]:
        out = [1.0]
        for dimension in self._space.dimensions:
            value = point.get(dimension.name, dimension.default)
            if dimension.choices:
                out += [float(value == choice) for choice in dimension.choices[1:]]
            else:
                out.append(dimension.scaled(value))
        return out


@final
class CostModel:
    """Static cost estimates of points; says nothing before `learn`.

    The estimate knows how many calls a scheme makes and bounds their tokens. Where between its bounds the
    truth lies is learnt from the untuned program, once its trial is over.
    """

    def __init__(self, points: PointRunner, rows: Sequence[Row]) -> None:
        self._points = points
        self._rows = rows
        options = points.session.options
        self._sizes = Sizes(options.chosen_model, points.session.models.options)
        self._early = options.early_stop and options.level > 0
        self._bounds = {
            place: constraint
            for place, constraint in enumerate(points.plan.constraints)
            if (names := free_names(constraint.quantity).keys())
            and names <= ESTIMATED
            and not constraint.least
        }
        self._row: Row | None = None
        self._calibration: dict[str, tuple[float, float]] = {}
        self._measured: dict[int, float] = {}
        self._seen: dict[str, dict[str, float]] = {}

    def learn(self, baseline: Sequence[Measured]) -> None:
        """Calibrate on what the untuned program's rows cost, all train rows in their order."""
        ran = [(row, m) for row, m in zip(self._rows, baseline, strict=False) if m.failure is None]
        if self._row is not None or not self._bounds or not ran:
            return
        self._row, first = ran[0]
        truth = {"calls": float(first.calls), "cost": first.usd}
        means = {"calls": fmean(m.calls for _, m in ran), "cost": mean([m.usd for _, m in ran])}
        for name, range_ in self._ranges(self._row, self._points.space.start).items():
            known, whole, width = truth[name], means[name], _width(range_)
            if known is not None and whole is not None:
                share = min(1.0, max(0.0, (known - range_.low) / width)) if width > 0 else 0.0
                guessed = range_.low + share * width
                if guessed > 0:
                    self._calibration[name] = share, whole / guessed
        quantities = {place: mean([m.quantities[place] for _, m in ran]) for place in self._bounds}
        self._measured = {place: quantity for place, quantity in quantities.items() if quantity is not None}

    def broken(self, point: Point) -> dict[str, float]:
        """The constraints that a point would violate, with its estimated excess."""
        if not self._calibration or self._row is None:
            return {}
        key = repr(sorted(point.items()))
        if key not in self._seen:
            try:
                ranges = self._ranges(self._row, point)
            except GotError:
                ranges = {}
            guessed = {
                name: factor * (ranges[name].low + share * _width(ranges[name]))
                for name, (share, factor) in self._calibration.items()
                if name in ranges
            }
            self._seen[key] = {
                self._bounds[place].text: self._over(self._bounds[place], guessed, 1.0, measured)
                for place, measured in self._measured.items()
                if free_names(self._bounds[place].quantity).keys() <= guessed.keys()
                and self._over(self._bounds[place], guessed, SPARE, measured) > 0
            }
        return self._seen[key]

    def _over(self, constraint: Constraint, guessed: dict[str, float], part: float, base: float) -> float:
        names = {name: part * value for name, value in guessed.items()}
        return excess(constraint, float(evaluate(constraint.quantity, names)), base)

    def _ranges(self, row: Row, point: Point) -> dict[str, CostRange]:
        runner = self._points.runner(point)
        scheme = runner.program.scheme(runner.program.main or self._points.plan.scheme)
        found = estimate(runner.program, scheme, self._sizes, inputs=row.inputs, params=runner.params)
        costs = found.early if self._early else found.costs
        return {"calls": costs.calls} | ({"cost": costs.usd} if costs.usd is not None else {})


def _width(range_: CostRange) -> float:
    """The distance of the bounds; 0 if one is unknown."""
    return 0.0 if range_.high is None else max(0.0, range_.high - range_.low)
