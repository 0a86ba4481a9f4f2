"""One run of a row, the columns of numbers for a summary, and runs stored in a file.

A file of runs is JSON lines, one for each run, written as it ends. A run that was killed leaves at most one
incomplete line. Opened again by the same evaluation, the file is continued: runs with a result are not
repeated, all others are, and their old lines are removed.
"""

from __future__ import annotations

import fcntl
import math
import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any, Final, Literal, final, overload

from msgspec import Struct

from gotlang.disk import Draft, open_own, sync, truncate, write_all
from gotlang.errors import GotError, UsageError
from gotlang.evaluate.rows import Row
from gotlang.metric import RUN_METRICS, bounded
from gotlang.patterns import lazy_pattern
from gotlang.records import Count, Integer, InvalidRecord, from_json, to_json
from gotlang.runtime.sampler.events import RowsEnded

METRICS = RUN_METRICS
"""The measurements of a run: its result's score, whether that is right (1 or 0), US dollars, tokens (of
prompts and responses together), calls, and seconds along the critical path. The last four are those of a run
with an empty cache, so that they do not depend on earlier runs."""
SPENDINGS = ("cost", "tokens", "calls", "seconds")
"""Metrics that are never negative. A failed run has all but the last."""

State = Literal["done", "partial", "failed"]
_STATES: Final[tuple[State, ...]] = ("done", "partial", "failed")
_FIELDS = {"result": "value", "correct": "truth", "cost": "usd"}
"""The fields of a run that have another name as a metric or in documents."""
_SHOWN = "repeat state result valid score correct usd tokens calls seconds failed_thoughts reason".split()  # noqa: SIM905


@final
@dataclass(frozen=True, slots=True)
class RowRun:
    """One run of one row. `reason` says why it failed or is partial; `notes` are reasons of its thoughts that
    failed, `failed_thoughts` their number; `missing` counts calls that the model did not answer, if counted,
    and `away` tells whether it may answer one of them later. `valid` is the last validation of the result
    (None: none). `metrics` are those that the program declares or the user named. `unknown` is the reason if
    the result lacks one that the program measures.

    A failed run is not correct and has no score and no time, but a price, and the `error` that ended it; of
    `metrics` it has those that define a value for failures. `node` is what a node of a cluster counted of it
    (None: it ran in this process).
    """

    row: Row
    repeat: int
    state: State
    value: Any = None
    score: float | None = None
    truth: bool | None = None
    usd: float | None = None
    calls: int | None = None
    seconds: float | None = None
    reason: str | None = None
    failed_thoughts: int = 0
    notes: tuple[str, ...] = ()
    missing: int = 0
    away: bool = False
    error: GotError | None = field(default=None, compare=False, repr=False)
    valid: bool | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)
    tokens: int | None = None
    node: RowsEnded | None = field(default=None, compare=False)

    def metric(self, name: str) -> float | None:
        """A metric of this run; None if unknown."""
        value = getattr(self, _FIELDS.get(name, name)) if name in METRICS else self.metrics.get(name)
        return bounded(value) if value is not None and math.isfinite(value) else None

    def to_dict(self) -> dict[str, Any]:
        """The run as `--json` prints it."""
        shown = {name: getattr(self, _FIELDS.get(name, name)) for name in _SHOWN}
        return {"row": self.row.number, **shown, "metrics": dict(self.metrics), "unknown": dict(self.unknown)}

    def to_line(self) -> dict[str, Any]:
        """The run as stored in files: with its node, too."""
        return self.to_dict() if self.node is None else {**self.to_dict(), "node": self.node}


_QUOTED = lazy_pattern(r""": (['"]).*\1\Z""", re.DOTALL)
"""A response, or a part of one, at the end of a reason."""


