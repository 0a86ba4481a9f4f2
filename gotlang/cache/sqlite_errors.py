"""What can go wrong with a SQLite file, in words: each failure names the file and the way out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gotlang.errors import CacheError

ANOTHER_FILE = "name another file with --cache, or move this one away"

_SPACE = "make room on that disk, or name a file on another one with --cache; what was stored before is safe"
_DAMAGED = (
    "move it away and a new one is made (its answers are then paid for again); "
    "the sqlite3 program's .recover may save what is left"
)
_WHAT_AND_WAY_OUT: dict[int, tuple[str, str]] = {
    sqlite3.SQLITE_BUSY: ("another process keeps it locked", "wait for that process or end it"),
    sqlite3.SQLITE_LOCKED: ("another process keeps it locked", "wait for that process or end it"),
    sqlite3.SQLITE_FULL: ("the disk is full", _SPACE),
    sqlite3.SQLITE_IOERR: ("the disk does not take or give data: it may be full or fail", _SPACE),
    sqlite3.SQLITE_CORRUPT: ("the file is damaged", _DAMAGED),
    sqlite3.SQLITE_NOTADB: ("it is not a SQLite database", ANOTHER_FILE),
    sqlite3.SQLITE_READONLY: ("it cannot be written", "make file and folder writable, or " + ANOTHER_FILE),
    sqlite3.SQLITE_PERM: ("permission is denied", "change its permissions, or " + ANOTHER_FILE),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", "check file and folder, or " + ANOTHER_FILE),
    sqlite3.SQLITE_TOOBIG: ("a value is too long for it", ANOTHER_FILE),
}


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's result code without its details; 0 where the error is not SQLite's own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection was in the way, so that trying again may help."""
    return primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def failure(path: Path, doing: str, error: sqlite3.Error) -> CacheError:
    """The error for users; `doing` completes "cannot ... the cache" (`open`, `read`, `write`)."""
    what, way_out = _WHAT_AND_WAY_OUT.get(primary_code(error), (str(error), ANOTHER_FILE))
    return CacheError(f"cannot {doing} the cache {path}: {what}", help=way_out)


@contextmanager
def in_words(path: Path, doing: str) -> Iterator[None]:
    """Turns SQLite's errors into `failure`."""
    try:
        yield
    except sqlite3.Error as error:
        raise failure(path, doing, error) from error
