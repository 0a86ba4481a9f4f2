"""The history of a folder: one small JSON file per run, written when it starts and again when it ends.

Files are replaced atomically. A run that was killed leaves the file of its start; whether its process is
alive tells it from one that is running. Prompts and completions are in the cache, under the keys that the
run's graph names (`graph`, see `runtime/plain.py`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, final

from gotlang.errors import UsageError
from gotlang.models.prices import Spent
from gotlang.records import InvalidRecord, Seconds, from_json, to_json
from gotlang.writing import replace_file

State = Literal["running", "done", "invalid", "partial", "interrupted", "failed", "killed"]
"""`invalid`: the result is not valid; `partial`: stopped at a limit; `killed`: its process is gone (never
written, only found)."""


@final
@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run. `path` is the program's file and `sha256` the digest of its text; `settings` are the options
    of `gotc run` by parameter, as they were in force; `started` and `ended` are Unix times; `cache` is the
    cache of the run, None without one; `document` is what `--json` prints, and `error` what ended the run
    instead. `spent` is what it spent, however it ended (None: unknown). `resumed` names the run that this one
    repeats, `pid` is its process.
    """

    run: str
    program: str
    path: str
    sha256: str
    scheme: str
    model: str
    inputs: dict[str, Any]
    truth: Any = None
    settings: dict[str, Any] = field(default_factory=dict)
    cache: str | None = None
    resumed: str | None = None
    state: State = "running"
    started: Seconds = 0.0
    ended: Seconds | None = None
    pid: int = 0
    spent: Spent | None = None
    document: dict[str, Any] | None = None
    error: str | None = None
    format_version: Literal[2] = 2


@final
class History:
    """The runs of a folder, by default of `.gotc/runs`. Writing creates the folder."""

    def __init__(self, folder: Path = Path(".gotc/runs")) -> None:
        self.folder = folder

    def start(self, record: RunRecord) -> RunRecord:
        """Record that a run starts. Raises OSError if that cannot be written."""
        started = replace(record, state="running", started=time.time(), pid=os.getpid())
        self._replace(f"{record.run}.json", [started])
        return started

    def end(
        self,
        record: RunRecord,
        state: State,
        *,
        spent: Spent | None = None,
        document: dict[str, Any] | None = None,
        error: str | None = None,
        graph: Iterable[dict[str, Any]] = (),
    ) -> None:
        """Record how a run ended: what it spent, and its graph, one operation per line.

        Raises OSError.
        """
        if lines := list(graph):
            self._replace(f"{record.run}.graph.jsonl", lines)
        ended = replace(record, state=state, ended=time.time(), spent=spent)
        self._replace(f"{record.run}.json", [replace(ended, document=document, error=error)])

    def runs(self) -> list[RunRecord]:
        """All runs, the latest first. Invalid files are left out."""
        found = [record for path in self.folder.glob("*.json") if (record := _read(path)) is not None]
        return sorted(found, key=lambda record: record.started, reverse=True)

    def find(self, name: str) -> RunRecord:
        """The run with a name, the only one with a prefix, or the `last`. Raises UsageError."""
        runs = self.runs()
        if not runs:
            raise UsageError(f"no runs in {self.folder}", help="`gotc run FILE` records one")
        if name == "last":
            return runs[0]
        exact = [record for record in runs if record.run == name]
        found = exact or [record for record in runs if record.run.startswith(name)]
        if len(found) == 1:
            return found[0]
        what = f"several runs start with `{name}`" if found else f"run `{name}` not found"
        shown = ", ".join(record.run for record in (found or runs)[:5])
        raise UsageError(what, help=f"runs: {shown}{', ...' if len(found or runs) > 5 else ''}")

    def graph(self, name: str) -> Iterator[dict[str, Any]]:
        """A run's operations, in the order they were added; none if the run was killed."""
        path = self.folder / f"{name}.graph.jsonl"
        if path.is_file():
            # Only `\n` ends a line; `splitlines` would also split at characters inside a text.
            for line in path.read_text("utf-8").split("\n"):
                if line:
                    found = from_json(line, dict[str, Any])
                    for asked in found.get("asked", ()):
                        if "draws" in asked:  # written by gotc 0.1.0
                            asked["samples"] = asked.pop("draws")
                    yield found

    def _replace(self, name: str, lines: Iterable[object]) -> None:
        replace_file(self.folder / name, "".join(to_json(line) + "\n" for line in lines).encode())


def state_now(record: RunRecord) -> State:
    """A record's state, or `killed` if it says `running` and its process is gone."""
    return "killed" if record.state == "running" and not _alive(record.pid) else record.state


def _alive(pid: int) -> bool:
    if os.name != "posix" or pid <= 0:
        return pid > 0
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's
    return True


def _read(path: Path) -> RunRecord | None:
    try:
        record = from_json(path.read_bytes(), RunRecord)
    except (OSError, InvalidRecord):
        return None
    return record if record.run == path.stem and len(record.run) <= 64 else None
