"""The page of `gotc eval` and `gotc compare`: charts, a table, and every row to look at.

The charts show quality as box plots over cost, as Figures 5 to 8 of Graph of Thoughts do, cost against
quality with the Pareto front, and differences to the baseline.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from html import escape
from typing import Any

from gotlang.evaluate.comparison import COST_LABELS, ComparedScheme, Comparison, assemble
from gotlang.evaluate.evaluation import Evaluation
from gotlang.report.charts import (
    BELOW,
    LETTER,
    RIGHT,
    TOP,
    Axis,
    Chart,
    Plane,
    Quantity,
    axis,
    bounds,
    brief,
    plane,
    shown,
)
from gotlang.report.page import figure, page, table
from gotlang.statistics import FEWEST_ROWS, Interval, quantile

WIDTH = 520.0
SLOT = 92.0
MOST_SLOTS = 9
"""Schemes at full width; more are placed closer."""
ROW_HEIGHT = 34.0
"""Of a scheme in the chart of differences."""
MOST_LETTERS = 22
MOST_REASONS = 8

# ---------------------------------------------------------------- the page


def results_page(
    results: Comparison | Evaluation, *, command: str = "", schemes: Collection[str] = ()
) -> str:
    """The whole page. `command` runs one row (default: not shown) of one of the program's own `schemes`."""
    found = as_comparison(results)
    several, first = len(found.entries) > 1, found.entries[0]
    title, whose = title_of(found), "each scheme's" if several else "its"
    front = {entry.name for entry in found.front()} if several else set()
    parts = [
        f'<div class="sheet"><header><h1>{escape(title)}</h1>',
        f'<p class="soft">{escape(" · ".join(_facts(found)))}</p>',
        '<p class="note">Simulated: no real model was asked.</p>' if first.evaluation.simulated else "",
        "</header>",
        _metrics(found, front),
        f'<section class="figures">{"".join(figure(c.svg(), text) for c, text in charts(found))}</section>',
        _failures(found),
        f'<section><h2>Rows</h2><p class="soft">Click a row to see {whose} output.</p>',
        '<div class="split"><div id="rows"></div><aside id="panel" aria-live="polite"></aside></div>',
        "</section></div>\n",
    ]
    data = {
        "label": found.label,
        "lower": found.lower_is_better,
        "schemes": [entry.name for entry in found.entries],
        "own": [entry.evaluation.scheme in schemes and entry.repeats == 1 for entry in found.entries],
        "metric": found.metric,
        "command": command,
        "rows": _rows(found),
    }
    styles = ("colors.css", "page.css", "charts.css", "report.css")
    return page(title, "".join(parts), data, styles=styles, scripts=("page.js", "report.js"))


def as_comparison(results: Comparison | Evaluation) -> Comparison:
    """An evaluation as a comparison with one scheme."""
    if isinstance(results, Comparison):
        return results
    return assemble([ComparedScheme(results.scheme, results)], results.scheme)


def title_of(found: Comparison) -> str:
    """The title of the page: the program, and the scheme of an evaluation."""
    first = found.entries[0]
    return f"{first.evaluation.program}: {'schemes compared' if len(found.entries) > 1 else first.name}"


def _facts(found: Comparison) -> Iterator[str]:
    first = found.entries[0].evaluation
    rows = max(entry.evaluation.rows + entry.evaluation.not_run for entry in found.entries)
    yield first.model
    yield f"{'1 row' if rows == 1 else f'{rows:,} rows'} of {first.data}"
    yield f"seed {first.seed}"
    if found.equal_cost:
        yield f"at equal {COST_LABELS[found.cost_metric]}"


def charts(found: Comparison) -> Iterator[tuple[Chart, str]]:
    """The charts with their captions."""
    cost, good = COST_LABELS[found.cost_metric], "lower" if found.lower_is_better else "higher"
    words = f"{found.label} of each row ({good} is better): median, quartiles, mean (diamond)"
    if found.metric == "correct":
        words = "Share of correct results with its 95% CI"
    yield boxes(found), f"{words}; below, {cost} per row."
    drawn = (tradeoff(found), differences(found)) if len(found.entries) > 1 else (spread(found),)
    captions = [
        f"{cost.capitalize()} against {found.label}, with 95% CIs. Schemes on the line are Pareto-optimal.",
        f"Paired differences to {found.baseline} with 95% CIs; one that contains 0 is not significant.",
    ]
    if any(d.rows < FEWEST_ROWS for e in found.entries if (d := e.to_baseline.get(found.metric))):
        captions[1] += f" No difference is significant with fewer than {FEWEST_ROWS} rows in common."
    if len(found.entries) == 1:
        captions = [f"Every row by its {cost} and its {found.label}."]
    for chart, caption in zip(drawn, captions, strict=True):
        if chart is not None:
            yield chart, caption


