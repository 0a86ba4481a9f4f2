"""The page of a study: its verdict, what changed, prompts side by side, and charts of the search."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator
from html import escape
from itertools import accumulate, combinations
from pathlib import Path
from typing import Any, final

from gotlang.errors import UsageError
from gotlang.report.charts import BELOW, RIGHT, TOP, Chart, Plane, Quantity, plane
from gotlang.report.page import figure, page, table
from gotlang.result import dollars
from gotlang.tune.points import bound, mean
from gotlang.tune.space import decoded
from gotlang.tune.study import VERDICTS, Compared, StudyResult, amount
from gotlang.tune.trials import Trial
from gotlang.tune.tuned import Texts

WHISKER_WIDTH = 220
SHADES = 5
"""Shades of color in which values are drawn; the last is the strongest."""
WIDE = 1100.0
TRIAL = "trial"
"""The title of the axis of trial numbers."""
_MOOD = {"better": "good", "worse": "bad", "constraint violated": "bad"}
_STYLES = ("colors.css", "page.css", "charts.css", "report.css", "study.css")


def write_report(done: StudyResult, path: Path) -> None:
    """Write the page of a study. Raises UsageError if the file cannot be written."""
    try:
        path.write_text(report(done), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def report(done: StudyResult) -> str:
    """The page."""
    parts = [
        _head(done),
        _verdict(done),
        _constraints(done),
        _params(done),
        *[_prompt(done, name, texts) for name, texts in done.tuned.texts.items() if texts != Texts()],
        _finals(done),
        f'<h2>Search</h2><div class="plots">{"".join(_figures(done))}</div>',
        _trials(done),
    ]
    body = f'<main class="sheet">{"".join(parts)}</main>\n'
    return page(f"Study {done.plan.name}", body, done.to_dict(), styles=_STYLES, scripts=())


def _head(done: StudyResult) -> str:
    goals = [f"{'maximize' if o.maximize else 'minimize'} {o.text}" for o in done.plan.objectives]
    goals += [f"subject to {constraint.text}" for constraint in done.plan.constraints]
    facts = [
        done.model,
        f"{len(done.trials)} trials",
        f"{dollars(done.usd)} for {done.calls:,} calls",
        f"{done.rejected} points rejected without a call",
    ]
    notes = ["Simulated: no real model was asked."] if done.simulated else []
    notes += [f"The search ended early: {done.partial}."] if done.partial else []
    notes += [f"No trial satisfies {constraint}." for constraint in done.unmet]
    return (
        f"<header><h1>Study {escape(done.plan.name)}</h1>"
        f"<p><code>{escape(', '.join(goals))}</code></p>"
        f'<p class="soft">{escape(" · ".join(facts))}</p>'
        + "".join(f'<p class="note">{escape(note)}</p>' for note in notes)
        + "</header>"
    )


# ---------------------------------------------------------------- original and tuned


def _verdict(done: StudyResult) -> str:
    held_out = done.held_out
    if held_out is None:
        return '<div class="verdict"><b>not compared</b> the budget was spent before the held-out rows</div>'
    word, objectives = held_out.verdict, {o.text: o.maximize for o in done.plan.objectives}
    unchanged = held_out.unchanged
    widest = max((abs(b) for c in held_out.compared for b in _relative(c)), default=0.0) or 1.0
    rows = []
    for c in held_out.compared:
        cells = [escape(c.name), amount(c.name, c.original)]
        if not unchanged:
            low, middle, high = (amount(c.name, v, sign=True) for v in (c.lead.low, c.lead.mean, c.lead.high))
            interval = f'{middle} <span class="soft">({low} to {high})</span>'
            cells += [amount(c.name, c.tuned), interval, _whisker(c, objectives.get(c.name), widest)]
        rows.append(cells)
    heads = (
        ["", "original"] if unchanged else ["", "original", "tuned", "difference, 95% CI", "relative change"]
    )
    return (
        f'<div class="verdict {_MOOD.get(word, "")}"><b>{escape(word)}</b> {escape(VERDICTS[word])}</div>'
        f"<h2>Original and tuned <small>means of {held_out.rows} rows that the search never saw</small></h2>"
        + table(heads, rows, "narrow" if unchanged else "")
    )


def _relative(compared: Compared) -> list[float]:
    """The mean difference and its interval relative to the original; empty if that is undefined."""
    lead, base = compared.lead, compared.original
    if not base or not all(map(math.isfinite, (lead.low, lead.mean, lead.high))):
        return []
    return [value / abs(base) for value in (lead.low, lead.mean, lead.high)]


def _whisker(compared: Compared, maximize: bool | None, widest: float) -> str:
    """The interval about zero; an objective (`maximize` is not None) has the color of its verdict."""
    relative = _relative(compared)
    if not relative:
        return ""
    low, middle, high = relative
    mood = "none"
    if maximize is not None and (low > 0 or high < 0):
        mood = "better" if (low > 0) == maximize else "worse"
    half = WHISKER_WIDTH / 2
    left, center, right = (f"{half + value / widest * (half - 6):.1f}" for value in relative)
    return (
        f'<svg class="interval" viewBox="0 0 {WHISKER_WIDTH} 24" role="img" '
        f'aria-label="{100 * low:+.0f}% to {100 * high:+.0f}%">'
        f'<line class="zero" x1="{half}" x2="{half}" y1="2" y2="22"/>'
        f'<line class="{mood}" x1="{left}" x2="{right}" y1="12" y2="12"/>'
        f'<circle class="{mood}" cx="{center}" cy="12" r="3.5"/></svg><small>{100 * middle:+.0f}%</small>'
    )


def _constraints(done: StudyResult) -> str:
    """Each constraint on the rows of the search: the limit, and whether the tuned program satisfies it."""
    rows = []
    for place, constraint in enumerate(done.plan.constraints):
        base, tuned = (mean([m.quantities[place] for m in r.rows]) for r in (done.trials[0], done.winner))
        if base is None or tuned is None:
            continue
        broken = done.winner.result.excess.get(constraint.text, 0.0) > 0
        chip = (
            f'<span class="chip {"bad" if broken else "good"}">{"violated" if broken else "satisfied"}</span>'
        )
        ratio = f" ({tuned / base:.2f} × baseline)" if base else ""
        limit = f"{'at least' if constraint.least else 'at most'} {bound(constraint, base):.4g}"
        rows.append(
            [f"<code>{escape(constraint.text)}</code>", f"{base:.4g}", f"{tuned:.4g}{ratio}", limit, chip]
        )
    heads = ["", "original", "tuned", "limit", ""]
    return (
        f"<h2>Constraints <small>on the rows of the search</small></h2>{table(heads, rows)}" if rows else ""
    )


def _params(done: StudyResult) -> str:
    defaults = {param.name: param.default for param in done.plan.program.ir(0).params}
    rows = [
        (escape(name), escape(str(before)), text if value == before else f"<b>{text}</b>")
        for name, value in {**done.tuned.params, **done.tuned.settings}.items()
        for before, text in [(defaults.get(name, ""), escape(str(value)))]
    ]
    return f"<h2>Params</h2>{table(('', 'original', 'tuned'), rows, 'narrow')}" if rows else ""


def _prompt(done: StudyResult, name: str, texts: Texts) -> str:
    prompt = done.plan.program.ir(0).prompt(name)
    template = prompt.instruction or prompt.user
    before = template.text if template is not None else ""
    left, right = _marked(before, texts.instruction if texts.instruction is not None else before)
    shots = "".join(
        f"<pre>{escape(', '.join(f'{k} = {v}' for k, v in shot.inputs))} → {escape(shot.output)}</pre>"
        for shot in texts.examples or ()
    )
    return (
        f'<h2>Prompt {escape(name)}</h2><div class="pair"><div><b>original</b><pre>{left}</pre></div>'
        f"<div><b>tuned</b><pre>{right}</pre></div></div>"
        + (f'<h3>Examples of the tuned prompt</h3><div class="shots">{shots}</div>' if shots else "")
    )


def _marked(before: str, after: str) -> tuple[str, str]:
    """Both texts with deletions and insertions marked, word by word."""
    old, new = before.split(" "), after.split(" ")
    left, right = [], []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        deleted, inserted = escape(" ".join(old[a:b])), escape(" ".join(new[c:d]))
        left.append(deleted if kind == "equal" or not deleted else f"<del>{deleted}</del>")
        right.append(inserted if kind == "equal" or not inserted else f"<ins>{inserted}</ins>")
    return " ".join(left), " ".join(right)


# ---------------------------------------------------------------- trials


def _finals(done: StudyResult) -> str:
    rows = [
        (
            str(f.trial.number),
            f"{f.before:.4g}",
            f"{f.again:.4g}",
            str(f.rows),
            f"<b>{f.mean:.4g}</b>",
            (escape(_point(f.trial)), "left wrap"),
        )
        for f in done.finals
        if f.again is not None
    ]
    heads = ("trial", "train rows", "again", "rows again", "both", ("values", "left"))
    return (
        "<h2>Finals <small>the best trials run again with new samples, each for as long as it may still win; "
        f"the first one wins</small></h2>{table(heads, rows)}"
        if rows
        else ""
    )


def _trials(done: StudyResult) -> str:
    mood = {"complete": "good", "infeasible": "bad", "failed": "bad"}
    rows = [
        (
            f"{r.number}{' ★' if r.number == done.winner.number else ''}",
            "–" if r.result.values is None else ", ".join(f"{v:.4g}" for v in r.result.values),
            str(len(r.rows)),
            (f'<span class="chip {mood.get(r.ended, "")}">{escape(r.ended)}</span>', "left"),
            (escape(_point(r)), "left wrap"),
        )
        for r in done.trials.values()
    ]
    heads = ("trial", "train", "rows", ("state", "left"), ("values", "left"))
    return f"<details><summary>All {len(done.trials)} trials</summary>{table(heads, rows)}</details>"


def _point(record: Trial) -> str:
    return ", ".join(f"{name} = {_text(value)}" for name, value in record.point.items())


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(decoded(value))


# ---------------------------------------------------------------- charts


def charts(done: StudyResult) -> Iterator[tuple[str, str, list[Chart] | str]]:
    """Titles and captions of charts of the search, each with its charts or with why it cannot be drawn."""
    drawn = [
        ("History", "Trials and the best feasible one so far. Gray trials violate a constraint.", _history),
        ("Importance", "How much of the difference between trials each param explains.", _importance),
        ("Pair of params", "The two params with the most values tried. Darker trials are better.", _pair),
        ("Rows seen", "Mean of each trial over the rows it has seen; pruned trials end early.", _rows_seen),
        ("Slices", "Each param by itself. Darker trials are better.", _slices),
        ("Parallel coordinates", "A line is a trial; dashed ones violate a constraint.", _parallel),
    ]
    if len(done.plan.objectives) > 1:
        drawn = [("Pareto front", "Trials by two objectives; Pareto-optimal ones are green.", _fronts)]
    for title, caption, make in drawn:
        try:
            yield title, caption, make(_Search(done))
        except (ValueError, RuntimeError, ImportError) as error:
            yield title, "", str(error)


def _figures(done: StudyResult) -> Iterator[str]:
    for title, caption, made in charts(done):
        if isinstance(made, str):
            yield f'<figure><h3>{title}</h3><p class="soft">Not drawn: {escape(made)}</p></figure>'
        else:
            wide = "wide" if len(made) > 1 or made[0].width == WIDE else ""
            yield figure("".join(chart.svg() for chart in made), caption, title, wide)


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
        names = dict.fromkeys(name for record in self.trials for name in record.point)
        points = {name: [_shown(r.point[name]) for r in self.trials if name in r.point] for name in names}
        self.params = [Quantity(name, v, zero=False) for name, v in points.items() if len(set(v)) > 1]
        best_first = sorted(self.trials, key=self.value, reverse=done.plan.objectives[0].maximize)
        self.shades = {
            r.number: f"q{SHADES - 1 - SHADES * rank // len(best_first)}" if r.feasible else "off"
            for rank, r in enumerate(best_first)
        }

    def value(self, record: Trial) -> float:
        """Its first objective."""
        return self.values[record.number][0]

    def kind(self, record: Trial) -> str:
        """How its dots are drawn."""
        return f"dot {self.shades[record.number]}"

    def title(self, record: Trial) -> str:
        """What is shown of it under the mouse."""
        values = ", ".join(f"{value:.4g}" for value in self.values[record.number])
        return f"trial {record.number}: {values} ({_point(record)})"

    def plot(self, across: Quantity, up: Quantity, kind: Callable[[Trial], str], **size: float) -> Plane:
        """A chart with a dot for each trial that has both quantities."""
        chart, horizontal, vertical = plane(f"{up.title} against {across.title}", across, up, **size)
        for record in self.trials:
            x, y = (self.quantity(record, one) for one in (across, up))
            if x is not None and y is not None:
                chart.dot(kind(record), horizontal(x), vertical(y), self.title(record), radius=5)
        return chart, horizontal, vertical

    def quantity(self, record: Trial, quantity: Quantity) -> Any:
        """Its value of a quantity; None if it has none."""
        if quantity.title == TRIAL:
            return record.number
        if quantity in self.objectives:
            return self.values[record.number][self.objectives.index(quantity)]
        return _shown(record.point[quantity.title]) if quantity.title in record.point else None


def _fronts(search: _Search) -> list[Chart]:
    best = {record.number for record in search.done.pareto}

    def kind(record: Trial) -> str:
        return "point front" if record.number in best else "dot" if record.feasible else "dot off"

    return [search.plot(a, b, kind)[0] for a, b in combinations(search.objectives, 2)]


def _history(search: _Search) -> list[Chart]:
    trials = Quantity(TRIAL, [record.number for record in search.trials])
    chart, across, up = search.plot(
        trials, search.objectives[0], lambda record: "dot" if record.feasible else "dot off"
    )
    best = max if search.done.plan.objectives[0].maximize else min
    feasible = [record for record in search.trials if record.feasible]
    if feasible:
        values = list(accumulate(map(search.value, feasible), best))
        steps = "".join(f"H{across(r.number):.1f}V{up(v):.1f}" for r, v in zip(feasible, values, strict=True))
        chart.path("front", f"M{across(feasible[0].number):.1f} {up(values[0]):.1f}{steps}H{across.end:.1f}")
    return [chart]


def _importance(search: _Search) -> list[Chart]:
    import warnings

    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = optuna.importance.get_param_importances(search.done.study)
    chart, across, up = plane(
        "importance", Quantity("importance", [0.0, *found.values()]), Quantity("", list(found))
    )
    size = min(22.0, 0.6 * (up.start - up.end) / len(found))
    for name, value in found.items():
        chart.bar("bar", across(0), up(name) - size / 2, max(0.8, across(value) - across(0)), size)
        chart.text("name start", across(value) + 5, up(name) + 4, f"{value:.2f}")
    return [chart]


def _pair(search: _Search) -> list[Chart]:
    if len(search.params) < 2:
        raise ValueError("fewer than two params varied")
    first, second = sorted(search.params, key=lambda one: -len(set(one.values)))[:2]
    return [search.plot(first, second, search.kind)[0]]


def _slices(search: _Search) -> list[Chart]:
    size = {"width": 260.0, "height": 240.0}
    return [search.plot(one, search.objectives[0], search.kind, **size)[0] for one in search.params]


def _rows_seen(search: _Search) -> list[Chart]:
    curves: dict[int, list[float]] = {}
    for record in search.trials:
        values = [m.objectives[0] for m in record.rows if m.objectives[0] is not None]
        curves[record.number] = [total / seen for seen, total in enumerate(accumulate(values), start=1)]
    means = [value for curve in curves.values() for value in curve]
    rows = Quantity("rows", [1, max(map(len, curves.values()))], zero=False)
    chart, across, up = plane(
        "rows seen", rows, Quantity(f"mean of {search.objectives[0].title}", means, zero=False)
    )
    for record in sorted(search.trials, key=lambda record: record is search.done.winner):
        own = record is search.done.winner
        curve = [(across(seen), up(v)) for seen, v in enumerate(curves[record.number], start=1)]
        chart.curve("best" if own else "" if record.feasible else "off", curve, search.title(record))
    return [chart]


def _parallel(search: _Search) -> list[Chart]:
    chart = Chart(WIDE, 340.0, "parallel coordinates")
    quantities = [*search.params, search.objectives[0]]
    step = (WIDE - 120 - RIGHT) / max(1, len(quantities) - 1)
    ticks: list[tuple[float, float, str]] = []
    lines: dict[int, list[tuple[float, float]]] = {record.number: [] for record in search.trials}
    for place, quantity in enumerate(quantities):
        x, scale = 80 + step * place, quantity.over(chart.height - BELOW, TOP)
        chart.path("grid", f"M{x:.1f} {scale.start:.1f}V{scale.end:.1f}")
        chart.name("axis", x, chart.height - 18, quantity.title, step)
        ticks += [(x - 6, y + 3.5, label) for y, label in scale.marks]
        for record in search.trials:
            if (value := search.quantity(record, quantity)) is not None:
                lines[record.number].append((x, scale(value)))
    for record in search.trials:
        chart.curve(search.shades[record.number], lines[record.number], search.title(record))
    for x, y, label in ticks:
        chart.text("tick above", x, y, label)
    return [chart]


def _shown(value: Any) -> Any:
    """A param's value for an axis: a number or a text."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else str(decoded(value))
