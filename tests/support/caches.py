"""Requests, answers and stores for the tests of caches."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import strategies as st
from support import postgres

from gotlang.cache import open_cache
from gotlang.cache.base import Cache, StoredSample
from gotlang.cache.memory import MemoryCache
from gotlang.models.base import Completion, DecodingSettings, Message, Request, Usage


def a_request(number: int = 0, *, model: str = "simulator", prompt: str = "sort") -> Request:
    """Requests with different numbers have different keys."""
    messages = (Message("system", "Answer with a list."), Message("user", f"Sort list {number}."))
    return Request(model, messages, DecodingSettings(temperature=0.7, stop=("\n",)), sample=3, prompt=prompt)


def an_answer(
    text: str = "[1, 2]", *, created: float = 1000.0, position: int = 0, batch: int = 1
) -> StoredSample:
    """An answer with something in every field."""
    answer = Completion(text, "stop", -0.5, (("[", -0.25), ("1", -0.25)), output_tokens=6)
    return StoredSample(answer, Usage(40, 6, 8), 1.25, batch, position, created)


class MemoryStore:
    """A store whose caches are all the same one."""

    def __init__(self) -> None:
        self._cache = MemoryCache()

    def open(self) -> Cache:
        return self._cache

    def close(self) -> None:
        """Close every cache that was opened."""
        self._cache.close()


class NamedStore:
    """A store that `open_cache` opens by name: a file, or a database on a server."""

    def __init__(self, where: str | Path) -> None:
        self._where = where
        self._opened: list[Cache] = []

    def open(self) -> Cache:
        cache = open_cache(self._where)
        self._opened.append(cache)
        return cache

    def close(self) -> None:
        """Close every cache that was opened."""
        for cache in self._opened:
            cache.close()


no_postgres = postgres.why_not()
"""Why there is no PostgreSQL server, or nothing."""


@contextmanager
def postgres_schema() -> Iterator[str]:
    """The address of a schema of its own in the test database, which goes when the test ends."""
    psycopg = pytest.importorskip("psycopg")
    name, server = f"test_{uuid.uuid4().hex}", postgres.address()

    def run(command: str) -> None:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(command)

    run(f"CREATE SCHEMA {name}")
    try:
        yield f"{server}{'&' if '?' in server else '?'}options=-c%20search_path%3D{name}"
    finally:
        run(f"DROP SCHEMA {name} CASCADE")


def emptied(store: NamedStore) -> NamedStore:
    """A store without its entries."""
    cache = store.open()
    cache.remove([entry.key for entry in cache.entries()])
    store.close()
    return store


texts = st.text(max_size=30) | st.text('a\ud800\0"\\é𝄞\n', max_size=5)
"""Any text, with lone surrogates and null characters: models have written both."""
counts = st.integers(0, 2**63 - 1)
seconds = st.floats(0, 1e12)
logprobs = st.floats(max_value=0.0, allow_nan=False)


@st.composite
def stored_answers(draw: st.DrawFn) -> StoredSample:
    """Answers with any value that their types allow."""
    answer = Completion(
        draw(texts),
        draw(texts),
        draw(st.none() | logprobs),
        tuple(draw(st.lists(st.tuples(texts, logprobs), max_size=3))),
        draw(counts),
    )
    batch = draw(st.integers(1, 100))
    usage = Usage(draw(counts), draw(counts), draw(counts))
    return StoredSample(answer, usage, draw(seconds), batch, draw(st.integers(0, batch - 1)), draw(seconds))


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Requests with any value that their types allow."""
    number = st.none() | st.floats(-1e9, 1e9) | st.integers(0, 2)
    settings = DecodingSettings(
        draw(number),
        draw(number),
        draw(counts),
        tuple(draw(st.lists(texts, max_size=2))),
        draw(st.booleans()),
        draw(st.none() | st.integers(-5, 2**62)),
    )
    messages = draw(st.lists(st.builds(Message, texts, texts), max_size=3))
    return Request(
        draw(texts),
        tuple(messages),
        settings,
        draw(st.integers(-5, 5)),
        draw(texts),
        endpoint=draw(st.just("") | texts),
    )


def contents(path: Path) -> tuple[int, int]:
    """How many requests and answers are in the file of a cache, which must be whole."""
    if not path.exists():
        return 0, 0
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'answers'").fetchone():
            return 0, 0  # killed before there was a table
        (answers,) = connection.execute("SELECT count(*) FROM answers").fetchone()
        (requests,) = connection.execute("SELECT count(*) FROM requests").fetchone()
        return requests, answers
    finally:
        connection.close()