@final
class Tally:
    """Aggregated data of runs: a few numbers of each, and counts. It does not depend on the order in which
    they ended."""

    def __init__(self) -> None:
        self._rows, self._repeats, self._states = array("q"), array("q"), array("b")
        self._columns = {name: array("d") for name in METRICS}
        self._order: Sequence[int] | None = None
        self._invalid: set[int] = set()
        self._failures: dict[str, list[tuple[int, int]]] = {}
        self._unknown: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
        self.judged = False
        """Whether correctness is known for any run."""
        self.invalid_runs = 0

    def add(self, run: RowRun) -> None:
        """Count a run."""
        place = run.row.number, run.repeat
        before = len(self._rows)
        self._rows.append(place[0])
        self._repeats.append(place[1])
        self._states.append(_STATES.index(run.state))
        for name in (*METRICS, *run.metrics):
            column = self._columns.setdefault(name, array("d"))
            if len(column) < before:
                column.extend([math.nan] * (before - len(column)))
            value = run.metric(name)
            column.append(math.nan if value is None else value)
        self._order = None
        self.judged = self.judged or run.truth is not None
        if run.valid is False:
            self._invalid.add(place[0])
            self.invalid_runs += 1
        if run.state == "failed":
            # Quoted responses are left out of a reason, so that equal reasons count together.
            self._failures.setdefault(_QUOTED.sub("", run.reason or "unknown"), []).append(place)
        for number, unknown in enumerate(run.unknown.items()):
            self._unknown.setdefault(unknown, []).append((*place, number))

    @property
    def row_count(self) -> int:
        """The number of rows with a finished run."""
        return sum(1 for _ in groupby(self.order(), key=self._rows.__getitem__))

    def states(self) -> Counter[str]:
        """The number of runs by final state."""
        return Counter({state: found for n, state in enumerate(_STATES) if (found := self._states.count(n))})

    def failures(self) -> Counter[str]:
        """The number of failed runs by reason; the reason of the first row comes first."""
        return Counter({why: len(runs) for why, runs in sorted(self._failures.items(), key=_first)})

    def invalid(self) -> list[int]:
        """The rows with an invalid result."""
        return sorted(self._invalid)

    def unknown(self) -> list[tuple[str, str, list[int]]]:
        """Missing metrics: the metric, the reason, and the rows."""
        found = sorted(self._unknown.items(), key=_first)
        return [(metric, why, sorted({row for row, *_ in runs})) for (metric, why), runs in found]

    def values(self, metric: str, *, of_failed: bool) -> tuple[array[int], array[float]]:
        """A metric of rows, in their order: their numbers, and the means over the runs of each that have it.
        Partial runs do not count, failed ones if `of_failed`, and as wrong answers if any is judged."""
        column, states = self._columns.get(metric, array("d")), self._states
        numbers, values = array("q"), array("d")
        for number, places in groupby(self.order(), key=self._rows.__getitem__):
            found = []
            for place in places:
                state = states[place]
                value = column[place] if place < len(column) else math.nan
                if state == 2 and metric == "correct" and self.judged:
                    value = 0.0
                elif state == 1 or (state == 2 and not of_failed):
                    continue
                if value == value:  # not NaN
                    found.append(value)
            if found:
                numbers.append(number)
                values.append(found[0] if len(found) == 1 else fmean(found))
        return numbers, values

    def sum(self, metric: str) -> float | None:
        """The sum over every run that ended; None if one of them does not have it. A run that failed without
        a call does not count."""
        calls, states = self._columns["calls"], self._states
        known = [v for v, c, s in zip(self._columns[metric], calls, states, strict=True) if s != 2 or c == c]
        return None if any(map(math.isnan, known)) else math.fsum(known)

    def order(self) -> Sequence[int]:
        """The places of all runs in the order of rows and repeats."""
        if self._order is None:
            rows, repeats = self._rows, self._repeats
            self._order = array(
                "q", sorted(range(len(rows)), key=lambda place: (rows[place], repeats[place]))
            )
        return self._order


def _first(item: tuple[Any, list[Any]]) -> Any:
    return min(item[1])


# ---------------------------------------------------------------- runs in a file


class RunLine(Struct, frozen=True):
    """A line of a file of runs: the evaluation it belongs to, the run as `--json` prints it, and its node."""

    evaluation: str
    row: Count
    repeat: Count
    state: State
    result: Any
    valid: bool | None
    score: float | None
    correct: bool | None
    usd: float | None
    tokens: Integer | None
    calls: Integer | None
    seconds: float | None
    failed_thoughts: Count
    reason: str | None
    metrics: dict[str, float]
    unknown: dict[str, str]
    node: RowsEnded | None = None

    def run(self, row: Row) -> RowRun:
        """The run."""
        shown: dict[str, Any] = {_FIELDS.get(name, name): getattr(self, name) for name in _SHOWN}
        return RowRun(row, **shown, metrics=self.metrics, unknown=self.unknown, node=self.node)


