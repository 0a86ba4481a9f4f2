"""sqlitedict's writing thread, made fit for money.

sqlitedict 2.1.0 hands each statement to a thread that owns the connection. As it comes, that thread dies
without answering when a commit or a fetch fails (on a full disk the caller then waits for ever), prints
tracebacks, keeps a transaction open between calls, and syncs nothing. Here the connection is opened by the
caller, who gets its errors; whatever can fail happens inside the one call whose errors sqlitedict hands
back; and several statements go over as one `Batch`, committed or not at all, in one round trip.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from sqlitedict import SqliteDict, SqliteMultithread

from gotlang.cache.base import StoredSample
from gotlang.cache.codec import decode_request, decode_sample, encode_request, encode_sample
from gotlang.cache.sqlite_errors import in_words
from gotlang.cache.sqlite_file import connect
from gotlang.models.base import Request

Statement = tuple[str, tuple[object, ...]]

_silent = logging.Logger("gotlang.cache.silent")
_silent.disabled = True


@final
class Writer:
    """Writes to the cache file at `path`, one commit a call, from any thread. Raises CacheError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        with in_words(path, "open"):
            self._thread = WriterThread(connect(path, readonly=False), path)
            self._requests = Table(self._thread, "requests", encode_request, decode_request)
            self._answers = Table(self._thread, "answers", encode_sample, decode_sample)

    def put(self, key: str, request: Request, stored: Mapping[int, StoredSample]) -> None:
        """Store a request with answers of it by draw index."""
        self._apply(
            self._requests.upsert(key, request),
            *(self._answers.upsert(f"{key}:{draw}", answer) for draw, answer in stored.items()),
        )

    def remove(self, keys: Sequence[str]) -> int:
        """Forget requests with their draws; how many draws went."""
        draws = [("DELETE FROM answers WHERE key > ? AND key < ?", (f"{key}:", f"{key};")) for key in keys]
        requests = [("DELETE FROM requests WHERE key = ?", (key,)) for key in keys]
        return sum(self._apply(*draws, *requests)[: len(draws)])

    def shrink(self) -> None:
        """Give the pages of removed values back to the disk."""
        with in_words(self._path, "write"), closing(connect(self._path, readonly=False)) as connection:
            # `execute` would take one step of it, which is one page.
            connection.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(PASSIVE);")

    def close(self) -> None:
        """End the thread and close its connection."""
        with self._lock, in_words(self._path, "write"):
            self._answers.close()

    def _apply(self, *statements: Statement) -> list[int]:
        with self._lock, in_words(self._path, "write"):
            return self._thread.apply(statements)


@final
@dataclass(frozen=True, slots=True)
class Batch:
    """Statements that are committed together; its result is the number of rows each one changed."""

    statements: Sequence[Statement]


class WriterThread(SqliteMultithread):  # type: ignore[misc]
    """The thread that all tables of a file share. Errors are sqlite3.Error, raised in the caller."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        super().__init__(str(path), autocommit=False, journal_mode="WAL", outer_stack=False)
        # It logs each error with two stacks, which lands on stderr; the caller gets the error anyway.
        self.log = _silent

    def _connect(self) -> tuple[sqlite3.Connection, sqlite3.Cursor]:
        return self._connection, self._connection.cursor(_Cursor)

    def apply(self, statements: Sequence[Statement]) -> list[int]:
        """Commit the statements together and wait for it; how many rows each one changed."""
        return [count for (count,) in self.select(Batch(statements))]


class Table(SqliteDict):  # type: ignore[misc]
    """One table of the file as sqlitedict sees it, with JSON hooks in place of its pickles."""

    def __init__(
        self,
        thread: WriterThread,
        name: str,
        encode: Callable[[Any], str],
        decode: Callable[[str | bytes], Any],
    ) -> None:
        self._thread = thread
        super().__init__(
            thread.filename,
            tablename=name,
            journal_mode="WAL",
            encode=encode,
            decode=decode,
            outer_stack=False,
        )
        # An upsert keeps a row's place, which is the order of first storing, and skips what is there already.
        self._upsert = (
            f'INSERT INTO "{name}" (key, value) VALUES (?, ?) '  # noqa: S608 - our own table's name
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value IS NOT excluded.value"
        )

    def _new_conn(self) -> WriterThread:
        return self._thread

    def upsert(self, key: str, value: Any) -> Statement:
        """The statement that stores a value, for a batch."""
        return self._upsert, (self.encode_key(key), self.encode(value))


class _Cursor(sqlite3.Cursor):
    """Does all that can fail within `execute`: outside of it, an error would end sqlitedict's thread."""

    _rows: Sequence[tuple[Any, ...]] = ()

    def execute(self, statement: str | Batch, arguments: Any = ()) -> _Cursor:
        self._rows = ()
        if isinstance(statement, Batch):
            self._rows = self._apply(statement)
        else:
            super().execute(statement, arguments)
            self._rows = super().fetchall()
        return self

    def __iter__(self) -> Iterator[tuple[Any, ...]]:  # type: ignore[override]
        return iter(self._rows)

    def _apply(self, batch: Batch) -> list[tuple[int]]:
        changed = []
        # IMMEDIATE waits for another process's write here, where waiting is allowed.
        super().execute("BEGIN IMMEDIATE")
        try:
            for statement, arguments in batch.statements:
                super().execute(statement, arguments)
                changed.append((max(self.rowcount, 0),))
            super().execute("COMMIT")
        except BaseException:
            # SQLite has already rolled back after some errors; the first error is the one that counts.
            with suppress(sqlite3.Error):
                super().execute("ROLLBACK")
            raise
        return changed
