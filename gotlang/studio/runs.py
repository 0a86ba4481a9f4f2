"""Runs as the pages show them: views and details of a graph, with the cache that they used, and tags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from gotlang.cache import open_cache
from gotlang.cache.base import Cache
from gotlang.errors import CacheError, UsageError, reporting
from gotlang.options import default_cache
from gotlang.records import InvalidRecord, from_json, to_json
from gotlang.report.formats import view
from gotlang.report.graphs import details
from gotlang.report.history import RunRecord, state_now
from gotlang.report.picture import COLORS, Picture
from gotlang.report.recorded import facts_of, sources_of, title_of_run
from gotlang.studio.site import Studio
from gotlang.writing import real_path, replace_file

_TAG: Final = re.compile(r"[\w.:-]{1,40}")
_MOST_TAGS: Final = 20


def path_of_cache(studio: Studio, record: RunRecord) -> str | None:
    """Where the cache of a record is; None if it had none, or one that is neither in this folder nor the
    configured one: the record may be a stranger's."""
    if record.cache is None or record.cache == str(default_cache()):
        return record.cache
    path = real_path(studio.folder / record.cache)
    return None if "://" in record.cache or not path.is_relative_to(studio.folder) else str(path)


def cache_of(studio: Studio, record: RunRecord) -> Cache | None:
    """The cache of a run, to read; None if it had none, it is gone, or it may not be read."""
    path = path_of_cache(studio, record)
    with suppress(CacheError):
        return open_cache(path, readonly=True) if path is not None else None
    return None


def shown(record: RunRecord, pictures: Sequence[Picture]) -> dict[str, Any]:
    """What the page of a run shows at once: facts, and these views of its graph."""
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
    """Everything that a click shows, with prompts and responses as far as the cache has them."""
    cache = cache_of(studio, record)
    try:
        sources = sources_of(record) if within(studio, record) else []
        return details(lines, cache, sources)
    finally:
        if cache is not None:
            cache.close()


def within(studio: Studio, record: RunRecord) -> bool:
    """Whether the program of a run is in the folder: a record may be a stranger's, and name any file."""
    try:
        return real_path(record.path).is_relative_to(studio.folder)
    except OSError:
        return False


def is_simulated(record: RunRecord) -> bool:
    """Whether a run asks no real model."""
    return record.model.partition(":")[0] == "simulated"


def read_tags(studio: Studio) -> dict[str, list[str]]:
    """The tags of runs, by their names."""
    with suppress(OSError, InvalidRecord):
        return from_json((studio.folder / ".gotc" / "tags.json").read_bytes(), dict[str, list[str]])
    return {}


def write_tags(studio: Studio, name: str, tags: Sequence[str]) -> list[str]:
    """Give a run these tags instead of its own. Raises UsageError for what is no tag."""
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
