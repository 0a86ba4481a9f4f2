"""The history of a folder: one small JSON file a run, written when it starts and again when it ends.

A file is replaced in one step, so it is whole at every moment. A run that was killed leaves the file of its
start; whether its process still lives tells it from one under way. What models were asked and answered is not
in it but in the cache, under the keys that the run's graph names (`graph`, see `runtime/plain.py`).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, final

from gotlang.errors import UsageError

FORMAT_VERSION = 1

State = Literal["running", "done", "partial", "interrupted", "failed", "killed"]
"""`partial`: stopped at a limit; `killed`: it ended without a word (never written, only found)."""

_LONGEST = 64


@final
@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run. `path` is the program's file and `sha256` that of its text; `settings` are the options of
    `gotc run` by parameter, as they were in force; `started` and `ended` are Unix times; `cache` is where the
    answers are, None where there was none; `document` is what `--json` prints of it, and `error` what ended
    it instead. `paid_calls` and `paid_usd` are what it paid for, however it ended (None: unknown). `resumed`
    names the run that this one repeats.
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
    started: float = 0.0
    ended: float | None = None
    process: int = 0
    paid_calls: int | None = None
    paid_usd: float | None = None
    document: dict[str, Any] | None = None
    error: str | None = None


@final
class History:
    """The runs of a folder, by default of `.gotc/runs`. Reading needs no folder; writing makes it."""

    def __init__(self, folder: Path = Path(".gotc/runs")) -> None:
        self.folder = folder

    def start(self, record: RunRecord) -> RunRecord:
        """Note that a run starts. Raises OSError where that cannot be written."""
        started = replace(record, state="running", started=time.time(), process=os.getpid())
        self._write(started)
        return started

    def end(
        self,
        record: RunRecord,
        state: State,
        *,
        paid: tuple[int, float | None] | None = None,
        document: dict[str, Any] | None = None,
        error: str | None = None,
        graph: Iterable[dict[str, Any]] = (),
    ) -> None:
        """Note how it ended: what it paid (answers and US dollars), and its graph, an operation a line.

        Raises OSError.
        """
        lines = "".join(_json(line) + "\n" for line in graph)
        if lines:
            self._replace(self.folder / f"{record.run}.graph.jsonl", lines)
        calls, usd = paid if paid is not None else (None, None)
        ended = replace(record, state=state, ended=time.time(), paid_calls=calls, paid_usd=usd)
        self._write(replace(ended, document=document, error=error))

    def runs(self) -> list[RunRecord]:
        """All runs, the latest first. Files that are no records are left out."""
        if not self.folder.is_dir():
            return []
        found = [record for path in self.folder.glob("*.json") if (record := _read(path)) is not None]
        return sorted(found, key=lambda record: record.started, reverse=True)

    def find(self, name: str) -> RunRecord:
        """The run of a name, of the start of one, or `last`. Raises UsageError for none, and for several."""
        runs = self.runs()
        if not runs:
            raise UsageError(f"there are no runs in {self.folder}", help="`gotc run FILE` makes one")
        if name == "last":
            return runs[0]
        exact = [record for record in runs if record.run == name]
        found = exact or [record for record in runs if record.run.startswith(name)]
        if len(found) == 1:
            return found[0]
        what = f"several runs start with `{name}`" if found else f"there is no run `{name}`"
        shown = ", ".join(record.run for record in (found or runs)[:5])
        raise UsageError(what, help=f"there are {shown}{', ...' if len(found or runs) > 5 else ''}")

    def graph(self, name: str) -> Iterator[dict[str, Any]]:
        """A run's operations, in the order they were added; none where the run did not end by itself."""
        path = self.folder / f"{name}.graph.jsonl"
        if path.is_file():
            # Only `\n` ends a line; `splitlines` would cut at characters that may stand inside a text.
            for line in path.read_text("utf-8").split("\n"):
                if line:
                    yield json.loads(line)

    def _write(self, record: RunRecord) -> None:
        content = {"format_version": FORMAT_VERSION, **asdict(record)}
        self._replace(self.folder / f"{record.run}.json", _json(content) + "\n")

    def _replace(self, path: Path, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            draft.write_text(text, "utf-8", errors="backslashreplace")
            draft.replace(path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise


def state_now(record: RunRecord) -> State:
    """A record's state, or `killed` where it says `running` and its process is gone."""
    return "killed" if record.state == "running" and not _alive(record.process) else record.state


def _alive(process: int) -> bool:
    if os.name != "posix" or process <= 0:
        return process > 0
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True


def _read(path: Path) -> RunRecord | None:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict) or content.get("format_version") != FORMAT_VERSION:
        return None
    known = {entry.name for entry in fields(RunRecord)}
    try:
        record = RunRecord(**{name: value for name, value in content.items() if name in known})
    except TypeError:
        return None
    whole = isinstance(record.run, str) and 0 < len(record.run) <= _LONGEST and record.run == path.stem
    typed = isinstance(record.settings, dict) and isinstance(record.inputs, dict)
    return record if whole and typed and isinstance(record.started, int | float) else None


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str)
