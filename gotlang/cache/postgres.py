"""The cache that many machines share: three tables in a PostgreSQL database, through psycopg 3 (an extra).

The tables are `gotlang_answers`, `gotlang_requests` and `gotlang_about`, in the first schema of the
connection's search path, so that one database can hold several caches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, final

from gotlang.cache.base import Entry, StoredSample
from gotlang.cache.codec import (
    Damaged,
    check_key,
    decode_request,
    decode_sample,
    encode_request,
    encode_sample,
    from_json,
    is_key,
    to_json,
)
from gotlang.cache.postgres_server import Server
from gotlang.errors import CacheError
from gotlang.models.base import Request

if TYPE_CHECKING:
    from psycopg import Connection

FORMAT: Final = "gotlang cache"
VERSION: Final = 1
"""Of the tables. Another one is refused."""

_AT_ONCE = 500
"""Keys that one statement lists or removes."""

_MAKING_TABLES = 7310870969
"""The number of the lock for making the tables, which two processes may do at once."""

_TABLES = """
    CREATE TABLE gotlang_requests (
        id bigint GENERATED ALWAYS AS IDENTITY UNIQUE, key text PRIMARY KEY, value text NOT NULL
    );
    CREATE TABLE gotlang_answers (
        key text, draw bigint, value text NOT NULL, created double precision NOT NULL, PRIMARY KEY (key, draw)
    );
    CREATE TABLE gotlang_about (key text PRIMARY KEY, value text NOT NULL);
"""
_GET = """
    SELECT draw, value FROM gotlang_answers
    WHERE key = %(key)s AND (%(draws)s::bigint[] IS NULL OR draw = ANY(%(draws)s)) ORDER BY draw
"""
_PUT_REQUEST = """
    INSERT INTO gotlang_requests AS old (key, value) VALUES (%s, %s)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE old.value <> excluded.value
"""
_PUT_ANSWER = """
    INSERT INTO gotlang_answers (key, draw, value, created) VALUES (%s, %s, %s, %s)
    ON CONFLICT (key, draw) DO UPDATE SET value = excluded.value, created = excluded.created
"""
_ENTRIES = """
    SELECT r.id, r.key, r.value, count(a.draw),
           octet_length(r.value) + sum(octet_length(a.value)), max(a.created)
    FROM (SELECT * FROM gotlang_requests WHERE id > %s ORDER BY id LIMIT %s) AS r
    LEFT JOIN gotlang_answers AS a USING (key)
    GROUP BY r.id, r.key, r.value ORDER BY r.id
