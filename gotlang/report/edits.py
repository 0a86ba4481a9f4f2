"""Edited prompts in a run's graph, for a new run from there: a file for `gotc run --edited`.

    [{"operation": "sort/part[0]/fix", "key": "5e1f...", "messages": ["Sort these numbers: ..."]}]

`operation` is the path of an operation and `key` that of its request, as in the graph of the run; `messages`
are the replacement texts, one for each message. An edit may be edited again: it is found under its new key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import final

from msgspec import Struct

from gotlang.disk import read_bounded, replace_file
from gotlang.errors import UsageError, reporting
from gotlang.records import InvalidRecord, from_json, to_json
from gotlang.runtime.graph import path_text
from gotlang.runtime.sampler.events import Asked, Event


@final
class EditedRequest(Struct, frozen=True):
    """The texts of one request of one operation."""

    operation: str
    key: str
    messages: list[str]


def read_edits(path: str | Path) -> list[EditedRequest]:
    """The edits in a file. Raises UsageError."""
    try:
        return from_json(read_bounded(path), list[EditedRequest])
    except OSError as error:
        raise UsageError(f"--edited: cannot read {path}: {error.strerror}") from None
    except InvalidRecord as error:
        raise UsageError(f"--edited: {path} has no edited prompts: {error}") from None


def write_edits(path: Path, edits: Iterable[EditedRequest]) -> None:
    """Write a file of edits. Raises UsageError."""
    with reporting(f"cannot write {path}"):
        replace_file(path, (to_json(list(edits)) + "\n").encode())


@final
class UnusedEdits:
    """An observer of a run with `edits` (those of its options); `paths` are operations that were not called
    with their edited texts: the program, the inputs or earlier responses have changed."""

    def __init__(self, edits: Mapping[tuple[str, str], tuple[str, ...]]) -> None:
        self._texts: dict[str, set[tuple[str, ...]]] = {}
        for (path, _), texts in edits.items():
            self._texts.setdefault(path, set()).add(texts)

    def __call__(self, event: Event) -> None:
        """Record the requests."""
        if self._texts and isinstance(event, Asked) and event.operation is not None:
            path, texts = path_text(event.operation), tuple(m.content for m in event.request.messages)
            if texts in self._texts.get(path, ()):
                del self._texts[path]

    @property
    def paths(self) -> list[str]:
        """The operations, by their paths."""
        return list(self._texts)
