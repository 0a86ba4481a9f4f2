"""Statistics of a cache, pruning, export and import."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.caches import a_request, an_answer, requests, stored_answers

from gotlang.cache import open_cache
from gotlang.cache.base import Cache
from gotlang.cache.cassette import Imported, export_lines, import_lines
from gotlang.cache.maintenance import Totals, prune, stats
from gotlang.cache.memory import MemoryCache
from gotlang.errors import CacheError


@pytest.fixture(params=["memory", "sqlite"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cache]:
    cache = MemoryCache() if request.param == "memory" else open_cache(tmp_path / "cache.sqlite")
    yield cache
    cache.close()


def put(
    cache: Cache, number: int, *, created: float = 1000.0, samples: int = 1, model: str = "simulator"
) -> str:
    request = a_request(number, model=model)
    answers = {
        draw: an_answer(f"{draw}", created=created + draw, position=draw, batch=samples)
        for draw in range(samples)
    }
    cache.put(request.key(), request, answers)
    return request.key()


def keys(cache: Cache) -> list[str]:
    return [entry.key for entry in cache.entries()]


def test_sums_in_all_and_by_model(cache: Cache) -> None:
    assert stats(cache) == (Totals(), {})
    put(cache, 0, samples=5, model="large")
    put(cache, 1, created=500.0, model="small")
    put(cache, 2, created=600.0, model="small")
    total, models = stats(cache)
    size = sum(entry.bytes for entry in cache.entries())
    # The five draws came with one request of 40 tokens in and 6 out.
    assert total == Totals(3, 7, size, 120, 18, oldest=500.0, newest=1004.0)
    assert list(models) == ["large", "small"]
    small = models["small"]
    assert (small.requests, small.samples, small.input_tokens, small.oldest, small.newest) == (
        2,
        2,
        80,
        500.0,
        600.0,
    )


def test_pruning_by_age_looks_at_the_newest_draw(cache: Cache) -> None:
    old, renewed, new = (put(cache, number, created=number * 100.0) for number in range(3))
    cache.put(renewed, a_request(1), {7: an_answer(created=250.0)})
    assert prune(cache, older_than_s=1000.0, now=1000.0).requests == 0
    pruned = prune(cache, older_than_s=60.0, now=300.0)
    assert (pruned.requests, pruned.samples) == (2, 2)
    assert keys(cache) == [renewed]
    assert cache.get(old) == cache.get(new) == {}


def test_pruning_by_size_starts_with_the_oldest(cache: Cache) -> None:
    made = [put(cache, number, created=1000.0 - number, samples=2) for number in range(4)]
    sizes = [entry.bytes for entry in cache.entries()]
    assert prune(cache, keep_bytes=sum(sizes)).requests == 0
    pruned = prune(cache, keep_bytes=sizes[0] + sizes[1])
    assert (pruned.requests, pruned.samples, pruned.bytes) == (2, 4, sizes[2] + sizes[3])
    assert keys(cache) == made[:2]
    assert prune(cache, keep_bytes=sizes[1] + sizes[0] - 1).requests == 1
    assert prune(cache, keep_bytes=0).requests == 1
    assert keys(cache) == []


def test_pruning_without_a_limit_takes_nothing(cache: Cache) -> None:
    put(cache, 0)
    assert prune(cache).requests == 0
    assert len(keys(cache)) == 1


def test_pruning_by_age_asks_the_clock(cache: Cache) -> None:
    put(cache, 0, created=1000.0)
    key = put(cache, 1, created=4e9)
    assert prune(cache, older_than_s=86_400.0).requests == 1
    assert keys(cache) == [key]


def test_the_text_is_one_request_a_line_and_does_not_depend_on_the_order_of_storing(cache: Cache) -> None:
    other = MemoryCache()
    for number in range(5):
        put(cache, number, samples=12)
        put(other, 4 - number, samples=12)
    lines = list(export_lines(cache))
    assert lines == list(export_lines(other))
    header, *rest = map(json.loads, lines)
    assert header == {"format": "gotlang cache export", "version": 2}
    assert {line["key"] for line in rest} == set(keys(cache))
    assert rest[0]["request"]["messages"][0] == ["system", "Answer with a list."]
    assert list(rest[0]["samples"]) == [str(draw) for draw in range(12)]
    assert all("\n" not in line for line in lines)


def test_what_was_exported_comes_in_again(cache: Cache) -> None:
    put(cache, 0, samples=3)
    put(cache, 1)
    lines = [line + "\n" for line in export_lines(cache)]
    other = MemoryCache()
    assert import_lines(other, lines) == Imported(requests=2, added=4, skipped=0)
    assert sorted(keys(other)) == sorted(keys(cache))
    assert all(
        other.get(key) == cache.get(key) and other.request(key) == cache.request(key) for key in keys(cache)
    )
    # Two exports in one file, with an empty line between them, are one import.
    assert import_lines(cache, [*lines, "\n", *lines]) == Imported(requests=4, added=0, skipped=8)


def test_an_import_changes_no_answer_that_is_there(cache: Cache) -> None:
    request = a_request()
    cache.put(request.key(), request, {0: an_answer("ours")})
    other = MemoryCache()
    other.put(request.key(), request, {0: an_answer("theirs"), 1: an_answer("new")})
    assert import_lines(cache, export_lines(other)) == Imported(requests=1, added=1, skipped=1)
    assert {draw: one.completion.text for draw, one in cache.get(request.key()).items()} == {
        0: "ours",
        1: "new",
    }


def test_an_export_of_version_1_is_read(cache: Cache) -> None:
    put(cache, 0, samples=3)
    old = [
        line.replace('"version":2', '"version":1').replace('"samples"', '"draws"')
        for line in export_lines(cache)
    ]
    other = MemoryCache()
    assert import_lines(other, old) == Imported(requests=1, added=3)
    assert list(export_lines(other)) == list(export_lines(cache))


def exported() -> tuple[str, str]:
    cache = MemoryCache()
    put(cache, 0)
    header, line = export_lines(cache)
    return header, line


HEADER, LINE = exported()
BROKEN = {
    "{": "not JSON",
    "[" * 100_000: "Expected `object`, got `array`",
    "3": "Expected `object`, got `int`",
    "[]": "Expected `object`, got `array`",
    '{"key": 1}': "Expected `str`, got `int` - at `$.key`",
    '{"key": "1"}': "Object missing required field `request`",
    LINE[: len(LINE) // 2]: "not JSON",
    LINE.replace("Sort list 0.", "Sort list 1."): "`key` is not the key of `request`",
    LINE.replace('"max_tokens":2048', '"max_tokens":"2048"'): "Expected `int`, got `str` - at `$.request.set",
    LINE.replace('"stop":["\\n"]', '"stop":"no"'): "Expected `array`, got `str` - at `$.request.settings.sto",
    LINE.replace('"temperature":0.7', '"temperature":"hot"'): "Expected `int | float | null`, got `str` - at",
    LINE.replace('"logprobs":false', '"logprobs":0'): "Expected `bool`, got `int` - at `$.request.settings.l",
    LINE.replace('"sample":3', '"sample":null'): "Expected `int`, got `null` - at `$.request.sample`",
    LINE.replace('"prompt":"sort"', '"prompt":["sort"]'): "Expected `str`, got `array` - at `$.request.promp",
    LINE.replace('["system",', '["system","x",'): "Expected `object`, got `str` - at `$.request.messages[0]",
    LINE.replace('"settings"', '"setting"'): "Object missing required field `settings` - at `$.request`",
    LINE.replace('{"0":', '{"-1":'): "Expected `int` >= 0 - at `key` in `$.samples`",
    LINE.replace('{"0":', '{"²":'): "Expected `int`, got `str` - at `key` in `$.samples`",
    LINE.replace('{"0":', '{"00":'): "Expected `int`, got `str` - at `key` in `$.samples`",
    LINE[: LINE.index('"samples"')] + '"samples":{}}': "no `samples`",
    LINE[: LINE.index('"samples"')] + '"samples":{"0":7}}': "Expected `object`, got `int` - at `$.samples[..",
    LINE.replace('"finish_reason":"stop"', '"finish_reason":null'): "Expected `str`, got `null` - at `$.samp",
    LINE.replace('"latency_s":1.25', '"latency_s":-1'): "Expected `float` >= 0.0 - at `$.samples[...].latenc",
    LINE.replace('"batch":1', '"batch":0'): "Expected `position` 0 below `batch` 0 - at `$.samples[...]`",
    LINE.replace('"logprob":-0.5', '"logprob":"\\u001b"'): "Invalid enum value '\\x1b' - at `$.samples[...].",
    LINE.replace('"tokens":[', '"tokens":[3,'): "Expected `array`, got `int` - at `$.samples[...].tokens[0]`",
    LINE.replace('"tokens":[[', '"tokens":"x","more":[['): "Expected `array`, got `str` - at `$.samples[...]",
    '{"format": "gotlang cache export", "version": 3}': "format version 3; this gotc reads 1 and 2",
}  # fmt: skip


@pytest.mark.parametrize("line", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_line_is_named_and_nothing_of_it_is_stored(cache: Cache, line: str) -> None:
    good = MemoryCache()
    key = put(good, 7)
    before = list(export_lines(good))
    with pytest.raises(CacheError) as caught:
        import_lines(cache, [*before, "\n", line, LINE])
    assert caught.value.message.startswith(f"the import, line 4: {BROKEN[line]}")
    assert "the 1 requests before it are stored" in (caught.value.help or "")
    assert keys(cache) == [key]


@pytest.mark.parametrize("lines", [[LINE], ["\n", LINE], ["key,sample\n"], ["\x80"]])
def test_what_does_not_begin_as_an_export_is_refused(cache: Cache, lines: list[str]) -> None:
    with pytest.raises(CacheError, match=r"the import, line .: not"):
        import_lines(cache, lines)
    assert keys(cache) == []


@pytest.mark.parametrize("lines", [[], ["\n"]])
def test_nothing_is_not_an_export(cache: Cache, lines: list[str]) -> None:
    with pytest.raises(CacheError, match="the import is empty"):
        import_lines(cache, lines)


@given(
    st.lists(
        st.tuples(requests(), st.dictionaries(st.integers(0, 10**6), stored_answers(), max_size=4)),
        max_size=4,
    )
)
def test_law_export_and_import_give_an_equal_cache(contents) -> None:
    cache, other = MemoryCache(), MemoryCache()
    for request, stored in contents:
        cache.put(request.key(), request, stored)
    lines = list(export_lines(cache))
    text = "".join(line + "\n" for line in lines).encode("utf-8").decode("utf-8")
    import_lines(other, text.split("\n"))
    assert list(export_lines(other)) == lines
    assert {key: cache.get(key) for key in keys(cache)} == {key: other.get(key) for key in keys(other)}