@final
class StoredRuns(Sequence[RowRun]):
    """The runs of an evaluation in a file, in the order of their rows.

    `evaluation` identifies all that the runs depend on, `row` returns a row by its number. Raises UsageError
    if the file cannot be written, contains something else or is in use.
    """

    def __init__(self, path: str | Path, evaluation: str, row: Callable[[int], Row]) -> None:
        self.path = Path(path)
        self._evaluation, self._row = evaluation, row
        self._file = -1
        try:
            while not self._open():
                self._drop()
        except (OSError, UsageError) as error:
            self.close()
            raise self._refused(error) if isinstance(error, OSError) else error from None

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[RowRun]:
        with self.path.open("rb") as file:
            for place in self.tally.order():
                file.seek(self._starts[place])
                record = from_json(file.readline(), RunLine)
                yield record.run(self._row(record.row))

    @overload
    def __getitem__(self, place: int) -> RowRun: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[RowRun]: ...
    def __getitem__(self, place: int | slice) -> RowRun | Sequence[RowRun]:
        return list(self)[place]

    def has(self, row: Row, repeat: int) -> bool:
        """Whether this run is in the file."""
        ended = self._ended.get(repeat, b"")
        return row.number < len(ended) and ended[row.number] == 1

    def append(self, run: RowRun) -> None:
        """Write a run that ended. Raises UsageError if that fails; what was written before is safe."""
        line = to_json({"evaluation": self._evaluation, **run.to_line()}).encode() + b"\n"
        try:
            os.lseek(self._file, self._size, os.SEEK_SET)
            write_all(self._file, line)
        except OSError as error:
            with suppress(OSError):
                truncate(self._file, self._size)
            raise self._refused(error) from None
        self._add(run, len(line))

    def close(self) -> None:
        """Sync it, and release it for others. A second call does nothing."""
        if self._file >= 0:
            with suppress(OSError):  # a pipe
                sync(self._file)
            os.close(self._file)
            self._file = -1

    def _add(self, run: RowRun, size: int) -> None:
        self.tally.add(run)
        self._starts.append(self._size)
        self._size += size
        ended = self._ended.setdefault(run.repeat, bytearray())
        ended.extend(bytes(max(0, run.row.number + 1 - len(ended))))
        ended[run.row.number] = 1

    def _open(self) -> bool:
        """Open the file and read it; returns False if it has lines that are not kept."""
        self.tally, self._starts, self._size = Tally(), array("q"), 0
        self._ended: dict[int, bytearray] = {}
        self._file = open_own(self.path)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{self.path} is written by another evaluation") from None
        for line, record in self._lines():
            if record is None:
                return False
            self._add(record.run(Row(record.row, {})), len(line))
        return True

    def _drop(self) -> None:
        """Write the lines that are kept to a new file."""
        with Draft(self.path) as draft:
            for line, record in self._lines():
                if record is not None:
                    draft.write(line)
        self.close()

    def _lines(self) -> Iterator[tuple[bytes, RunLine | None]]:
        """The lines of the file, with a run that has a result or None. Raises UsageError for an invalid
        line."""
        os.lseek(self._file, 0, os.SEEK_SET)
        with os.fdopen(os.dup(self._file), "rb") as file:
            for line in file:
                whole = line.endswith(b"\n")
                try:
                    record = from_json(line, RunLine) if whole else None
                except InvalidRecord:
                    record = None
                    if file.tell() == len(line) or line.strip(b"\0 \n"):
                        raise UsageError(
                            f"{self.path} does not contain the results of an evaluation",
                            help="name another file with --out",
                        ) from None
                if record is not None and record.evaluation != self._evaluation:
                    raise UsageError(
                        f"{self.path} has the results of another evaluation: of another program, model or "
                        "data, or with other options",
                        help="name another file with --out, or remove this one",
                    )
                yield line, record if record is not None and record.state == "done" else None

    def _refused(self, error: OSError) -> UsageError:
        return UsageError(
            f"cannot write the results {self.path}: {error.strerror}",
            help="the written rows are kept; the same command continues",
        )
