"""The history of a folder: one small JSON file per run, written when it starts and again when it ends.

`gotc eval`, `gotc compare` and `gotc tune` are recorded like `gotc run`; the `kind` of a record is the
command. A run also has a file of its graph, an evaluation or comparison one of its rows, and a study one of
its trials, each of JSON lines.

Files are replaced atomically. A run that was killed leaves the file of its start; it is distinguished from a
running one by whether its process exists. Prompts and completions are in the cache, under the keys that the
run's graph names (`graph`, see `runtime/plain.py`).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, final

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import replace

from gotlang.disk import Draft, create_file, open_own, read_own, replace_file, truncate, write_all
from gotlang.errors import UsageError, reporting
from gotlang.models.prices import Spent
from gotlang.processes import has_ended, machine, process_name
from gotlang.records import Count, InvalidRecord, Seconds, from_json, from_plain, to_json

Kind = Literal["run", "eval", "compare", "tune"]
"""The command that made a record."""
State = Literal["running", "done", "invalid", "partial", "interrupted", "failed", "killed"]
"""`invalid`: the result is not valid; `partial`: stopped at a limit; `killed`: its process is gone (computed,
never written)."""


NAME: Final = r"^[\w-]{1,64}\Z"
"""The valid names of runs, as a pattern."""
_Name = Annotated[str, Meta(pattern=NAME)]
_Moment = Annotated[float, Meta(ge=0, le=253_402_300_799)]
"""A Unix time until the year 9999."""
_Number = Annotated[int, Meta(ge=0, le=2**31)]
_Dollars = Seconds
_Made = tuple[_Number | None, _Number]


class _Sums(Struct, frozen=True):
    calls: Count
    usd: _Dollars | None


class _Volume(Struct, frozen=True):
    volume: Count
    critical_path: Count


class _Document(Struct, frozen=True):
    """The displayed data of a result."""

    result: Any
    score: float | None
    not_valid: str | None = None
    partial: str | None = None
    simulated: bool = False
    ground_truth: bool | None = None
    ledger: dict[str, _Sums] = {}
    graph: _Volume | None = None


class _AskedLine(Struct, frozen=True):
    key: str
    samples: list[Count]
    sources: list[str]

    def __post_init__(self) -> None:
        if len(self.samples) != len(self.sources):
            raise ValueError("Expected as many `sources` as `samples`")


class _ThoughtLine(Struct, frozen=True):
    made: _Made
    value: Any = UNSET
    parents: list[_Made] | UnsetType = UNSET
    score: float | UnsetType = UNSET
    valid: bool | UnsetType = UNSET
    usd: _Dollars | UnsetType = UNSET
    lower: bool = False

    def __post_init__(self) -> None:
        if (self.value is UNSET) != (self.parents is UNSET):
            raise ValueError("Expected `value` and `parents`, or neither")


class _Streamed(Struct, frozen=True):
    """A line of a live graph that continues a response: its operation and sample, the number of characters to
    keep, and the text to append."""

    streamed: tuple[_Number, Count, Count, str]


class _OperationLine(Struct, frozen=True):
    """A line of a graph, as `gotlang.runtime.plain` has it."""

    operation: _Number
    path: str
    kind: str
    state: str
    inputs: list[_Number]
    origin: _Number | None
    hops: _Number
    thoughts: list[_ThoughtLine]
    prompt: str = ""
    block: str = ""
    within: str = ""
    file: str | UnsetType = UNSET
    line: _Number | UnsetType = UNSET
    began: Seconds | UnsetType = UNSET
    ended: Seconds | UnsetType = UNSET
    asked: list[_AskedLine] = []
    failed: list[tuple[_Number | None, str]] = []

    def __post_init__(self) -> None:
        if (self.file is UNSET) != (self.line is UNSET):
            raise ValueError("Expected `file` and `line`, or neither")


@final
class RunRecord(Struct, frozen=True):
    """One run of a scheme, or an evaluation, comparison or study, by its `kind`.

    `path` is the program's file and `sha256` the digest of its text; `settings` are the options of the
    command by parameter; `started` and `ended` are Unix times; `cache` is the cache of the run, None without
    one. `document` is what `--json` prints (see `gotlang.report.stored` and `studied` for other kinds),
    `error` the error if there is none. `spent` is its spending, however it ended (None: unknown). `resumed`
    names the run that this one repeats, `process` the process that writes it (see `gotlang.processes`).
    `scheme` has the names of all schemes of a comparison, separated by commas.
    """

    run: _Name
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
    started: _Moment = 0.0
    ended: _Moment | None = None
    process: str = ""
    spent: Spent | None = None
    document: dict[str, Any] | None = None
    error: str | None = None
    kind: Kind = "run"
    format_version: Literal[2] = 2


@final
class History:
    """The runs of a folder, by default of `.gotc/runs`. Writing creates the folder."""

    def __init__(self, folder: Path = Path(".gotc/runs")) -> None:
        self.folder = folder

    def start(self, record: RunRecord) -> RunRecord:
        """Record that a run starts. Raises OSError if that cannot be written."""
        started = replace(record, state="running", started=time.time(), process=process_name())
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
        rows: Iterable[dict[str, Any]] = (),
        trials: Iterable[dict[str, Any]] = (),
    ) -> None:
        """Record how a run ended: its spending, and its graph, one operation per line; or the rows of an
        evaluation, the trials of a study.

        Raises OSError.
        """
        if self._write_lines(record.run, "graph", graph):
            with suppress(OSError):
                self.live(record.run).unlink()
        self._write_lines(record.run, "rows", rows)
        self._write_lines(record.run, "trials", trials)
        ended = replace(record, state=state, ended=time.time(), spent=spent)
        known = record.document if document is None else document
        self._replace(f"{record.run}.json", [replace(ended, document=known, error=error)])

    def update(
        self, record: RunRecord, document: dict[str, Any], trials: Iterable[dict[str, Any]] = ()
    ) -> RunRecord:
        """Record the progress of a study or an evaluation. Raises OSError."""
        self._write_lines(record.run, "trials", trials)
        record = replace(record, document=document)
        self._replace(f"{record.run}.json", [record])
        return record

    def add_row(self, record: RunRecord, row: dict[str, Any]) -> None:
        """Record a row that ended; the end of the evaluation writes all of them again. Raises OSError."""
        file = open_own(self.folder / f"{record.run}.rows.jsonl")
        try:
            size = os.lseek(file, 0, os.SEEK_END)
            try:
                write_all(file, to_json(row).encode() + b"\n")
            except OSError:
                truncate(file, size)  # no incomplete line
                raise
        finally:
            os.close(file)

    def size(self, name: str) -> list[tuple[int, int]]:
        """A value that changes with a record, its rows or its trials."""
        found = []
        for path in (self.folder / f"{name}{end}" for end in (".json", ".rows.jsonl", ".trials.jsonl")):
            with suppress(OSError):
                about = path.stat()
                found.append((about.st_mtime_ns, about.st_size))
        return found

    def runs(self) -> list[RunRecord]:
        """All runs, the latest first, without `damaged` ones."""
        return self._read()[0]

    def damaged(self) -> dict[str, str]:
        """The names of invalid records, each with the error."""
        return self._read()[1]

    def _read(self) -> tuple[list[RunRecord], dict[str, str]]:
        found, wrong = [], {}
        for path in sorted(self.folder.glob("*.json")):
            try:
                found.append(_record(path))
            except OSError as error:
                wrong[path.stem] = error.strerror or "it cannot be read"
            except InvalidRecord as error:
                wrong[path.stem] = str(error)
        return sorted(found, key=lambda record: record.started, reverse=True), wrong

    def named(self, name: str) -> RunRecord | None:
        """The record with exactly this name, or None, also if it is damaged."""
        if re.fullmatch(NAME, name) is None:
            return None
        try:
            return _record(self.folder / f"{name}.json")
        except (OSError, InvalidRecord):
            return None

    def find(self, name: str, kind: Kind | None = None) -> RunRecord:
        """The record with a name, or the only one with a prefix, only of a kind if it is given; `last` is the
        latest run of a scheme. Raises UsageError."""
        runs, damaged = self._read()
        others = [record for record in runs if kind is not None and record.kind != kind]
        if other := next((record for record in others if record.run == name), None):
            raise UsageError(f"`{name}` was made by `gotc {other.kind}`", help=f"`gotc show {name}` shows it")
        runs = [record for record in runs if kind in (None, record.kind)]
        if name in damaged:
            path = self.folder / f"{name}.json"
            raise UsageError(f"the record of run {name} is damaged: {damaged[name]}", help=f"delete {path}")
        if not runs:
            raise UsageError(f"no runs in {self.folder}", help="`gotc run FILE` records one")
        if name == "last":
            if (last := next((record for record in runs if record.kind == "run"), None)) is not None:
                return last
            raise UsageError(f"no run of `gotc run` in {self.folder}", help="`gotc runs` lists the others")
        exact = [record for record in runs if record.run == name]
        found = exact or [record for record in runs if record.run.startswith(name)]
        if len(found) == 1:
            return found[0]
        what = f"several runs start with `{name}`" if found else f"run `{name}` not found"
        shown = ", ".join(record.run for record in (found or runs)[:5])
        raise UsageError(what, help=f"runs: {shown}{', ...' if len(found or runs) > 5 else ''}")

    def keep_program(self, record: RunRecord, text: str) -> None:
        """Store the text of a run's program, once, to report later changes. Raises OSError."""
        create_file(self._program(record), text.encode("utf-8", "replace"))

    def program(self, record: RunRecord) -> str | None:
        """The text of a run's program at the time; None if it was not stored."""
        if re.fullmatch("[0-9a-f]{64}", record.sha256) is None:
            return None
        try:
            return read_own(self._program(record)).decode("utf-8", "replace")
        except OSError:
            return None

    def _program(self, record: RunRecord) -> Path:
        return self.folder.parent / "programs" / f"{record.sha256}.got"

    def live(self, name: str) -> Path:
        """The file in which a run writes its operations while it runs, and again as they change; it is
        removed when the run ends (`gotlang.report.live`)."""
        return self.folder / f"{name}.live.jsonl"

    def graph(self, name: str) -> Iterator[dict[str, Any]]:
        """A run's operations, in the order they were added; of a run that is running, or was killed, as far
        as it got. Raises UsageError."""
        if not (self.folder / f"{name}.graph.jsonl").is_file():
            return iter(LiveGraphReader(self.live(name)).more().operations)
        again = f"`gotc run --resume {name}` creates it again, with responses from the cache"
        return self._lines(f"{name}.graph.jsonl", _operation, again)

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """The rows of an evaluation or comparison (see `gotlang.report.stored`). Raises UsageError."""
        again = "the same command creates them again, with responses from the cache"
        return self._lines(f"{name}.rows.jsonl", _row, again)

    def trials(self, name: str) -> Iterator[dict[str, Any]]:
        """The trials of a study so far. Raises UsageError."""
        again = "the same command continues the study and writes them again"
        return self._lines(f"{name}.trials.jsonl", _trial, again)

    def _lines(
        self, name: str, read: Callable[[bytes], dict[str, Any]], again: str
    ) -> Iterator[dict[str, Any]]:
        path = self.folder / name
        with reporting(f"cannot read {path}"):
            lines = path.read_bytes().split(b"\n") if path.is_file() else []
        for number, line in enumerate(lines, 1):  # only `\n` ends a line, nothing inside a text does
            try:
                if line:
                    yield read(line)
            except InvalidRecord as error:
                raise UsageError(f"{path} is damaged at line {number}: {error}", help=again) from None

    def _write_lines(self, run: str, name: str, lines: Iterable[object]) -> bool:
        """Write a file of lines, unless it exists; returns whether it did."""
        rest = iter(lines)
        if (first := next(rest, None)) is None:
            return False
        with Draft(self.folder / f"{run}.{name}.jsonl") as draft:
            for line in chain((first,), rest):
                draft.write(to_json(line).encode() + b"\n")
        return True

    def _replace(self, name: str, lines: Iterable[object]) -> None:
        replace_file(self.folder / name, "".join(to_json(line) + "\n" for line in lines).encode())


