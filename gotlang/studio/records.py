"""Records of runs, evaluations, comparisons and studies, by the names in addresses; and the tags of runs, in
a file beside the history."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from gotlang.disk import replace_file
from gotlang.errors import UsageError, reporting
from gotlang.records import InvalidRecord, from_json, to_json
from gotlang.report.history import RunRecord, state_now
from gotlang.studio.events import News, stream
from gotlang.studio.site import Studio, studio_of

_TAG: Final = re.compile(r"[\w.:-]{1,40}")
_MOST_TAGS: Final = 20


def record_of(request: Request, *kinds: str) -> RunRecord:
    """The record in the path of a request, of one of these kinds. Raises UsageError if there is none."""
    return find(studio_of(request), request.path_params["name"], *kinds)


def find(studio: Studio, name: str, *kinds: str) -> RunRecord:
    """The record with exactly this name, of one of these kinds. Raises UsageError if there is none."""
    found = studio.history.named(name)
    if found is not None and found.kind in kinds:
        return found
    raise UsageError("record not found", help="the page Runs lists all records")


def is_simulated(record: RunRecord) -> bool:
    """Whether a run calls no real model."""
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


def read_tags(studio: Studio) -> dict[str, list[str]]:
    """The tags of runs, by their names."""
    with suppress(OSError, InvalidRecord):
        return from_json((studio.folder / ".gotc" / "tags.json").read_bytes(), dict[str, list[str]])
    return {}


def write_tags(studio: Studio, name: str, tags: Sequence[str]) -> list[str]:
    """Replace the tags of a run. Raises UsageError for an invalid tag."""
    for tag in tags:
        if not _TAG.fullmatch(tag):
            raise UsageError(
                f"`{tag}` is not a tag", help="letters, digits, `.`, `:`, `_` and `-`, at most 40"
            )
    if len(tags) > _MOST_TAGS:
        raise UsageError(f"a run has at most {_MOST_TAGS} tags")
    found = {**read_tags(studio), name: list(dict.fromkeys(tags))}
    kept = {run: own for run, own in found.items() if own}
    with reporting("cannot write tags"):
        replace_file(studio.folder / ".gotc" / "tags.json", to_json(kept).encode())
    return kept.get(name, [])
