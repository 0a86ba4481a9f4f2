"""`gotc show` of an evaluation, a comparison or a study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gotlang.cli.output import complain, cut, document, say, to_json
from gotlang.errors import UsageError

if TYPE_CHECKING:
    from gotlang.report.history import History, RunRecord

_WIDTH = 100
_ROWS = 20
"""Rows and trials that are shown without `--all`."""


def show_recorded(history: History, record: RunRecord, *, row: int | None, all: bool, json: bool) -> int:
    """Show it; only one row or trial of it, if `row` is given. Raises UsageError for one that it does not
    have, and for a damaged record."""
    from gotlang.cli.runs import header
    from gotlang.report.history import state_now

    study = record.kind == "tune"
    name, number = ("trials", "trial") if study else ("rows", "row")
    lines = list(history.trials(record.run) if study else history.rows(record.run))
    if row is not None:
        lines = [line for line in lines if line.get(number) == row]
        if not lines:
            raise UsageError(f"{record.run} has no {number} {row}", help=f"`gotc show {record.run}`")
    if json:
        document({**asdict(record), "state": state_now(record), name: lines})
        return 0
    if row is None:
        header(record)
        for text in [] if study else _table(record, lines):
            say(text)
    shown = lines if all or row is not None else lines[:_ROWS]
    for line in shown:
        for text in _trial(line) if study else _row(record, line):
            say(text)
    if len(lines) > len(shown):
        complain(f"and {len(lines) - len(shown)} more; --all shows them")
    return 0


def _table(record: RunRecord, lines: list[dict[str, Any]]) -> Iterator[str]:
    from gotlang.cli.evaluation import compare_text, eval_text
    from gotlang.report.stored import stored_results

    if record.document is not None and "evaluations" in record.document:
        found = stored_results(record.document, lines)
        alone = len(found.entries) == 1
        yield from eval_text(found.entries[0].evaluation) if alone else compare_text(found)
        yield ""


def _row(record: RunRecord, line: dict[str, Any]) -> Iterator[str]:
    schemes = record.scheme.split(", ")
    inputs = ", ".join(f"{name} = {to_json(value)}" for name, value in line["inputs"].items())
    yield f"row {line['row']}  {cut(inputs, _WIDTH)}"
    if line["truth"] is not None:
        yield f"  expected  {cut(to_json(line['truth']), _WIDTH)}"
    for run in line["runs"]:
        name = schemes[run["scheme"]] if run["scheme"] < len(schemes) else str(run["scheme"])
        given = run["reason"] if run["state"] == "failed" else to_json(run["result"])
        known = [run["state"]] if run["state"] != "done" else []
        known += [] if run["correct"] is None else ["correct" if run["correct"] else "wrong"]
        known += [] if run["score"] is None else [f"score {run['score']:g}"]
        about = f"[{', '.join(known)}] " if known else ""
        yield f"  {name}  {about}{cut(given or '', _WIDTH)}"


def _trial(line: dict[str, Any]) -> Iterator[str]:
    values = ", ".join(f"{value:.4g}" for value in line["values"] or ()) or "–"
    point = " ".join(f"{name}={value}" for name, value in line["point"].items())
    yield f"trial {line['trial']}  {values}  {line['ended']} after {line['rows']} rows  {point}"
