"""Tags of runs, which people give them: a file beside the history."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from gotlang.disk import replace_file
from gotlang.errors import UsageError, reporting
from gotlang.records import InvalidRecord, from_json, to_json
from gotlang.studio.site import Studio

_TAG: Final = re.compile(r"[\w.:-]{1,40}")
_MOST_TAGS: Final = 20


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
