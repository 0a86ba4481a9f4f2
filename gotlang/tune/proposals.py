"""What to try next: a sampler of Optuna that sees the same history in every worker.

Trials are proposed in batches. Whatever number a trial has, its point depends on the study's seed and on
the results of the batches before its own, and on nothing else: not on the worker, not on what ended first,
not on whether the study was killed and resumed. Each worker replays the history in a study of its own in
memory, so the shared storage holds no sampler's state.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, final

from gotlang.errors import UsageError
from gotlang.tune.forecast import Forecast
from gotlang.tune.plan import SEEDS, Method
from gotlang.tune.space import Point, Space, Value

MOST_RETRIES = 30
"""How often a sampler is asked again where it proposes what is known, or what cannot be allowed."""


@final
@dataclass(frozen=True, slots=True)
class Told:
    """The result of a trial as a sampler is told it: objectives (None where the trial failed altogether),
    and by how much each constraint is broken."""

    values: tuple[float, ...] | None
    excess: Mapping[str, float]


def batch_of(number: int, size: int) -> int:
    """The batch of a trial. The first batch is the untuned program alone."""
    return 0 if number == 0 else 1 + (number - 1) // size


def batch_start(batch: int, size: int) -> int:
    """The number of the first trial of a batch."""
    return 0 if batch == 0 else 1 + (batch - 1) * size


@final
class Proposals:
    """Points by the number of their trial; `rejected` counts those refused before anything was paid.

    `estimate` tells which constraints a point would break by what is known of the program, `forecast` whether
    the trials so far tell it too.
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

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.size = size
        self.space = space
        self.rejected = 0
        self._learns = forecast
        self._estimate = estimate
        self._excess: list[Mapping[str, float]] = []
        self._forecast = Forecast(space, (), ())
        self._points: list[dict[str, Value]] = []
        self._trials: list[Any] = []
        self._told = 0
        directions: Any = ["maximize" if upwards else "minimize" for upwards in maximize]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._study: Any = optuna.create_study(
                sampler=_sampler(optuna, sampler, space, seed, size), directions=directions
            )

    def point(self, number: int, told: Callable[[int], Told]) -> dict[str, Value]:
        """The point of a trial; `told` gives the results of the trials of earlier batches."""
        while len(self._points) <= number:
            self._propose_batch(told)
        return self._points[number]

    def _propose_batch(self, told: Callable[[int], Told]) -> None:
        while self._told < len(self._trials):
            result = told(self._told)
            self._tell(self._trials[self._told], result)
            self._excess.append(result.excess)
            self._told += 1
        if self._learns:
            self._forecast = Forecast(self.space, self._points, self._excess)
        first = len(self._points)
        for _ in range(1 if first == 0 else self.size):
            self._propose()

    def _propose(self) -> None:
        if not self._points:
            self._study.enqueue_trial({d.name: d.default for d in self.space.dimensions})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for attempt in range(MOST_RETRIES):
                trial = self._study.ask()
                point = self.space.suggest(trial)
                if not self._points:
                    point = self.space.start
                    break
                if attempt == MOST_RETRIES - 1:
                    break
                broken = self._forecast.broken(point) or self._estimate(point)
                if point not in self._points and not broken:
                    break
                self._refuse(trial, broken)
        self._points.append(point)
        self._trials.append(trial)

    def _refuse(self, trial: Any, broken: Mapping[str, float]) -> None:
        """Ask for another point; the sampler learns what this one would break."""
        import optuna

        state = optuna.trial.TrialState
        self.rejected += bool(broken)
        for name, excess in broken.items():
            trial.set_constraint(name, excess)
        learns = broken and len(self._study.directions) == 1
        self._study.tell(trial, state=state.PRUNED if learns else state.FAIL)

    def _tell(self, trial: Any, told: Told) -> None:
        import optuna

        for name, excess in told.excess.items():
            trial.set_constraint(name, excess)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # What the untuned program has for a setting is no value in its range: of that nothing is learnt.
            if told.values is None or (trial.number == 0 and self.space.settings):
                self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                self._study.tell(trial, list(told.values))


def _grid(samplers: Any, space: Space, seed: int) -> Any:
    """Every combination once, and then again: Optuna's own would end the process that asks for one more."""

    class Grid(samplers.GridSampler):
        def after_trial(self, study: Any, trial: Any, state: Any, values: Any) -> None:
            pass

    return Grid(space.grid(), seed=seed)


def _sampler(optuna: Any, method: Method, space: Space, seed: int, size: int) -> Any:
    given = dict(method.arguments)
    seed = given.get("seed", seed) % SEEDS
    samplers = optuna.samplers
    try:
        match method.name:
            case "gp":
                import_module("torch")
                return samplers.GPSampler(seed=seed, n_startup_trials=given.get("startup", 10))
            case "cmaes":
                import_module("cmaes")
                return samplers.CmaEsSampler(seed=seed, n_startup_trials=given.get("startup", 1))
            case "nsga2":
                return samplers.NSGAIISampler(seed=seed, population_size=given.get("population", 20))
            case "random":
                return samplers.RandomSampler(seed=seed)
            case "grid":
                return _grid(samplers, space, seed)
    except ImportError as error:
        raise UsageError(
            f"the sampler `{method.name}` needs {error.name}", help=f"pip install {error.name}"
        ) from None
    return samplers.TPESampler(
        seed=seed,
        n_startup_trials=given.get("startup", 10),
        multivariate=True,
        group=any(d.guard is not None for d in space.dimensions),
        constant_liar=size > 1,
    )
