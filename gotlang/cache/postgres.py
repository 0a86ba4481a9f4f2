"""The cache shared by many machines: three tables in a PostgreSQL database, through psycopg 3 (an extra).

The tables are `gotlang_answers`, `gotlang_requests` and `gotlang_about`, in the first schema of the
connection's search path, so that one database can hold several caches.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

from gotlang import keys
from gotlang.cache.base import StoredSample, StoreHandle
from gotlang.cache.codec import ABOUT, DatabaseCache, check_about, decode_sample, encode_sample
from gotlang.cache.coordination import TABLES, Coordination, Database, Execute
from gotlang.errors import CacheError
from gotlang.records import InvalidRecord

if TYPE_CHECKING:
    import psycopg

_SESSION: Final = "-c statement_timeout=60000"
"""In milliseconds. A statement that takes a minute waits for something that does not end."""

_CREATION_LOCK: Final = 7310870969
"""The advisory lock for creating the tables, which two processes may do at once."""

_TABLES = """
    CREATE TABLE gotlang_requests (
        id bigint GENERATED ALWAYS AS IDENTITY UNIQUE, key text PRIMARY KEY, value text NOT NULL
    );
    CREATE TABLE gotlang_answers (
        key text, draw bigint, value text NOT NULL, created double precision NOT NULL, PRIMARY KEY (key, draw)
    );
    CREATE TABLE gotlang_about (key text PRIMARY KEY, value text NOT NULL);
"""
_NO_TABLES = "SELECT to_regclass('gotlang_about') IS NULL"
_GET = """
    SELECT draw, value FROM gotlang_answers
    WHERE key = %(key)s AND (%(samples)s::bigint[] IS NULL OR draw = ANY(%(samples)s)) ORDER BY draw
"""
_PUT_REQUEST = """
    INSERT INTO gotlang_requests AS old (key, value) VALUES (%s, %s)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE old.value <> excluded.value
"""
_PUT_SAMPLE = """
    INSERT INTO gotlang_answers (key, draw, value, created) VALUES (%s, %s, %s, %s)
    ON CONFLICT (key, draw) DO UPDATE SET value = excluded.value, created = excluded.created
"""
_REQUEST = "SELECT value FROM gotlang_requests WHERE key = %s"
_ENTRIES = """
    SELECT r.id, r.key, r.value, count(a.draw),
           octet_length(r.value) + sum(octet_length(a.value)), max(a.created)
    FROM (SELECT * FROM gotlang_requests WHERE id > %s ORDER BY id LIMIT %s) AS r
    LEFT JOIN gotlang_answers AS a USING (key)
    GROUP BY r.id, r.key, r.value ORDER BY r.id
