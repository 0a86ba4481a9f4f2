"""The page of `gotc eval` and `gotc compare`: charts, a table, and every row.

The charts show quality as box plots over cost, as Figures 5 to 8 of Graph of Thoughts do, cost against
quality with the Pareto front, and differences to the baseline.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any, Final

from gotlang.evaluate.comparison import ComparedScheme, Comparison, is_baseline
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
    bounds,
    brief,
    intervals,
    scatter,
    shown,
)
from gotlang.report.page import page
from gotlang.report.stored import as_comparison
from gotlang.runtime.sampler.events import RowsEnded
from gotlang.statistics import FEWEST_ROWS, quantile

SLOT = 92.0
MOST_SLOTS = 9
"""Maximum number of schemes at full width; more are placed closer."""
MOST_REASONS = 8
STYLES: Final = ("colors.css", "page.css", "charts.css", "report.css")


def results_page(
    results: Comparison | Evaluation,
    *,
    command: str = "",
    schemes: Collection[str] = (),
    nodes: Sequence[Sequence[str]] = (),
) -> str:
    """The whole page. `command` runs one row (default: not shown) of one of the program's own `schemes`.
    `nodes` has the work of each node of a cluster, as `RowsEnded.cells` has it."""
    found = as_comparison(results)
    data = page_data(found, command=command, schemes=schemes)
    values = {**page_values(found), "nodes": nodes}
    return page("results.html", data, styles=STYLES, scripts=("page.js", "report.js"), **values)


def page_data(found: Comparison, *, command: str = "", schemes: Collection[str] = ()) -> dict[str, Any]:
    """The data for the page's script."""
    return {
        "label": found.label,
        "schemes": [entry.name for entry in found.entries],
        "own": [_runs_alone(entry, schemes) for entry in found.entries],
        "metric": found.metric,
        "share": found.unit == "correct",
        "judged": any(entry.evaluation.tally.judged for entry in found.entries),
        "command": command,
        "rows": _rows(found),
    }


def _runs_alone(entry: ComparedScheme, schemes: Collection[str]) -> bool:
    """Whether `gotc run` can run a row of a compared scheme again: one of these, or a baseline."""
    name = entry.evaluation.scheme
    return entry.repeats == 1 and (name in schemes or is_baseline(name))


def page_values(found: Comparison) -> dict[str, Any]:
    """The values for the page's template."""
    evaluations = [entry.evaluation for entry in found.entries]
    shared = [d.rows for entry in found.entries if (d := entry.to_baseline.get(found.metric)) is not None]
    return {
        "title": title_of(found),
        "found": found,
        "first": evaluations[0],
        "rows": max(evaluation.row_count + evaluation.not_run for evaluation in evaluations),
        "ended": max(evaluation.row_count for evaluation in evaluations),
        "cost": found.cost_metric,
        "metrics": found.others(),
        "front": found.front(),
        "charts": charts(found),
        "few": FEWEST_ROWS if any(rows < FEWEST_ROWS for rows in shared) else None,
        "remarks": [
            f"{entry.name}: {remark}" for entry in found.entries for remark in entry.evaluation.remarks()
        ],
        "failures": [
            (entry.name, reason, runs)
            for entry in found.entries
            for reason, runs in entry.evaluation.failures().most_common(MOST_REASONS)
        ],
        "nodes": (),
        "shown": shown,
        "bounds": bounds,
        "brief": partial(brief, most=30),
    }


def nodes_of(found: Comparison, seconds: float) -> list[tuple[str, ...]]:
    """The counts of each node of a cluster after this number of seconds, as `RowsEnded.cells` has them."""
    nodes: dict[str, RowsEnded] = {}
    for entry in found.entries:
        for run in entry.evaluation.runs:
            if (counted := run.node) is not None:
                nodes[counted.node] = nodes.get(counted.node, RowsEnded()).and_these(counted)
    return [node.cells(seconds) for node in nodes.values()]


