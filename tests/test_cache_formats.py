"""Caches and exports that gotc 0.1.0 wrote are read as they are."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from gotlang.cache import open_cache
from gotlang.cache.base import Cache, StoredSample
from gotlang.cache.cassette import import_lines
from gotlang.cache.codec import RequestRecord, decode_sample, encode_request, encode_sample
from gotlang.cache.memory import MemoryCache
from gotlang.models.base import (
    Completion,
    DecodingSettings,
    Media,
    Message,
    Request,
    ToolCall,
    ToolSpec,
    Usage,
)
from gotlang.records import from_json

KEY = "3b8a2e206862bbfc4507b9650304ba72b5739b117a61704b1e2971318a69ee6a"
REQUEST = (
    r'{"model":"small","endpoint":"http://localhost:8000/v1","messages":[["user","Sort: 2, 1"]],'
    r'"settings":{"temperature":0.7,"top_p":null,"max_tokens":2048,"stop":["\n"],"logprobs":false,"seed":null},'
    r'"sample":3,"prompt":"sort"}'
)
SAMPLE = (
    r'{"text":"[1, 2]\ud800","finish_reason":"stop","logprob":"-inf","tokens":[["[",-0.25]],'
    r'"output_tokens":6,'
    r'"usage":{"input_tokens":40,"output_tokens":6,"cached_input_tokens":8},"latency_s":1.25,"batch":2,'
    r'"position":1,"created":1000.0}'
)


def sqlite_file(folder: Path) -> Cache:
    with closing(sqlite3.connect(folder / "old.sqlite")) as connection, connection:
        for table in ("about", "answers", "requests"):
            connection.execute(
                f"CREATE TABLE {table} (key TEXT PRIMARY KEY, value BLOB CHECK (typeof(value) = 'text'))"
            )
        for table, key, value in (
            ("about", "format", '{"name":"gotlang cache","version":1}'),
            ("answers", f"{KEY}:2", SAMPLE),
            ("requests", KEY, REQUEST),
        ):
            connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (key, value))
    return open_cache(folder / "old.sqlite")


def export(folder: Path) -> Cache:
    lines = [
        '{"format":"gotlang cache export","version":1}',
        f'{{"key":"{KEY}","request":{REQUEST},"draws":{{"2":{SAMPLE}}}}}',
    ]
    cache = MemoryCache()
    import_lines(cache, lines)
    return cache


@pytest.mark.parametrize("written", [sqlite_file, export])
def test_what_0_1_0_wrote_is_read(tmp_path: Path, written: object) -> None:
    settings = DecodingSettings(0.7, stop=("\n",))
    messages = (Message("user", "Sort: 2, 1"),)
    request = Request(
        "small", messages, settings, sample=3, prompt="sort", endpoint="http://localhost:8000/v1"
    )
    completion = Completion("[1, 2]\ud800", "stop", float("-inf"), (("[", -0.25),), 6)
    with closing(written(tmp_path)) as cache:  # type: ignore[operator]
        assert request.key() == KEY
        assert cache.get(KEY) == {2: StoredSample(completion, Usage(40, 6, 8), 1.25, 2, 1, 1000.0)}
        assert cache.request(KEY) == {**request.identity(), "prompt": "sort"}


_TEXT = st.text(st.characters(codec=None) | st.sampled_from('"\\[],:{}\n\ud800'), max_size=20)
_NUMBER = st.sampled_from([None, 0, 0.0, 1, 1.0, 0.7])
_SETTINGS = st.builds(
    DecodingSettings,
    _NUMBER,
    _NUMBER,
    stop=st.sampled_from([(), ("\n",), ('"messages":[',)]),
    seed=st.sampled_from([None, 0, 1]),
    response_format=st.none() | _TEXT,
    effort=st.sampled_from([None, "low"]),
    thinking_budget=st.sampled_from([None, 0, 100]),
    regex=st.none() | _TEXT,
    grammar=st.none() | _TEXT,
    top_logprobs=st.sampled_from([None, 5]),
)
_MEDIA = st.builds(
    Media, st.sampled_from(["image", "file"]), st.just("image/png"), st.sampled_from(["0a", "0b"]), _TEXT
)
_MESSAGES = st.builds(
    Message,
    st.sampled_from(["system", "user"]),
    _TEXT,
    st.just(()) | st.tuples(_MEDIA),
    st.just(()) | st.tuples(st.builds(ToolCall, _TEXT, _TEXT, _TEXT)),
    st.sampled_from(["", "call 1"]),
)
_REQUESTS = st.builds(
    Request,
    _TEXT,
    st.lists(_MESSAGES, max_size=3).map(tuple),
    _SETTINGS,
    st.integers(0, 2),
    endpoint=st.sampled_from(["", 'x"messages":[]', "http://localhost:8000/v1"]),
    tools=st.just(()) | st.tuples(st.builds(ToolSpec, _TEXT, _TEXT, _TEXT)),
)


@given(_REQUESTS)
def test_a_key_is_the_hash_of_the_identity(request: Request) -> None:
    text = json.dumps(request.identity(), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert request.key() == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@given(_REQUESTS)
def test_what_is_stored_of_a_request_has_its_key(request: Request) -> None:
    read = from_json(encode_request(request), RequestRecord).request()
    assert (read.key(), read.messages, read.tools) == (request.key(), request.messages, request.tools)


def test_the_path_of_a_picture_is_not_part_of_what_is_asked() -> None:
    here, there, other = (
        Request("m", (Message("user", "\ufffc", (Media("image", "image/png", digest, path),)),))
        for digest, path in (("0a", "a.png"), ("0a", "b.png"), ("0b", "a.png"))
    )
    assert here == there and here.key() == there.key()
    assert here != other and here.key() != other.key()


def test_what_is_stored_of_an_answer_says_more_only_where_there_is_more() -> None:
    completion = Completion("[1, 2]\ud800", "stop", float("-inf"), (("[", -0.25),), 6)
    plain = StoredSample(completion, Usage(40, 6, 8), 1.25, 2, 1, 1000.0)
    assert encode_sample(plain) == SAMPLE
    more = structs.replace(
        plain,
        completion=structs.replace(
            completion,
            reasoning="First, ...",
            calls=(ToolCall("1", "add", '{"a": 1}'),),
            alternatives=((("[", -0.25), ("(", float("-inf"))),),
        ),
        usage=Usage(40, 6, 8, 4, 2),
    )
    assert decode_sample(encode_sample(more)) == more