"""


@final
class PostgresCache:
    """The cache in the database at `address`: `postgresql://user:password@host:port/name`, as libpq reads it.

    The tables are made where they are missing. `readonly` opens existing ones and refuses `put` and `remove`.
    A connection that breaks is made anew. May be used from several threads, not across a fork. Raises
    CacheError where psycopg is not installed, the server does not answer or refuses, or the tables are not a
    cache's; no message shows the password.
    """

    def __init__(self, address: str, *, readonly: bool = False) -> None:
        self.readonly = readonly
        self._server = Server(address)
        try:
            if not readonly:
                self._server.call("open", _make_tables)
            self._check_format()
        except BaseException:
            self._server.close()
            raise

    def get(self, key: str, draws: Iterable[int] | None = None) -> dict[int, StoredSample]:
        """The stored answers of a request among `draws` (None: all), by draw index."""
        wanted = None if draws is None else list(draws)
        found = {}
        for draw, value in self._server.rows(_GET, {"key": key, "draws": wanted}):
            try:
                found[draw] = decode_sample(value)
            except Damaged:
                continue  # as if it were not there: the answer is asked for again and written over it
        return found

    def put(self, key: str, request: Request, stored: Mapping[int, StoredSample]) -> None:
        """Store answers of a request by draw index, all or none of them. Raises ValueError for a key that
        is not a request key."""
        check_key(key)
        self._check_writable()
        if stored:
            named = (key, encode_request(request))
            # In one order for everybody, so that two writers of the same rows do not wait for each other.
            answers = [
                (key, draw, encode_sample(stored[draw]), stored[draw].created) for draw in sorted(stored)
            ]
            self._server.call("write", partial(_put, named=named, answers=answers))

    def request(self, key: str) -> dict[str, Any] | None:
        """What the key stands for (`Request.identity()` and the prompt's name), or None."""
        rows = self._server.rows("SELECT value FROM gotlang_requests WHERE key = %s", [key])
        try:
            return decode_request(rows[0][0]) if rows else None
        except Damaged:
            return None

    def entries(self) -> Iterator[Entry]:
        """Every request with at least one stored draw, in the order of first storing."""
        last = 0
        while rows := self._server.rows(_ENTRIES, [last, _AT_ONCE]):
            for _, key, request, draws, size, created in rows:
                if draws and is_key(key):
                    model, prompt, endpoint = _names(request)
                    when = created if math.isfinite(created) else 0.0
                    yield Entry(key, draws, int(size), model, prompt, when, endpoint)
            last = rows[-1][0]

    def remove(self, keys: Iterable[str]) -> int:
        """Forget these requests with all their draws; how many draws went."""
        self._check_writable()
        remaining, removed = iter(keys), 0
        while some := list(islice(remaining, _AT_ONCE)):
            removed += self._server.call("write", partial(_remove, keys=some))
        return removed

    def flush(self) -> None:
        """Nothing to do: the server has on its disk what `put` returned from. A closed cache is refused."""
        self._server.check_usable()

    def close(self) -> None:
        """Let go of the connection. Closing twice is allowed."""
        self._server.close()

    def _check_format(self) -> None:
        if self._server.rows("SELECT to_regclass('gotlang_about')") == [(None,)]:
            raise CacheError(
                f"there is no cache at {self._server.name}", help="check the address given with --cache"
            )
        rows = self._server.rows("SELECT value FROM gotlang_about WHERE key = 'format'")
        try:
            about = from_json(rows[0][0])
            name, version = about["name"], about["version"]
        except (Damaged, TypeError, KeyError, IndexError):
            name = version = None
        if name != FORMAT:
            raise CacheError(
                f"the tables gotlang_... at {self._server.name} are not a cache's",
                help="name another database with --cache, or another schema in it by "
                "?options=-csearch_path%3DNAME at the end of the address",
            )
        if version != VERSION:
            raise CacheError(
                f"the cache at {self._server.name} has format version {version}, "
                f"and this gotc reads version {VERSION}",
                help="`gotc cache export` of the gotc that wrote it and `gotc cache import` of this one move "
                "its answers; or name another cache with --cache",
            )

    def _check_writable(self) -> None:
        self._server.check_usable()
        if self.readonly:
            raise CacheError(
                f"the cache at {self._server.name} is open for reading only",
                help="name another cache with --cache",
            )


def _make_tables(connection: Connection[Any]) -> None:
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_MAKING_TABLES])
        if connection.execute("SELECT to_regclass('gotlang_about')").fetchall() == [(None,)]:
            connection.execute(_TABLES)
            about = to_json({"name": FORMAT, "version": VERSION})
            connection.execute("INSERT INTO gotlang_about VALUES ('format', %s)", [about])


def _put(
    connection: Connection[Any], *, named: tuple[str, str], answers: Sequence[tuple[object, ...]]
) -> None:
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(_PUT_REQUEST, named)
        cursor.executemany(_PUT_ANSWER, answers)


def _remove(connection: Connection[Any], *, keys: list[str]) -> int:
    with connection.transaction():
        # Requests first and in one order, as `_put` locks them; and no answer of a request that is not
        # locked, such as one that was put a moment ago.
        lock = "SELECT key FROM gotlang_requests WHERE key = ANY(%s) ORDER BY key FOR UPDATE"
        locked = [key for (key,) in connection.execute(lock, [keys]).fetchall()]
        answers = connection.execute("DELETE FROM gotlang_answers WHERE key = ANY(%s)", [locked])
        connection.execute("DELETE FROM gotlang_requests WHERE key = ANY(%s)", [locked])
        removed: int = answers.rowcount
    return removed


def _names(request: str) -> tuple[str, str, str]:
    """Its model, prompt and endpoint."""
    try:
        data = decode_request(request)
    except Damaged:
        return "", "", ""
    return data["model"], data["prompt"], data.get("endpoint", "")