def title_of(found: Comparison) -> str:
    """The title of the page: the program, and the scheme of an evaluation."""
    first = found.entries[0]
    return f"{first.evaluation.program}: {'schemes compared' if len(found.entries) > 1 else first.name}"


def _rows(found: Comparison) -> list[dict[str, Any]]:
    """The data of every row for the script: its inputs once, and the runs of each scheme."""
    rows: dict[int, dict[str, Any]] = {}
    for number, entry in enumerate(found.entries):
        for run in entry.evaluation.runs:
            row = {"row": run.row.number, "inputs": dict(run.row.inputs), "truth": run.row.truth, "runs": []}
            rows.setdefault(run.row.number, row)["runs"].append(
                [
                    number,
                    {
                        **run.to_dict(),
                        "score": run.metric("score"),
                        "compared": run.metric(found.metric),
                        **({} if run.node is None else {"node": run.node.node}),
                    },
                ]
            )
    return [rows[number] for number in sorted(rows)]


# ---------------------------------------------------------------- charts


def charts(found: Comparison) -> dict[str, Chart]:
    """The charts by name; an evaluation has others than a comparison."""
    several = len(found.entries) > 1
    makers = (boxes, tradeoff, differences) if several else (boxes, spread)
    return {make.__name__: chart for make in makers if (chart := make(found)) is not None}


def boxes(found: Comparison) -> Chart | None:
    """Quality as box plots with every row as a dot, and below it the cost per row.

    Correctness has no quartiles: it is shown as a share with its interval; for one scheme alone the table has
    it.
    """
    entries = found.entries
    if found.unit == "correct" and len(entries) == 1:
        return None
    slot = SLOT * min(1.0, MOST_SLOTS / len(entries))
    draw, values = (_share, _ends) if found.unit == "correct" else (_box, _by_row)
    quality = [value for entry in entries for value in values(found, entry)]
    costs = [mean for entry in entries if (mean := entry.evaluation.mean(found.cost_metric)) is not None]
    upper = _quality(found, quality).over(390.0, TOP + 6)
    cost = replace(_cost(found, costs), ticks=3)
    lower = cost.over(540.0, 456.0)
    left = max(upper.margin, lower.margin)
    width = left + 16 + slot * max(len(entries), 3)
    chart = Chart(width, 560.0 if costs else 440.0, f"{found.label} and {cost.title}")
    chart.left(upper, found.label, left)
    if costs:
        chart.left(lower, found.cost_metric, left)
    for number, entry in enumerate(entries, start=1):
        middle = left + slot * (number - 0.5 + max(0, 3 - len(entries)) / 2)
        if values(found, entry):
            draw(chart, found, entry, upper, middle, min(slot * 0.5, 46.0))
        else:
            chart.mark("text", "value", text="none", x=middle, y=upper.start - 8)
        times = f" ×{entry.repeats:.3g}" if entry.repeats > 1 else ""
        chart.name("name", middle, 421.0, entry.name, slot - LETTER * len(times), times)
        mean = entry.evaluation.mean(found.cost_metric)
        if mean is not None:
            top = lower(mean)
            height = max(0.8, lower.start - top)
            chart.mark("rect", "bar", x=middle - 17, y=top, width=34, height=height, rx=3)
            chart.mark("text", "value", text=shown(found.cost_metric, mean), x=middle, y=top - 4)
    return chart


def _by_row(found: Comparison, entry: ComparedScheme) -> tuple[float, ...]:
    return tuple(entry.evaluation.values(found.metric).values())


def _ends(found: Comparison, entry: ComparedScheme) -> tuple[float, ...]:
    interval = entry.evaluation.interval(found.metric)
    return () if interval is None else (interval.low, interval.high)


