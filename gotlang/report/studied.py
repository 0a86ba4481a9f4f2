"""A study as plain data, for the history and its page, also while it runs.

The `document` of its record has the fields of `StudyView`. Its trials are a file of lines, one for each point
(`TrialLine`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, to_builtins

from gotlang.errors import UsageError
from gotlang.records import Count, InvalidRecord, from_plain, to_json
from gotlang.report.charts import brief
from gotlang.tune.advice import cells, next_steps, not_mattering, on_train_rows
from gotlang.tune.judge import FrontPoint, HeldOut, cost_of
from gotlang.tune.outcome import StudyResult
from gotlang.tune.plan import StudyPlan
from gotlang.tune.search import StudyProgress
from gotlang.tune.space import Space, decoded, space_of
from gotlang.tune.trials import Trial
from gotlang.tune.tuned import PromptTexts

INPUT, ANSWER = 120, 180
"""Maximum length of an input and of an answer."""

Values = list[float | None]


class TrialLine(Struct, frozen=True):
    """A point: its values of the objectives, its cost per row, and the first objective of each row."""

    trial: Count
    point: dict[str, Any]
    values: Values | None
    feasible: bool
    ended: str
    rows: Count
    cost: float | None
    curve: Values

    @property
    def complete(self) -> bool:
        """Whether it ran on all train rows and satisfies the constraints."""
        values = self.values or [None]
        return self.ended == "complete" and self.feasible and None not in values


class ObjectiveView(Struct, frozen=True):
    """An objective."""

    text: str
    maximize: bool


class DimensionView(Struct, frozen=True):
    """A dimension: from `low` to `high`, or among `choices`."""

    name: str
    low: float
    high: float
    choices: list[Any]
    default: Any

    @property
    def range(self) -> str:
        """The range as text."""
        return ", ".join(map(str, self.choices)) if self.choices else f"{self.low:g} to {self.high:g}"


class Ends(Struct, frozen=True):
    """A mean with its interval; None is unknown, or infinite."""

    mean: float | None
    low: float | None
    high: float | None


class ComparedView(Struct, frozen=True):
    """A quantity of the original and of a point, as `judge.Compared`."""

    name: str
    original: float | None
    tuned: float | None
    lead: Ends
    interval: Ends
    verdict: str


class BoundView(Struct, frozen=True):
    """A constraint on held-out rows, as `judge.Bounded`."""

    text: str
    original: float | None
    tuned: float | None
    bound: float | None
    least: bool
    excess: Ends
    percent: list[float] | None
    violated: bool
    tolerated: bool


class HeldOutView(Struct, frozen=True):
    """A verdict on held-out rows, as `judge.HeldOut`."""

    rows: Count
    compared: list[ComparedView]
    constraints: list[BoundView]
    verdict: str
    meaning: str
    unchanged: bool


class PointView(Struct, frozen=True):
    """A point of the front."""

    title: str
    names: list[str]
    trial: Count
    values: Values | None
    cost: float | None
    written: bool
    held_out: HeldOutView | None
    train: list[Ends] = []
    texts: list[str] = []


class PromptView(Struct, frozen=True):
    """A prompt whose text or examples changed."""

    name: str
    before: str
    after: str
    examples: list[dict[str, Any]]


class ChangedRow(Struct, frozen=True):
    """A test row with different values of the two programs: its inputs, both answers, and both values of the
    first objective. `better` says that the tuned one is better."""

    number: Count
    inputs: str
    answers: list[str | None]
    values: list[float]
    better: bool


class ParamView(Struct, frozen=True):
    """A param or setting at the point that was judged."""

    name: str
    before: Any
    value: Any


class RoleView(Struct, frozen=True):
    """The spending of one part of a study."""

    role: str
    usd: float | None
    uncertain_usd: float | None
    uncertain_calls: Count
    calls: Count


class StudyView(Struct, frozen=True):
    """A study: while it runs only the first fields are known, and `spent` is the spending so far."""

    study: str
    model: str
    objectives: list[ObjectiveView]
    constraints: list[str]
    dimensions: list[DimensionView]
    planned: Count
    seed: int
    split_seed: int
    data: str
    command: str
    simulated: bool
    spent: str = ""
    stage: str = ""
    outage: str = ""
    trials: Count = 0
    rejected: Count = 0
    running: bool = True
    verdict: str | None = None
    winner: Count = 0
    judged: str = ""
    partial: str | None = None
    unfinished: bool = False
    unmet: list[str] = []
    cells: str = ""
    steps: list[str] = []
    idle: list[str] = []
    held_out: HeldOutView | None = None
    trained: str = ""
    front: list[PointView] = []
    params: list[ParamView] = []
    prompts: list[PromptView] = []
    changed: list[ChangedRow] = []
    proposed: list[str] = []
    roles: list[RoleView] = []
    importances: dict[str, float] | None = None
    unimportant: str = ""

    def __post_init__(self) -> None:
        if not self.objectives:
            raise ValueError("Expected an objective")


# ---------------------------------------------------------------- from a study


def started_document(
    plan: StudyPlan, command: str, *, simulated: bool, space: Space | None = None
) -> dict[str, Any]:
    """The document of a study that starts. `command` runs it."""
    dimensions = [
        {
            "name": d.name,
            "low": d.low,
            "high": d.high,
            "choices": [decoded(choice) for choice in d.choices],
            "default": decoded(d.default),
        }
        for d in (space or space_of(plan)).dimensions
    ]
    return {
        "study": plan.name,
        "model": plan.model or "",
        "objectives": [{"text": one.text, "maximize": one.maximize} for one in plan.objectives],
        "constraints": [one.text for one in plan.constraints],
        "dimensions": dimensions,
        "planned": plan.trials,
        "seed": plan.seed,
        "split_seed": plan.split_seed,
        "data": str(getattr(plan.data, "path", plan.data)),
        "command": command,
        "simulated": simulated,
    }


def progress_document(started: Mapping[str, Any], progress: StudyProgress, spent: str) -> dict[str, Any]:
    """The document of a study in progress."""
    best = 0 if progress.best is None else progress.best.number
    found = {"stage": progress.stage, "trials": len(progress.finished), "rejected": progress.rejected}
    return {**started, **found, "spent": spent, "winner": best}


def trial_lines(trials: Mapping[int, Trial]) -> list[dict[str, Any]]:
    """The lines of its trials."""
    original = trials.get(0)
    return [
        {
            "trial": trial.number,
            "point": {name: decoded(value) for name, value in trial.point.items()},
            "values": trial.result.values,
            "feasible": trial.feasible,
            "ended": trial.ended,
            "rows": len(trial.rows),
            "cost": None if original is None else cost_of(trial, original),
            "curve": [row.objectives[0] for row in trial.rows],
        }
        for trial in trials.values()
    ]


def study_document(done: StudyResult, command: str, file: str = "") -> dict[str, Any]:
    """The document of a study that has ended. `command` ran it, `file` is the tuned file."""
    plan, held_out = done.plan, done.held_out
    importances, why = _importances(done)
    return {
        **started_document(plan, command, simulated=done.simulated, space=done.space),
        "model": done.model,
        "spent": str(done.spent),
        "trials": len(done.trials),
        "rejected": done.rejected,
        "running": False,
        "verdict": None if held_out is None else held_out.verdict,
        "winner": done.winner.number,
        "judged": done.judged.title,
        "partial": done.partial,
        "unfinished": done.unfinished,
        "unmet": done.unmet,
        "cells": cells(done),
        "steps": next_steps(done, command, file or f"{plan.name}.tuned.json"),
        "idle": not_mattering(done),
        "held_out": None if held_out is None else _held_out(held_out),
        "trained": on_train_rows(done),
        "front": [_point(point, done) for point in done.front],
        "params": _params(done),
        "prompts": [
            _prompt(done, name, texts) for name, texts in done.tuned.texts.items() if texts != PromptTexts()
        ],
        "changed": _changed(done),
        "proposed": [str(each) for each in done.proposed],
        "roles": [{"role": role, **spent.to_dict()} for role, spent in done.roles.items()],
        "importances": importances,
        "unimportant": why,
    }


def _importances(done: StudyResult) -> tuple[dict[str, float] | None, str]:
    """The share of the variance between trials that each param explains; or why that is unknown."""
    import warnings

    try:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target = (lambda trial: trial.values[0]) if len(done.plan.objectives) > 1 else None
            return optuna.importance.get_param_importances(done.study, target=target), ""
    except (ValueError, RuntimeError, ImportError, AttributeError) as error:
        return None, str(error)


def _held_out(found: HeldOut) -> dict[str, Any]:
    document = {**found.to_dict(), "unchanged": found.unchanged}
    for bound, one in zip(document["constraints"], found.constraints, strict=True):
        bound["tolerated"] = one.tolerated
    return document


def _point(point: FrontPoint, done: StudyResult) -> dict[str, Any]:
    return {
        "title": point.title,
        "names": point.names,
        "trial": point.trial.number,
        "values": point.trial.result.values,
        "cost": point.cost,
        "written": point.names == done.written.names,
        "held_out": None if point.held_out is None else _held_out(point.held_out),
        "train": to_builtins(done.on_train(point)),
        "texts": done.texts_of(point),
    }


def _params(done: StudyResult) -> list[dict[str, Any]]:
    defaults = {param.name: param.default for param in done.plan.program.ir(0).params}
    params, settings = done.space.params_and_settings(done.winner.point)
    found = params | settings
    return [{"name": name, "before": defaults.get(name, ""), "value": value} for name, value in found.items()]


def _prompt(done: StudyResult, name: str, texts: PromptTexts) -> dict[str, Any]:
    prompt = done.plan.program.ir(0).prompt(name)
    template = prompt.instruction or prompt.asking
    before = template.text if template is not None else ""
    after = before if texts.instruction is None else texts.instruction
    shots = [{"inputs": dict(shot.inputs), "output": shot.output} for shot in texts.examples or ()]
    return {"name": name, "before": before, "after": after, "examples": shots}


def _changed(done: StudyResult) -> list[dict[str, Any]]:
    """The rows that differ, those that got worse most first."""
    pairs = list(zip(done.front[0].measured, done.judged.measured, strict=False))
    sign = done.plan.objectives[0].sign
    inputs = {row.number: row.inputs for row in done.plan.read_rows(done.tested).rows} if pairs else {}
    found: list[dict[str, Any]] = []
    for number, (a, b) in zip(done.tested, pairs, strict=False):
        before, after = a.objectives[0], b.objectives[0]
        if before is not None and after is not None and before != after:
            said = (each.answer or each.failure for each in (a, b))
            found.append(
                {
                    "number": number,
                    "inputs": ", ".join(f"{k} = {brief(str(v), INPUT)}" for k, v in inputs[number].items()),
                    "answers": [None if text is None else brief(text, ANSWER) for text in said],
                    "values": [before, after],
                    "better": sign * (after - before) < 0,
                }
            )
    return sorted(found, key=lambda row: sign * (row["values"][0] - row["values"][1]))


# ---------------------------------------------------------------- to a page


def study_view(document: Mapping[str, Any] | None) -> StudyView:
    """The study of a record's document. Raises UsageError for one that is damaged."""
    try:
        return from_plain(document, StudyView)
    except InvalidRecord as error:
        raise UsageError(
            f"the record of the study is damaged: {error}",
            help="the same command continues the study and writes it again",
        ) from None


def trials_of(lines: Iterable[Mapping[str, Any]]) -> Sequence[TrialLine]:
    """Its trials, as `History.trials` gives them."""
    return [from_plain(line, TrialLine) for line in lines]


def as_stored(data: Any) -> Any:
    """Plain data as it is after being stored: infinities and NaN are None."""
    return msgspec.json.decode(to_json(data))
