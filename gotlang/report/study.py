"""The page of a study: its verdict, what changed, prompts side by side, and charts of the search."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
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
    intervals,
    plane,
    scatter,
)
from gotlang.report.charts import shown as written
from gotlang.report.page import page
from gotlang.report.studied import (
    HeldOutView,
    PromptView,
    StudyView,
    TrialLine,
    as_stored,
    study_document,
    study_view,
    trial_lines,
    trials_of,
)
from gotlang.tune.judge import amount
from gotlang.tune.outcome import ROLES, StudyResult

SHADES: Final = 5
"""Number of color shades of trials; the last, which is the strongest, is that of the best."""
WIDE: Final = 1100.0
STYLES: Final = ("colors.css", "page.css", "charts.css", "report.css", "study.css")


def report(done: StudyResult, command: str = "gotc tune STUDY.got", file: str = "") -> str:
    """The page of a study. `command` ran it, `file` is the tuned file."""
    view, trials = viewed(done, command, file)
    values = page_values(view, trials)
    return page("study.html", done.to_dict(), styles=STYLES, title=f"Study {view.study}", **values)


def viewed(
    done: StudyResult, command: str = "gotc tune STUDY.got", file: str = ""
) -> tuple[StudyView, Sequence[TrialLine]]:
    """A study and its trials as they are stored."""
    document, lines = as_stored([study_document(done, command, file), trial_lines(done.trials)])
    return study_view(document), trials_of(lines)


def page_values(view: StudyView, trials: Sequence[TrialLine], *, live: bool = False) -> dict[str, Any]:
    """The values for the page's template; `live` says that the study is running."""
    held_out = view.held_out
    return {
        "done": view,
        "live": live,
        "trials": trials,
        "tuned": held_out is not None and not held_out.unchanged,
        "changes": None if held_out is None or held_out.unchanged else _changes(view, held_out),
        "roles": ROLES,
        "front": _front(view, trials),
        "ranges": {one.name: one.range for one in view.dimensions},
        "prompts": [_prompt(prompt) for prompt in view.prompts],
        "figures": list(charts(view, trials)),
        "amount": amount,
        "number": _number,
        "point": _point,
        "values": {trial.trial: trial for trial in trials},
    }


def _changes(view: StudyView, held_out: HeldOutView) -> Chart | None:
    """The differences relative to the original; an objective has the color of its verdict."""
    maximize = {objective.text: objective.maximize for objective in view.objectives}
    found = []
    for one in held_out.compared:
        ends = (one.lead.low, one.lead.mean, one.lead.high)
        if not one.original or None in ends:
            continue
        low, middle, high = ((end or 0.0) / abs(one.original) for end in ends)
        kind = ""
        if one.name in maximize and (low > 0 or high < 0):
            kind = "better" if (low > 0) == maximize[one.name] else "worse"
        title = f"{one.name}: {middle:+.0%} ({low:+.0%} to {high:+.0%})"
        found.append(Whisker(one.name, low, middle, high, title, kind))
    return intervals("relative change, 95% CI", found, "{:+.0%}".format) if found else None


def _front(view: StudyView, trials: Sequence[TrialLine]) -> Chart | None:
    """Trials in the first objective and the second, or the cost, with a line through those that are
    Pareto-optimal in the search. Named points that ran on test rows are green and have intervals."""
    first, several = view.objectives[0], len(view.objectives) > 1
    second = view.objectives[1].text if several else "cost"

    def place(trial: TrialLine) -> tuple[float, float] | None:
        values = trial.values or [None]
        across = values[1] if several and len(values) > 1 else trial.cost
        return None if across is None or values[0] is None else (across, values[0])

    able = {trial.trial: at for trial in trials if trial.complete and (at := place(trial)) is not None}
    points = {trial.trial: trial for trial in trials}
    line = _pareto(able.values(), first.maximize, several and view.objectives[1].maximize)
    dots = []
    for number, trial in points.items():
        if (at := place(trial)) is not None and trial.ended == "complete":
            kind = "dot" if trial.feasible else "dot off"
            dots.append(
                Dot(
                    *at,
                    f"trial {number}: {_number(at[1])} at {amount(second, at[0])} ({_point(trial)})",
                    kind,
                )
            )
    for point in view.front:
        own = points.get(point.trial)
        at, interval = None if own is None else place(own), point.train[0] if point.train else None
        if point.held_out is not None:
            known = {each.name: each for each in point.held_out.compared}
            up, across = known.get(first.text), known[second].tuned if second in known else point.cost
            if up is None or across is None or up.tuned is None:
                continue
            at, interval = (across, up.tuned), up.interval
        ends = tuple(x for x in (interval.low, interval.high) if x is not None) if interval else ()
        if at is not None:
            title = point.title + ("" if point.held_out else " (not on test rows)")
            whole = ends if len(ends) == 2 else ()
            kind = "point front" if point.held_out else "point"
            dots.append(Dot(*at, title, kind, point.title, ends=whole))
    if not dots:
        return None
    shown = [end for dot in dots for end in (dot.y, *dot.ends)]
    money = partial(written, "cost", short=True) if second == "cost" else "{:,g}".format
    title = "cost per row" if second == "cost" else second
    across_axis = Quantity(title, [dot.x for dot in dots], zero=False, text=money, ticks=4)
    return scatter(across_axis, Quantity(first.text, shown, zero=False), dots, line=line)


