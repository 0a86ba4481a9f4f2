"""The page of a study: its verdict, what changed, prompts side by side, and charts of the search."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, final

from gotlang.report.charts import (
    BELOW,
    RIGHT,
    TOP,
    Chart,
    Dot,
    Quantity,
    Whisker,
    brief,
    intervals,
    plane,
    scatter,
)
from gotlang.report.page import page
from gotlang.tune.advice import cells, next_steps, not_mattering
from gotlang.tune.judge import VERDICTS, FrontPoint, HeldOut, amount, cost_of
from gotlang.tune.outcome import ROLES, StudyResult
from gotlang.tune.space import decoded
from gotlang.tune.trials import Trial
from gotlang.tune.tuned import Texts

SHADES: Final = 5
"""Shades of color of trials; the last, which is the strongest, is that of the best."""
WIDE: Final = 1100.0
INPUT: Final = 120
ANSWER: Final = 180
"""Letters of an input and of an answer that are shown."""


def report(done: StudyResult, command: str = "gotc tune STUDY.got", file: str = "") -> str:
    """The page. `command` ran the study, `file` is the tuned file."""
    plan, held_out = done.plan, done.held_out
    tuned = held_out is not None and not held_out.unchanged
    defaults = {param.name: param.default for param in plan.program.ir(0).params}
    found = {**done.space.params_and_settings(done.winner.point)[0]}
    found |= done.space.params_and_settings(done.winner.point)[1]
    return page(
        "study.html",
        done.to_dict(),
        styles=("colors.css", "page.css", "charts.css", "report.css", "study.css"),
        title=f"Study {plan.name}",
        done=done,
        held_out=held_out,
        verdicts=VERDICTS,
        tuned=tuned,
        changes=_changes(done, held_out) if tuned and held_out is not None else None,
        roles=ROLES,
        steps=next_steps(done, command, file or f"{plan.name}.tuned.json"),
        idle=not_mattering(done),
        cells=cells(done),
        front=_front(done) if len(done.front) > 1 else None,
        changed=_changed(done),
        params=[(name, defaults.get(name, ""), value) for name, value in found.items()],
        prompts=[_prompt(done, name, texts) for name, texts in done.tuned.texts.items() if texts != Texts()],
        figures=list(charts(done)),
        amount=amount,
        number=_number,
        command=command,
        point=_point,
    )


def _changes(done: StudyResult, held_out: HeldOut) -> Chart | None:
    """The differences relative to the original; an objective has the color of its verdict."""
    objectives = {objective.text: objective.maximize for objective in done.plan.objectives}
    found = []
    for one in held_out.compared:
        ends = (one.lead.low, one.lead.mean, one.lead.high)
        if not one.original or not all(map(math.isfinite, ends)):
            continue
        low, middle, high = (end / abs(one.original) for end in ends)
        kind = ""
        if one.name in objectives and (low > 0 or high < 0):
            kind = "better" if (low > 0) == objectives[one.name] else "worse"
        title = f"{one.name}: {middle:+.0%} ({low:+.0%} to {high:+.0%})"
        found.append(Whisker(one.name, low, middle, high, title, kind))
    return intervals("relative change, 95% CI", found, "{:+.0%}".format) if found else None


@final
@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A test row that the two programs did not do equally well: its inputs, both answers, and both values of
    the first objective. `better` says that the tuned one did it better."""

    number: int
    inputs: str
    answers: tuple[str | None, ...]
    values: tuple[float, float]
    better: bool


def _changed(done: StudyResult) -> list[ChangedRow]:
    """The rows that differ, those that got worse most first."""
    pairs = list(zip(done.front[0].measured, done.judged.measured, strict=False))
    sign = done.plan.objectives[0].sign
    inputs = {row.number: row.inputs for row in done.plan.read_rows(done.tested).rows} if pairs else {}
    found = []
    for number, (a, b) in zip(done.tested, pairs, strict=False):
        before, after = a.objectives[0], b.objectives[0]
        if before is not None and after is not None and before != after:
            text = ", ".join(f"{name} = {brief(str(value), INPUT)}" for name, value in inputs[number].items())
            said = (each.answer or each.failure for each in (a, b))
            answers = tuple(None if text is None else brief(text, ANSWER) for text in said)
            found.append(ChangedRow(number, text, answers, (before, after), sign * (after - before) < 0))
    return sorted(found, key=lambda row: sign * (row.values[0] - row.values[1]))


