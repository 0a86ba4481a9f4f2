"""Formats of `gotc check`, `eval` and `compare`: text, JSON, GitHub annotations, SARIF 2.1.0, JUnit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, final

from gotlang.cli.output import count, shortened, to_json
from gotlang.codes import CODES
from gotlang.diagnostics import as_json as diagnostic_json
from gotlang.errors import UsageError
from gotlang.version import __version__

if TYPE_CHECKING:
    from gotlang.api import ComparedScheme, Comparison, Compilation, Evaluation, RowRun, Threshold

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_REASONS = 5
_LONGEST_NAME = 20
"""Characters of a baseline in a column head; a longer name makes the table too wide."""
_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


@final
@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The result of checking one file: its compilation, or the error that it could not be read."""

    name: str
    result: Compilation | UsageError

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not isinstance(self.result, UsageError) and self.result.ok

    @property
    def unreadable(self) -> UsageError | None:
        """Why it could not be read, if so."""
        return self.result if isinstance(self.result, UsageError) else None

    def entries(self) -> list[dict[str, Any]]:
        """Its diagnostics as plain data."""
        if isinstance(self.result, UsageError):
            return []
        return [diagnostic_json(d, self.result.sources) for d in self.result.diagnostics]


def check_json(found: Sequence[CheckedFile]) -> dict[str, Any]:
    """`ok`, every diagnostic with its place, and the files that could not be read."""
    return {
        "ok": all(one.ok for one in found),
        "files": [one.name for one in found],
        "diagnostics": [entry for one in found for entry in one.entries()],
        "unreadable": [
            {"file": one.name, "message": one.unreadable.message, "help": one.unreadable.help}
            for one in found
            if one.unreadable is not None
        ],
    }


def check_github(found: Sequence[CheckedFile]) -> Iterator[str]:
    """One workflow command per diagnostic, which GitHub shows at the line."""
    for one in found:
        if one.unreadable is not None:
            yield _annotation("error", one.unreadable.message, file=one.name)
        for entry in one.entries():
            yield _annotation(
                entry["severity"],
                _whole(entry),
                file=entry["file"],
                line=entry["line"],
                endLine=entry["end_line"],
                col=entry["column"],
                endColumn=entry["end_column"],
                title=entry["code"],
            )


