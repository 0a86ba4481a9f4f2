"""The contract of caches. Every store passes it; a new one joins by a line in `new_store`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.caches import (
    MemoryStore,
    NamedStore,
    a_request,
    an_answer,
    emptied,
    no_postgres,
    postgres_schema,
    requests,
    stored_answers,
)

from gotlang.cache.base import StoredSample
from gotlang.errors import CacheError

Store = MemoryStore | NamedStore

shared_fixtures = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
with_postgres = pytest.mark.skipif(bool(no_postgres), reason=no_postgres)


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=with_postgres)])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Makes empty stores; each `open()` of a store is one more cache on the same entries."""
    numbers = count()
    if request.param == "memory":
        yield MemoryStore
    elif request.param == "sqlite":
        yield lambda: NamedStore(tmp_path / f"{next(numbers)}.sqlite")
    else:
        with postgres_schema() as address:
            yield lambda: emptied(NamedStore(address))


@pytest.fixture
def store(new_store: Callable[[], Store]) -> Iterator[Store]:
    store = new_store()
    yield store
    store.close()


def test_an_empty_cache_knows_nothing(store: Store) -> None:
    cache, key = store.open(), a_request().key()
    assert cache.get(key, [0, 1]) == {}
    assert cache.get(key) == {}
    assert cache.get(key, []) == {}
    assert cache.request(key) is None
    assert list(cache.entries()) == []
    assert cache.remove([key]) == 0


def test_get_gives_the_draws_asked_for_and_nothing_else(store: Store) -> None:
    cache, request = store.open(), a_request()
    answers = {draw: an_answer(str(draw)) for draw in (0, 1, 2, 10, 11)}
    cache.put(request.key(), request, answers)
    assert cache.get(request.key(), range(3)) == {0: answers[0], 1: answers[1], 2: answers[2]}
    assert cache.get(request.key(), iter([11, 7])) == {11: answers[11]}
    assert cache.get(request.key()) == answers


def test_draws_are_taken_as_a_prefix_by_whoever_wants_more(store: Store) -> None:
    cache, request = store.open(), a_request()
    first = {draw: an_answer(str(draw)) for draw in range(5)}
    more = {draw: an_answer(str(draw)) for draw in range(5, 10)}
    cache.put(request.key(), request, first)
    cache.put(request.key(), request, more)
    assert cache.get(request.key(), range(10)) == first | more


def test_requests_are_kept_apart(store: Store) -> None:
    cache = store.open()
    for number in range(3):
        request = a_request(number)
        cache.put(request.key(), request, {0: an_answer(str(number))})
    assert [cache.get(a_request(number).key(), [0])[0].completion.text for number in range(3)] == [
        "0",
        "1",
        "2",
    ]
    assert cache.get(a_request(3).key(), [0]) == {}


def test_the_last_writer_wins(store: Store) -> None:
    one, other, request = store.open(), store.open(), a_request()
    one.put(request.key(), request, {0: an_answer("old"), 1: an_answer("kept")})
    other.put(request.key(), request, {0: an_answer("new")})
    assert {draw: stored.completion.text for draw, stored in one.get(request.key()).items()} == {
        0: "new",
        1: "kept",
    }


def test_what_put_returned_from_is_there_for_everybody(store: Store) -> None:
    reader, writer, request = store.open(), store.open(), a_request()
    for draw in range(3):
        assert reader.get(request.key(), [draw]) == {}
        writer.put(request.key(), request, {draw: an_answer()})
        assert reader.get(request.key(), [draw]) == {draw: an_answer()}
    writer.remove([request.key()])
    assert reader.get(request.key()) == {}


def test_what_was_put_outlives_the_cache(store: Store) -> None:
    cache, request = store.open(), a_request()
    cache.put(request.key(), request, {0: an_answer()})
    cache.flush()
    cache.close()
    cache.close()
    assert store.open().get(request.key(), [0]) == {0: an_answer()}


