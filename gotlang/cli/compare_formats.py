"""What `gotc compare` found, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gotlang.cli.evaluating import table_lines
from gotlang.cli.output import count, shortened
from gotlang.evaluate.comparison import COST_LABELS
from gotlang.report.charts import bounds, shown
from gotlang.statistics import FEWEST_ROWS

if TYPE_CHECKING:
    from gotlang.evaluate.comparison import ComparedScheme, Comparison


_MOST_LETTERS = 20
"""Of a baseline's name in a head; a longer one makes the table too wide for its numbers."""


def text(found: Comparison, head: dict[str, Any]) -> Iterator[str]:
    """A table, a line a contender, and what the differences show."""
    made_up = " (simulated: no real model was asked)" if head["simulated"] else ""
    equal = f", at equal {COST_LABELS[found.cost_metric]}" if found.equal_cost else ""
    rows = f"{count(head['rows'], 'row')} of {head['data']}"
    yield f"{head['program']} by {head['model']}{made_up} · {rows}{equal}"
    heads = ["scheme", found.label, "95% CI"]
    metrics = [name for name in ("correct", "cost", "calls", "seconds") if name != found.metric]
    metrics = [name for name in metrics if any(entry.evaluation.values(name) for entry in found.entries)]
    baseline = found.baseline if len(found.baseline) <= _MOST_LETTERS else "baseline"
    heads += [*metrics, f"to {baseline}", "95% CI", "verdict"]
    yield from table_lines(heads, [_line(found, entry, metrics) for entry in found.entries])
    front = ", ".join(entry.name for entry in found.front())
    good = "lower" if found.lower_is_better else "higher"
    if found.metric == "score" and found.kind.of:
        yield f"metric: {found.label}({found.kind.of}); {good} is better"
    if front:
        yield f"Pareto-optimal in ({found.label}, {COST_LABELS[found.cost_metric]}): {front}"
    few = [d.rows for e in found.entries if (d := e.to_baseline.get(found.metric)) and d.rows < FEWEST_ROWS]
    if few:
        yield f"with fewer than {FEWEST_ROWS} common rows no difference is significant"
    for entry in found.entries:
        for reason, number in entry.evaluation.failures().most_common(3):
            yield f"{entry.name}: failed {number} x {shortened(reason, 200)}"


def _line(found: Comparison, entry: ComparedScheme, metrics: list[str]) -> list[str]:
    name = f"{entry.name} x {entry.repeats}" if entry.repeats > 1 else entry.name
    own = entry.evaluation.interval(found.metric)
    cells = [name, *_cells(found.metric, own)]
    for metric in metrics:
        interval = entry.evaluation.interval(metric)
        cells.append(shown(metric, interval.mean) if interval is not None else "unknown")
    if entry.name == found.baseline:
        return [*cells, "", "", "baseline"]
    difference = entry.to_baseline.get(found.metric)
    return [*cells, *_cells(found.metric, difference, signed=True), entry.verdict or "unknown"]


def _cells(metric: str, interval: Any, *, signed: bool = False) -> list[str]:
    if interval is None:
        return ["unknown", ""]
    plus = "+" if signed and interval.mean > 0 else ""
    return [plus + shown(metric, interval.mean), bounds(metric, interval)]
