"""Two runs side by side: differences in the program, params, prompts and responses."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gotlang.report.differences import changed_operations, changed_settings, program_lines
from gotlang.report.history import RunRecord
from gotlang.report.recorded import facts_of, requests_of, summary, title_of_run
from gotlang.studio.records import find
from gotlang.studio.run_graphs import cache_of
from gotlang.studio.site import Studio, studio_of
from gotlang.studio.views import PageView

_VIEW = PageView("comparison.html", scripts=("comparison.js",))


def comparison(request: Request) -> Response:
    """The page of the runs `a` and `b`. Raises UsageError."""
    studio = studio_of(request)
    one, other = (find(studio, request.query_params.get(name, ""), "run") for name in "ab")
    operations, count = changed_operations(_lines(studio, one), _lines(studio, other))
    history = studio.history
    data = {
        "runs": [_about(one), _about(other)],
        "settings": changed_settings(one, other),
        "same_program": one.sha256 == other.sha256,
        "program": program_lines(history.program(one), history.program(other)),
        "operations": operations,
        "count": count,
    }
    return _VIEW.response(request, f"{one.run} and {other.run}", data)


def _about(record: RunRecord) -> dict[str, Any]:
    return {**summary(record), "title": title_of_run(record), "facts": facts_of(record)}


def _lines(studio: Studio, record: RunRecord) -> list[dict[str, Any]]:
    """The operations of a run with their requests, if the cache has them."""
    cache = cache_of(studio, record)
    try:
        return [{**line, "asked": requests_of(line, cache)} for line in studio.history.graph(record.run)]
    finally:
        if cache is not None:
            cache.close()


ROUTES = [Route("/comparison", comparison)]