def test_a_key_says_what_it_stands_for(store: Store) -> None:
    cache, request = store.open(), a_request(prompt="merge")
    cache.put(request.key(), request, {0: an_answer()})
    assert cache.request(request.key()) == {**request.identity(), "prompt": "merge"}


def test_entries_come_in_the_order_of_first_storing(store: Store) -> None:
    cache = store.open()
    for number, created in ((2, 30.0), (0, 10.0), (1, 20.0)):
        request = a_request(number, model=f"model {number}", prompt=f"prompt {number}")
        cache.put(request.key(), request, {0: an_answer(created=created)})
    again = a_request(2, model="model 2", prompt="prompt 2")
    cache.put(again.key(), again, {0: an_answer("over"), 1: an_answer(created=5.0)})
    two, zero, one = cache.entries()
    assert (two.key, two.samples, two.model, two.prompt, two.created) == (
        again.key(), 2, "model 2", "prompt 2", 1000.0,
    )  # fmt: skip
    assert (zero.model, zero.samples, zero.created) == ("model 0", 1, 10.0)
    assert (one.model, one.samples, one.created) == ("model 1", 1, 20.0)
    assert two.bytes > zero.bytes > len(str(a_request(0).identity()["messages"]))


def test_removing_forgets_requests_with_all_their_draws(store: Store) -> None:
    cache = store.open()
    keys = []
    for number in range(3):
        request = a_request(number)
        keys.append(request.key())
        cache.put(request.key(), request, {draw: an_answer() for draw in range(4)})
    assert cache.remove(iter([keys[0], keys[2], a_request(9).key()])) == 8
    assert [entry.key for entry in cache.entries()] == [keys[1]]
    assert cache.get(keys[0]) == {}
    assert cache.request(keys[0]) is None
    assert len(cache.get(keys[1])) == 4


def test_entries_may_be_removed_while_they_are_listed(store: Store) -> None:
    cache = store.open()
    for number in range(5):
        request = a_request(number)
        cache.put(request.key(), request, {0: an_answer()})
    assert sum(cache.remove([entry.key]) for entry in cache.entries()) == 5
    assert list(cache.entries()) == []


def test_tasks_get_and_put_at_once_what_each_asks_for(store: Store) -> None:
    cache, other = store.open(), store.open()

    async def one(number: int) -> None:
        request = a_request(number % 150)
        key, answers = request.key(), {draw: an_answer(f"{number} {draw}") for draw in (number, number + 1)}
        assert number not in await cache.aget(key, [number])
        await cache.aput(key, request, answers)
        await cache.aput(key, request, {})
        assert other.get(key, [number]) == {number: answers[number]}
        assert await cache.aget(key, [number + 1, number, 999]) == answers

    async def all_of_them() -> None:
        await asyncio.gather(*(one(3 * number) for number in range(300)))
        with pytest.raises(ValueError, match="not a request key"):
            await cache.aput("a", a_request(), {0: an_answer()})

    asyncio.run(all_of_them())
    asyncio.run(cache.aget(a_request().key(), [0]))  # on another loop
    assert sum(entry.samples for entry in other.entries()) == 600


def test_what_tasks_began_to_put_is_stored_though_they_were_cancelled(store: Store) -> None:
    cache, request = store.open(), a_request()

    async def main() -> None:
        puts = [
            asyncio.create_task(cache.aput(request.key(), request, {draw: an_answer()})) for draw in range(9)
        ]
        await asyncio.sleep(0)
        for put in puts:
            put.cancel()
        await asyncio.gather(*puts, return_exceptions=True)

    asyncio.run(main())
    cache.close()
    assert len(store.open().get(request.key())) == 9


