"""What `gotc compare` found, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gotlang.cli.eval_formats import interval_json, run_json, summary_json
from gotlang.cli.evaluating import table_lines
from gotlang.cli.output import FORMAT_VERSION, count, shortened
from gotlang.evaluate.comparison import SPENT
from gotlang.evaluate.evaluation import METRICS
from gotlang.report.results.words import bounds, shown
from gotlang.statistics import FEWEST_ROWS

if TYPE_CHECKING:
    from gotlang.evaluate.comparison import Comparison, Entry


_MOST_LETTERS = 20
"""Of a baseline's name in a head; a longer one makes the table too wide for its numbers."""


def as_json(found: Comparison, head: dict[str, Any], paid: tuple[int, float | None] | None) -> dict[str, Any]:
    """The document: every contender's metrics, its paired differences to the baseline, and every run."""
    calls, usd = paid if paid is not None else (0, 0.0)
    return {
        "format_version": FORMAT_VERSION,
        **head,
        "metric": found.metric,
        "metric_name": found.label,
        "lower_is_better": found.lower_is_better,
        "baseline": found.baseline,
        "equal_cost": found.equal_cost,
        "spent": found.spent,
        "paid": {"calls": calls, "usd": usd},
        "pareto_front": [entry.name for entry in found.front()],
        "schemes": [_entry_json(entry) for entry in found.entries],
    }


def _entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "scheme": entry.name,
        "repeats": entry.repeats,
        "rows": entry.evaluation.rows,
        **summary_json(entry.evaluation),
        "to_baseline": {name: interval_json(entry.to_baseline.get(name)) for name in METRICS},
        "verdict": entry.verdict,
        "runs": [run_json(run) for run in entry.evaluation.runs],
    }


def text(found: Comparison, head: dict[str, Any]) -> Iterator[str]:
    """A table, a line a contender, and what the differences show."""
    made_up = " (simulated: no real model was asked)" if head["simulated"] else ""
    equal = f", at equal {SPENT[found.spent]}" if found.equal_cost else ""
    rows = f"{count(head['rows'], 'row')} of {head['data']}"
    yield f"{head['program']} by {head['model']}{made_up} · {rows}{equal}"
    heads = ["scheme", found.label, "95% interval"]
    metrics = [name for name in ("correct", "cost", "calls", "seconds") if name != found.metric]
    metrics = [name for name in metrics if any(entry.evaluation.values(name) for entry in found.entries)]
    baseline = found.baseline if len(found.baseline) <= _MOST_LETTERS else "baseline"
    heads += [*metrics, f"to {baseline}", "95% interval", "shown"]
    yield from table_lines(heads, [_line(found, entry, metrics) for entry in found.entries])
    front = ", ".join(entry.name for entry in found.front())
    good = "lower" if found.lower_is_better else "higher"
    if found.metric == "score" and found.kind.of:
        yield f"{found.label} is taken by `Score() {found.label}({found.kind.of})`"
    both = f"{found.label} and {SPENT[found.spent]}"
    if front:
        yield f"{good} {found.label} is better; beaten by none in both {both}: {front}"
    few = [d.rows for e in found.entries if (d := e.to_baseline.get(found.metric)) and d.rows < FEWEST_ROWS]
    if few:
        yield f"with fewer than {FEWEST_ROWS} rows that both schemes have, no difference is called one"
    for entry in found.entries:
        for reason, number in entry.evaluation.failures().most_common(3):
            yield f"{entry.name}: failed {number} x {shortened(reason, 200)}"


def _line(found: Comparison, entry: Entry, metrics: list[str]) -> list[str]:
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
