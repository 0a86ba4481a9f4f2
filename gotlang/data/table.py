"""Data files as tables: `.csv`, `.jsonl` and `.ndjson`, `.json` and `.parquet`.

A `.json` file is a list of objects or an object of lists; parquet needs the extra `parquet`. Text is UTF-8.
Errors in a file are UsageErrors with its name and the line or row. Of a large file, unless it is `.json`,
only the offsets of its rows are kept, and each row is read on access.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, final, overload

from msgspec import Struct

from gotlang.answers.literals import strict
from gotlang.disk import reject_device
from gotlang.errors import UsageError
from gotlang.files import not_found
from gotlang.packages import pip_install

FORMATS: Final = (".csv", ".jsonl", ".ndjson", ".json", ".parquet")
KEPT_BYTES: Final = 16 * 2**20
"""Size above which a file is not kept in memory."""
_CHUNK: Final = 256
"""Rows of parquet that are converted at a time."""
_DELIMITERS: Final = {";": "`;`", "\t": "tabs"}


@final
class Table(Struct, frozen=True):
    """A data file. `columns` are in the file's order; a row of JSON may lack some of them.

    `as_text`: every value is a text still to be parsed as the type of its input.
    """

    path: str
    columns: tuple[str, ...]
    rows: Sequence[dict[str, Any]]
    as_text: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, number: int) -> dict[str, Any]:
        """The row at a position counted from 0. Raises UsageError if it is out of range."""
        if not 0 <= number < len(self.rows):
            count = f"{len(self.rows)} row{'s' if len(self.rows) != 1 else ''}"
            raise UsageError(
                f"{self.path} has no row {number}",
                help=f"it has {count}, counted from 0 to {len(self.rows) - 1}",
            )
        return self.rows[number]


def fingerprint(table: Table) -> str:
    """A SHA-256 digest of the rows, independent of the name of the file: 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for row in table.rows:
        line = json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        digest.update(line.encode("utf-8", "replace") + b"\n")
    return digest.hexdigest()


def load(path: str | Path, most: int | None = None) -> Table:
    """Read a data file, or at most its first `most` rows; its suffix names the format. Raises UsageError with
    the place."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise UsageError(f"{path}: unsupported data format", help=f"supported: {', '.join(FORMATS)}")
    try:
        reject_device(path)
        with path.open("rb") as file:
            if suffix == ".parquet":
                return _parquet(path, most)
            if suffix == ".json":
                rows = _json(path, "".join(line for _, line in _decoded(path, file)))[:most]
                columns = dict.fromkeys(name for row in rows for name in row)
                return Table(str(path), tuple(columns), tuple(rows))
            lines: _Csv | _JsonLines = _Csv(path) if suffix == ".csv" else _JsonLines(path)
            found = _rows(path, file, lines, most)
    except FileNotFoundError:
        raise not_found(path) from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or 'unknown reason'}") from None
    return Table(str(path), tuple(lines.columns), found, as_text=suffix == ".csv")


class _Format(Protocol):
    """How rows are written in lines of text."""

    columns: dict[str, None]

    def read(self, file: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of a file, each with the place at which its bytes begin."""

    def row(self, text: str) -> dict[str, Any]:
        """The row in a part of the file."""


def _rows(path: Path, file: BinaryIO, format: _Format, most: int | None) -> Sequence[dict[str, Any]]:
    size = os.fstat(file.fileno()).st_size
    if most is not None or size <= KEPT_BYTES:  # that of a pipe is 0
        return tuple(row for _, row in islice(format.read(file), most))
    starts = array("q", (start for start, _ in format.read(file)))
    return _FileRows(path, starts, format)


