"""What a study may set, and to what: one table for its checker, its planner and the reference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from gotlang.syntax import expressions as e
from gotlang.types import BOOL, FLOAT, INT, STR, Type


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """`tpe(seed=42)`: the arguments that one of several methods takes, with their types, and what it is."""

    takes: Mapping[str, Type] = field(default_factory=dict)
    doc: str = ""


SAMPLERS: dict[str, Choice] = {
    "tpe": Choice({"seed": INT, "startup": INT}, "tree-structured Parzen estimator"),
    "gp": Choice({"seed": INT, "startup": INT}, "Gaussian process (needs torch)"),
    "cmaes": Choice({"seed": INT, "startup": INT}, "covariance matrix adaptation (needs cmaes)"),
    "nsga2": Choice({"seed": INT, "population": INT}, "evolution of a Pareto front"),
    "random": Choice({"seed": INT}, "by chance"),
    "grid": Choice({"seed": INT}, "every combination, in an order drawn by chance"),
}

RACES: dict[str, Choice] = {
    "wilcoxon": Choice({"p": FLOAT, "first": INT}, "stop what the signed-rank test finds worse"),
}

OPTIMIZERS: dict[str, Choice] = {
    "copro": Choice({"breadth": INT, "depth": INT, "temperature": FLOAT, "keep": INT, "rows": INT}),
    "miprov2": Choice({"candidates": INT, "trials": INT, "demos": INT, "keep": INT, "rows": INT}),
    "gepa": Choice({"calls": INT, "keep": INT, "rows": INT}),
    "bootstrap": Choice({"demos": INT, "sets": INT, "keep": INT, "rows": INT}),
}

OPTIONS: dict[str, Type | dict[str, Choice]] = {
    "trials": INT,
    "budget": FLOAT,
    "seed": INT,
    "parallel": INT,
    "finals": INT,
    "failed": FLOAT,
    "fusion": BOOL,
    "early_stop": BOOL,
    "model": STR,
    "proposer": STR,
    "storage": STR,
    "sampler": SAMPLERS,
    "race": RACES,
}
"""The settings of a study by name: the type of a constant, or the methods to choose from."""

DATA_OPTIONS: dict[str, Type] = {"train": INT, "test": INT, "seed": INT}

VARIED: dict[str, Type] = {"schedule": STR, "concurrency": INT, "model": STR, "temperature": FLOAT}
"""What a study may vary beside the params of its program."""

ASKED = ("temperature", "model")
"""Those of them that prompts ask with; the others are options of a run, and change no result."""

SCHEDULES = ("breadth-first", "depth-first", "best-first", "longest-path-first")
"""The names that the runtime knows; spelt here too, since nothing of it is known here (a test compares)."""

BOUNDS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("trials", "parallel", "train", "test", "concurrency"), (1, math.inf)),
    **dict.fromkeys(("budget", "seed", "finals"), (0, math.inf)),
    **dict.fromkeys(("first", "depth", "keep", "rows", "candidates", "calls", "sets"), (1, math.inf)),
    **dict.fromkeys(("startup", "demos"), (0, math.inf)),
    **dict.fromkeys(("population", "breadth"), (2, math.inf)),
    "temperature": (0, 2),
    "p": (0, 1),
}
"""Between what numbers lie that are set or varied, by name; what is not named here may be any."""


def out_of_bounds(name: str, value: Any) -> str | None:
    """What a value must be that a setting cannot have; None where it can."""
    if name == "schedule":
        return None if value in SCHEDULES else f"`schedule` is one of {', '.join(SCHEDULES)}"
    least, most = BOUNDS.get(name, (-math.inf, math.inf))
    if not isinstance(value, int | float) or least <= value <= most:
        return None
    return f"`{name}` is at least {least}" if most == math.inf else f"`{name}` is from {least} to {most}"


MEASURES: dict[str, Type] = {"cost": FLOAT, "latency": FLOAT, "calls": INT, "right": FLOAT, "failures": FLOAT}
"""What is measured of a run, by the name that objectives and constraints use: US dollars, and seconds along
the longest path, as with nothing cached before the run; answers asked of models; 1 where the scheme's
GroundTruth held, else 0; 1 where the run ended without a result, else 0."""


def constant(node: e.Expression) -> Any:
    """The value of a constant, signed or not, or of a list of them. Raises TypeError for anything else."""
    match node:
        case e.Constant(value=value):
            return value
        case e.Unary(operator="-", operand=e.Constant(value=int() | float() as value)):
            return -value
        case e.ListDisplay(elements=elements):
            return [constant(element) for element in elements]
    raise TypeError(node)


def method(node: e.Expression) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of `tpe(seed=42)` or `tpe`. Raises TypeError for anything else."""
    match node:
        case e.Reference(name=name):
            return name, {}
        case e.Call(function=function, arguments=arguments):
            given = {a.name.text: constant(a.value) for a in arguments if a.name is not None}
            if len(given) == len(arguments):
                return function.text, given
    raise TypeError(node)