def _metrics(found: Comparison, front: Collection[str]) -> str:
    several = len(found.entries) > 1
    others = [
        metric
        for metric in ("correct", "cost", "calls", "seconds")
        if metric != found.metric and any(entry.evaluation.values(metric) for entry in found.entries)
    ]
    rows = []
    for entry in found.entries:
        name = f'<span title="{escape(entry.name)}">{escape(brief(entry.name, 30))}</span>'
        name += f" ×{entry.repeats}" if entry.repeats > 1 else ""
        if entry.name in front:
            name += ' <span class="chip" title="no scheme is better in both">Pareto-optimal</span>'
        cells = [name, _interval(found.metric, entry.evaluation.interval(found.metric))]
        cells += [_against(found, entry)] if several else []
        rows.append(cells + [_interval(metric, entry.evaluation.interval(metric)) for metric in others])
    against = [f"against {escape(brief(found.baseline, MOST_LETTERS))}"] if several else []
    return f"<section>{table(['scheme', escape(found.label), *against, *others], rows)}</section>"


def _interval(metric: str, found: Interval | None) -> str:
    if found is None:
        return '<span class="soft">unknown</span>'
    return f"<b>{shown(metric, found.mean)}</b><small>{bounds(metric, found)}</small>"


def _against(found: Comparison, entry: ComparedScheme) -> str:
    if entry.name == found.baseline:
        return '<span class="soft">baseline</span>'
    difference = _interval(found.metric, entry.to_baseline.get(found.metric))
    if entry.verdict is None:
        return difference
    kind = {"better": "good", "worse": "bad"}.get(entry.verdict, "")
    return f'{difference}<span class="chip {kind}">{entry.verdict}</span>'


def _failures(found: Comparison) -> str:
    rows = [
        (escape(entry.name), str(number), (escape(reason[:500]), "left wrap"))
        for entry in found.entries
        for reason, number in entry.evaluation.failures().most_common(MOST_REASONS)
    ]
    heads = ("scheme", "runs", ("reason", "left"))
    return f"<section><h2>Failures by reason</h2>{table(heads, rows)}</section>" if rows else ""


def _rows(found: Comparison) -> list[dict[str, Any]]:
    """What the script shows of every row: its inputs once, and the runs of each scheme."""
    rows: dict[int, dict[str, Any]] = {}
    for number, entry in enumerate(found.entries):
        for run in entry.evaluation.runs:
            about = {
                "row": run.row.number,
                "inputs": dict(run.row.inputs),
                "truth": run.row.truth,
                "runs": [],
            }
            names = ("state", "value", "usd", "calls", "reason", "repeat")
            values = {name: getattr(run, name) for name in names}
            own = {**values, "score": run.metric("score"), "correct": run.truth}
            rows.setdefault(run.row.number, about)["runs"].append([number, own])
    return [rows[number] for number in sorted(rows)]


# ---------------------------------------------------------------- charts


def boxes(found: Comparison) -> Chart:
    """Quality as box plots with every row as a dot, and below it the cost per row."""
    entries, cost = found.entries, found.cost_metric
    slot = SLOT if len(entries) <= MOST_SLOTS else SLOT * MOST_SLOTS / len(entries)
    share = found.metric == "correct"
    quality = [
        value
        for evaluation in (entry.evaluation for entry in entries)
        for value in (
            _ends(evaluation.interval("correct")) if share else evaluation.values(found.metric).values()
        )
    ]
    costs = [mean for entry in entries if (mean := entry.evaluation.mean(cost)) is not None]
    upper = axis(quality, 390.0, TOP + 6, text=partial(shown, found.metric, short=True))
    lower = axis(costs, 540.0, 456.0, ticks=3, text=partial(shown, cost, short=True))
    left = max(upper.margin, lower.margin)
    width = left + 16 + slot * max(len(entries), 3)
    chart = Chart(width, 560.0 if costs else 440.0, f"{found.label} and {COST_LABELS[cost]} of each scheme")
    chart.left(upper, found.label, left)
    if costs:
        chart.left(lower, f"{COST_LABELS[cost]} per row", left)
    for number, entry in enumerate(entries, start=1):
        middle = left + slot * (number - 0.5 + max(0, 3 - len(entries)) / 2)
        if not entry.evaluation.values(found.metric):
            chart.text("value", middle, upper.start - 8, "none")
        elif share:
            _share(chart, entry, upper, middle, min(slot * 0.5, 46.0))
        else:
            _box(chart, entry, found.metric, upper, middle, min(slot * 0.5, 46.0))
        times = f" ×{entry.repeats}" if entry.repeats > 1 else ""
        chart.name("name", middle, 421, entry.name, slot - LETTER * len(times), times)
        mean = entry.evaluation.mean(cost)
        if mean is not None:
            chart.bar("bar", middle - 17, lower(mean), 34, max(0.8, lower.start - lower(mean)))
            chart.text("value", middle, lower(mean) - 4, shown(cost, mean))
    return chart


