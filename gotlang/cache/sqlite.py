"""The persistent cache: one SQLite file in WAL mode, shared by several processes, written through sqlitedict.

Three tables in sqlitedict's layout: `answers` (request key and sample number to sample), `requests` (request
key to request) and `about` (the format). Reads use a connection in the calling thread, ten times as fast as
sqlitedict's. Writes go through sqlitedict's thread, one transaction per call (`gotlang/cache/writer.py`).

A file is a cache if it has exactly these tables and `about` names this format and version. Any other file is
refused before a value is read: those of other programs, pickles, which run code when loaded, and files with
added triggers or views.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

from gotlang.cache.base import StoredSample, StoreHandle
from gotlang.cache.batches import Batches
from gotlang.cache.codec import ABOUT, DatabaseCache, Put, check_about, decode_sample
from gotlang.cache.coordination import TABLES, Coordination, Database, Execute
from gotlang.disk import create_file, is_empty, place
from gotlang.errors import CacheError
from gotlang.models.base import Request
from gotlang.patterns import lazy_pattern
from gotlang.records import InvalidRecord, escaped

if TYPE_CHECKING:
    from gotlang.cache.writer import Statement, Writer

_LOG = logging.getLogger("gotlang.cache")
BUSY_S: Final = 30.0
"""Seconds to wait for another process that writes. A write takes milliseconds."""

_TABLES: Final = {
    name: f"CREATE TABLE {name} (key TEXT PRIMARY KEY, value BLOB CHECK (typeof(value) = 'text'))"
    for name in ("about", "requests", "answers")
}
"""sqlitedict's layout, with a check that keeps pickles out."""
_SQLITEDICT = lazy_pattern(r'CREATE TABLE "?(\w+)"? \(key TEXT PRIMARY KEY, value BLOB\)')

# An upsert preserves a row's position, the order of first storing, and skips equal values.
_UPSERT = """
    INSERT INTO {} (key, value) VALUES (?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value IS NOT excluded.value
"""
_PUT_REQUEST, _PUT_SAMPLE = _UPSERT.format("requests"), _UPSERT.format("answers")
_SAMPLES = "FROM answers WHERE key > ? AND key < ?"
_REQUEST = "SELECT CAST(value AS BLOB) FROM requests WHERE key = ?"
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

_VACUUM: Final = "PRAGMA auto_vacuum = INCREMENTAL"
_FORMAT: Final = f"INSERT INTO about (key, value) VALUES ('format', '{ABOUT}')"  # noqa: S608 - of our own
_ANOTHER = "use another file with --cache, or move this one away"
_SPACE = "free space on that disk, or use a file on another one with --cache; stored samples are safe"
_DAMAGED = (
    "move it away to start a new one (its samples are requested again); "
    "`.recover` of the sqlite3 shell may save what is left"
)
_CAUSES: dict[int, tuple[str, str]] = {
    sqlite3.SQLITE_BUSY: ("it is locked by another process", "wait for that process or end it"),
    sqlite3.SQLITE_LOCKED: ("it is locked by another process", "wait for that process or end it"),
    sqlite3.SQLITE_FULL: ("the disk is full", _SPACE),
    sqlite3.SQLITE_IOERR: ("the disk is full or failing (I/O error)", _SPACE),
    sqlite3.SQLITE_CORRUPT: ("the file is damaged", _DAMAGED),
    sqlite3.SQLITE_NOTADB: ("it is not a SQLite database", _ANOTHER),
    sqlite3.SQLITE_READONLY: ("it is not writable", "make file and folder writable, or " + _ANOTHER),
    sqlite3.SQLITE_PERM: ("permission denied", "change its permissions, or " + _ANOTHER),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", "check file and folder, or " + _ANOTHER),
    sqlite3.SQLITE_TOOBIG: ("a value is too long for it", _ANOTHER),
}
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_Result = TypeVar("_Result")


