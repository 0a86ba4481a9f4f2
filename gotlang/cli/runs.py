"""`gotc runs`: the runs, evaluations, comparisons and studies of a folder."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from gotlang.cli import options as opt
from gotlang.cli.output import Style, complain, cut, document, say, value_text
from gotlang.errors import CacheError

if TYPE_CHECKING:
    from gotlang.api import Cache
    from gotlang.report.history import RunRecord


@click.command("runs")
@opt.whole("--limit", "Show the latest N.", 20)
@opt.json_option
def runs_command(limit: int, json: bool) -> int:
    """List the runs, evaluations, comparisons and studies of this folder, the latest first: state, calls,
    cost, result.

    `killed` is a run whose process was killed; `gotc run --resume RUN` continues it.
    """
    from gotlang.report.history import History
    from gotlang.report.recorded import summary
    from gotlang.result import dollars

    history = History()
    runs = history.runs()
    for name, reason in history.damaged().items():
        complain(f"run {name} is left out: its record is damaged: {reason}")
    shown = [(record, summary(record)) for record in runs[:limit]]
    if json:
        document({"runs": [entry for _, entry in shown]})
        return 0
    if not runs:
        complain("no runs in this folder yet; `gotc run FILE` creates one")
        return 0
    heads = f"{'run':8}  {'when':16}  {'state':11}  "
    heads += f"{'calls':>6}  {'cost':>9}  {'uncertain':>9}  scheme, model, result"
    say(Style.of(sys.stdout).dim(heads))
    for record, entry in shown:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.started))
        spent = record.spent
        calls, cost = ("", "") if spent is None else (f"{spent.calls:,}", dollars(spent.usd))
        more = dollars(spent.uncertain_usd) if spent is not None and spent.uncertain_calls else ""
        what = f"{record.scheme} by {record.model}"
        if record.kind != "run":
            what = f"{record.kind} {what}"
        if found := _found(record):
            what += f": {cut(found, 40)}"
        say(f"{record.run:8}  {when}  {entry['state']:11}  {calls:>6}  {cost:>9}  {more:>9}  {what}")
    if len(runs) > limit:
        complain(f"and {len(runs) - limit} more; --limit shows them")
    return 0


def _found(record: RunRecord) -> str:
    from gotlang.report.history import outcome_text

    if record.kind != "run":
        return outcome_text(record)
    return "" if record.document is None else value_text(record.document.get("result"))


def open_cache_of(record: RunRecord) -> Cache | None:
    """The cache of a run, for reading. None if it had none or it is gone, which is reported."""
    from gotlang.cache import open_cache

    if record.cache is None:
        complain("this run had no cache (--no-cache): its prompts and responses are not available")
        return None
    try:
        return open_cache(record.cache, readonly=True)
    except CacheError as error:
        complain(f"prompts and responses are not available: {error.message}")
        return None
