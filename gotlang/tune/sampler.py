"""Untried points: those that Optuna's samplers propose, and those that the static estimate refuses.

Each worker replays the history in an Optuna study in memory, so the shared storage has no sampler's state.
Points that would surely violate a constraint are refused before any call, by the static cost estimate
calibrated on the untuned program.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from itertools import product
from statistics import fmean
from typing import Any, final

from gotlang.errors import GotError, UsageError
from gotlang.estimate.cost import Bills, bounds_of
from gotlang.evaluate.rows import Row
from gotlang.ir.evaluate import evaluate
from gotlang.operations.names import free_names
from gotlang.runtime.sizes import Sizes
from gotlang.tune.plan import SEEDS, Method
from gotlang.tune.points import Measured, PointRunner, beyond, bound, known_pairs, mean
from gotlang.tune.space import Point, Space, Value, key_of
from gotlang.tune.trials import TrialResult, quiet

SPARE = 0.8
"""A point is refused if even this share of its estimate violates a bound, and less if a measured point cost
less relative to its estimate."""
ESTIMATED = frozenset({"cost", "calls"})
_SAMPLERS: dict[str, tuple[str, tuple[str, ...], dict[str, tuple[str, int]]]] = {
    "tpe": ("TPESampler", (), {"n_startup_trials": ("startup", 10)}),
    "gp": ("GPSampler", ("torch", "scipy"), {"n_startup_trials": ("startup", 10)}),
    "cmaes": ("CmaEsSampler", ("cmaes",), {"n_startup_trials": ("startup", 1)}),
    "nsga2": ("NSGAIISampler", (), {"population_size": ("population", 20)}),
    "random": ("RandomSampler", (), {}),
}
"""Samplers by name: the class, the packages it needs in addition to Optuna, and its arguments with ours and
their defaults."""


@final
class Proposals:
    """Points of a space that is too large to be listed, as a sampler of Optuna proposes them.

    The same seed and the same results in the same order yield the same points.
    """

    def __init__(self, space: Space, sampler: Method, *, seed: int, maximize: Sequence[bool]) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._states = optuna.trial.TrialState
        self.space = space
        self._asked: dict[str, Any] = {}
        directions: Any = ["maximize" if upwards else "minimize" for upwards in maximize]
        with quiet():
            self._study: Any = optuna.create_study(
                sampler=_sampler(optuna, sampler, seed), directions=directions
            )
            if space.closed:
                self._study.enqueue_trial(space.start)
                self._ask()

    def points(self, count: int) -> list[dict[str, Value]]:
        """Up to this number of new points. Earlier ones without a result are forgotten."""
        with quiet():
            for trial in self._asked.values():
                self._study.tell(trial, state=self._states.FAIL)
            self._asked.clear()
            found = [self._ask() for _ in range(2 * count)]
        return list({key_of(point): point for point in found}.values())[:count]

    def _ask(self) -> dict[str, Value]:
        trial = self._study.ask()
        point = self.space.suggest(trial)
        if key_of(point) in self._asked:
            self._study.tell(trial, state=self._states.FAIL)
        else:
            self._asked[key_of(point)] = trial
        return point

    def tell(self, point: Point, result: TrialResult) -> None:
        """Record the result of a point."""
        trial = self._asked.pop(key_of(point), None)
        if trial is None:
            return
        for name, over in result.excess.items():
            trial.set_constraint(name, over)
        with quiet():
            if result.values is None:
                self._study.tell(trial, state=self._states.FAIL)
            else:
                self._study.tell(trial, list(result.values))


def require_sampler(method: Method) -> None:
    """Raise UsageError if the packages of a sampler are not installed."""
    _, packages, _ = _SAMPLERS.get(method.name, ("", (), {}))
    if missing := [package for package in packages if find_spec(package) is None]:
        words = f"the sampler `{method.name}` needs {' and '.join(missing)}"
        raise UsageError(words, help=f"pip install {' '.join(missing)}")


def _sampler(optuna: Any, method: Method, seed: int) -> Any:
    given, samplers = dict(method.arguments), optuna.samplers
    seed = given.get("seed", seed) % SEEDS
    kind, _, arguments = _SAMPLERS[method.name]
    settings = {of_optuna: given.get(name, default) for of_optuna, (name, default) in arguments.items()}
    if method.name == "tpe":
        settings |= {"multivariate": True, "group": True, "constant_liar": True}
    return getattr(samplers, kind)(seed=seed, **settings)


@final
class CostModel:
    """Static cost estimates of points; it estimates nothing before `learn`.

    The estimate knows how many calls a scheme makes and bounds their tokens. The true position between its
    bounds is learned from the untuned program, once its trial is over; the effect of settings that shorten
    responses, which it cannot know, is learned from the points that were measured.
    """

    def __init__(self, points: PointRunner, rows: Sequence[Row]) -> None:
        self._points = points
        self._rows = rows
        options = points.session.options
        self._sizes = Sizes(options.chosen_model, points.session.models.options)
        self._early = options.prefer == "cost" and options.level > 1
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
        self._allowed: dict[int, float] = {}
        self._spare: dict[int, float] = {}
        self._known: dict[str, dict[int, float]] = {}
        self._bills: dict[int, Bills] = {}
        """By the identity of a program, which its bills keep."""

    def learn(
        self, baseline: Sequence[Measured], others: Iterable[tuple[Point, Sequence[Measured]]] = ()
    ) -> None:
        """Calibrate on the cost of the untuned program's rows, all train rows in their order, and of other
        points on the same rows."""
        ran = [(row, m) for row, m in zip(self._rows, baseline, strict=False) if m.failure is None]
        if self._row is None and self._bounds and ran:
            self._calibrate(ran)
        start = self._guesses(self._points.space.start)
        for (point, rows), (place, own) in product(others, start.items()):
            both = known_pairs(rows, baseline, lambda row: row.quantities[place])  # noqa: B023
            after, before = (math.fsum(side) for side in zip(*both, strict=True)) if both else (0.0, 0.0)
            guess = self._guesses(point).get(place, 0.0)
            if min(own, guess, before) > 0:
                known = self._spare.get(place, SPARE)
                self._spare[place] = min(known, SPARE * (after / before) / (guess / own))

    def _calibrate(self, ran: Sequence[tuple[Row, Measured]]) -> None:
        self._row, first = ran[0]
        truth = {"calls": float(first.calls), "cost": first.usd}
        means = {"calls": fmean(m.calls for _, m in ran), "cost": mean([m.usd for _, m in ran])}
        for name, (low, width) in self._ranges(self._row, self._points.space.start).items():
            known, whole = truth[name], means[name]
            if known is not None and whole is not None:
                share = min(1.0, max(0.0, (known - low) / width)) if width > 0 else 0.0
                guessed = low + share * width
                if guessed > 0:
                    self._calibration[name] = share, whole / guessed
        quantities = {place: mean([m.quantities[place] for _, m in ran]) for place in self._bounds}
        self._measured = {place: quantity for place, quantity in quantities.items() if quantity is not None}
        self._allowed = {place: bound(self._bounds[place], own) for place, own in self._measured.items()}

    def broken(self, point: Point) -> dict[str, float]:
        """The constraints that a point would violate, with its estimated excess. Before other points were
        measured, only those that are estimated to cost clearly more than the untuned program."""
        found: dict[str, float] = {}
        for place, guess in self._guesses(point).items():
            constraint, allowed = self._bounds[place], self._allowed[place]
            least = self._spare.get(place, SPARE) * guess
            known = place in self._spare or least > self._measured[place]
            if known and beyond(constraint, least, allowed) > 0:
                found[constraint.text] = beyond(constraint, guess, allowed)
        return found

    def _guesses(self, point: Point) -> dict[int, float]:
        """The estimated quantities of bounds at a point, by their places."""
        if not self._calibration or self._row is None:
            return {}
        if (key := key_of(point)) not in self._known:
            try:
                ranges = self._ranges(self._row, point)
            except GotError:
                ranges = {}
            guessed = {
                name: self._calibration[name][1] * (low + self._calibration[name][0] * width)
                for name, (low, width) in ranges.items()
                if name in self._calibration
            }
            self._known[key] = {
                place: float(evaluate(self._bounds[place].quantity, guessed))
                for place in self._measured
                if free_names(self._bounds[place].quantity).keys() <= guessed.keys()
            }
        return self._known[key]

    def _ranges(self, row: Row, point: Point) -> dict[str, tuple[float, float]]:
        """The least cost of a row, and the distance to the most; 0 if that is unknown."""
        program, params = self._points.program(point)
        if id(program) not in self._bills:
            self._bills[id(program)] = Bills(program, self._sizes, early=self._early)
        scheme = program.main or self._points.plan.scheme
        bill = self._bills[id(program)].bill(scheme, params, row.inputs)
        known = {"calls": bill.calls, "cost": bill.usd}
        bounds = {name: bounds_of(amount) for name, amount in known.items() if amount is not None}
        return {name: (low, max(0.0, (high or low) - low)) for name, (low, high) in bounds.items()}
