"""Writes through sqlitedict, which reading does not import: a list of statements is one transaction."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import final

from sqlitedict import SqliteMultithread

Statement = tuple[str, Sequence[object]]


class Writer(SqliteMultithread):  # type: ignore[misc]
    """sqlitedict's thread on our own connection; errors are raised in the caller as sqlite3.Error."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        super().__init__(str(path), autocommit=False, journal_mode="WAL", outer_stack=False)
        # It logs each error with two stacks to stderr; the caller gets the error anyway.
        self.log = logging.Logger("gotlang.cache.silent", level=logging.CRITICAL + 1)

    def _connect(self) -> tuple[sqlite3.Connection, Transactions]:
        return self._connection, Transactions(self._connection)


@final
class Transactions:
    """The cursor of the writer: executes a list of statements as one transaction, in one round trip.

    sqlitedict 2.1.0 itself ends its thread without a reply when a commit or a fetch fails (on a full disk the
    caller then waits forever) and leaves transactions open between calls. So everything that can fail happens
    in `execute`, whose errors are passed to the caller.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._changed: list[tuple[int]] = []

    def execute(self, _: str, statements: Sequence[Statement]) -> None:
        self._changed = []
        # IMMEDIATE waits for another process's write here, where waiting is allowed.
        self._connection.execute("BEGIN IMMEDIATE")
        with self._connection:  # commits, or rolls back
            changed = [self._connection.execute(*statement).rowcount for statement in statements]
        self._changed = [(max(count, 0),) for count in changed]

    def __iter__(self) -> Iterator[tuple[int]]:
        return iter(self._changed)
