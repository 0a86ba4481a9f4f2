"""Programs whose best setting is known from their simulator, and what is true of each of their settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, final

from gotlang.api import Options, Session, run_to_end
from gotlang.cache.memory import MemoryCache
from gotlang.tune.plan import StudyPlan, read_plan
from gotlang.tune.points import PointRunner, excess
from gotlang.tune.space import Point, space_of
from planted import simulator

FOLDER = Path(__file__).parent
MOST_POINTS = 10_000
COST_ROWS = 4
"""Rows that tell what a setting costs: the words of a response depend on the setting alone."""

Values = Mapping[str, Any]


def _trap(v: Values) -> float:
    spread = 6.0  # of the least of n uniform errors the mean is 2 / (n + 1) of the way up
    return simulator.trap(v["detail"], v["style"], v["extra"]) - spread + 2 * spread / (v["tries"] + 1)


def _routing(v: Values) -> float:
    return sum(found[v[f"{step}_model"]] for step, found in simulator.STEPS.items())


ERRORS: dict[str, Callable[[Values], float]] = {
    "peak": lambda v: simulator.peak(v["a"], v["b"]),
    "noisy_peak": lambda v: simulator.peak(v["a"], v["b"]),
    "trap": _trap,
    "branches": lambda v: simulator.branches(v["method"], v["form"], v["votes"], v["rounds"]),
    "persona": lambda v: simulator.persona(v["who"], v["order"], v["shots"]),
    "routing": _routing,
    "rare": lambda v: (
        simulator.sober(v["depth"], v["width"], v["bold"]) + v["bold"] * simulator.FAILING * simulator.LOSS
    ),
}
"""The error that a setting of each program adds, on average."""


def key(point: Point) -> str:
    """A setting as text, whatever the order of its params."""
    return json.dumps(dict(point), sort_keys=True)


def planted_plan(name: str, seed: int) -> StudyPlan:
    """The study of a planted program; the seed splits the rows and draws the responses."""
    return replace(read_plan(FOLDER / f"{name}.got"), seed=seed, split_seed=seed)


@final
@dataclass(frozen=True)
class Truth:
    """What is true of every setting of a program: the value of its objective up to a constant, and by which
    share of the untuned program's cost it is beyond the bound."""

    start: str
    value: Mapping[str, float]
    excess: Mapping[str, float]
    best: float

    def gain(self, point: Point) -> float | None:
        """The share of the way from the untuned program to the best; None for a setting beyond the bound."""
        if self.beyond(point) > 0:
            return None
        return self.lead(point) / (self.best - self.value[self.start])

    def beyond(self, point: Point) -> float:
        """The share of the untuned program's cost by which a setting is beyond the bound."""
        return self.excess[key(point)]

    def lead(self, point: Point) -> float:
        """The true difference to the untuned program."""
        return self.value[key(point)] - self.value[self.start]


def truth(name: str) -> Truth:
    """Of a planted program. What settings cost is measured, once for all seeds."""
    plan = planted_plan(name, 0)
    space = space_of(plan)
    points = space.points(MOST_POINTS) or []
    value = {key(p): ERRORS[name]({**space.defaults, **space.values(p)}) for p in points}

    async def costs() -> list[float]:
        async with Session(plan.program, Options(cache=MemoryCache())) as session:
            runner, rows = PointRunner(plan, space, session), plan.read_rows(range(1, COST_ROWS + 1)).rows
            return [fmean(row.usd or 0.0 for row in await runner.rows(p, rows)) for p in points]

    usd = run_to_end(costs(), virtual=True)
    (bound,) = plan.constraints
    over = {key(p): excess(bound, cost, usd[0]) / usd[0] for p, cost in zip(points, usd, strict=True)}
    best = min(found for name, found in value.items() if over[name] <= 0)
    return Truth(key(space.start), value, over, best)