@final
class SqliteCache(DatabaseCache):
    """The cache in the file `path`; a missing file is created with its folder.

    `readonly` opens an existing file and refuses `put` and `remove`. Each `put` is committed when it returns
    and waits for another process's write for up to 30 seconds. May be used from several threads, not across a
    fork. Raises CacheError if the file is not a cache or cannot be opened, read or written.
    """

    REQUEST, ENTRIES = _REQUEST, _ENTRIES

    def __init__(self, path: str | os.PathLike[str], *, readonly: bool = False) -> None:
        self.path = Path(path)
        self._handle = StoreHandle(f"the cache {self.path}", readonly=readonly)
        self._reading, self._writing = threading.Lock(), threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._writer: Writer | None = None
        self._puts = Batches(self._put_and_flush)
        _check_path(self.path, readonly=readonly)
        if not readonly:
            _new_file(self.path, "the cache", [_VACUUM, *_TABLES.values(), _FORMAT])
        emptied = is_empty(self.path)
        self._reader = _connect(self.path, readonly=readonly)
        try:
            if _check_format(self._reader, self.path, readonly=readonly) and emptied:
                _LOG.warning(
                    "the cache %s was an empty file: samples that were in it are lost, and requested again",
                    escaped(str(self.path)),
                )
        except BaseException:
            self._reader.close()
            raise
        self._file = _identity(self.path)
        # Invalid UTF-8 in one value must not fail the statement that reads it with others.
        self._reader.text_factory = bytes

    def get(self, key: str, samples: Iterable[int] | None = None) -> dict[int, StoredSample]:
        numbers = self._numbers(key) if samples is None else samples
        found = {}
        for row, kind, value in self._stored(f"{key}:{number}" for number in numbers):
            if kind == b"blob":
                raise _pickles(self.path)
            with suppress(InvalidRecord, TypeError):  # a damaged sample is requested again and replaced
                found[int(row[len(key) + 1 :])] = decode_sample(value)
        return found

    async def aput(self, key: str, request: Request, samples: Mapping[int, StoredSample]) -> None:
        if written := self.written(key, request, samples):
            await self._puts(written)

    def _put_and_flush(self, puts: Sequence[Put]) -> Sequence[CacheError | None]:
        found = self._put(puts)
        self._check_file()
        return found

    def _put(self, puts: Sequence[Put]) -> Sequence[CacheError | None]:
        rows = [[(f"{put.key}:{number}", text) for number, text, _ in put.samples] for put in puts]
        with self._writing, _Explained(self.path, "write"):
            connection = self._opened()
            # IMMEDIATE waits for another process's write here, where waiting is allowed.
            connection.execute("BEGIN IMMEDIATE")
            with connection:  # commits, or rolls back
                connection.executemany(_PUT_REQUEST, [(put.key, put.request) for put in puts])
                connection.executemany(_PUT_SAMPLE, chain.from_iterable(rows))
        # Another program may have torn the file or added a trigger meanwhile: a commit is no proof then.
        written = dict(chain.from_iterable(rows))
        stored = {name.decode(): value for name, _, value in self._stored(written)}
        kept = {name for name, value in stored.items() if _is_stored(written[name], value)}
        lost = CacheError(f"the cache {self.path} does not keep what is stored in it", help=_DAMAGED)
        return [None if kept.issuperset(row for row, _ in each) else lost for each in rows]

    def _stored(self, names: Iterable[str]) -> Iterator[tuple[bytes, bytes, Any]]:
        """The rows of samples: name, type and value."""
        remaining = iter(names)
        while some := list(islice(remaining, self.BATCH)):
            marks = ",".join("?" * len(some))
            statement = f"SELECT key, typeof(value), value FROM answers WHERE key IN ({marks})"  # noqa: S608
            yield from self._rows(statement, some)

    def _remove(self, keys: Sequence[str]) -> int:
        requests: list[Statement] = [("DELETE FROM requests WHERE key = ?", (key,)) for key in keys]
        samples = [(f"DELETE {_SAMPLES}", (f"{key}:", f"{key};")) for key in keys]
        return sum(self._write([*requests, *samples])[len(requests) :])

    def remove(self, keys: Iterable[str]) -> int:
        removed = super().remove(keys)
        if removed:  # return the pages to the file system
            with _Explained(self.path, "write"), closing(_connect(self.path, readonly=False)) as connection:
                # `execute` would run one step of it, which is one page.
                connection.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(PASSIVE);")
        return removed

    def flush(self) -> None:
        self._handle.check()  # each `put` has committed
        self._puts.finish()
        self._check_file()

    def _check_file(self) -> None:
        if _identity(self.path) != self._file:
            raise CacheError(
                f"{self._handle.name} was deleted or replaced while in use",
                help="samples stored since are lost; start again to create a new file",
            )

    def close(self) -> None:
        self._puts.finish()
        if self._handle.close():
            try:
                with self._writing, _Explained(self.path, "write"):
                    if self._writer is not None:
                        self._writer.close()
                        self._writer = None
                    elif self._connection is not None:
                        self._connection.close()
            finally:
                self._reader.close()

    def coordination(self) -> Coordination | None:
        if self._handle.readonly:
            return None
        return Coordination(SqliteCoordination(self.path.with_name(f"{self.path.name}.coordination")))

    def _numbers(self, key: str) -> list[int]:
        rows = self._rows(f"SELECT key {_SAMPLES}", (f"{key}:", f"{key};"))
        numbers = (row[0][len(key) + 1 :] for row in rows)
        return sorted(int(number) for number in numbers if number.isdigit() and len(number) < 19)

    def _rows(self, statement: str, arguments: Any) -> list[Any]:
        self._handle.check()
        with _Explained(self.path, "read"), self._reading:
            return self._reader.execute(statement, arguments).fetchall()

    def _opened(self) -> sqlite3.Connection:
        """The connection that writes; reading through another one shows the committed content of the file."""
        if self._connection is None:
            self._connection = _connect(self.path, readonly=False)
        return self._connection

    def _write(self, statements: Sequence[Statement]) -> list[int]:
        """Commit statements together; returns how many rows each one changed."""
        with self._writing, _Explained(self.path, "write"):
            if self._writer is None:
                from gotlang.cache.writer import Writer

                self._writer = Writer(self._opened(), self.path)
                weakref.finalize(self, self._writer.close, force=True).atexit = False
            return [count for (count,) in self._writer.select("", statements)]