class _LazyRows(Sequence[dict[str, Any]]):
    """Rows that are converted on access."""

    @overload
    def __getitem__(self, number: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[dict[str, Any]]: ...
    def __getitem__(self, number: int | slice) -> dict[str, Any] | Sequence[dict[str, Any]]:
        if isinstance(number, slice):
            return [self[each] for each in range(len(self))[number]]
        return self._row(range(len(self))[number])

    def _row(self, number: int) -> dict[str, Any]:
        raise NotImplementedError


@final
class _FileRows(_LazyRows):
    """The rows of a text file. Raises UsageError if it has changed since."""

    def __init__(self, path: Path, starts: array[int], format: _Format) -> None:
        self._path, self._starts, self._format = path, starts, format
        self._file = path.open("rb")
        self._state = self._now()

    def __len__(self) -> int:
        return len(self._starts)

    def _row(self, number: int) -> dict[str, Any]:
        start = self._starts[number]
        end = self._starts[number + 1] if number + 1 < len(self._starts) else self._state[0]
        if self._now() != self._state:
            raise UsageError(f"{self._path} was changed while it was in use")
        return self._format.row(os.pread(self._file.fileno(), end - start, start).decode("utf-8-sig"))

    def _now(self) -> tuple[int, int]:
        status = os.fstat(self._file.fileno())
        return status.st_size, status.st_mtime_ns


def _decoded(path: Path, file: BinaryIO) -> Iterator[tuple[int, str]]:
    """The lines of a text file, with their ends, each with the number of its bytes. Only `\\n` ends a line of
    JSON; `splitlines` would also split at characters inside a text."""
    empty = True
    for number, line in enumerate(file, 1):
        if b"\0" in line:
            raise UsageError(f"{path}, line {number}: a NUL byte", help="is it a text file in UTF-8?")
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise UsageError(f"{path}, line {number}: not UTF-8", help="save the file as UTF-8") from None
        empty = empty and not text.strip()
        yield len(line), text
    if empty:
        raise UsageError(f"{path} is empty")


@final
class _Csv:
    """Comma-separated values under a header."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.columns: dict[str, None] = {}

    def read(self, file: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
        at = 0

        def lines() -> Iterator[str]:
            nonlocal at
            for size, text in _decoded(self._path, file):
                at += size - len(text.encode())  # of a byte order mark
                for piece in io.StringIO(text, newline=""):  # a `\r` alone also ends a line
                    at += len(piece.encode())
                    yield piece

        count, start = 0, 0
        reader = csv.reader(lines(), strict=True)
        with _long_cells():
            try:
                for cells in reader:
                    place = f"{self._path}, line {reader.line_num}"
                    if not self.columns:
                        self.columns = dict.fromkeys(_header(place, cells))
                    elif cells and len(cells) != len(self.columns):
                        raise UsageError(
                            f"{place} (row {count}): expected {len(self.columns)} cells, found {len(cells)}",
                            help='quote a cell that contains a comma or a quote: "a, ""b"""',
                        )
                    elif cells:
                        yield start, dict(zip(self.columns, cells, strict=True))
                        count += 1
                    start = at
            except csv.Error as error:
                where = f"{self._path}, line {reader.line_num} (row {count})"
                raise UsageError(f"{where}: {error}") from None
        if not count:
            raise UsageError(f"{self._path} has a header but no rows")

    def row(self, text: str) -> dict[str, Any]:
        with _long_cells():
            cells = next(filter(None, csv.reader(io.StringIO(text, newline=""), strict=True)))
        return dict(zip(self.columns, cells, strict=True))