def test_thousands_of_draws_and_of_requests(store: Store) -> None:
    cache, request = store.open(), a_request()
    answers = {draw: an_answer(str(draw)) for draw in range(1200)}
    cache.put(request.key(), request, answers)
    assert cache.get(request.key(), range(2000)) == answers
    assert cache.get(request.key()) == answers
    for number in range(1, 1200):
        other = a_request(number)
        cache.put(other.key(), other, {0: an_answer()})
    keys = [entry.key for entry in cache.entries()]
    assert keys == [a_request(number).key() for number in range(1200)]
    assert cache.remove(keys) == 1200 + 1199


def test_nothing_is_stored_without_an_answer(store: Store) -> None:
    cache, request = store.open(), a_request()
    cache.put(request.key(), request, {})
    assert list(cache.entries()) == []
    assert cache.request(request.key()) is None


@pytest.mark.parametrize("key", ["", "sort", "a" * 63, "A" * 64, "a" * 64 + ":0", "a" * 64 + "\n"])
def test_a_key_that_is_none_is_the_callers_mistake(store: Store, key: str) -> None:
    cache = store.open()
    with pytest.raises(ValueError, match="not a request key"):
        cache.put(key, a_request(), {0: an_answer()})
    assert list(cache.entries()) == []


def test_a_closed_file_says_so(tmp_path: Path) -> None:
    cache = NamedStore(tmp_path / "closed.sqlite").open()
    cache.close()
    with pytest.raises(CacheError, match=r"closed\.sqlite is closed"):
        cache.get(a_request().key(), [0])
    with pytest.raises(CacheError, match=r"closed\.sqlite is closed"):
        cache.put(a_request().key(), a_request(), {0: an_answer()})


@shared_fixtures
@given(request=requests(), stored=stored_answers())
def test_law_every_field_comes_back_as_it_went_in(new_store: Callable[[], Store], request, stored) -> None:
    store = new_store()
    cache = store.open()
    cache.put(request.key(), request, {0: stored})
    cache.close()
    cache = store.open()
    assert cache.get(request.key(), [0]) == {0: stored}
    assert cache.request(request.key()) == {**request.identity(), "prompt": request.prompt}
    (entry,) = cache.entries()
    assert (entry.key, entry.model, entry.prompt) == (request.key(), request.model, request.prompt)
    store.close()


numbers = st.integers(0, 3)
draw_sets = st.frozensets(st.integers(0, 12), max_size=4)
operations = st.lists(
    st.tuples(st.just("put"), numbers, draw_sets, st.integers())
    | st.tuples(st.just("get"), numbers, draw_sets)
    | st.tuples(st.just("remove"), st.frozensets(numbers))
    | st.tuples(st.sampled_from(["flush", "reopen", "entries", "other"])),
    max_size=25,
)


@shared_fixtures
@given(operations)
def test_law_any_sequence_equals_a_dictionary(new_store: Callable[[], Store], sequence) -> None:
    store = new_store()
    cache, other = store.open(), store.open()
    model: dict[int, dict[int, StoredSample]] = {}
    for operation, *arguments in sequence:
        if operation == "put":
            number, draws, value = arguments
            request = a_request(number)
            new = {draw: an_answer(f"{value} {draw}") for draw in draws}
            cache.put(request.key(), request, new)
            if new:
                model.setdefault(number, {}).update(new)
        elif operation == "get":
            number, draws = arguments
            known = model.get(number, {})
            expected = {draw: known[draw] for draw in draws if draw in known}
            assert cache.get(a_request(number).key(), draws) == expected
            assert cache.get(a_request(number).key()) == known
        elif operation == "remove":
            gone = sum(len(model.pop(number, {})) for number in arguments[0])
            assert cache.remove([a_request(number).key() for number in arguments[0]]) == gone
        elif operation == "entries":
            entries = [(entry.key, entry.samples) for entry in cache.entries()]
            assert entries == [(a_request(number).key(), len(known)) for number, known in model.items()]
        elif operation == "flush":
            cache.flush()
        elif operation == "reopen":
            cache.close()
            cache = store.open()
        else:
            cache, other = other, cache
    store.close()
