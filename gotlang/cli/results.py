"""Results of `gotc eval` and `gotc compare` as text, JUnit's XML and annotations of GitHub."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gotlang.cli.output import annotation, count, cut, harmless, junit, shortened, test_case, to_json

if TYPE_CHECKING:
    from gotlang.api import Comparison, Evaluation, RowRun, ScoreKind, Threshold

_REASONS = 5
_WIDEST = 140
"""Maximum number of columns of a table of rows."""
_LEAST = 12
"""Minimum width of a text in a row."""


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """Columns under heads, the first one flush left, all others flush right. If the terminal is too narrow, a
    block for each line: its first cell, and below it the others with their heads."""
    widths = [max(len(row[i]) for row in (heads, *lines)) for i in range(len(heads))]
    if sum(widths) + 2 * (len(widths) - 1) > _width():
        wide = max(map(len, heads))
        pairs = [(line[0], [p for p in zip(heads[1:], line[1:], strict=True) if p[1]]) for line in lines]
        return [t for name, cells in pairs for t in (name, *(f"  {h.ljust(wide)}  {c}" for h, c in cells))]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (heads, *lines)
    ]


def _width() -> float:
    """The width of the terminal that the output goes to; unlimited for a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else math.inf


def _title(name: str, about: Mapping[str, Any], more: str = "") -> str:
    simulated = " (simulated: no real model was called)" if about["simulated"] else ""
    selection = f" ({about['selection']})" if about["selection"] else ""
    rows = f"{count(about['rows'], 'row')} of {about['data']}{selection}"
    return f"{name} by {about['model']}{simulated} · {rows}{more}"


def _metric(kind: ScoreKind) -> str:
    return f"metric: {kind.name}({kind.of}); {'lower' if kind.lower else 'higher'} is better"


def eval_text(found: Evaluation) -> Iterator[str]:
    """A table of metrics, then failures by reason."""
    from gotlang.report.tables import metrics

    yield _title(found.scheme, found.about(), f", {found.repeat} times each" if found.repeat > 1 else "")
    grid = metrics(found)
    if not grid.lines:
        yield f"no run ended: {count(len(found.runs), 'run')} partial or failed, {found.not_run} not started"
    else:
        yield from table(*grid)
    for name in found.metrics:
        if found.kind_of(name).of and found.values(name):
            yield _metric(found.kind_of(name))
    yield from found.remarks()
    failed = found.failures()
    if failed:
        yield f"failed: {failed.total()} of {count(len(found.runs), 'run')}"
        for reason, number in failed.most_common(_REASONS):
            yield f"{number:>6} x {shortened(reason, 200)}"
        if len(failed) > _REASONS:
            yield f"       and {count(len(failed) - _REASONS, 'more reason')}; see --json"


def rows_text(found: Evaluation, most: int) -> Iterator[str]:
    """The first `most` rows, wrong ones first: a table whose texts are cut to the width, or a block for each
    row if the columns do not fit."""
    from gotlang.report.tables import rows

    heads, lines = rows(found, most)
    if not lines:
        return
    width = int(min(_width(), _WIDEST))
    cells = [[harmless(cell) for cell in line] for line in lines]
    yield ""
    if width < _LEAST * len(heads):
        wide = max(map(len, heads[2:]))
        for number, verdict, *values in cells:
            yield f"row {number}  {verdict}"
            yield from (
                f"  {head.ljust(wide)}  {cut(value, max(width - wide - 4, _LEAST))}"
                for head, value in zip(heads[2:], values, strict=True)
            )
    else:
        widths = _widths(heads, cells, width)
        for line in (heads, *cells):
            texts = (cut(text, most).ljust(most) for text, most in zip(line, widths, strict=True))
            yield "  ".join(texts).rstrip()
    if left := len(found.runs) - len(lines):
        yield f"and {count(left, 'more run')}: `--table N` shows more of them, `--html FILE` all"


def _widths(heads: Sequence[str], lines: Sequence[Sequence[str]], width: int) -> list[int]:
    """The widths of columns, with a gap of two: the widest ones shrink until all fit."""
    natural = [max(len(row[place]) for row in (heads, *lines)) for place in range(len(heads))]
    most = max(natural)
    while sum(widths := [min(one, most) for one in natural]) + 2 * (len(heads) - 1) > width:
        most -= 1
    return widths


def eval_junit(
    found: Evaluation, thresholds: Sequence[Threshold], crossed: Sequence[Threshold] | None
) -> str:
    """One test case per run and per threshold: a wrong answer and a crossed threshold are failures. `crossed`
    None: the evaluation ended early, so thresholds are skipped."""
    cases = [_case(run, found) for run in found.runs]
    for one in thresholds:
        inside = ("skipped", "not checked: the evaluation ended early") if crossed is None else None
        if one in (crossed or ()):
            inside = "failure", "condition is true: " + one.text
        cases.append(test_case(found.program + ".fail-if", one.text, inside))
    return junit({f"{found.program} {found.scheme}": cases})


def _case(run: RowRun, found: Evaluation) -> str:
    name = f"row {run.row.number}" + (f" run {run.repeat + 1}" if found.repeat > 1 else "")
    value, inside = shortened(to_json(run.value), 500), None
    if run.state == "failed":
        inside = "error", run.reason or "failed"
    elif run.state == "partial":
        inside = "skipped", run.reason or "partial"
    elif run.valid is False:
        inside = "failure", f"not valid: {value}"
    elif run.truth is False:
        inside = "failure", f"not the known answer: {value}"
    return test_case(f"{found.program}.{found.scheme}", name, inside, run.seconds)


def eval_github(found: Evaluation, crossed: Sequence[Threshold]) -> Iterator[str]:
    """A notice with the means, a warning for each reason of failures, an error for each crossed threshold."""
    from gotlang.report.charts import shown
    from gotlang.report.tables import intervals

    title = f"gotc eval {found.program} {found.scheme}"
    means = ", ".join(
        f"{label} {shown(found.unit(name), interval.mean)}" for name, label, interval in intervals(found)
    )
    yield annotation("notice", f"{count(found.row_count, 'row')}: {means}", title=title)
    for remark in found.remarks():
        yield annotation("warning", remark, title=title)
    for reason, number in found.failures().most_common(_REASONS):
        yield annotation("warning", f"{count(number, 'run')} failed: {reason}", title=title)
    for one in crossed:
        yield annotation("error", "condition is true: " + one.text, title=title)


def compare_text(found: Comparison) -> Iterator[str]:
    """A table with a line for each scheme, and the significance of the differences."""
    from gotlang.report.tables import schemes
    from gotlang.statistics import FEWEST_ROWS

    about = found.to_dict()
    yield _title(about["program"], about, f", at equal {found.cost_metric}" if found.equal_cost else "")
    yield from table(*schemes(found))
    if found.kind.of:
        yield _metric(found.kind)
    if front := ", ".join(entry.name for entry in found.front()):
        yield f"Pareto-optimal in ({found.label}, {found.cost_metric}): {front}"
    if any(d.rows < FEWEST_ROWS for e in found.entries if (d := e.to_baseline.get(found.metric))):
        yield f"with fewer than {FEWEST_ROWS} common rows no difference is significant"
    for entry in found.entries:
        yield from (f"{entry.name}: {remark}" for remark in entry.evaluation.remarks())
        for reason, number in entry.evaluation.failures().most_common(3):
            yield f"{entry.name}: failed {number} x {shortened(reason, 200)}"
