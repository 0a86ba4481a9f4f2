"""Files of data: `.csv`, `.jsonl` and `.ndjson`, `.json` and `.parquet`.

A `.json` file is a list of objects or an object of lists; parquet needs the extra `gotlang[parquet]`. Texts
are UTF-8. Whatever is wrong with a file is a UsageError with its name and the line or row.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from gotlang.answers.literals import strict
from gotlang.data.table import Table
from gotlang.diagnostics import nearest
from gotlang.errors import UsageError

KINDS: Final = (".csv", ".jsonl", ".ndjson", ".json", ".parquet")


def load(path: str | Path) -> Table:
    """Read a data file; the end of its name says what it is. Raises UsageError with the place."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise UsageError(
            f"{path} is no data file that can be read", help=f"it must end in {', '.join(KINDS)}"
        )
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        near = nearest(path.name, _beside(path))
        raise UsageError(
            f"there is no file {path}", help=f"did you mean {path.parent / near}?" if near else None
        ) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or 'unknown reason'}") from None
    if kind == ".parquet":
        return _table(path, _parquet(path, content))
    text = _decoded(path, content)
    if kind == ".csv":
        return _csv(path, text)
    return _table(path, _json(path, text) if kind == ".json" else _json_lines(path, text))


def _beside(path: Path) -> list[str]:
    """What lies where a file is not."""
    try:
        return [other.name for other in path.parent.iterdir()]
    except OSError:
        return []


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


@contextmanager
def _any_field_size() -> Iterator[None]:
    """Python's csv refuses fields above 128 KiB, and keeps its limit for the whole process."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _csv(path: Path, text: str) -> Table:
    rows: list[dict[str, Any]] = []
    columns: list[str] = []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    with _any_field_size():
        try:
            for cells in reader:
                if not cells:
                    continue
                if not columns:
                    columns = _header(path, cells, reader.line_num)
                elif len(cells) != len(columns):
                    raise UsageError(
                        f"{path}, line {reader.line_num} (row {len(rows)}): {len(cells)} cells under "
                        f"{len(columns)} columns",
                        help='a cell that holds a comma or a quote stands in quotes: "a, ""b"""',
                    )
                else:
                    rows.append(dict(zip(columns, cells, strict=True)))
        except csv.Error as error:
            raise UsageError(f"{path}, line {reader.line_num} (row {len(rows)}): {error}") from None
    if not rows:
        raise UsageError(f"{path} has a header and no rows")
    return Table(str(path), tuple(columns), tuple(rows), as_text=True)


def _header(path: Path, cells: list[str], line: int) -> list[str]:
    for mark, called in ((";", "`;`"), ("\t", "tabs")):
        if len(cells) == 1 and mark in cells[0]:
            raise UsageError(
                f"{path}, line {line}: its columns stand apart by {called}, not by commas",
                help="save it with commas, or as .jsonl",
            )
    columns = [cell.strip() or f"column {place}" for place, cell in enumerate(cells)]
    for place, column in enumerate(columns):
        if column in columns[:place]:
            raise UsageError(f"{path}, line {line}: two columns are called `{column}`")
    return columns


def _json(path: Path, text: str) -> list[dict[str, Any]]:
    value = _strict(path, text, 1)
    if isinstance(value, list):
        for place, row in enumerate(value):
            if not isinstance(row, dict):
                raise UsageError(f"{path}, row {place}: not an object")
        return value
    if isinstance(value, dict) and value and all(isinstance(cells, list) for cells in value.values()):
        lengths = {name: len(cells) for name, cells in value.items()}
        if len(set(lengths.values())) > 1:
            sizes = ", ".join(f"`{name}` {size}" for name, size in lengths.items())
            raise UsageError(f"{path}: its columns differ in length: {sizes}")
        return [dict(zip(value, cells, strict=True)) for cells in zip(*value.values(), strict=True)]
    raise UsageError(f"{path} is neither a list of objects nor an object of lists")


def _json_lines(path: Path, text: str) -> list[dict[str, Any]]:
    rows = []
    # Only `\n` ends a line of JSON; `splitlines` would cut at characters that may stand inside a text.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            row = _strict(path, line, number)
            if not isinstance(row, dict):
                raise UsageError(f"{path}, line {number}: not an object")
            rows.append(row)
    return rows


def _strict(path: Path, text: str, line: int) -> Any:
    try:
        return strict(text)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{path}, line {line + error.lineno - 1}, column {error.colno}: {error.msg}"
        ) from None
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
        why = " ".join(str(error).split())[:200]
        raise UsageError(f"{path} is no parquet file that can be read: {why}") from None
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    """A value of parquet's as one of JSON's: decimals as numbers, durations as seconds, times as texts."""
    from datetime import date, time, timedelta
    from decimal import Decimal

    match value:
        case list() | tuple():
            return [_plain(part) for part in value]
        case timedelta():
            return value.total_seconds()
        case dict():
            return {name: _plain(part) for name, part in value.items()}
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case date() | time():
            return value.isoformat()
        case bytes():
            return value.decode("utf-8", "replace")
    return value


def _table(path: Path, rows: list[dict[str, Any]]) -> Table:
    if not rows:
        raise UsageError(f"{path} has no rows")
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    return Table(str(path), columns, tuple(rows))
