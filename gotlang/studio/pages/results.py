"""Rows: an evaluation or a comparison, with what each scheme gave for every row."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any, Final, final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gotlang.errors import UsageError
from gotlang.evaluate.comparison import AT
from gotlang.records import Count
from gotlang.report.history import RunRecord, state_now
from gotlang.report.results import nodes_of, page_data, page_values
from gotlang.report.stored import stored_results
from gotlang.studio.processes import RunLimits
from gotlang.studio.records import followed, record_of
from gotlang.studio.run_graphs import path_of_cache
from gotlang.studio.site import Studio, studio_of
from gotlang.studio.views import PageView, as_json, content

_VIEW: Final = PageView("results.html", ("charts.css",), ("report.js", "growing.js"))
_PLAIN: Final = ("model", "prefer", "wave", "optimize")
_FILES: Final = ("tuned", "prices")
_PAIRS: Final = ("set", "map")
"""Options of an evaluation on which the requests of a row depend: with a value, a file, pairs."""


@final
class RowChoice(Struct, frozen=True):
    """A row, the number of a scheme on the page, and the repeat."""

    row: Count
    scheme: Count
    repeat: Count = 0


def rows(request: Request) -> Response:
    """The page."""
    studio, record = studio_of(request), record_of(request, "eval", "compare")
    found = stored_results(record.document, studio.history.rows(record.run))
    data = page_data(found, schemes=record.scheme.split(", "))
    values, state = page_values(found), state_now(record)
    values["nodes"] = nodes_of(found, (record.ended or time.time()) - record.started)
    title, data = values.pop("title"), {**data, "run": record.run, "live": state == "running"}
    return _VIEW.response(request, title, data, **values, state="" if state == "done" else state)


def events(request: Request) -> Response:
    """That more rows have ended."""
    return followed(request, "eval", "compare")


async def graph(request: Request) -> Response:
    """Run a row again from the cache, which spends nothing; the address of that run. Raises UsageError."""
    record = record_of(request, "eval", "compare")
    wanted = await content(request, RowChoice)
    return await asyncio.to_thread(_graph, studio_of(request), record, wanted)


def _graph(studio: Studio, record: RunRecord, wanted: RowChoice) -> Response:
    arguments = list(_arguments(studio, record, wanted))
    name = studio.processes.start(studio.history, arguments, RunLimits(max_calls=0))
    return as_json({"run": name, "address": f"/runs/{name}"})


def _arguments(studio: Studio, record: RunRecord, wanted: RowChoice) -> Iterator[str]:
    """`gotc run` of one row with all that its requests depend on, but for what a stranger's record could
    misuse: files outside of the folder, addresses, Python that is not trusted."""
    settings, compared = record.settings, (record.document or {}).get("evaluations", [])
    if record.cache is None:
        raise UsageError("this evaluation had no cache, so its rows cannot be run again without cost")
    cache = path_of_cache(studio, record)
    if settings.get("base_url") is not None or cache is None or settings.get("corpus"):
        raise UsageError(
            "cannot run rows of this evaluation from a page", help="use `gotc run --row` instead"
        )
    chosen = next(iter(compared[wanted.scheme :]), None) if isinstance(compared, list) else None
    if not isinstance(chosen, dict):
        raise UsageError("scheme not found")
    yield str(studio.file(record.path))
    yield f"--data={studio.file(_text(settings.get('data')))}"
    yield f"--row={wanted.row}"
    yield f"--scheme={_text(chosen.get('scheme'))}"
    yield f"--seed={_number(settings.get('seed')) + wanted.repeat}"
    yield f"--cache={cache}"
    if model := _text(chosen.get("name")).partition(AT)[2]:
        yield f"--model={model}"
    for name in _PLAIN:
        if (value := settings.get(name)) is not None and not (model and name == "model"):
            yield f"--{name}={value}"
    for name in _FILES:
        if (value := settings.get(name)) is not None:
            yield f"--{name}={studio.file(_text(value))}"
    for name in _PAIRS:
        for pair in settings.get(name) or ():
            key, value = pair
            yield f"--{name}={key}={value}"
    if settings.get("no_batching"):
        yield "--no-batching"


def _text(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise UsageError("the record of the evaluation is damaged")
    return value


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


ROUTES = [
    Route("/rows/{name}", rows),
    Route("/rows/{name}/events", events),
    Route("/rows/{name}/graph", graph, methods=["POST"]),
]
