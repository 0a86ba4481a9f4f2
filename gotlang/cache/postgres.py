"""The cache shared by many machines: three tables in a PostgreSQL database, through psycopg 3 (an extra).

The tables are `gotlang_answers`, `gotlang_requests` and `gotlang_about`, in the first schema of the
connection's search path, so that one database can hold several caches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

from gotlang import keys
from gotlang.cache.base import StoredSample, StoreHandle
from gotlang.cache.batches import LANES, Batches
from gotlang.cache.codec import ABOUT, DatabaseCache, Put, check_about, decode_sample
from gotlang.cache.coordination import TABLES, Coordination, Database, Execute
from gotlang.errors import CacheError
from gotlang.models.base import Request
from gotlang.packages import pip_install
from gotlang.records import InvalidRecord

if TYPE_CHECKING:
    import psycopg

_SESSION: Final = "-c statement_timeout=60000"
"""In milliseconds. A statement that takes a minute is waiting for something that does not end."""

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
_ALL = "SELECT key, draw, value FROM gotlang_answers WHERE key = %s ORDER BY draw"
_GET = """
    SELECT key, draw, value FROM gotlang_answers
    JOIN unnest(%s::text[], %s::bigint[]) AS wanted (key, draw) USING (key, draw)
"""
# One statement is one round trip. Requests come first, in the order of their keys, as `_remove` locks them.
_PUT = """
    WITH requests AS (
        INSERT INTO gotlang_requests AS old (key, value)
        SELECT * FROM unnest(%s::text[], %s::text[])
        ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE old.value <> excluded.value
        RETURNING 1
    )
    INSERT INTO gotlang_answers (key, draw, value, created)
    SELECT * FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::double precision[])
    WHERE (SELECT count(*) FROM requests) >= 0
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

    Missing tables are created. `readonly` opens existing ones and refuses `put` and `remove`. Reads and
    writes of tasks are batched over a few connections, while the event loop continues; a connection that
    breaks is replaced. May be used from several threads, not across a fork. Raises CacheError if psycopg is
    not installed, the server does not respond or refuses, or the tables are not a cache; no message shows the
    password.
    """

    REQUEST, ENTRIES = _REQUEST, _ENTRIES

    def __init__(self, address: str, *, readonly: bool = False) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise CacheError(
                "a cache on PostgreSQL needs psycopg, which is not installed",
                help=pip_install("postgres"),
            ) from error
        self._psycopg = psycopg
        self._free: list[psycopg.Connection[Any]] = []
        self._threads = ThreadPoolExecutor(2 * LANES, "gotlang-cache")
        self._reads = Batches(self._find, self._threads)
        self._writes = Batches(self._put, self._threads)
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
        if samples is None:
            return _decoded(self._rows(_ALL, (key,)))[key]
        return self._find([(key, tuple(samples))])[0]

    async def aget(self, key: str, samples: Sequence[int]) -> dict[int, StoredSample]:
        return await self._reads((key, samples))

    async def aput(self, key: str, request: Request, samples: Mapping[int, StoredSample]) -> None:
        if written := self.written(key, request, samples):
            await self._writes(written)

    def _find(self, wanted: Sequence[tuple[str, Sequence[int]]]) -> list[dict[int, StoredSample]]:
        pairs = [(key, number) for key, numbers in wanted for number in numbers]
        columns = [key for key, _ in pairs], [number for _, number in pairs]
        found = _decoded(self._rows(_GET, columns)) if pairs else {}
        return [
            {number: stored[number] for number in numbers if number in stored}
            for key, numbers in wanted
            for stored in (found.get(key, {}),)
        ]

    def _put(self, puts: Sequence[Put]) -> list[None]:
        # The last of those with the same name wins.
        requests = {put.key: put.request for put in puts}
        samples = {(put.key, number): sample for put in puts for number, *sample in put.samples}
        named = sorted(samples)
        rows = [(key, number, *samples[key, number]) for key, number in named]
        columns = *zip(*sorted(requests.items()), strict=True), *zip(*rows, strict=True)
        self._call("write", lambda connection: connection.execute(_PUT, [*map(list, columns)]))
        return [None] * len(puts)

    def _remove(self, keys: Sequence[str]) -> int:
        return self._call("write", partial(_remove, keys=keys))

    def flush(self) -> None:
        self._handle.check()
        self._writes.finish()  # the server has stored durably everything for which `put` has returned

    def close(self) -> None:
        self._writes.finish()
        self._threads.shutdown()
        if self._handle.close():
            while self._free:
                self._free.pop().close()

    def coordination(self) -> Coordination | None:
        return None if self._handle.readonly else Coordination(_PostgresCoordination(self._call))

    def _rows(self, statement: str, arguments: Any = ()) -> list[Any]:
        return self._call("read", lambda connection: connection.execute(statement, arguments).fetchall())

    def _call(self, doing: str, action: Callable[[psycopg.Connection[Any]], _Result]) -> _Result:
        """The result of `action` on a connection that commits each statement outside of a transaction.

        If the connection breaks, or this waits for another process that waits for this, `action` runs once
        more: it must be safe to repeat. `doing` completes "cannot ... the cache".
        """
        self._handle.check()
        try:
            return self._on(self._take(), action)
        except self._psycopg.Error as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            if password := str(self._settings.get("password") or ""):
                reason = reason.replace(password, "***")
            help = "check that the server runs and accepts this user, or use another cache with --cache"
            raise CacheError(f"cannot {doing} {self._handle.name}: {reason}", help=help) from None

    def _take(self) -> psycopg.Connection[Any] | None:
        with suppress(IndexError):  # another thread may have taken the last one
            return self._free.pop()
        return None

    def _on(
        self,
        free: psycopg.Connection[Any] | None,
        action: Callable[[psycopg.Connection[Any]], _Result],
        *,
        again: bool = False,
    ) -> _Result:
        """The result of `action` on a free connection, or on a new one."""
        connection = free or self._psycopg.connect(**self._settings, autocommit=True)
        try:
            return action(connection)
        except self._psycopg.OperationalError as error:
            deadlock = isinstance(error, self._psycopg.errors.DeadlockDetected)
            if again or not (deadlock or (free and connection.broken)):
                raise
        finally:
            if connection.broken or self._handle.closed:
                connection.close()
            else:
                self._free.append(connection)
        return self._on(None, action, again=True)

    def _parsed(self, address: str) -> dict[str, Any]:
        with suppress(self._psycopg.Error):  # its text quotes the address with the password
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


def _decoded(rows: Iterable[tuple[str, int, str]]) -> dict[str, dict[int, StoredSample]]:
    found: dict[str, dict[int, StoredSample]] = defaultdict(dict)
    for key, number, value in rows:
        with suppress(InvalidRecord):  # a damaged sample is requested again and replaced
            found[key][number] = decode_sample(value)
    return found


@final
class _PostgresCoordination(Database):
    """Coordination in tables beside the cache's, over its connections, which are closed with it."""

    remote = True

    def __init__(self, call: Callable[[str, Callable[[psycopg.Connection[Any]], Any]], Any]) -> None:
        self._call = call
        self._created = False

    def transaction(self, work: Callable[[Execute], _Result], *, durable: bool = False) -> _Result:
        def act(connection: psycopg.Connection[Any]) -> _Result:
            def execute(statement: str, values: Sequence[object]) -> list[Any]:
                cursor = connection.execute(_in_postgres(statement), values)
                return cursor.fetchall() if cursor.description else []

            # A commit that waits for the disk makes earlier ones durable, too.
            connection.execute(f"BEGIN; SET LOCAL synchronous_commit = {'on' if durable else 'off'}")
            try:
                if not self._created:
                    execute("SELECT pg_advisory_xact_lock(?)", (_CREATION_LOCK,))
                    for statement in TABLES.values():
                        execute(statement.replace("TABLE", "TABLE IF NOT EXISTS", 1), ())
                found = work(execute)
                connection.execute("COMMIT")
            except BaseException:
                if not connection.broken:
                    connection.execute("ROLLBACK")
                raise
            return found

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
        # Requests first and in a fixed order, as `put` locks them; and no sample of a request that is not
        # locked, such as one that was just stored.
        lock = "SELECT key FROM gotlang_requests WHERE key = ANY(%s) ORDER BY key FOR UPDATE"
        locked = [key for (key,) in connection.execute(lock, [keys]).fetchall()]
        samples = connection.execute("DELETE FROM gotlang_answers WHERE key = ANY(%s)", [locked])
        connection.execute("DELETE FROM gotlang_requests WHERE key = ANY(%s)", [locked])
        return samples.rowcount
