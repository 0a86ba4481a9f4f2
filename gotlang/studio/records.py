"""Records of runs, evaluations, comparisons and studies, by the names in addresses."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from gotlang.errors import UsageError
from gotlang.report.history import RunRecord, state_now
from gotlang.studio.events import News, stream
from gotlang.studio.site import Studio, studio_of


def record_of(request: Request, *kinds: str) -> RunRecord:
    """The record that the path of a request names, of one of these kinds. Raises UsageError if there is
    none."""
    return find(studio_of(request), request.path_params["name"], *kinds)


def find(studio: Studio, name: str, *kinds: str) -> RunRecord:
    """The record with this whole name, of one of these kinds. Raises UsageError if there is none."""
    found = studio.history.named(name)
    if found is not None and found.kind in kinds:
        return found
    raise UsageError("record not found", help="the page Runs lists all records")


def is_simulated(record: RunRecord) -> bool:
    """Whether a run asks no real model."""
    return record.model.partition(":")[0] == "simulated"


def followed(request: Request, *kinds: str) -> Response:
    """Events of a record that grows: that there is more to see (`more`), a last time when it has ended."""
    history, name = studio_of(request).history, record_of(request, *kinds).run
    seen: list[tuple[int, int]] | None = None  # the page may be older than this stream
    over = False

    def look() -> News | None:
        nonlocal seen, over
        if over:
            return None
        record = history.named(name)
        over = record is None or state_now(record) != "running"
        if (now := history.size(name)) == seen and not over:
            return []
        seen = now
        return [("more", None)]

    return stream(request, look)