def _ends(interval: Interval | None) -> tuple[float, ...]:
    return () if interval is None else (interval.low, interval.mean, interval.high)


def _box(chart: Chart, entry: ComparedScheme, metric: str, scale: Axis, middle: float, width: float) -> None:
    values = entry.evaluation.values(metric)
    for row, value in values.items():
        # A row has the same place in every box, so that the eye can follow it.
        x = middle + ((row * 0.618034) % 1 - 0.5) * width * 0.9
        title = f"{entry.name}, row {row}: {shown(metric, value)}"
        chart.dot("dot", x, scale(value), title, radius=2.4, row=row)
    ordered = sorted(values.values())
    first, half, third = (quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    reach = 1.5 * (third - first)
    low = scale(min(v for v in ordered if v >= first - reach))
    high = scale(max(v for v in ordered if v <= third + reach))
    mean = sum(ordered) / len(ordered)
    told = [shown(metric, value) for value in (half, first, third, mean)]
    title = f"{entry.name}: median {told[0]}, quartiles {told[1]} and {told[2]}, mean {told[3]}"
    with chart.group("box", title):
        top, bottom, left = scale(third), scale(first), middle - width / 2
        chart.path("whisker", f"M{middle:.1f} {top:.1f}V{high:.1f}M{middle:.1f} {bottom:.1f}V{low:.1f}")
        chart.path("whisker", f"M{middle - 9:.1f} {high:.1f}h18M{middle - 9:.1f} {low:.1f}h18")
        chart.bar("", left, top, width, max(1.5, bottom - top))
        chart.path("median", f"M{left:.1f} {scale(half):.1f}h{width:.1f}")
        chart.path("mean", f"M{middle:.1f} {scale(mean) - 5:.1f}l5 5-5 5-5-5z")


def _share(chart: Chart, entry: ComparedScheme, scale: Axis, middle: float, width: float) -> None:
    """The share of correct results with its interval: rows are right or wrong, so quartiles say nothing."""
    interval = entry.evaluation.interval("correct")
    if interval is None:
        return
    mean, low, high = (scale(value) for value in (interval.mean, interval.low, interval.high))
    words = shown("correct", interval.mean)
    with chart.group("box", f"{entry.name}: {words} ({bounds('correct', interval)})"):
        chart.bar("", middle - width / 2, mean, width, max(1.5, scale.start - mean))
        ends = "".join(f"M{middle - 9:.1f} {end:.1f}h18" for end in (low, high))
        chart.path("whisker", f"M{middle:.1f} {low:.1f}V{high:.1f}{ends}")
    chart.text("value", middle + width / 2 + 4, mean - 6, words)


def _plane(
    found: Comparison, label: str, costs: Sequence[float], values: Sequence[float], height: float
) -> Plane:
    """A chart with axes of cost, to the right, and quality."""
    cost = f"{COST_LABELS[found.cost_metric]} per row"
    return plane(
        label,
        Quantity(cost, costs, text=partial(shown, found.cost_metric, short=True)),
        Quantity(found.label, values, text=partial(shown, found.metric, short=True)),
        height=height,
    )


def spread(found: Comparison) -> Chart | None:
    """Every row of one scheme at its cost and quality: whether hard rows are expensive."""
    evaluation, label = found.entries[0].evaluation, COST_LABELS[found.cost_metric]
    costs, values = evaluation.values(found.cost_metric), evaluation.values(found.metric)
    rows = [row for row in values if row in costs]
    if not rows or found.metric == "correct":
        return None
    chart, across, up = _plane(
        found,
        f"{label} and {found.label} of each row",
        [costs[row] for row in rows],
        [values[row] for row in rows],
        440.0,
    )
    for row in rows:
        title = f"row {row}: {shown(found.metric, values[row])} for {shown(found.cost_metric, costs[row])}"
        chart.dot("dot", across(costs[row]), up(values[row]), title, row=row)
    return chart


def tradeoff(found: Comparison) -> Chart | None:
    """Each scheme at its mean cost and quality, with intervals, and the Pareto front."""
    known = [(entry, point) for entry in found.entries if (point := found.point(entry)) is not None]
    if not known:
        return None
    intervals = {entry.name: _ends(entry.evaluation.interval(found.metric)) for entry, _ in known}
    chart, across, up = _plane(
        found,
        f"{COST_LABELS[found.cost_metric]} against {found.label}",
        [cost for _, (cost, _) in known],
        [end for ends in intervals.values() for end in ends],
        340.0,
    )
    best = [entry.name for entry in found.front()]
    places = {entry.name: (across(cost), up(quality)) for entry, (cost, quality) in known}
    x, y = places[best[0]]
    steps = "".join(f"H{x:.1f}V{y:.1f}" for x, y in (places[name] for name in best[1:]))
    chart.path("front", f"M{x:.1f} {y:.1f}{steps}H{across.end:.1f}")
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in places.values()]
    for entry, (cost, quality) in known:
        x, y = places[entry.name]
        low, _, high = intervals[entry.name]
        if math.isfinite(low):
            chart.path("whisker", f"M{x:.1f} {up(low):.1f}V{up(high):.1f}")
        title = f"{entry.name}: {shown(found.metric, quality)} for {shown(found.cost_metric, cost)}"
        chart.dot("point front" if entry.name in best else "point", x, y, title, radius=5.5)
        anchor, dx, dy = _free(brief(entry.name, MOST_LETTERS), x, y, taken)
        chart.name(f"name {anchor}", x + dx, y + dy, entry.name, LETTER * MOST_LETTERS)
    return chart