@final
class LiveGraphReader:
    """The live graph of a run as written so far, which `more` continues to read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._lines: dict[int, dict[str, Any]] = {}
        self.read = 0
        """Number of lines of operations that were read so far."""
        self.streams: dict[int, dict[int, str]] = {}
        """The partial responses that are arriving, by operation and sample."""

    def more(self) -> Self:
        """Read new lines; an incomplete line waits, and an invalid one is left out."""
        if not self._path.is_file():  # opening a pipe would wait for another process
            return self
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                whole, newline, _ = file.read().rpartition(b"\n")
        except OSError:
            return self
        self._at += len(whole) + len(newline)
        for line in whole.split(b"\n"):
            with suppress(InvalidRecord):
                if line.startswith(b'{"streamed"'):
                    self._streamed(*from_json(line, _Streamed).streamed)
                    continue
                found = _operation(line)
                self._lines[found["operation"]] = found
                self.read += 1
                if found["state"] not in ("waiting", "ready", "running"):
                    self.streams.pop(found["operation"], None)
        return self

    def _streamed(self, operation: int, sample: int, at: int, more: str) -> None:
        of = self.streams.setdefault(operation, {})
        of[sample] = of.get(sample, "")[:at] + more

    @property
    def operations(self) -> list[dict[str, Any]]:
        """The current operations, in the order they were added."""
        return [self._lines[number] for number in sorted(self._lines)]


def _record(path: Path) -> RunRecord:
    """The record in a file. Raises OSError, InvalidRecord."""
    record = from_json(read_own(path), RunRecord)
    if record.document is not None and record.kind == "run":
        from_plain(record.document, _Document)
    if record.run != path.stem:
        raise InvalidRecord("it belongs to another run")
    return record


def outcome_text(record: RunRecord) -> str:
    """The result of an evaluation, comparison or study, in a few words; empty without a result."""
    found = record.document or {}
    try:
        match record.kind:
            case "eval":
                known = {name: one["mean"] for name, one in found["metrics"].items() if one is not None}
                name = next(iter(known))
                return f"{found['metric_name'] if name == 'score' else name} {known[name]:.4g}"
            case "compare":
                return f"Pareto-optimal: {', '.join(found['pareto_front'])}"
            case "tune":
                return str(found["verdict"] or f"{found['trials']} trials")
    except (LookupError, TypeError, ValueError, AttributeError, StopIteration):
        pass  # it has not ended, or is untrusted
    return ""


def state_now(record: RunRecord) -> State:
    """A record's state, or `killed` if it says `running` and its process is gone."""
    return "killed" if record.state == "running" and not _alive(record.process) else record.state


def _alive(process: str) -> bool:
    """Whether a process may be running: one of this host from before its last start is not."""
    here, where = machine(), process.partition(":")[0]
    return not has_ended(process) and (where == here or where.partition("/")[0] != here.partition("/")[0])


def _operation(line: bytes) -> dict[str, Any]:
    """An operation in its line of a graph. Raises InvalidRecord."""
    found = from_json(line, dict[str, Any])
    asked = found.get("asked")
    for one in asked if isinstance(asked, list) else ():
        if isinstance(one, dict) and "draws" in one:  # written by gotc 0.1.0
            one["samples"] = one.pop("draws")
    from_plain(found, _OperationLine)
    return found


def _row(line: bytes) -> dict[str, Any]:
    """A row in its line. Raises InvalidRecord."""
    from gotlang.report.stored import RowLine

    found = from_json(line, dict[str, Any])
    from_plain(found, RowLine)
    return found


def _trial(line: bytes) -> dict[str, Any]:
    """A trial in its line. Raises InvalidRecord."""
    from gotlang.report.studied import TrialLine

    found = from_json(line, dict[str, Any])
    from_plain(found, TrialLine)
    return found
