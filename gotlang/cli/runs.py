"""`gotc runs`: the runs of this folder; and what commands about one of them share."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

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
def command(limit: int, json: bool) -> int:
    """List the runs of this folder, the latest first: state, calls, cost, result.

    `killed` is a run whose process was killed; `gotc run --resume RUN` continues it.
    """
    from gotlang.report.history import History
    from gotlang.result import dollars

    runs = History().runs()
    shown = [(record, line(record)) for record in runs[:limit]]
    if json:
        document({"runs": [entry for _, entry in shown]})
        return 0
    if not runs:
        complain("no runs in this folder yet; `gotc run FILE` creates one")
        return 0
    heads = f"{'run':8}  {'when':16}  {'state':11}  {'calls':>6}  {'cost':>9}  scheme, model, result"
    say(Style.of(sys.stdout).dim(heads))
    for record, entry in shown:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.started))
        known = entry["spent_calls"] is not None
        calls, cost = (f"{entry['spent_calls']:,}", dollars(entry["spent_usd"])) if known else ("", "")
        result = "" if record.document is None else f": {cut(value_text(entry['result']), 40)}"
        what = f"{record.scheme} by {record.model}{result}"
        say(f"{record.run:8}  {when}  {entry['state']:11}  {calls:>6}  {cost:>9}  {what}")
    if len(runs) > limit:
        complain(f"and {len(runs) - limit} more; --limit shows them")
    return 0


def line(record: RunRecord) -> dict[str, Any]:
    """A run in a few fields."""
    from gotlang.report.history import state_now

    found = record.document or {}
    same = ("scheme", "model", "started", "ended", "resumed", "spent_calls", "spent_usd", "error")
    return {
        "run": record.run,
        "state": state_now(record),
        "program": record.path,
        **{name: getattr(record, name) for name in same},
        "score": found.get("score"),
        "result": found.get("result"),
    }


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