def _free(
    name: str, x: float, y: float, taken: list[tuple[float, float, float, float]]
) -> tuple[str, float, float]:
    """Where a name goes beside its point without covering another, and which end of it is there; its box is
    added to those `taken`."""
    length = LETTER * len(name)
    choices = [("start", 9.0, -8.0), ("end", -9.0, -8.0), ("start", 9.0, 17.0), ("end", -9.0, 17.0)]
    for anchor, dx, dy in choices:
        left, top = x + dx - (length if anchor == "end" else 0), y + dy - 11
        right, bottom = left + length, top + 14
        overlaps = any(left < b[2] and b[0] < right and top < b[3] and b[1] < bottom for b in taken)
        if left > 24 and right < WIDTH and not overlaps:
            taken.append((left, top, right, bottom))
            return anchor, dx, dy
    return choices[0]


def differences(found: Comparison) -> Chart | None:
    """The paired difference of each scheme to the baseline, with its interval."""
    known = [(entry, d) for entry in found.entries if (d := entry.to_baseline.get(found.metric)) is not None]
    if not known:
        return None
    label = f"difference in {found.label} to {brief(found.baseline, MOST_LETTERS)}"
    chart = Chart(WIDTH, TOP + ROW_HEIGHT * len(known) + BELOW + 2, label)
    bottom = chart.height - BELOW + 4
    text = partial(shown, found.metric, short=True)
    across = axis([end for _, d in known for end in _ends(d)], 150.0, WIDTH - RIGHT, text=text)
    for x, _ in across.marks:
        chart.path("grid", f"M{x:.1f} {TOP:.1f}V{bottom:.1f}")
    chart.path("zero", f"M{across(0):.1f} {TOP:.1f}V{bottom:.1f}")
    chart.below(across, label)
    for number, (entry, d) in enumerate(known):
        y = TOP + ROW_HEIGHT * (number + 0.5)
        chart.name("row", 138, y + 4, entry.name, 134)
        title = f"{entry.name}: {shown(found.metric, d.mean)} ({bounds(found.metric, d)}), {entry.verdict}"
        kind = entry.verdict if entry.verdict in ("better", "worse") else ""
        with chart.group(f"difference {kind}".strip(), title):
            if math.isfinite(d.low) and math.isfinite(d.high):
                low, high = across(d.low), across(d.high)
                ends = "".join(f"M{end:.1f} {y - 5:.1f}v10" for end in (low, high))
                chart.path("whisker", f"M{low:.1f} {y:.1f}H{high:.1f}{ends}")
            chart.dot("", across(d.mean), y, "", radius=5)
    return chart
