"""Opening a cache file: is it ours, may we read and write it, and how is a new one made.

A file is ours when it holds exactly the tables below and its `about` table names this format and version.
Everything else is refused before a value is read: files of other programs, pickles that older key-value
files keep and that would run code when loaded, and triggers or views that somebody added.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from pathlib import Path
from typing import Final

from gotlang.cache.codec import Damaged, from_json, to_json
from gotlang.cache.sqlite_errors import ANOTHER_FILE, in_words, is_busy
from gotlang.errors import CacheError

FORMAT: Final = "gotlang cache"
VERSION: Final = 1
BUSY_S: Final = 30.0
"""Seconds to wait for another process that is writing. Writes take milliseconds."""

TABLES: Final = {
    name: f"CREATE TABLE {name} (key TEXT PRIMARY KEY, value BLOB CHECK (typeof(value) = 'text'))"
    for name in ("about", "requests", "answers")
}
"""sqlitedict's layout, and a check that keeps out what is not text: nobody pickles into it by mistake."""

_SQLITEDICT = re.compile(r'CREATE TABLE "?(\w+)"? \(key TEXT PRIMARY KEY, value BLOB\)')


def check_path(path: Path, *, readonly: bool) -> None:
    """Refuse what cannot be a cache by its path, and make the folder of a new one."""
    try:
        if not readonly:
            path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            if readonly:
                raise CacheError(f"there is no cache {path}", help="check the name given with --cache")
        elif path.is_dir():
            raise CacheError(f"the cache {path} is a folder", help="name a file in it with --cache")
        elif not stat.S_ISREG(path.stat().st_mode):
            raise CacheError(f"the cache {path} is not a regular file", help=ANOTHER_FILE)
        else:
            path.open("rb").close()  # SQLite would not say why it cannot be read
    except OSError as error:
        reason = error.strerror or str(error)
        if isinstance(error, FileExistsError | NotADirectoryError):
            reason = f"{path.parent} is not a folder"
        raise CacheError(f"cannot open the cache {path}: {reason}", help=ANOTHER_FILE) from error
    if readonly:
        return
    for place in (path, path.parent):
        if place.exists() and not os.access(place, os.W_OK):
            raise CacheError(
                f"cannot write the cache {path}: {place} is not writable",
                help="change its permissions, or name a file elsewhere with --cache",
            )


def connect(path: Path, *, readonly: bool) -> sqlite3.Connection:
    """A connection that trusts nothing in the file, commits each statement, and waits for other processes.

    Raises CacheError where the file cannot be opened.
    """
    with in_words(path, "open"):
        connection = sqlite3.connect(
            _address(path, readonly=readonly),
            uri=True,
            timeout=BUSY_S,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            # In WAL mode this costs no sync at a commit and keeps the file whole even when the power fails.
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
    return connection


def check_format(connection: sqlite3.Connection, path: Path, *, readonly: bool) -> None:
    """Make the tables of a new file; refuse a file that is not ours. Raises CacheError."""
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            with in_words(path, "open"):
                if not readonly and not _schema(connection):
                    _create(connection)
                _check_tables(connection, path)
                if not readonly:
                    connection.execute("PRAGMA journal_mode = WAL")
            return
        except CacheError as error:
            # SQLite does not wait on its own while a file goes over to WAL mode.
            cause = error.__cause__
            if not isinstance(cause, sqlite3.Error) or not is_busy(cause) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def refuse_pickles(path: Path) -> CacheError:
    """The error for a file with values that are not text."""
    return CacheError(
        f"{path} holds binary values where a cache holds JSON text; pickles can run code when they are read",
        help="do not load it; " + ANOTHER_FILE,
    )


def _address(path: Path, *, readonly: bool) -> str:
    address = path.absolute().as_uri()
    if not readonly:
        return address + "?mode=rwc"
    # A closed cache in a folder that cannot be written: SQLite would want to make its side files there.
    side_files = path.with_name(path.name + "-wal").exists()
    return address + ("?mode=ro" if side_files or os.access(path.parent, os.W_OK) else "?immutable=1")


def _schema(connection: sqlite3.Connection) -> dict[str, str]:
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    return {name: sql or "" for name, sql in rows.fetchall()}


def _create(connection: sqlite3.Connection) -> None:
    # Both have to be set before the first table is made; several processes may be here at once.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _schema(connection):
            for statement in TABLES.values():
                connection.execute(statement)
            about = to_json({"name": FORMAT, "version": VERSION})
            connection.execute("INSERT INTO about (key, value) VALUES ('format', ?)", (about,))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    schema = _schema(connection)
    if schema.get("about") != TABLES["about"]:
        if _holds_pickles(connection, schema):
            raise refuse_pickles(path)
        what = "is the database of another program" if schema else "is empty"
        raise CacheError(f"{path} is not a cache: it {what}", help=ANOTHER_FILE)
    version = _version(connection, path)
    if version != VERSION:
        raise CacheError(
            f"the cache {path} has format version {version}, and this gotc reads version {VERSION}",
            help="`gotc cache export` of the gotc that wrote it and `gotc cache import` of this one move its "
            "answers to a new file; or " + ANOTHER_FILE,
        )
    if schema != TABLES:
        odd = ", ".join(
            sorted(name for name in schema.keys() | TABLES if schema.get(name) != TABLES.get(name))
        )
        raise CacheError(f"the cache {path} was changed by another program ({odd})", help=ANOTHER_FILE)
    newest = "SELECT typeof(value) FROM answers ORDER BY rowid DESC LIMIT 16"
    if any(kind == "blob" for (kind,) in connection.execute(newest).fetchall()):
        raise refuse_pickles(path)


def _version(connection: sqlite3.Connection, path: Path) -> object:
    row = connection.execute("SELECT CAST(value AS BLOB) FROM about WHERE key = 'format'").fetchone()
    try:
        about = from_json(row[0]) if row else {}
        if about["name"] == FORMAT:
            return about["version"]
    except (Damaged, TypeError, KeyError):
        pass
    raise CacheError(f"{path} is not a cache: it does not say which format it has", help=ANOTHER_FILE)


def _holds_pickles(connection: sqlite3.Connection, schema: dict[str, str]) -> bool:
    # Only tables of sqlitedict's own making are looked into, and only for what kind of value they hold.
    for name in (match[1] for match in map(_SQLITEDICT.fullmatch, schema.values()) if match):
        first = f'SELECT typeof(value) FROM "{name}" LIMIT 1'  # noqa: S608 - \w only, see _SQLITEDICT
        if connection.execute(first).fetchone() == ("blob",):
            return True
    return False