@final
class SqliteCoordination(Database):
    """Coordination in a file of its own, which is opened, or created, when it is first used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = StoreHandle(f"the file {path}", readonly=False)
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._durable: bool | None = None

    def transaction(self, work: Callable[[Execute], _Result], *, durable: bool = False) -> _Result:
        self._handle.check()
        with _Explained(self.path, "write", "the file"):
            connection = self._connection or self._open()
            if _identity(self.path) != self._file:
                raise CacheError(
                    f"{self._handle.name} was deleted or replaced while in use",
                    help="start again; the spending of other processes is no longer known",
                )
            if durable != self._durable:  # a commit that syncs the log makes earlier ones durable, too
                connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._durable = durable
            connection.execute("BEGIN IMMEDIATE")
            with connection:  # commits, or rolls back
                return work(lambda statement, values: connection.execute(statement, values).fetchall())

    def close(self) -> None:
        if self._handle.close() and self._connection is not None:
            self._connection.close()
            self._connection = self._durable = None

    def _open(self) -> sqlite3.Connection:
        _check_path(self.path, readonly=False)
        _new_file(self.path, "the file", TABLES.values())
        if is_empty(self.path):
            raise CacheError(
                f"{self._handle.name} is empty: the amount spent so far is unknown",
                help="remove it to start with nothing spent",
            )
        connection = _connect(self.path, readonly=False)
        try:
            connection.create_function("gotlang_now", 0, time.time)
            _when_free(lambda: _make_tables(connection, self.path))
        except BaseException:
            connection.close()
            raise
        self._connection, self._file = connection, _identity(self.path)
        return connection


@final
class MemoryCoordination(Database):
    """Coordination within one process, of what ends with it."""

    shared = False

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._connection.create_function("gotlang_now", 0, time.time)
        for statement in TABLES.values():
            self._connection.execute(statement)

    def transaction(self, work: Callable[[Execute], _Result], *, durable: bool = False) -> _Result:
        self._connection.execute("BEGIN")
        with self._connection:
            return work(lambda statement, values: self._connection.execute(statement, values).fetchall())

    def close(self) -> None:
        self._connection.close()


def _is_stored(written: str, stored: Any) -> bool:
    """Whether a row is what was written, or a sample that another process has stored there since."""
    if stored == written.encode():
        return True
    try:
        decode_sample(stored)
    except (InvalidRecord, TypeError):
        return False
    return True


def _new_file(path: Path, what: str, statements: Iterable[str]) -> None:
    """Create a database, which gets its name once it has its tables; an existing file is left unchanged.
    Raises CacheError."""
    if path.exists():
        return
    with _Explained(path, "create", what), closing(sqlite3.connect(":memory:")) as memory:
        for statement in statements:
            memory.execute(statement)
        memory.commit()
        try:
            create_file(path, memory.serialize())
        except OSError as error:
            reason = "the disk is full" if error.errno in _FULL else error.strerror
            raise CacheError(f"cannot create {what} {path}: {reason}", help=_SPACE) from None


def _make_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables of a new file; refuse a file with others. Raises CacheError."""
    with _Explained(path, "open", "the file"):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            missing = TABLES.keys() - _schema(connection)
            for name in missing if missing in (TABLES.keys(), {"gotlang_roles"}) else ():
                connection.execute(TABLES[name])  # files of gotc 0.1.0 have no roles
            if _schema(connection) != TABLES:
                raise CacheError(
                    f"{path} is not the coordination file of a cache",
                    help="move it away to start a new one, in which nothing is spent yet",
                )


@final
class _Explained:
    """Turns SQLite's errors into CacheErrors; `doing` completes "cannot ... the cache"."""

    __slots__ = ("doing", "path", "what")

    def __init__(self, path: Path, doing: str, what: str = "the cache") -> None:
        self.path, self.doing, self.what = path, doing, what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, sqlite3.Error):
            cause, help = _CAUSES.get(_code(error), (str(error), _ANOTHER))
            raise CacheError(f"cannot {self.doing} {self.what} {self.path}: {cause}", help=help) from error