@contextmanager
def _long_cells() -> Iterator[None]:
    """csv refuses fields above 128 KiB; the limit is global to the process."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


@final
class _JsonLines:
    """One object per line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.columns: dict[str, None] = {}

    def read(self, file: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
        start = 0
        for number, (size, text) in enumerate(_decoded(self._path, file), 1):
            if text.strip():
                row = _parsed(self._path, text.removesuffix("\n"), number)
                if not isinstance(row, dict):
                    raise UsageError(f"{self._path}, line {number}: not an object")
                self.columns.update(dict.fromkeys(row))
                yield start, row
            start += size

    def row(self, text: str) -> dict[str, Any]:
        row: dict[str, Any] = strict(text.strip())
        return row


def _header(place: str, cells: list[str]) -> list[str]:
    if len(cells) == 1 and (found := next((mark for mark in _DELIMITERS if mark in cells[0]), None)):
        raise UsageError(
            f"{place}: columns are separated by {_DELIMITERS[found]}; expected `,`",
            help="save the file with commas, or as .jsonl",
        )
    columns = [cell.strip() or f"column {number}" for number, cell in enumerate(cells)]
    for number, column in enumerate(columns):
        if column in columns[:number]:
            raise UsageError(f"{place}: duplicate column `{column}`")
    return columns


def _json(path: Path, text: str) -> list[dict[str, Any]]:
    value = _parsed(path, text, 1)
    if not value and isinstance(value, list):
        raise UsageError(f"{path} has no rows")
    if isinstance(value, list):
        for number, row in enumerate(value):
            if not isinstance(row, dict):
                raise UsageError(f"{path}, row {number}: not an object")
        return value
    if isinstance(value, dict) and value and all(isinstance(cells, list) for cells in value.values()):
        lengths = {name: len(cells) for name, cells in value.items()}
        if len(set(lengths.values())) > 1:
            sizes = ", ".join(f"`{name}` {size}" for name, size in lengths.items())
            raise UsageError(f"{path}: columns differ in length: {sizes}")
        return [dict(zip(value, cells, strict=True)) for cells in zip(*value.values(), strict=True)]
    raise UsageError(f"{path} is neither a list of objects nor an object of lists")


def _parsed(path: Path, text: str, line: int) -> Any:
    try:
        return strict(text, data=True)
    except json.JSONDecodeError as error:
        place = f"{path}, line {line + error.lineno - 1}, column {error.colno}"
        raise UsageError(f"{place}: {error.msg}") from None
    except ValueError as error:
        place = f"{path}, line {line}" if text.count("\n") < 2 else str(path)
        raise UsageError(f"{place}: {error}") from None


def _parquet(path: Path, most: int | None) -> Table:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError(f"{path}: parquet files need pyarrow", help=pip_install("parquet")) from None
    rows = _ParquetRows(path, pyarrow)
    if not rows:
        raise UsageError(f"{path} has no rows")
    kept = tuple(islice(rows, most)) if most is not None or rows.size <= KEPT_BYTES else rows
    return Table(str(path), tuple(rows[0]), kept)


@final
class _ParquetRows(_LazyRows):
    """The rows of a parquet file, of which one group of rows is in memory."""

    def __init__(self, path: Path, pyarrow: Any) -> None:
        self._path = path
        self._errors = (pyarrow.ArrowException, OSError, ValueError)  # the last: times beyond microseconds
        with self._read():
            self._file = pyarrow.parquet.ParquetFile(path)
            groups = [self._file.metadata.row_group(n) for n in range(self._file.num_row_groups)]
        self.size = sum(group.total_byte_size for group in groups)
        self._starts = [0, *accumulate(group.num_rows for group in groups)]
        self._group: tuple[int, Any] = (-1, None)
        self._chunk: tuple[int, list[dict[str, Any]]] = (0, [])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def _row(self, number: int) -> dict[str, Any]:
        first, rows = self._chunk
        if not first <= number < first + len(rows):
            group = bisect_right(self._starts, number) - 1
            with self._read():
                if group != self._group[0]:
                    self._group = group, self._file.read_row_group(group)
                start = (number - self._starts[group]) // _CHUNK * _CHUNK
                found = self._group[1].slice(start, _CHUNK).to_pylist()
            rows = [{name: _plain(value) for name, value in row.items()} for row in found]
            first = self._starts[group] + start
            self._chunk = first, rows
        return rows[number - first]

    @contextmanager
    def _read(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            reason = " ".join(str(error).split())[:200]
            raise UsageError(f"{self._path} is not a readable parquet file: {reason}") from None


def _plain(value: Any) -> Any:
    """A value of parquet as one of JSON: decimals as numbers, durations as seconds, times as texts."""
    from datetime import date, time, timedelta
    from decimal import Decimal

    match value:
        case list() | tuple():
            return [_plain(part) for part in value]
        case dict():
            return {name: _plain(part) for name, part in value.items()}
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case date() | time():
            return value.isoformat()
        case bytes():
            return value.decode("utf-8", "replace")
    return value
