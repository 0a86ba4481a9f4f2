"""The persistent cache: one SQLite file that several processes share, kept through sqlitedict.

Three tables of sqlitedict's layout: `answers` (request key and draw index → answer), `requests` (request
key → what it stands for), `about` (the format). Writes go through sqlitedict, a commit each. Reads do not:
sqlitedict passes each one to its thread and back, and a connection in the calling thread answers ten times
as many a second.
"""

from __future__ import annotations

import math
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, final

from gotlang.cache.base import Entry, StoredSample
from gotlang.cache.codec import Damaged, check_key, decode_request, decode_sample, is_key
from gotlang.cache.sqlite_errors import failure
from gotlang.cache.sqlite_file import check_format, check_path, connect, refuse_pickles
from gotlang.cache.sqlite_writer import Writer
from gotlang.errors import CacheError
from gotlang.models.base import Request

_AT_ONCE = 500
"""Rows that one statement asks for, or keys that one transaction removes."""

_ENTRIES = """
    SELECT r.id, r.key, r.request, count(a.key),
           length(r.request) + total(length(CAST(a.value AS BLOB))),
           max(CASE WHEN typeof(a.value) = 'text' AND json_valid(a.value)
                    THEN CAST(json_extract(a.value, '$.created') AS REAL) END)
    FROM (SELECT rowid AS id, key, coalesce(CAST(value AS BLOB), x'') AS request
          FROM requests WHERE rowid > ? ORDER BY rowid LIMIT ?) AS r
    LEFT JOIN answers AS a ON a.key > r.key || ':' AND a.key < r.key || ';'
    GROUP BY r.id ORDER BY r.id
"""


@final
class SqliteCache:
    """The cache in the file `path`, which is made with its folder where it is missing.

    `readonly` opens an existing file and refuses `put` and `remove`. Each `put` is committed when it returns;
    another process's write is waited for up to 30 seconds. May be used from several threads, not across a
    fork. Raises CacheError where the file is not a cache or cannot be opened, read or written.
    """

    def __init__(self, path: str | os.PathLike[str], *, readonly: bool = False) -> None:
        self.path = Path(path)
        self.readonly = readonly
        self._closed = False
        self._process = os.getpid()
        self._reading = threading.Lock()
        check_path(self.path, readonly=readonly)
        self._reader = connect(self.path, readonly=readonly)
        try:
            check_format(self._reader, self.path, readonly=readonly)
            self._writer = None if readonly else Writer(self.path)
        except BaseException:
            self._reader.close()
            raise
        self._file = _identity(self.path)
        # Invalid UTF-8 in one value must not fail the statement that reads it with others.
        self._reader.text_factory = bytes

    def get(self, key: str, draws: Iterable[int] | None = None) -> dict[int, StoredSample]:
        """The stored answers of a request among `draws` (None: all), by draw index."""
        rows = [f"{key}:{draw}" for draw in (self._draws(key) if draws is None else draws)]
        found = {}
        for start in range(0, len(rows), _AT_ONCE):
            for row, kind, value in self._values(rows[start : start + _AT_ONCE]):
                if kind == b"blob":
                    raise refuse_pickles(self.path)
                try:
                    found[int(row[len(key) + 1 :])] = decode_sample(value)
                except (Damaged, TypeError):
                    continue  # as if it were not there: the answer is asked for again and written over it
        return found

    def put(self, key: str, request: Request, stored: Mapping[int, StoredSample]) -> None:
        """Store answers of a request by draw index, all or none of them. Raises ValueError for a key that
        is not a request key."""
        check_key(key)
        writer = self._writable()
        if stored:
            writer.put(key, request, stored)

    def request(self, key: str) -> dict[str, Any] | None:
        """What the key stands for (`Request.identity()` and the prompt's name), or None."""
        rows = self._read("SELECT CAST(value AS BLOB) FROM requests WHERE key = ?", (key,))
        try:
            return decode_request(rows[0][0]) if rows else None
        except (Damaged, TypeError):
            return None

    def entries(self) -> Iterator[Entry]:
        """Every request with at least one stored draw, in the order of first storing."""
        last = 0
        while rows := self._read(_ENTRIES, (last, _AT_ONCE)):
            for _, name, request, draws, size, created in rows:
                key = name.decode("utf-8", "replace") if name else ""
                if draws and is_key(key):
                    model, prompt, endpoint = _names(request)
                    yield Entry(key, draws, int(size), model, prompt, _time(created), endpoint)
            last = rows[-1][0]

    def remove(self, keys: Iterable[str]) -> int:
        """Forget these requests with all their draws; how many draws went. The file shrinks."""
        writer, remaining, removed = self._writable(), iter(keys), 0
        while some := list(islice(remaining, _AT_ONCE)):
            removed += writer.remove(some)
        if removed:
            writer.shrink()
        return removed

    def flush(self) -> None:
        """Make sure that what was put is in the file that others see (each `put` has committed it).

        Raises CacheError where the file was deleted or replaced meanwhile.
        """
        self._check_usable()
        if _identity(self.path) != self._file:
            raise CacheError(
                f"the cache {self.path} was deleted or replaced while it was in use",
                help="what was stored since is lost; start again to make a new file",
            )

    def close(self) -> None:
        """Let go of the file; everything put is in it. Closing twice is allowed."""
        if self._process != os.getpid():
            return
        self._closed = True
        try:
            if self._writer is not None:
                self._writer.close()
        finally:
            self._reader.close()

    def _draws(self, key: str) -> list[int]:
        rows = self._read("SELECT key FROM answers WHERE key > ? AND key < ?", (f"{key}:", f"{key};"))
        numbers = (row[0][len(key) + 1 :] for row in rows)
        return sorted(int(number) for number in numbers if number.isdigit() and len(number) < 19)

    def _values(self, rows: Sequence[str]) -> list[tuple[Any, ...]]:
        marks = ",".join("?" * len(rows))
        statement = f"SELECT key, typeof(value), value FROM answers WHERE key IN ({marks})"  # noqa: S608
        return self._read(statement, rows)

    def _read(self, statement: str, arguments: Sequence[object]) -> list[tuple[Any, ...]]:
        self._check_usable()
        try:
            with self._reading:
                return self._reader.execute(statement, arguments).fetchall()
        except sqlite3.Error as error:
            raise failure(self.path, "read", error) from error

    def _writable(self) -> Writer:
        self._check_usable()
        if self._writer is None:
            raise CacheError(
                f"the cache {self.path} is open for reading only", help="name another file with --cache"
            )
        return self._writer

    def _check_usable(self) -> None:
        if self._closed:
            raise CacheError(f"the cache {self.path} is closed", help="open it again")
        # The writing thread does not survive a fork: the child would wait for it for ever.
        if self._process != os.getpid():
            raise CacheError(
                f"the cache {self.path} was opened before this process was forked",
                help="open it again in this process",
            )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _names(request: bytes) -> tuple[str, str, str]:
    """Its model, prompt and endpoint."""
    try:
        data = decode_request(request)
    except Damaged:
        return "", "", ""
    return data["model"], data["prompt"], data.get("endpoint", "")


def _time(value: object) -> float:
    return value if isinstance(value, float) and math.isfinite(value) else 0.0