def _code(error: BaseException | None) -> int:
    """SQLite's primary result code; 0 for other errors."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _check_path(path: Path, *, readonly: bool) -> None:
    """Refuse a path that cannot be a cache, and create the folder of a new one."""
    try:
        if not readonly:
            place(path).parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            if readonly:
                raise CacheError(f"cache {path} not found", help="check the name given with --cache")
        elif path.is_dir():
            raise CacheError(f"the cache {path} is a folder", help="name a file in it with --cache")
        elif not stat.S_ISREG(path.stat().st_mode):
            raise CacheError(f"the cache {path} is not a regular file", help=_ANOTHER)
        else:
            path.open("rb").close()  # SQLite would not report why it cannot be read
    except OSError as error:
        reason = error.strerror or str(error)
        if isinstance(error, FileExistsError | NotADirectoryError):
            reason = f"{path.parent} is not a folder"
        raise CacheError(f"cannot open the cache {path}: {reason}", help=_ANOTHER) from error
    for needed in () if readonly else (path, path.parent):
        if needed.exists() and not os.access(needed, os.W_OK):
            raise CacheError(
                f"cannot write the cache {path}: {needed} is not writable",
                help="change its permissions, or use a file elsewhere with --cache",
            )


def _connect(path: Path, *, readonly: bool) -> sqlite3.Connection:
    """A connection that trusts nothing in the file, commits each statement, and waits for other processes."""
    mode = "mode=rwc"
    if readonly:
        # SQLite would create side files, which a read-only folder does not allow.
        side_files = path.with_name(path.name + "-wal").exists()
        mode = "mode=ro" if side_files or os.access(path.parent, os.W_OK) else "immutable=1"
    address = f"{path.absolute().as_uri()}?{mode}"
    with _Explained(path, "open"):
        connection = sqlite3.connect(
            address, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            # In WAL mode a commit then syncs nothing; a power failure loses only the last ones.
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
    return connection


def _check_format(connection: sqlite3.Connection, path: Path, *, readonly: bool) -> bool:
    """Create the tables of a new file, and return whether that was done; refuse a file that is not a cache.
    Raises CacheError."""

    def check() -> bool:
        with _Explained(path, "open"):
            created = not readonly and not _schema(connection) and _create(connection)
            _check_tables(connection, path)
            if not readonly:
                connection.execute("PRAGMA journal_mode = WAL")
            return created

    return _when_free(check)


def _when_free(action: Callable[[], _Result]) -> _Result:
    """Call a function, waiting for another process that has locked the file."""
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            return action()
        except CacheError as error:
            # SQLite does not wait on its own while a file changes to WAL mode.
            busy = _code(error.__cause__) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _create(connection: sqlite3.Connection) -> bool:
    # Both must be set before the first table is created; several processes may be here at once.
    connection.execute(_VACUUM)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back
        if _schema(connection):
            return False
        for statement in (*_TABLES.values(), _FORMAT):
            connection.execute(statement)
    return True


def _schema(connection: sqlite3.Connection) -> dict[str, str]:
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    return {name: sql or "" for name, sql in rows.fetchall()}


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    schema = _schema(connection)
    if schema.get("about") != _TABLES["about"]:
        if _holds_pickles(connection, schema):
            raise _pickles(path)
        what = "is the database of another program" if schema else "is empty"
        raise CacheError(f"{path} is not a cache: it {what}", help=_ANOTHER)
    row = connection.execute("SELECT CAST(value AS BLOB) FROM about WHERE key = 'format'").fetchone()
    stranger = CacheError(f"{path} is not a cache: unknown format", help=_ANOTHER)
    check_about(row[0] if row else None, f"the cache {path}", stranger)
    if schema != _TABLES:
        names = schema.keys() | _TABLES
        changed = ", ".join(sorted(name for name in names if schema.get(name) != _TABLES.get(name)))
        raise CacheError(f"the cache {path} was changed by another program ({changed})", help=_ANOTHER)
    newest = "SELECT typeof(value) FROM answers ORDER BY rowid DESC LIMIT 16"
    if any(kind == "blob" for (kind,) in connection.execute(newest).fetchall()):
        raise _pickles(path)


def _holds_pickles(connection: sqlite3.Connection, schema: dict[str, str]) -> bool:
    # Only tables in sqlitedict's own layout are examined, and only the type of a value.
    for name in (match[1] for match in map(_SQLITEDICT.fullmatch, schema.values()) if match):
        first = f'SELECT typeof(value) FROM "{name}" LIMIT 1'  # noqa: S608 - \w only, see _SQLITEDICT
        if connection.execute(first).fetchone() == ("blob",):
            return True
    return False


def _pickles(path: Path) -> CacheError:
    return CacheError(
        f"{path} holds binary values where a cache holds JSON text; pickles can run code when loaded",
        help="do not load it; " + _ANOTHER,
    )