def _pareto(
    places: Iterable[tuple[float, float]], up_is_better: bool, right_is_better: bool
) -> list[tuple[float, float]]:
    """The indices of the Pareto-optimal ones, from the best in `across` on."""
    best, found = math.inf, []
    sign, turn = (-1 if up_is_better else 1), (-1 if right_is_better else 1)
    for x, y in sorted(places, key=lambda at: (turn * at[0], sign * at[1])):
        if sign * y < best:
            best = sign * y
            found.append((x, y))
    return found


def _prompt(prompt: PromptView) -> tuple[str, list[tuple[Any, ...]], list[dict[str, Any]]]:
    """A prompt's name, the words that are equal, deleted or inserted in its original and its tuned text, and
    the examples of the tuned one."""
    old, new = prompt.before.split(" "), prompt.after.split(" ")
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    words: list[tuple[Any, ...]] = [
        (kind, " ".join(old[a:b]), " ".join(new[c:d])) for kind, a, b, c, d in matcher.get_opcodes()
    ]
    return prompt.name, words, prompt.examples


def _number(value: float | None, sign: bool = False) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:{'+' if sign else ''}.4g}"


def _point(trial: TrialLine) -> str:
    """The values of a trial's params."""
    texts = {k: f"{v:.4g}" if isinstance(v, float) else str(v) for k, v in trial.point.items()}
    return ", ".join(f"{name} = {text}" for name, text in texts.items())


# ---------------------------------------------------------------- charts


def charts(view: StudyView, trials: Sequence[TrialLine]) -> Iterator[tuple[str, str, list[Chart] | str]]:
    """Titles and captions of charts of the search, each with its charts or with the reason why it cannot be
    drawn."""
    drawn = [
        (
            "History",
            "Points in the order of trials, and the best so far on all train rows. Gray: infeasible.",
            _history,
        ),
        ("Importance", "Share of the variance between trials that each param explains.", _importance),
        ("Pair of params", "The two params with the most values tried. Darker trials are better.", _pair),
        ("Rows seen", "Mean of each trial over the rows it has seen; pruned trials end early.", _rows_seen),
        ("Slices", "Each param by itself. Darker trials are better.", _slices),
        ("Parallel coordinates", "Each line is a trial. Dashed: a constraint is violated.", _parallel),
    ]
    for title, caption, make in drawn:
        try:
            yield title, caption, make(_Search(view, trials)) or "no param varied"
        except ValueError as error:
            yield title, "", str(error)


