"""The graph of a run in a file while it runs, for observers, and the remaining graph of a run that was
killed.

A line is an operation as `gotlang.runtime.plain` has it; a later line with its number replaces it. Of a
response that streams, each line has the new part: `{"streamed": [7, 0, 120, " and so on"]}` continues sample
0 of operation 7 after its first 120 characters. Lines are collected for a moment and written together, so
that a run of many operations does not wait for its file.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, final

from gotlang.disk import open_own, write_all
from gotlang.models.loops import VirtualTimeLoop
from gotlang.records import to_json
from gotlang.runtime.graph import Graph, Operation
from gotlang.runtime.plain import RequestLog, line
from gotlang.runtime.sampler.events import Added, Ended, Event, Failure, Started, Streamed
from gotlang.session import Session
from gotlang.span import Source

EVERY_S: Final = 0.1
"""The minimum time between two writes."""


@final
class LiveGraph:
    """An observer that writes the graph of a session's run to the file `path`, from `attach` to `close`.

    If the file cannot be written, the run continues without it.
    """

    def __init__(self, path: Path, sources: Mapping[str, Source], asks: RequestLog) -> None:
        self._path = path
        self._sources = sources
        self._asks = asks
        self._failed: dict[str, list[list[Any]]] = {}
        self._changed: dict[int, Operation] = {}
        self._growing: dict[int, dict[int, str]] = {}
        self._streamed: dict[int, dict[int, str]] = {}
        self._known = 0
        self._session: Session | None = None
        self._graph: Graph | None = None
        self._file: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._written = 0.0

    def attach(self, session: Session) -> None:
        """Start to observe the run of a session."""
        self._session = session
        try:
            self._file = open_own(self._path)
        except OSError:
            self._file = None

    def __call__(self, event: Event) -> None:
        """Record what has changed, to be written soon."""
        if self._file is None:
            return
        match event:
            case Started(operation=operation):
                self._changed[operation.sequence] = operation
            case Ended(operation=operation):
                self._changed[operation.sequence] = operation
                self._growing.pop(operation.sequence, None)
                self._streamed.pop(operation.sequence, None)
            case Failure():
                self._failed.setdefault(event.operation, []).append([event.sample, event.reason])
                return
            case Streamed(operation=operation) if operation is not None:
                self._growing.setdefault(operation.sequence, {})[event.number] = event.text
            case Added():
                pass
            case _:
                return
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualTimeLoop):  # time does not pass: the next event comes soon
            if time.monotonic() - self._written >= EVERY_S:
                self._write()
        elif self._timer is None:
            self._timer = loop.call_later(EVERY_S, self._write)

    def close(self) -> None:
        """Write what is left."""
        if self._timer is not None:
            self._timer.cancel()
        self._write()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self) -> None:
        self._timer, self._written = None, time.monotonic()
        if self._graph is None and self._session is not None:
            self._graph = next((engine.graph for engine in self._session.runner.engines), None)
        if self._file is None or (graph := self._graph) is None:
            return
        # Operations that were removed have numbers that others got since.
        self._known = min(self._known, len(graph.operations))
        found = {o.sequence: o for o in graph.operations[self._known :]} | self._changed
        self._known = len(graph.operations)
        self._changed = {}
        lines = (line(found[number], self._sources, self._asks, self._failed) for number in sorted(found))
        try:
            both = [*lines, *self._more()]
            write_all(self._file, "".join(to_json(one) + "\n" for one in both).encode())
        except OSError:
            os.close(self._file)
            self._file = None

    def _more(self) -> Iterator[dict[str, Any]]:
        """The growth of responses since the last write."""
        for operation, texts in self._growing.items():
            known = self._streamed.setdefault(operation, {})
            for number, text in texts.items():
                before = known.get(number, "")
                at = len(before) if text.startswith(before) else 0  # otherwise it started again
                known[number] = text
                yield {"streamed": [operation, number, at, text[at:]]}
        self._growing = {}