def _front(done: StudyResult) -> Chart:
    """The front in the first objective and the second, or the cost. Points that ran on test rows are green
    and have intervals; the others are where the search saw them, as are in the background those that ran on
    all train rows."""
    first, several = done.plan.objectives[0].text, len(done.plan.objectives) > 1
    second = done.plan.objectives[1].text if several else "cost"

    def place(point: FrontPoint) -> tuple[float, float, tuple[float, ...]] | None:
        values = point.trial.result.values
        across = values[1] if several and values else point.cost
        if point.held_out is None:
            return None if values is None or across is None else (across, values[0], ())
        known = {each.name: each for each in point.held_out.compared}
        up, x = known[first], known[second].tuned
        return None if x is None or up.tuned is None else (x, up.tuned, (up.interval.low, up.interval.high))

    dots = [
        Dot(values[1] if several else cost, values[0], f"trial {t.number}: {_point(t)}", "dot off")
        for t in done.trials.values()
        if t.ended == "complete"
        and (values := t.result.values)
        and (cost := cost_of(t, done.trials[0])) is not None
    ]
    for point in done.front:
        if (at := place(point)) is not None:
            name = point.title + ("" if point.held_out else " (not on test rows)")
            title = f"{name}: {_point(point.trial)}"
            dots.append(
                Dot(at[0], at[1], title, "point front" if at[2] else "point", point.title, ends=at[2])
            )
    shown = [end for dot in dots for end in (dot.y, *dot.ends) if math.isfinite(end)]
    money = "${:g}".format if second == "cost" else "{:,g}".format
    across = Quantity(second, [dot.x for dot in dots], zero=False, text=money, ticks=4)
    return scatter(across, Quantity(first, shown, zero=False), dots)


def _prompt(done: StudyResult, name: str, texts: Texts) -> tuple[Any, ...]:
    """A prompt's name, the words that are equal, deleted or inserted in its original and its tuned text, and
    the examples of the tuned one."""
    prompt = done.plan.program.ir(0).prompt(name)
    template = prompt.instruction or prompt.asking
    old = template.text.split(" ") if template is not None else []
    new = texts.instruction.split(" ") if texts.instruction is not None else old
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    words = [(kind, " ".join(old[a:b]), " ".join(new[c:d])) for kind, a, b, c, d in matcher.get_opcodes()]
    return name, words, texts.examples or ()


def _number(value: float | None, sign: bool = False) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:{'+' if sign else ''}.4g}"


def _point(trial: Trial) -> str:
    """The values of a trial's params."""
    texts = {k: f"{v:.4g}" if isinstance(v, float) else str(decoded(v)) for k, v in trial.point.items()}
    return ", ".join(f"{name} = {text}" for name, text in texts.items())


# ---------------------------------------------------------------- charts


def charts(done: StudyResult) -> Iterator[tuple[str, str, list[Chart] | str]]:
    """Titles and captions of charts of the search, each with its charts or with why it cannot be drawn."""
    drawn = [
        (
            "History",
            "Points as they were tried, and the best so far of those on all train rows. Gray: infeasible.",
            _history,
        ),
        ("Importance", "How much of the difference between trials each param explains.", _importance),
        ("Pair of params", "The two params with the most values tried. Darker trials are better.", _pair),
        ("Rows seen", "Mean of each trial over the rows it has seen; pruned trials end early.", _rows_seen),
        ("Slices", "Each param by itself. Darker trials are better.", _slices),
        ("Parallel coordinates", "A line is a trial; dashed ones violate a constraint.", _parallel),
    ]
    for title, caption, make in drawn:
        try:
            yield title, caption, make(_Search(done)) or "no param varied"
        except (ValueError, RuntimeError, ImportError) as error:
            yield title, "", str(error)


@final
class _Search:
    """The trials that have values, and what varied between them. Raises ValueError if there is none."""

    def __init__(self, done: StudyResult) -> None:
        self.done = done
        self.values = {r.number: r.result.values for r in done.trials.values() if r.result.values}
        self.trials = [done.trials[number] for number in self.values]
        if not self.trials:
            raise ValueError("no trial has a value")
        self.objectives = [
            Quantity(objective.text, [values[place] for values in self.values.values()], zero=False)
            for place, objective in enumerate(done.plan.objectives)
        ]
        names = dict.fromkeys(name for trial in self.trials for name in trial.point)
        points = {name: [_shown(r.point[name]) for r in self.trials if name in r.point] for name in names}
        self.params = [Quantity(name, v, zero=False) for name, v in points.items() if len(set(v)) > 1]
        best_first = sorted(self.trials, key=self.value, reverse=done.plan.objectives[0].maximize)
        self.shades = {
            r.number: f"q{SHADES - 1 - SHADES * rank // len(best_first)}" if r.feasible else "off"
            for rank, r in enumerate(best_first)
        }

    def value(self, trial: Trial) -> float:
        """Its first objective."""
        return self.values[trial.number][0]

    def title(self, trial: Trial) -> str:
        """What is shown of it under the mouse."""
        values = ", ".join(f"{value:.4g}" for value in self.values[trial.number])
        return f"trial {trial.number}: {values} ({_point(trial)})"

    def quantity(self, trial: Trial, quantity: Quantity) -> Any:
        """Its value of an objective or a param; None if it has none."""
        if quantity in self.objectives:
            return self.values[trial.number][self.objectives.index(quantity)]
        return _shown(trial.point[quantity.title]) if quantity.title in trial.point else None

    def dots(self, across: Quantity, up: Quantity) -> list[Dot]:
        """A dot for each trial that has both quantities."""
        found = []
        for trial in self.trials:
            x, y = self.quantity(trial, across), self.quantity(trial, up)
            if x is not None and y is not None:
                found.append(Dot(x, y, self.title(trial), f"dot {self.shades[trial.number]}"))
        return found


