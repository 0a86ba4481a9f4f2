"""The page of `gotc eval` and `gotc compare`: charts, a table, and every row to look at.

The charts show quality as box plots over cost, as Figures 5 to 8 of Graph of Thoughts do, cost against
quality with the Pareto front, and differences to the baseline.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, Final

from gotlang.evaluate.comparison import COST_LABELS, ComparedScheme, Comparison, assemble
from gotlang.evaluate.evaluation import Evaluation
from gotlang.report.charts import (
    LETTER,
    MOST_LETTERS,
    TOP,
    Axis,
    Chart,
    Dot,
    Quantity,
    Whisker,
    axis,
    bounds,
    brief,
    intervals,
    scatter,
    shown,
)
from gotlang.report.page import page
from gotlang.statistics import FEWEST_ROWS, Interval, quantile

SLOT = 92.0
MOST_SLOTS = 9
"""Schemes at full width; more are placed closer."""
MOST_REASONS = 8
STYLES: Final = ("colors.css", "page.css", "charts.css", "report.css")


def as_comparison(results: Comparison | Evaluation) -> Comparison:
    """An evaluation as a comparison with one scheme."""
    if isinstance(results, Comparison):
        return results
    return assemble([ComparedScheme(results.scheme, results)], results.scheme)


def results_page(
    results: Comparison | Evaluation, *, command: str = "", schemes: Collection[str] = ()
) -> str:
    """The whole page. `command` runs one row (default: not shown) of one of the program's own `schemes`."""
    found = as_comparison(results)
    evaluations = [entry.evaluation for entry in found.entries]
    others = (m for m in ("correct", "cost", "calls", "seconds") if m != found.metric)
    shared = [d.rows for entry in found.entries if (d := entry.to_baseline.get(found.metric)) is not None]
    data = {
        "label": found.label,
        "lower": found.lower_is_better,
        "schemes": [entry.name for entry in found.entries],
        "own": [entry.evaluation.scheme in schemes and entry.repeats == 1 for entry in found.entries],
        "metric": found.metric,
        "command": command,
        "rows": _rows(found),
    }
    return page(
        "results.html",
        data,
        styles=STYLES,
        scripts=("page.js", "report.js"),
        title=title_of(found),
        found=found,
        first=evaluations[0],
        rows=max(evaluation.row_count + evaluation.not_run for evaluation in evaluations),
        cost=COST_LABELS[found.cost_metric],
        metrics=[metric for metric in others if any(e.values(metric) for e in evaluations)],
        front=found.front(),
        charts=charts(found),
        few=FEWEST_ROWS if any(rows < FEWEST_ROWS for rows in shared) else None,
        failures=[
            (entry.name, reason, runs)
            for entry in found.entries
            for reason, runs in entry.evaluation.failures().most_common(MOST_REASONS)
        ],
        shown=shown,
        bounds=bounds,
        brief=partial(brief, most=30),
    )


def title_of(found: Comparison) -> str:
    """The title of the page: the program, and the scheme of an evaluation."""
    first = found.entries[0]
    return f"{first.evaluation.program}: {'schemes compared' if len(found.entries) > 1 else first.name}"


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


def charts(found: Comparison) -> dict[str, Chart]:
    """The charts by name; an evaluation has others than a comparison."""
    several = len(found.entries) > 1
    makers = (boxes, tradeoff, differences) if several else (boxes, spread)
    return {make.__name__: chart for make in makers if (chart := make(found)) is not None}


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
    return () if interval is None else (interval.low, interval.high)


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


def _cost(found: Comparison, values: Sequence[float]) -> Quantity:
    text = partial(shown, found.cost_metric, short=True)
    return Quantity(f"{COST_LABELS[found.cost_metric]} per row", values, text=text)


def _quality(found: Comparison, values: Sequence[float]) -> Quantity:
    return Quantity(found.label, values, text=partial(shown, found.metric, short=True))


def spread(found: Comparison) -> Chart | None:
    """Every row of one scheme at its cost and quality: whether hard rows are expensive."""
    evaluation = found.entries[0].evaluation
    costs, values = evaluation.values(found.cost_metric), evaluation.values(found.metric)
    points = [
        Dot(costs[row], value, f"row {row}: {_price(found, costs[row], value)}", row=row)
        for row, value in values.items()
        if row in costs
    ]
    if not points or found.metric == "correct":
        return None
    return scatter(
        _cost(found, [p.x for p in points]), _quality(found, [p.y for p in points]), points, height=440.0
    )


def tradeoff(found: Comparison) -> Chart | None:
    """Each scheme at its mean cost and quality, with intervals, and the Pareto front."""
    best = found.front()
    points = [
        Dot(
            *point,
            f"{entry.name}: {_price(found, *point)}",
            "point front" if entry in best else "point",
            entry.name,
            ends=_ends(entry.evaluation.interval(found.metric)),
        )
        for entry in found.entries
        if (point := found.point(entry)) is not None
    ]
    if not points:
        return None
    values = [value for point in points for value in (point.y, *point.ends)]
    line = [point for entry in best if (point := found.point(entry)) is not None]
    return scatter(_cost(found, [p.x for p in points]), _quality(found, values), points, line=line)


def _price(found: Comparison, cost: float, quality: float) -> str:
    return f"{shown(found.metric, quality)} for {shown(found.cost_metric, cost)}"


def differences(found: Comparison) -> Chart | None:
    """The paired difference of each scheme to the baseline, with its interval."""
    whiskers = []
    for entry in found.entries:
        if (d := entry.to_baseline.get(found.metric)) is not None:
            words = f"{shown(found.metric, d.mean)} ({bounds(found.metric, d)}), {entry.verdict}"
            kind = entry.verdict if entry.verdict in ("better", "worse") else ""
            whiskers.append(Whisker(entry.name, d.low, d.mean, d.high, f"{entry.name}: {words}", kind))
    title = f"difference in {found.label} to {brief(found.baseline, MOST_LETTERS)}"
    return intervals(title, whiskers, partial(shown, found.metric, short=True)) if whiskers else None
