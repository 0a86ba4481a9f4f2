"""Results as tables of texts, for terminals and notebooks: metrics, schemes side by side, single rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gotlang.evaluate.comparison import ComparedScheme, Comparison
from gotlang.evaluate.evaluation import Evaluation
from gotlang.evaluate.runs import RowRun
from gotlang.report.charts import bounds, shown
from gotlang.statistics import Interval

_LONGEST_NAME = 20
"""Maximum length of a baseline in a column head; a longer name makes the table too wide."""


class Grid(NamedTuple):
    """Cells in lines below the heads of their columns."""

    heads: Sequence[str]
    lines: Sequence[Sequence[str]]


def intervals(found: Evaluation) -> Iterator[tuple[str, str, Interval]]:
    """The known metrics: name, label and interval; of cost and tokens only the one that is compared."""
    left = "cost" if found.cost_metric == "tokens" else "tokens"
    for name in found.metrics:
        if name != left and (interval := found.interval(name)) is not None:
            yield name, found.kind_of(name).name, interval


def metrics(found: Evaluation) -> Grid:
    """A line for each metric of an evaluation."""
    lines = []
    for name, label, interval in intervals(found):
        total = found.sum(name) if name in ("cost", "tokens", "calls") else None
        summed = "" if total is None else f"{total:,.0f}" if name != "cost" else shown(name, total)
        unit = found.unit(name)
        middle = "" if unit == "correct" else shown(unit, found.median(name))
        cells = (shown(unit, interval.mean), middle, bounds(unit, interval), str(interval.rows), summed)
        lines.append((label, *cells))
    return Grid(("", "mean", "median", "95% CI", "rows", "sum"), lines)


def schemes(found: Comparison) -> Grid:
    """A line for each scheme of a comparison."""
    others, first = found.others(), found.entries[0].evaluation
    labels = [first.kind_of(name).name for name in others]
    baseline = found.baseline if len(found.baseline) <= _LONGEST_NAME else "baseline"
    heads = ["scheme", found.label, "95% CI", *labels, f"to {baseline}", "95% CI", "verdict"]
    return Grid(heads, [_scheme(found, entry, others) for entry in found.entries])


def _scheme(found: Comparison, entry: ComparedScheme, others: Sequence[str]) -> list[str]:
    name = f"{entry.name} x {entry.repeats:.3g}" if entry.repeats > 1 else entry.name
    cells = [name, *_cells(found.unit, entry.evaluation.interval(found.metric))]
    for metric in others:
        interval = entry.evaluation.interval(metric)
        cells.append(
            shown(entry.evaluation.unit(metric), interval.mean) if interval is not None else "unknown"
        )
    if entry.name == found.baseline:
        return [*cells, "", "", "baseline"]
    difference = _cells(found.unit, entry.to_baseline.get(found.metric), signed=True)
    return [*cells, *difference, entry.verdict or "unknown"]


def _cells(metric: str, interval: Interval | None, *, signed: bool = False) -> list[str]:
    if interval is None:
        return ["unknown", ""]
    plus = "+" if signed and interval.mean > 0 else ""
    return [plus + shown(metric, interval.mean), bounds(metric, interval)]


def rows(found: Evaluation, most: int) -> Grid:
    """The first `most` runs of rows: failed ones, wrong ones, those of the worst scores, then the others."""
    lower = found.kind_of("score").lower
    runs = sorted(found.runs, key=lambda run: _badness(run, lower=lower))[:most]
    scored = any(run.score is not None for run in runs)
    known = any(run.row.truth is not None for run in runs)
    names = list(dict.fromkeys(name for run in runs for name in run.row.inputs))
    heads = ["row", "", *names, "result", *(["expected"] if known else []), *(["score"] if scored else [])]
    return Grid(heads, [_row(run, names, known=known, scored=scored) for run in runs])


def _badness(run: RowRun, *, lower: bool) -> tuple[int, float, int]:
    wrong = run.truth is False or run.valid is False
    kind = 0 if run.state == "failed" else 1 if run.state == "partial" else 2 if wrong else 3
    score = run.score if run.score is not None else 0.0
    return kind, -score if lower else score, run.row.number


def _row(run: RowRun, names: Sequence[str], *, known: bool, scored: bool) -> list[str]:
    verdict = {True: "correct", False: "wrong"}.get(run.truth, "") if run.truth is not None else ""
    state = verdict if run.state == "done" else run.state
    value, truth = _different(run.value, run.row.truth)
    result = _text(value) if run.state != "failed" else run.reason or ""
    cells = [str(run.row.number), "not valid" if run.valid is False and not verdict else state]
    cells += [_text(run.row.inputs.get(name)) for name in names]
    cells.append(result)
    cells += [_text(truth)] if known else []
    return cells + ([f"{run.score:g}" if run.score is not None else ""] if scored else [])


def _different(value: object, truth: object) -> tuple[object, object]:
    """Two records without the fields in which they agree; other values unchanged."""
    if not (isinstance(value, dict) and isinstance(truth, dict)) or value == truth:
        return value, truth
    names = [name for name in {**truth, **value} if truth.get(name) != value.get(name)]
    first, second = ({name: one[name] for name in names if name in one} for one in (value, truth))
    return first, second


def _text(value: object) -> str:
    """A value on one line."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return " ".join(text.split())
