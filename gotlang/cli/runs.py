"""`gotc runs`: what ran in this folder."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from gotlang.cli.output import FORMAT_VERSION, Style, complain, document, say

if TYPE_CHECKING:
    from gotlang.report.history import RunRecord


@click.command("runs")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", default=20, help="Show the latest N.")
@click.option("--json", is_flag=True, help="One JSON document on stdout.")
def command(limit: int, json: bool) -> int:
    """List the runs of this folder, the latest first: state, answers paid, cost, result.

    `killed` is a run whose process ended without a word; `gotc run --resume RUN` goes on with it.
    """
    from gotlang.report.history import History, state_now

    runs = History().runs()
    shown = runs[:limit]
    if json:
        document({"format_version": FORMAT_VERSION, "runs": [line(record) for record in shown]})
        return 0
    if not runs:
        complain("no runs in this folder yet; `gotc run FILE` makes one")
        return 0
    style = Style.of(sys.stdout)
    say(style.dim(f"{'run':8}  {'when':16}  {'state':11}  {'paid':>6}  {'cost':>9}  scheme, model, result"))
    for record in shown:
        entry = line(record)
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.started))
        what = f"{record.scheme} by {record.model}"
        paid = "" if entry["spent_calls"] is None else f"{entry['spent_calls']:,}"
        cost = _cost(entry)
        result = "" if record.document is None else f": {_short(entry['result'])}"
        say(f"{record.run:8}  {when}  {state_now(record):11}  {paid:>6}  {cost:>9}  {what}{result}")
    if len(runs) > limit:
        complain(f"and {len(runs) - limit} more; --limit shows them")
    return 0


def line(record: RunRecord) -> dict[str, Any]:
    """A run in a few fields."""
    from gotlang.report.history import state_now

    found = record.document or {}
    return {
        "run": record.run,
        "state": state_now(record),
        "program": record.path,
        "scheme": record.scheme,
        "model": record.model,
        "started": record.started,
        "ended": record.ended,
        "resumed": record.resumed,
        "spent_calls": record.spent_calls,
        "spent_usd": record.spent_usd,
        "score": found.get("score"),
        "result": found.get("result"),
        "error": record.error,
    }


def _cost(entry: dict[str, Any]) -> str:
    from gotlang.result import dollars

    return "" if entry["spent_calls"] is None else dollars(entry["spent_usd"])


def _short(value: Any) -> str:
    from gotlang.cli.summary import shown_value

    text = " ".join(shown_value(value).split())
    return text if len(text) <= 40 else text[:37] + "..."
