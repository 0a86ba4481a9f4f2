"""Data files as tables: `.csv`, `.jsonl` and `.ndjson`, `.json` and `.parquet`.

A `.json` file is a list of objects or an object of lists; parquet needs the extra `gotlang[parquet]`. Text is
UTF-8. Errors in a file are UsageErrors with its name and the line or row.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from gotlang.answers.literals import strict
from gotlang.errors import UsageError
from gotlang.files import not_found

FORMATS: Final = (".csv", ".jsonl", ".ndjson", ".json", ".parquet")
_DELIMITERS: Final = {";": "`;`", "\t": "tabs"}


@final
@dataclass(frozen=True, slots=True)
class Table:
    """A data file in memory. `columns` are in the file's order; a row of JSON may lack some of them.

    `as_text`: every value is a text still to be parsed as the type of its input.
    """

    path: str
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
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
    """A SHA-256 digest of the rows, whatever the name of the file: 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for row in table.rows:
        line = json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        digest.update(line.encode("utf-8", "replace") + b"\n")
    return digest.hexdigest()


def load(path: str | Path) -> Table:
    """Read a data file; its suffix names the format. Raises UsageError with the place."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise UsageError(f"{path}: unsupported data format", help=f"supported: {', '.join(FORMATS)}")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise not_found(path) from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or 'unknown reason'}") from None
    if suffix == ".csv":
        columns, rows = _csv(path, _decoded(path, content))
        return Table(str(path), tuple(columns), tuple(rows), as_text=True)
    if suffix == ".parquet":
        rows = _parquet(path, content)
    elif suffix == ".json":
        rows = _json(path, _decoded(path, content))
    else:
        rows = _json_lines(path, _decoded(path, content))
    if not rows:
        raise UsageError(f"{path} has no rows")
    return Table(str(path), tuple(dict.fromkeys(name for row in rows for name in row)), tuple(rows))


def _decoded(path: Path, content: bytes) -> str:
    if b"\0" in content:
        line = content[: content.index(b"\0")].count(b"\n") + 1
        raise UsageError(f"{path}, line {line}: a NUL byte", help="is it a text file in UTF-8?")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UsageError(f"{path}, line {line}: not UTF-8", help="save the file as UTF-8") from None
    if not text.strip():
        raise UsageError(f"{path} is empty")
    return text


def _csv(path: Path, text: str) -> tuple[list[str], list[dict[str, Any]]]:
    columns: list[str] = []
    rows: list[dict[str, Any]] = []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    # csv refuses fields above 128 KiB; the limit is global to the process.
    limit = csv.field_size_limit(2**31 - 1)
    try:
        for cells in reader:
            if not columns:
                columns = _header(f"{path}, line {reader.line_num}", cells)
            elif cells and len(cells) != len(columns):
                raise UsageError(
                    f"{path}, line {reader.line_num} (row {len(rows)}): expected {len(columns)} cells, "
                    f"found {len(cells)}",
                    help='quote a cell that contains a comma or a quote: "a, ""b"""',
                )
            elif cells:
                rows.append(dict(zip(columns, cells, strict=True)))
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.line_num} (row {len(rows)}): {error}") from None
    finally:
        csv.field_size_limit(limit)
    if not rows:
        raise UsageError(f"{path} has a header but no rows")
    return columns, rows


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


def _json_lines(path: Path, text: str) -> list[dict[str, Any]]:
    rows = []
    # Only `\n` ends a line of JSON; `splitlines` would also split at characters inside a text.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            row = _parsed(path, line, number)
            if not isinstance(row, dict):
                raise UsageError(f"{path}, line {number}: not an object")
            rows.append(row)
    return rows


def _parsed(path: Path, text: str, line: int) -> Any:
    try:
        return strict(text)
    except json.JSONDecodeError as error:
        place = f"{path}, line {line + error.lineno - 1}, column {error.colno}"
        raise UsageError(f"{place}: {error.msg}") from None
    except ValueError as error:
        raise UsageError(f"{path}, line {line}: {error}") from None


def _parquet(path: Path, content: bytes) -> list[dict[str, Any]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError(
            f"{path}: parquet files need pyarrow", help="pip install 'gotlang[parquet]'"
        ) from None
    try:
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(pyarrow.BufferReader(content)).to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError) as error:  # the last for times beyond microseconds
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"{path} is not a readable parquet file: {reason}") from None
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


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
