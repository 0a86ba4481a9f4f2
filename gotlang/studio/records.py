"""Records of evaluations, comparisons and studies, by the names in addresses."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response

from gotlang.errors import UsageError
from gotlang.report.history import NAME, RunRecord, state_now
from gotlang.studio.events import News, stream
from gotlang.studio.site import studio_of


def found_record(request: Request, *kinds: str) -> RunRecord:
    """The record that the path of a request names, of one of these kinds. Raises UsageError if there is
    none."""
    history, name = studio_of(request).history, request.path_params["name"]
    if re.fullmatch(NAME, name) and name != "last" and (history.folder / f"{name}.json").is_file():
        record = history.find(name)
        if record.kind in kinds:
            return record
    raise UsageError("there is no such record", help="the page Runs has all of them")


def followed(request: Request, *kinds: str) -> Response:
    """Events of a record that grows: that there is more to see (`more`), a last time when it has ended."""
    history, name = studio_of(request).history, found_record(request, *kinds).run
    seen, over = history.size(name), False

    def look() -> News | None:
        nonlocal seen, over
        if over:
            return None
        over = state_now(history.find(name)) != "running"
        if (now := history.size(name)) == seen and not over:
            return []
        seen = now
        return [("more", None)]

    return stream(request, look)