@final
class _Search:
    """The trials with values, and their dimensions. Raises ValueError if there is none."""

    def __init__(self, view: StudyView, trials: Sequence[TrialLine]) -> None:
        self.view = view
        self.values = {t.trial: [v for v in t.values if v is not None] for t in trials if t.values}
        count = len(view.objectives)
        self.trials = [t for t in trials if len(self.values.get(t.trial, ())) == count]
        if not self.trials:
            raise ValueError("no trial has a value")
        known = [self.values[trial.trial] for trial in self.trials]
        self.objectives = [
            Quantity(objective.text, [values[place] for values in known], zero=False)
            for place, objective in enumerate(view.objectives)
        ]
        names = dict.fromkeys(name for trial in self.trials for name in trial.point)
        points = {name: [_shown(r.point[name]) for r in self.trials if name in r.point] for name in names}
        self.params = [Quantity(name, v, zero=False) for name, v in points.items() if len(set(v)) > 1]
        best_first = sorted(self.trials, key=self.value, reverse=view.objectives[0].maximize)
        self.shades = {
            r.trial: f"q{SHADES - 1 - SHADES * rank // len(best_first)}" if r.feasible else "off"
            for rank, r in enumerate(best_first)
        }

    def value(self, trial: TrialLine) -> float:
        """Its first objective."""
        return self.values[trial.trial][0]

    def title(self, trial: TrialLine) -> str:
        """Its text under the mouse."""
        values = ", ".join(f"{value:.4g}" for value in self.values[trial.trial])
        return f"trial {trial.trial}: {values} ({_point(trial)})"

    def quantity(self, trial: TrialLine, quantity: Quantity) -> Any:
        """Its value of an objective or a param; None if it has none."""
        if quantity in self.objectives:
            return self.values[trial.trial][self.objectives.index(quantity)]
        return _shown(trial.point[quantity.title]) if quantity.title in trial.point else None

    def dots(self, across: Quantity, up: Quantity) -> list[Dot]:
        """A dot for each trial that has both quantities."""
        found = []
        for trial in self.trials:
            x, y = self.quantity(trial, across), self.quantity(trial, up)
            if x is not None and y is not None:
                found.append(Dot(x, y, self.title(trial), f"dot {self.shades[trial.trial]}"))
        return found


def _history(search: _Search) -> list[Chart]:
    objective, best = search.objectives[0], max if search.view.objectives[0].maximize else min
    dots = [
        Dot(r.trial, search.value(r), search.title(r), "dot" if r.feasible else "dot off")
        for r in search.trials
    ]
    feasible = [trial for trial in search.trials if trial.complete]
    line = zip([r.trial for r in feasible], accumulate(map(search.value, feasible), best), strict=True)
    return [scatter(Quantity("trial", [dot.x for dot in dots]), objective, dots, line=list(line))]


def _importance(search: _Search) -> list[Chart]:
    found = search.view.importances
    if not found:
        raise ValueError(search.view.unimportant or "known once the search has ended")
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
        values = [value for value in trial.curve if value is not None]
        curves[trial.trial] = [total / seen for seen, total in enumerate(accumulate(values), start=1)]
    means = [value for curve in curves.values() for value in curve]
    rows = Quantity("rows", [1, max(map(len, curves.values()))], zero=False)
    chart, across, up = plane(
        "rows seen", rows, Quantity(f"mean of {search.objectives[0].title}", means, zero=False)
    )
    for trial in sorted(search.trials, key=lambda trial: trial.trial == search.view.winner):
        own = trial.trial == search.view.winner
        curve = [(across(seen), up(v)) for seen, v in enumerate(curves[trial.trial], start=1)]
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
    ticks: list[tuple[float, float, str, str]] = []
    lines: dict[int, list[tuple[float, float]]] = {trial.trial: [] for trial in search.trials}
    for place, quantity in enumerate(quantities):
        x, scale = 80 + step * place, quantity.over(chart.height - BELOW, TOP)
        chart.mark("path", "grid", d=f"M{x:.1f} {scale.start:.1f}V{scale.end:.1f}")
        after = " after" if place == len(quantities) - 1 else ""
        at = WIDE - 8 if after else x
        chart.name("axis end" if after else "axis", at, chart.height - 18, quantity.title, step)
        ticks += [(x + (6 if after else -6), y + 3.5, label, after) for y, label in scale.marks]
        for trial in search.trials:
            if (value := search.quantity(trial, quantity)) is not None:
                lines[trial.trial].append((x, scale(value)))
    for trial in search.trials:
        _draw(chart, search.shades[trial.trial], lines[trial.trial], search.title(trial))
    for x, y, label, after in ticks:
        chart.mark("text", f"tick above{after}", text=label, x=x, y=y)
    return [chart]


def _shown(value: Any) -> Any:
    """A param's value for an axis: a number or a text."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)