def _history(search: _Search) -> list[Chart]:
    objective, best = search.objectives[0], max if search.done.plan.objectives[0].maximize else min
    dots = [
        Dot(r.number, search.value(r), search.title(r), "dot" if r.feasible else "dot off")
        for r in search.trials
    ]
    feasible = [trial for trial in search.trials if trial.feasible and trial.ended == "complete"]
    line = zip([r.number for r in feasible], accumulate(map(search.value, feasible), best), strict=True)
    return [scatter(Quantity("trial", [dot.x for dot in dots]), objective, dots, line=list(line))]


def _importance(search: _Search) -> list[Chart]:
    import warnings

    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = optuna.importance.get_param_importances(search.done.study)
    bars = [Whisker(name, 0.0, value, value, f"{name}: {value:.2f}") for name, value in found.items()]
    return [intervals("importance", bars, "{:g}".format)]


def _pair(search: _Search) -> list[Chart]:
    if len(search.params) < 2:
        raise ValueError("fewer than two params varied")
    first, second = sorted(search.params, key=lambda one: -len(set(one.values)))[:2]
    return [scatter(first, second, search.dots(first, second))]


def _slices(search: _Search) -> list[Chart]:
    up = search.objectives[0]
    return [scatter(one, up, search.dots(one, up), width=260.0, height=240.0) for one in search.params]


def _rows_seen(search: _Search) -> list[Chart]:
    curves: dict[int, list[float]] = {}
    for trial in search.trials:
        values = [m.objectives[0] for m in trial.rows if m.objectives[0] is not None]
        curves[trial.number] = [total / seen for seen, total in enumerate(accumulate(values), start=1)]
    means = [value for curve in curves.values() for value in curve]
    rows = Quantity("rows", [1, max(map(len, curves.values()))], zero=False)
    chart, across, up = plane(
        "rows seen", rows, Quantity(f"mean of {search.objectives[0].title}", means, zero=False)
    )
    for trial in sorted(search.trials, key=lambda trial: trial is search.done.winner):
        own = trial is search.done.winner
        curve = [(across(seen), up(v)) for seen, v in enumerate(curves[trial.number], start=1)]
        _draw(chart, "best" if own else "" if trial.feasible else "off", curve, search.title(trial))
    return [chart]


def _draw(chart: Chart, kind: str, points: Sequence[tuple[float, float]], title: str) -> None:
    if points:
        line = " ".join(f"{x:.1f} {y:.1f}" for x, y in points)
        chart.mark("path", f"trace {kind}".strip(), title, d=f"M{line}")


def _parallel(search: _Search) -> list[Chart]:
    chart = Chart(WIDE, 340.0, "parallel coordinates")
    quantities = [*search.params, search.objectives[0]]
    step = (WIDE - 120 - RIGHT) / max(1, len(quantities) - 1)
    ticks: list[tuple[float, float, str]] = []
    lines: dict[int, list[tuple[float, float]]] = {trial.number: [] for trial in search.trials}
    for place, quantity in enumerate(quantities):
        x, scale = 80 + step * place, quantity.over(chart.height - BELOW, TOP)
        chart.mark("path", "grid", d=f"M{x:.1f} {scale.start:.1f}V{scale.end:.1f}")
        chart.name("axis", x, chart.height - 18, quantity.title, step)
        ticks += [(x - 6, y + 3.5, label) for y, label in scale.marks]
        for trial in search.trials:
            if (value := search.quantity(trial, quantity)) is not None:
                lines[trial.number].append((x, scale(value)))
    for trial in search.trials:
        _draw(chart, search.shades[trial.number], lines[trial.number], search.title(trial))
    for x, y, label in ticks:
        chart.mark("text", "tick above", text=label, x=x, y=y)
    return [chart]


def _shown(value: Any) -> Any:
    """A param's value for an axis: a number or a text."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else str(decoded(value))
