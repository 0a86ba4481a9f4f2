"""The graph of a run as its pages show it: views and details, with the cache that the run used."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from gotlang.cache import open_cache
from gotlang.cache.base import Cache
from gotlang.disk import real_path
from gotlang.errors import CacheError
from gotlang.options import default_cache
from gotlang.report.formats import view
from gotlang.report.graphs import details
from gotlang.report.history import RunRecord, state_now
from gotlang.report.picture import COLORS, Picture
from gotlang.report.recorded import facts_of, sources_of, title_of_run
from gotlang.studio.records import is_simulated
from gotlang.studio.site import Studio


def path_of_cache(studio: Studio, record: RunRecord) -> str | None:
    """The path of a record's cache; None if it had none, or one that is neither in this folder nor the
    configured one: the record may be untrusted."""
    if record.cache is None or record.cache == str(default_cache()):
        return record.cache
    path = real_path(studio.folder / record.cache)
    return None if "://" in record.cache or not path.is_relative_to(studio.folder) else str(path)


def cache_of(studio: Studio, record: RunRecord) -> Cache | None:
    """The cache of a run, for reading; None if it had none, it is gone, or it may not be read."""
    path = path_of_cache(studio, record)
    with suppress(CacheError):
        return open_cache(path, readonly=True) if path is not None else None
    return None


def shown(record: RunRecord, pictures: Sequence[Picture]) -> dict[str, Any]:
    """The initial content of a run's page: facts, and these views of its graph."""
    return {
        "title": title_of_run(record),
        "facts": facts_of(record),
        "views": [view(picture) for picture in pictures],
        "colors": COLORS,
        "state": state_now(record),
        "simulated": is_simulated(record),
        "run": record.run,
    }


def whole(studio: Studio, record: RunRecord, lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All details, with prompts and responses if the cache has them."""
    cache = cache_of(studio, record)
    try:
        sources = sources_of(record) if within(studio, record) else []
        return details(lines, cache, sources)
    finally:
        if cache is not None:
            cache.close()


def within(studio: Studio, record: RunRecord) -> bool:
    """Whether the program of a run is in the folder: a record may be untrusted, and name any file."""
    try:
        return real_path(record.path).is_relative_to(studio.folder)
    except OSError:
        return False
