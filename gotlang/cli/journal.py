"""The record of a command in the history of the folder, from the start of its session."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from gotlang.cli.output import complain
from gotlang.config import ConfiguredUrl

if TYPE_CHECKING:
    from gotlang.api import Options, Spent
    from gotlang.report.history import Kind, RunRecord, State
    from gotlang.span import Source

_OF_THE_USER = ("allow_python", "python_key")
"""Options that only the user can allow, each time: a history may be untrusted."""
_SECONDS = 0.5
"""The minimum time between two records of a study's progress."""


@final
class HistoryJournal:
    """The record of a command in the history. If it cannot be written, that is reported and the command
    continues. Without a record nothing is written. `program` is the text of the program, which is stored."""

    def __init__(self, record: RunRecord | None, program: str | None = None) -> None:
        from gotlang.report.history import History

        self._history = History()
        self._record = record
        self._program = program
        self._running = False
        self._growing = False
        self._updated = -_SECONDS

    def live(self, name: str) -> Path:
        """The file to which a run writes its graph while it runs."""
        return self._history.live(name)

    def start(self) -> bool:
        """Record the start, once; returns whether the record exists now."""
        if self._record is not None and not self._running:
            with self._reported():
                self._record = self._history.start(self._record)
                self._running = True
                if self._program is not None:
                    self._history.keep_program(self._record, self._program)
        return self._running

    def update(self, known: Callable[[], tuple[dict[str, Any], list[dict[str, Any]]]]) -> None:
        """Write the progress of a study, its document and its trials, unless that was done within the last
        half second."""
        now = time.monotonic()
        if not self._running or self._record is None or now < self._updated + _SECONDS:
            return
        self._updated = now
        with self._reported():
            self._record = self._history.update(self._record, *known())

    def begin(self, schemes: dict[str, Any]) -> None:
        """Write the document of an evaluation whose schemes have begun."""
        if self._running and self._record is not None:
            with self._reported():
                self._record = self._history.update(self._record, schemes)
                self._growing = True

    def add(self, row: dict[str, Any]) -> None:
        """Write a finished row; after a row that cannot be written, no further ones."""
        if self._growing and self._record is not None:
            self._growing = False
            with self._reported():
                self._history.add_row(self._record, row)
                self._growing = True

    def end(self, state: State, spent: Spent | None, **found: Any) -> None:
        """Record the end, once; nothing for a command that never started."""
        running, self._running = self._running, False
        with self._reported():
            if running and self._record is not None:
                self._history.end(self._record, state, spent=spent, **found)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            folder = self._history.folder
            complain(f"this run is not in the history: cannot write {folder}: {error.strerror}")


def new_name() -> str:
    """A name for a run."""
    return os.urandom(4).hex()


def new_record(
    kind: Kind, source: Source, program: str, scheme: str, options: Options, **more: Any
) -> RunRecord:
    """The record of a command that starts; `more` are further fields."""
    from gotlang.report.history import RunRecord
    from gotlang.report.recorded import digest

    given = {"run": new_name(), "inputs": {}, **more}
    return RunRecord(
        kind=kind,
        program=program,
        path=str(Path(source.name).resolve()),
        sha256=digest(source),
        scheme=scheme,
        model=str(options.model),
        cache=str(options.cache) if options.cache is not None else None,
        **given,
    )


def stored_settings(chosen: Mapping[str, Any], options: Options, without: Collection[str]) -> dict[str, Any]:
    """The options that repeat a command, except for those named: no secrets, and nothing that only the user
    can allow."""
    left_out = {*without, *_OF_THE_USER}
    settings = {name: value for name, value in chosen.items() if name not in left_out}
    for name in {"set", "map", "corpus"} & settings.keys():
        settings[name] = [list(pair) for pair in settings[name]]
    if isinstance(rows := settings.get("rows"), slice):
        settings["rows"] = ":".join("" if end is None else str(end) for end in (rows.start, rows.stop))
    if settings.get("sample") is not None:
        settings["sample"] = ":".join(map(str, settings["sample"]))
    settings["model"] = options.model
    if isinstance(settings["base_url"], ConfiguredUrl):
        settings["base_url"] = settings["base_url"].url
    # Addresses may contain a password or a key; without it they are useless, so they are not stored.
    for name, marks in (("cache", "@"), ("base_url", "?@"), ("storage", "@")):
        if any(mark in str(settings.get(name)) for mark in marks):
            settings[name] = None
    return settings