def _annotation(level: str, message: str, **properties: object) -> str:
    """A workflow command of GitHub."""

    def data(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    written = [
        f"{name}={data(str(value)).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in properties.items()
    ]
    return f"::{level} {','.join(written)}::{data(message)}"


def _whole(entry: dict[str, Any]) -> str:
    """Message, notes and help on lines of their own."""
    lines = [entry["message"], *entry["notes"]]
    if entry["help"]:
        lines.append(f"help: {entry['help']}")
    return "\n".join(lines)


def check_sarif(found: Sequence[CheckedFile]) -> dict[str, Any]:
    """A SARIF log with one run."""
    entries = [entry for one in found for entry in one.entries()]
    unreadable = [
        {"level": "error", "message": {"text": one.unreadable.message}}
        for one in found
        if one.unreadable is not None
    ]
    rules = [
        {
            "id": code,
            "shortDescription": {"text": CODES[code].title},
            "fullDescription": {"text": CODES[code].text},
        }
        for code in dict.fromkeys(entry["code"] for entry in entries)
        if code in CODES
    ]
    run = {
        "tool": {"driver": {"name": "gotc", "version": __version__, "rules": rules}},
        "invocations": [{"executionSuccessful": not unreadable, "toolExecutionNotifications": unreadable}],
        "results": [
            {
                "ruleId": entry["code"],
                "level": entry["severity"],
                "message": {"text": _whole(entry)},
                "locations": [_location(entry)],
                "relatedLocations": [
                    {**_location(label), "message": {"text": label["text"]}} for label in entry["labels"]
                ],
            }
            for entry in entries
        ],
        # Our columns count characters, not units of UTF-16.
        "columnKind": "unicodeCodePoints",
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _location(place: dict[str, Any]) -> dict[str, Any]:
    region = {
        "startLine": place["line"],
        "startColumn": place["column"],
        "endLine": place["end_line"],
        "endColumn": place["end_column"],
    }
    uri = place["file"].replace("\\", "/")
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """Columns under heads, the first one flush left, all others flush right."""
    widths = [max(len(row[i]) for row in (heads, *lines)) for i in range(len(heads))]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (heads, *lines)
    ]


def _title(name: str, about: Mapping[str, Any], more: str = "") -> str:
    simulated = " (simulated: no real model was asked)" if about["simulated"] else ""
    return f"{name} by {about['model']}{simulated} · {count(about['rows'], 'row')} of {about['data']}{more}"


def _metric(found: Evaluation | Comparison) -> str:
    return (
        f"metric: {found.kind.name}({found.kind.of}); {'lower' if found.kind.lower else 'higher'} is better"
    )


def eval_text(found: Evaluation) -> Iterator[str]:
    """A table of metrics, then failures by reason."""
    from gotlang.report.charts import bounds, shown

    yield _title(found.scheme, found.about(), f", {found.repeat} times each" if found.repeat > 1 else "")
    lines = []
    for name, label, interval in _intervals(found):
        total = found.sum(name) if name in ("cost", "calls") else None
        summed = "" if total is None else f"{total:,.0f}" if name == "calls" else shown(name, total)
        lines.append((label, shown(name, interval.mean), bounds(name, interval), str(interval.rows), summed))
    if lines:
        yield from table(("", "mean", "95% CI", "rows", "sum"), lines)
    if found.kind.of and found.values("score"):
        yield _metric(found)
    failed = found.failures()
    if failed:
        yield f"failed: {failed.total()} of {count(len(found.runs), 'run')}"
        for reason, number in failed.most_common(_REASONS):
            yield f"{number:>6} x {shortened(reason, 200)}"
        if len(failed) > _REASONS:
            yield f"       and {count(len(failed) - _REASONS, 'more reason')}; see --json"


def _intervals(found: Evaluation) -> Iterator[tuple[str, str, Any]]:
    """The known metrics: name, label and interval."""
    for name in ("score", "correct", "cost", "calls", "seconds"):
        if (interval := found.interval(name)) is not None:
            yield name, found.kind.name if name == "score" else name, interval


def eval_junit(
    found: Evaluation, thresholds: Sequence[Threshold], crossed: Sequence[Threshold] | None
) -> str:
    """One test case per run and per threshold: a wrong answer and a crossed threshold are failures. `crossed`
    None: the evaluation ended early, so thresholds are skipped."""
    cases = [_case(run, found) for run in found.runs]
    for one in thresholds:
        inside = '<skipped message="not checked: the evaluation ended early"/>' if crossed is None else ""
        if one in (crossed or ()):
            inside = f"<failure message={_quoted('this holds: ' + one.text)}/>"
        where = _quoted(found.program + ".fail-if")
        cases.append(f"<testcase classname={where} name={_quoted(one.text)}>{inside}</testcase>")
    wrong = sum("<failure" in case for case in cases)
    broken = sum("<error" in case for case in cases)
    name = _quoted(f"{found.program} {found.scheme}")
    counts = f'tests="{len(cases)}" failures="{wrong}" errors="{broken}"'
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites><testsuite name={name} {counts}>'
    return "\n".join((head, *cases, "</testsuite></testsuites>\n"))


def _case(run: RowRun, found: Evaluation) -> str:
    name = f"row {run.row.number}" + (f" run {run.repeat + 1}" if found.repeat > 1 else "")
    inside = ""
    if run.state == "failed":
        inside = f"<error message={_quoted(run.reason or 'failed')}/>"
    elif run.state == "partial":
        inside = f"<skipped message={_quoted(run.reason or 'partial')}/>"
    elif run.truth is False:
        wrong = f"not the known answer: {shortened(to_json(run.value), 500)}"
        inside = f"<failure message={_quoted(wrong)}/>"
    seconds = f' time="{run.seconds:.3f}"' if run.seconds is not None else ""
    classname = _quoted(f"{found.program}.{found.scheme}")
    return f"<testcase classname={classname} name={_quoted(name)}{seconds}>{inside}</testcase>"


def _quoted(words: str) -> str:
    """An XML attribute's value; characters that XML does not allow are left out."""
    return f'"{escape(_NOT_XML.sub("", words))}"'


def eval_github(found: Evaluation, crossed: Sequence[Threshold]) -> Iterator[str]:
    """A notice with the means, a warning for each reason of failures, an error for each crossed threshold."""
    from gotlang.report.charts import shown

    title = f"gotc eval {found.program} {found.scheme}"
    means = ", ".join(f"{label} {shown(name, interval.mean)}" for name, label, interval in _intervals(found))
    yield _annotation("notice", f"{count(found.row_count, 'row')}: {means}", title=title)
    for reason, number in found.failures().most_common(_REASONS):
        yield _annotation("warning", f"{count(number, 'run')} failed: {reason}", title=title)
    for one in crossed:
        yield _annotation("error", "this holds: " + one.text, title=title)


def compare_text(found: Comparison) -> Iterator[str]:
    """A table with a line for each scheme, and what the differences show."""
    from gotlang.statistics import FEWEST_ROWS

    about = found.to_dict()
    yield _title(about["program"], about, f", at equal {found.cost_metric}" if found.equal_cost else "")
    metrics = [name for name in ("correct", "cost", "calls", "seconds") if name != found.metric]
    metrics = [name for name in metrics if any(entry.evaluation.values(name) for entry in found.entries)]
    baseline = found.baseline if len(found.baseline) <= _LONGEST_NAME else "baseline"
    heads = ["scheme", found.label, "95% CI", *metrics, f"to {baseline}", "95% CI", "verdict"]
    yield from table(heads, [_line(found, entry, metrics) for entry in found.entries])
    if found.metric == "score" and found.kind.of:
        yield _metric(found)
    if front := ", ".join(entry.name for entry in found.front()):
        yield f"Pareto-optimal in ({found.label}, {found.cost_metric}): {front}"
    if any(d.rows < FEWEST_ROWS for e in found.entries if (d := e.to_baseline.get(found.metric))):
        yield f"with fewer than {FEWEST_ROWS} common rows no difference is significant"
    for entry in found.entries:
        for reason, number in entry.evaluation.failures().most_common(3):
            yield f"{entry.name}: failed {number} x {shortened(reason, 200)}"


def _line(found: Comparison, entry: ComparedScheme, metrics: list[str]) -> list[str]:
    from gotlang.report.charts import shown

    name = f"{entry.name} x {entry.repeats}" if entry.repeats > 1 else entry.name
    cells = [name, *_cells(found.metric, entry.evaluation.interval(found.metric))]
    for metric in metrics:
        interval = entry.evaluation.interval(metric)
        cells.append(shown(metric, interval.mean) if interval is not None else "unknown")
    if entry.name == found.baseline:
        return [*cells, "", "", "baseline"]
    difference = _cells(found.metric, entry.to_baseline.get(found.metric), signed=True)
    return [*cells, *difference, entry.verdict or "unknown"]


def _cells(metric: str, interval: Any, *, signed: bool = False) -> list[str]:
    from gotlang.report.charts import bounds, shown

    if interval is None:
        return ["unknown", ""]
    plus = "+" if signed and interval.mean > 0 else ""
    return [plus + shown(metric, interval.mean), bounds(metric, interval)]