def _box(
    chart: Chart, found: Comparison, entry: ComparedScheme, scale: Axis, middle: float, width: float
) -> None:
    for row, value in entry.evaluation.values(found.metric).items():
        # A row has the same horizontal position in every box, so that it can be compared.
        x = middle + ((row * 0.618034) % 1 - 0.5) * width * 0.9
        title = f"{entry.name}, row {row}: {shown(found.unit, value)}"
        chart.mark("circle", "dot", title, cx=x, cy=scale(value), r=2.4, data_row=row)
    ordered = sorted(_by_row(found, entry))
    first, half, third = (quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    reach, mean = 1.5 * (third - first), fmean(ordered)
    told = [shown(found.unit, value) for value in (half, first, third, mean)]
    title = f"{entry.name}: median {told[0]}, quartiles {told[1]} and {told[2]}, mean {told[3]}"
    low = scale(min(v for v in ordered if v >= first - reach))
    high = scale(max(v for v in ordered if v <= third + reach))
    top, bottom, left = scale(third), scale(first), middle - width / 2
    with chart.group("box", title):
        lines = f"M{middle:.1f} {top:.1f}V{high:.1f}M{middle:.1f} {bottom:.1f}V{low:.1f}"
        chart.mark("path", "whisker", d=lines + _caps(middle, high, low))
        chart.mark("rect", "half", x=left, y=top, width=width, height=max(1.5, bottom - top), rx=3)
        chart.mark("path", "median", d=f"M{left:.1f} {scale(half):.1f}h{width:.1f}")
        chart.mark("path", "mean", d=f"M{middle:.1f} {scale(mean) - 5:.1f}l5 5-5 5-5-5z")


def _share(
    chart: Chart, found: Comparison, entry: ComparedScheme, scale: Axis, middle: float, width: float
) -> None:
    interval = entry.evaluation.interval(found.metric)
    assert interval is not None
    mean, low, high = scale(interval.mean), scale(interval.low), scale(interval.high)
    words = shown(found.unit, interval.mean)
    with chart.group("box", f"{entry.name}: {words} ({bounds(found.unit, interval)})"):
        height = max(1.5, scale.start - mean)
        chart.mark("rect", "half", x=middle - width / 2, y=mean, width=width, height=height, rx=3)
        chart.mark("path", "whisker", d=f"M{middle:.1f} {low:.1f}V{high:.1f}" + _caps(middle, low, high))
    chart.mark("text", "value", text=words, x=middle + width / 2 + 4, y=mean - 6)


def _caps(middle: float, *ends: float) -> str:
    return "".join(f"M{middle - 9:.1f} {end:.1f}h18" for end in ends)


def _cost(found: Comparison, values: Sequence[float]) -> Quantity:
    text = partial(shown, found.cost_metric, short=True)
    return Quantity(f"{found.cost_metric} per row", values, text=text)


def _quality(found: Comparison, values: Sequence[float]) -> Quantity:
    return Quantity(found.label, values, text=partial(shown, found.unit, short=True))


def spread(found: Comparison) -> Chart | None:
    """Every row of one scheme by cost and quality: whether hard rows are expensive."""
    evaluation = found.entries[0].evaluation
    costs, values = evaluation.values(found.cost_metric), evaluation.values(found.metric)
    points = [
        Dot(costs[row], value, f"row {row}: {_price(found, costs[row], value)}", row=row)
        for row, value in values.items()
        if row in costs
    ]
    if not points or found.unit == "correct":
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
            ends=_ends(found, entry),
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
    return f"{shown(found.unit, quality)} for {shown(found.cost_metric, cost)}"


def differences(found: Comparison) -> Chart | None:
    """The paired difference of each scheme to the baseline, with its interval."""
    whiskers = []
    for entry in found.entries:
        if (d := entry.to_baseline.get(found.metric)) is not None:
            words = f"{shown(found.unit, d.mean)} ({bounds(found.unit, d)}), {entry.verdict}"
            kind = entry.verdict if entry.verdict in ("better", "worse") else ""
            whiskers.append(Whisker(entry.name, d.low, d.mean, d.high, f"{entry.name}: {words}", kind))
    title = f"difference in {found.label} to {brief(found.baseline, MOST_LETTERS)}"
    return intervals(title, whiskers, partial(shown, found.unit, short=True)) if whiskers else None
