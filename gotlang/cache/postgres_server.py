"""A connection to a PostgreSQL server that comes back when it breaks, and errors that show no password."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, final

from gotlang.errors import CacheError

if TYPE_CHECKING:
    import psycopg

_SESSION = "-c statement_timeout=60000"
"""No statement here takes a minute (in milliseconds); one that does waits for something that does not end."""

_Result = TypeVar("_Result")


@final
class Server:
    """The server and database at `address` (`postgresql://user:password@host:port/name`, as libpq reads it).

    `name` is the address without user and password. May be used from several threads, not across a fork.
    Connects at the first call. Raises CacheError where psycopg is not installed or `address` cannot be read.
    """

    def __init__(self, address: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise CacheError(
                "a cache on PostgreSQL needs psycopg, which is not installed here",
                help='pip install "gotlang[postgres]"',
            ) from error
        self._psycopg = psycopg
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._connection: psycopg.Connection[Any] | None = None
        self._closed = False
        settings = self._read(address)
        host, port, database = (str(settings.get(part, "")) for part in ("host", "port", "dbname"))
        self.name = f"postgresql://{host}{':' if port else ''}{port}/{database}"
        options = f"{settings.get('options', '')} {_SESSION}"
        self._settings: dict[str, Any] = {
            "connect_timeout": 10,
            **settings,
            "options": options,
            "client_encoding": "utf8",
        }

    def rows(self, statement: str, arguments: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """The rows that a query gives."""
        return self.call("read", lambda connection: connection.execute(statement, arguments).fetchall())

    def call(self, doing: str, action: Callable[[psycopg.Connection[Any]], _Result]) -> _Result:
        """What `action` gives on a connection that commits each statement outside of a transaction.

        Where the connection breaks, `action` runs once more on a new one: it must be one that may. `doing`
        completes "cannot ... the cache". Raises CacheError.
        """
        self.check_usable()
        with self._lock:
            try:
                if self._connection is not None:
                    try:
                        return action(self._connection)
                    except self._psycopg.OperationalError:
                        if not self._connection.broken:
                            raise
                        self._connection.close()
                        self._connection = None
                self._connection = self._psycopg.connect(**self._settings, autocommit=True)
                return action(self._connection)
            except self._psycopg.Error as error:
                raise self._failure(doing, error) from None

    def close(self) -> None:
        """Let go of the connection. Closing twice is allowed."""
        if self._process != os.getpid():
            return
        self._closed = True
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def check_usable(self) -> None:
        """Raise CacheError where it was closed, or opened by the process that this one was forked from."""
        if self._closed:
            raise CacheError(f"the cache at {self.name} is closed", help="open it again")
        # Two processes that speak on one connection get each other's answers.
        if self._process != os.getpid():
            raise CacheError(
                f"the cache at {self.name} was opened before this process was forked",
                help="open it again in this process",
            )

    def _read(self, address: str) -> dict[str, Any]:
        try:
            settings: dict[str, Any] = self._psycopg.conninfo.conninfo_to_dict(address)
            # A password with an unescaped `/` or `@` ends up in one of these, and from there in messages.
            parts = "".join(str(settings.get(part, "")) for part in ("host", "dbname"))
            if "@" not in parts and set(str(settings.get("port", ""))) <= set("0123456789,"):
                return settings
        except self._psycopg.Error:
            pass  # its text quotes the address, and with it the password
        raise CacheError(
            "the PostgreSQL address of the cache cannot be read",
            help="write postgresql://user:password@host:port/database, with odd characters as %-escapes",
        )

    def _failure(self, doing: str, error: Exception) -> CacheError:
        reason = " ".join(str(error).split()) or type(error).__name__
        password = str(self._settings.get("password") or "")
        if password:
            reason = reason.replace(password, "***")
        return CacheError(
            f"cannot {doing} the cache at {self.name}: {reason}",
            help="check that the server runs and takes this user, or name another cache with --cache",
        )
