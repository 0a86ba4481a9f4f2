"""What `gotc eval` found: as text, as JSON, as a JUnit report, as GitHub's workflow commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from gotlang.cli.check_formats import github_data, github_property
from gotlang.cli.evaluating import table_lines
from gotlang.cli.output import count, shortened, to_json
from gotlang.evaluate.evaluation import METRICS
from gotlang.report.charts import bounds, shown

if TYPE_CHECKING:
    from gotlang.evaluate.evaluation import Evaluation, RowRun
    from gotlang.evaluate.threshold import Threshold

_REASONS = 5
_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def text(found: Evaluation, head: dict[str, Any]) -> Iterator[str]:
    """A table of metrics, then failures by reason."""
    many = f", {found.repeat} times each" if found.repeat > 1 else ""
    made_up = " (simulated: no real model was asked)" if head["simulated"] else ""
    rows = count(found.row_count, "row")
    yield f"{found.scheme} by {head['model']}{made_up} · {rows} of {head['data']}{many}"
    lines = []
    for name in METRICS:
        interval = found.interval(name)
        if interval is None:
            continue
        total = found.sum(name) if name in ("cost", "calls") else None
        label = found.kind.name if name == "score" else name
        mean, known = shown(name, interval.mean), bounds(name, interval)
        lines.append((label, mean, known, str(interval.rows), _total(name, total)))
    if lines:
        yield from table_lines(("", "mean", "95% CI", "rows", "sum"), lines)
    if found.kind.of and found.values("score"):
        good = "lower" if found.kind.lower else "higher"
        yield f"metric: {found.kind.name}({found.kind.of}); {good} is better"
    failed = found.failures()
    if failed:
        yield f"failed: {failed.total()} of {count(len(found.runs), 'run')}"
        for reason, number in failed.most_common(_REASONS):
            yield f"{number:>6} x {shortened(reason, 200)}"
        if len(failed) > _REASONS:
            yield f"       and {count(len(failed) - _REASONS, 'more reason')}; --json has all"


def _total(name: str, total: float | None) -> str:
    return "" if total is None else f"{total:,.0f}" if name == "calls" else shown(name, total)


def junit(
    found: Evaluation,
    head: dict[str, Any],
    thresholds: Sequence[Threshold],
    crossed: Sequence[Threshold] | None,
) -> str:
    """A test case a run and one a threshold: a wrong answer and a crossed threshold are failures. `crossed`
    None: what ended early is held to no threshold, so these are skipped."""
    cases = [_case(run, head) for run in found.runs]
    for one in thresholds:
        over = '<skipped message="not judged: it ended early"/>' if crossed is None else ""
        if one in (crossed or ()):
            over = f"<failure message={_quoted('this holds: ' + one.text)}/>"
        where = _quoted(head["program"] + ".fail-if")
        cases.append(f"<testcase classname={where} name={_quoted(one.text)}>{over}</testcase>")
    wrong = sum("<failure" in case for case in cases)
    errors = sum("<error" in case for case in cases)
    name = _quoted(f"{head['program']} {found.scheme}")
    counts = f'tests="{len(cases)}" failures="{wrong}" errors="{errors}"'
    return "\n".join(
        (
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<testsuites><testsuite name={name} {counts}>",
            *cases,
            "</testsuite></testsuites>\n",
        )
    )


def _case(run: RowRun, head: dict[str, Any]) -> str:
    name = f"row {run.row.number}" + (f" run {run.repeat + 1}" if head["repeat"] > 1 else "")
    inside = ""
    if run.state == "failed":
        inside = f"<error message={_quoted(run.reason or 'failed')}/>"
    elif run.state == "partial":
        inside = f"<skipped message={_quoted(run.reason or 'partial')}/>"
    elif run.truth is False:
        inside = (
            f"<failure message={_quoted('not the known answer: ' + shortened(to_json(run.value), 500))}/>"
        )
    seconds = f' time="{run.seconds:.3f}"' if run.seconds is not None else ""
    classname = _quoted(f"{head['program']}.{head['scheme']}")
    return f"<testcase classname={classname} name={_quoted(name)}{seconds}>{inside}</testcase>"


def _quoted(words: str) -> str:
    """An XML attribute's value; what XML cannot hold is left out."""
    return f'"{escape(_NOT_XML.sub("", words))}"'


def github(found: Evaluation, head: dict[str, Any], crossed: Sequence[Threshold]) -> Iterator[str]:
    """A notice with the means, a warning for each reason of failures, an error for each crossed threshold."""
    title = f"gotc eval {head['program']} {found.scheme}"
    rows = count(found.row_count, "row")
    parts = [
        f"{found.kind.name if name == 'score' else name} {shown(name, interval.mean)}"
        for name in METRICS
        if (interval := found.interval(name)) is not None
    ]
    yield f"::notice title={github_property(title)}::{github_data(f'{rows}: ' + ', '.join(parts))}"
    for reason, number in found.failures().most_common(_REASONS):
        words = f"{count(number, 'run')} failed: {reason}"
        yield f"::warning title={github_property(title)}::{github_data(words)}"
    for one in crossed:
        yield f"::error title={github_property(title)}::{github_data('this holds: ' + one.text)}"