"""

_Result = TypeVar("_Result")


@final
class PostgresCache(DatabaseCache):
    """The cache in the database at `address`: `postgresql://user:password@host:port/name`, as libpq reads it.

    Missing tables are created. `readonly` opens existing ones and refuses `put` and `remove`. A connection
    that breaks is replaced. May be used from several threads, not across a fork. Raises CacheError if psycopg
    is not installed, the server does not respond or refuses, or the tables are not a cache; no message shows
    the password.
    """

    REQUEST, ENTRIES = _REQUEST, _ENTRIES

    def __init__(self, address: str, *, readonly: bool = False) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise CacheError(
                "a cache on PostgreSQL needs psycopg, which is not installed",
                help='pip install "gotlang[postgres]"',
            ) from error
        self._psycopg = psycopg
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None
        given = self._parsed(address)
        host, port, database = (str(given.get(part, "")) for part in ("host", "port", "dbname"))
        name = f"the cache at postgresql://{host}{':' if port else ''}{port}/{database}"
        self._handle = StoreHandle(name, readonly=readonly)
        options = f"{given.get('options', '')} {_SESSION}"
        # libpq would read it itself, but not while it is hidden from a program's Python.
        password = {"password": found} if (found := keys.read("PGPASSWORD")) else {}
        self._settings = {
            "connect_timeout": 10,
            **password,
            **given,
            "options": options,
            "client_encoding": "utf8",
        }
        try:
            if not readonly:
                self._call("open", _create_tables)
            self._check_format()
        except BaseException:
            self.close()
            raise

    def get(self, key: str, samples: Iterable[int] | None = None) -> dict[int, StoredSample]:
        wanted = None if samples is None else list(samples)
        found = {}
        for number, value in self._rows(_GET, {"key": key, "samples": wanted}):
            with suppress(InvalidRecord):  # a damaged sample is requested again and replaced
                found[number] = decode_sample(value)
        return found

    def _put(self, key: str, request: str, samples: Sequence[tuple[int, StoredSample]]) -> None:
        rows = [(key, number, encode_sample(sample), sample.created) for number, sample in samples]

        def write(connection: psycopg.Connection[Any]) -> None:
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute(_PUT_REQUEST, (key, request))
                cursor.executemany(_PUT_SAMPLE, rows)

        self._call("write", write)

    def _remove(self, keys: Sequence[str]) -> int:
        return self._call("write", partial(_remove, keys=keys))

    def flush(self) -> None:
        self._handle.check()  # the server has on its disk what `put` returned from

    def close(self) -> None:
        if self._handle.close() and self._connection is not None:
            self._connection.close()
            self._connection = None

    def coordination(self) -> Coordination | None:
        return None if self._handle.readonly else Coordination(_PostgresCoordination(self._call))

    def _rows(self, statement: str, arguments: Any = ()) -> list[Any]:
        return self._call("read", lambda connection: connection.execute(statement, arguments).fetchall())

    def _call(self, doing: str, action: Callable[[psycopg.Connection[Any]], _Result]) -> _Result:
        """The result of `action` on a connection that commits each statement outside of a transaction.

        If the connection breaks, `action` runs once more on a new one: it must be safe to repeat. `doing`
        completes "cannot ... the cache".
        """
        self._handle.check()
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
                reason = " ".join(str(error).split()) or type(error).__name__
                if password := str(self._settings.get("password") or ""):
                    reason = reason.replace(password, "***")
                help = "check that the server runs and accepts this user, or use another cache with --cache"
                raise CacheError(f"cannot {doing} {self._handle.name}: {reason}", help=help) from None

    def _parsed(self, address: str) -> dict[str, Any]:
        with suppress(self._psycopg.Error):  # its text quotes the address, and with it the password
            settings: dict[str, Any] = self._psycopg.conninfo.conninfo_to_dict(address)
            # A password with an unescaped `/` or `@` ends up in one of these, and from there in messages.
            parts = "".join(str(settings.get(part, "")) for part in ("host", "dbname"))
            if "@" not in parts and set(str(settings.get("port", ""))) <= set("0123456789,"):
                return settings
        raise CacheError(
            "invalid PostgreSQL address of the cache",
            help="use postgresql://user:password@host:port/database, with special characters as %-escapes",
        )

    def _check_format(self) -> None:
        name = self._handle.name
        if self._rows(_NO_TABLES) == [(True,)]:
            raise CacheError(f"no tables of {name}", help="check the address given with --cache")
        rows = self._rows("SELECT value FROM gotlang_about WHERE key = 'format'")
        stranger = CacheError(
            f"the tables gotlang_... of {name} belong to another program",
            help="use another database with --cache, or another schema in it by "
            "?options=-csearch_path%3DNAME at the end of the address",
        )
        check_about(rows[0][0] if rows else None, name, stranger)


@final
class _PostgresCoordination(Database):
    """Coordination in tables beside the cache's, over its connection, which is closed with it."""

    def __init__(self, call: Callable[[str, Callable[[psycopg.Connection[Any]], Any]], Any]) -> None:
        self._call = call
        self._created = False

    def transaction(self, work: Callable[[Execute], _Result], *, durable: bool = False) -> _Result:
        def act(connection: psycopg.Connection[Any]) -> _Result:
            def execute(statement: str, values: Sequence[object]) -> list[Any]:
                cursor = connection.execute(_in_postgres(statement), values)
                return cursor.fetchall() if cursor.description else []

            with connection.transaction():
                if not self._created:
                    execute("SELECT pg_advisory_xact_lock(?)", (_CREATION_LOCK,))
                    for statement in TABLES.values():
                        execute(statement.replace("TABLE", "TABLE IF NOT EXISTS", 1), ())
                return work(execute)

        result: _Result = self._call("write", act)
        self._created = True
        return result

    def close(self) -> None:
        pass


@cache
def _in_postgres(statement: str) -> str:
    now = "extract(epoch FROM clock_timestamp())::double precision"
    return statement.replace("gotlang_now()", now).replace("?", "%s")


def _create_tables(connection: psycopg.Connection[Any]) -> None:
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_CREATION_LOCK])
        if connection.execute(_NO_TABLES).fetchall() == [(True,)]:
            connection.execute(_TABLES)
            connection.execute("INSERT INTO gotlang_about VALUES ('format', %s)", [ABOUT])


def _remove(connection: psycopg.Connection[Any], keys: Sequence[str]) -> int:
    with connection.transaction():
        # Requests first and in one order, as `put` locks them; and no sample of a request that is not locked,
        # such as one that was put a moment ago.
        lock = "SELECT key FROM gotlang_requests WHERE key = ANY(%s) ORDER BY key FOR UPDATE"
        locked = [key for (key,) in connection.execute(lock, [keys]).fetchall()]
        samples = connection.execute("DELETE FROM gotlang_answers WHERE key = ANY(%s)", [locked])
        connection.execute("DELETE FROM gotlang_requests WHERE key = ANY(%s)", [locked])
        return samples.rowcount
