"""The PostgreSQL cache: what it refuses and shows, broken connections, damage, many processes, kill -9."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest
from support import postgres
from support.caches import a_request, an_answer, no_postgres, postgres_schema
from support.processes import output_of, python

from gotlang.cache import open_cache
from gotlang.cache.base import Cache
from gotlang.cache.codec import encode_sample
from gotlang.errors import CacheError

REQUEST = a_request()
KEY = REQUEST.key()
SET_ABOUT = "UPDATE gotlang_about SET value ="
BROKEN = ["", "{", "[]", encode_sample(an_answer()).replace('"stop"', "3"), "[" * 100_000]

with_postgres = pytest.mark.skipif(bool(no_postgres), reason=no_postgres)


@pytest.fixture
def address() -> Iterator[str]:
    with postgres_schema() as address:
        yield address


def fill(address: str, draws: int = 3) -> None:
    with closing(open_cache(address)) as cache:
        cache.put(KEY, REQUEST, {draw: an_answer(str(draw)) for draw in range(draws)})


def tamper(address: str, statement: str, *arguments: object) -> None:
    import psycopg

    with psycopg.connect(address) as connection:
        connection.execute(statement, arguments)


# Without a server


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(CacheError, match="needs psycopg") as caught:
        open_cache("postgresql://somebody@127.0.0.1/cache")
    assert caught.value.help == "pip install 'gotlang[postgres]'"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (
            "postgresql://me:s3cret@127.0.0.1:1/cache",
            "cannot open the cache at postgresql://127.0.0.1:1/cache: ",
        ),
        ("postgresql://me:s3cret@127.0.0.1/cache?sslmode=s3cret", "invalid sslmode value"),
        ("postgresql://me:s3cret@127.0.0.1:x/cache", "invalid PostgreSQL address of the cache"),
        ("postgresql://me:/s3cret@127.0.0.1/cache", "invalid PostgreSQL address of the cache"),
        ("postgresql://me:@s3cret@127.0.0.1/cache", "invalid PostgreSQL address of the cache"),
        ("postgresql://me:s3cret/x@127.0.0.1/cache", "invalid PostgreSQL address of the cache"),
        (
            "postgresql+psycopg://me:s3cret@127.0.0.1/cache",
            "unsupported cache address postgresql+",
        ),
        ("postgresql://me:s3cret%zz@127.0.0.1/cache", "invalid PostgreSQL address of the cache"),
        ("postgresql://me:s3cret@127.0.0.1/cache?nonsense=s3cret", "invalid PostgreSQL address of the cache"),
    ],
)
def test_an_address_that_leads_nowhere(address: str, message: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(CacheError) as caught:
        open_cache(address)
    assert message in caught.value.message
    assert caught.value.help
    assert "s3cret" not in caught.value.message + caught.value.help
    assert "s3cret" not in "".join(traceback.format_exception_only(caught.value))
    assert caught.value.__cause__ is None  # nor is what psycopg said shown with a traceback
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


# With one


@with_postgres
def test_a_refused_password_is_not_shown() -> None:
    import psycopg

    settings = psycopg.conninfo.conninfo_to_dict(postgres.address())
    place = "{host}:{port}/{dbname}".format(**{"port": 5432, **settings})
    with pytest.raises(CacheError) as caught:
        open_cache(f"postgresql://nobody-like-that:s3cret@{place}")
    assert "cannot open the cache at postgresql://" in caught.value.message
    assert "s3cret" not in caught.value.message


@with_postgres
def test_reading_only(address: str) -> None:
    with pytest.raises(CacheError, match="no tables of the cache at postgresql://"):
        open_cache(address, readonly=True)
    fill(address)
    with closing(open_cache(address, readonly=True)) as reader, closing(open_cache(address)) as writer:
        writer.put(KEY, REQUEST, {9: an_answer("9")})
        assert set(reader.get(KEY)) == {0, 1, 2, 9}
        with pytest.raises(CacheError, match="is read-only"):
            reader.put(KEY, REQUEST, {0: an_answer()})
        with pytest.raises(CacheError, match="is read-only"):
            reader.remove([KEY])


@with_postgres
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            """UPDATE gotlang_about SET value = '{"name": "gotlang cache", "version": 2}'""",
            "has format version 2,",
        ),
        (
            """UPDATE gotlang_about SET value = '{"name": "recipes", "version": 1}'""",
            "belong to another program",
        ),
        ("DELETE FROM gotlang_about", "belong to another program"),
        ("DROP TABLE gotlang_about; CREATE TABLE gotlang_about (x int)", 'column "value" does not exist'),
    ],
)
def test_tables_that_are_not_a_caches(address: str, statement: str, message: str) -> None:
    fill(address)
    tamper(address, statement)
    for readonly in (False, True):
        with pytest.raises(CacheError, match=message):
            open_cache(address, readonly=readonly)


@with_postgres
@pytest.mark.parametrize(
    "value", ["", "{", "[]", encode_sample(an_answer()).replace('"stop"', "3"), "[" * 100_000]
)
def test_a_damaged_answer_is_a_miss_and_mends(address: str, value: str) -> None:
    fill(address)
    tamper(address, "UPDATE gotlang_answers SET value = %s, created = 'Infinity' WHERE draw = 1", value)
    with closing(open_cache(address)) as cache:
        assert set(cache.get(KEY, range(3))) == set(cache.get(KEY)) == {0, 2}
        assert [entry.created for entry in cache.entries()] == [0.0]
        cache.put(KEY, REQUEST, {1: an_answer("again")})
        assert cache.get(KEY, [1]) == {1: an_answer("again")}


@with_postgres
def test_a_damaged_request_still_has_its_answers(address: str) -> None:
    fill(address)
    tamper(address, "UPDATE gotlang_requests SET value = '{'")
    with closing(open_cache(address)) as cache:
        assert cache.request(KEY) is None
        assert [(entry.key, entry.samples, entry.model) for entry in cache.entries()] == [(KEY, 3, "")]
        cache.put(KEY, REQUEST, {3: an_answer()})
        assert cache.request(KEY) == {**REQUEST.identity(), "prompt": "sort"}


@with_postgres
def test_a_connection_that_breaks_is_made_anew(address: str) -> None:
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'"
    with closing(open_cache(address + "&application_name=victim")) as cache:
        for draw in range(3):
            tamper(address, end)
            cache.put(KEY, REQUEST, {draw: an_answer(str(draw))})
            tamper(address, end)
            assert len(cache.get(KEY)) == draw + 1


@with_postgres
def test_tasks_wait_for_the_server_and_the_event_loop_does_not(address: str) -> None:
    """A table that is locked for half a second holds up those that ask it, and nothing else."""
    import psycopg

    fill(address)

    async def main() -> tuple[int, set[int]]:
        ticks = 0
        with psycopg.connect(address) as lock:
            lock.execute("LOCK TABLE gotlang_answers, gotlang_requests")
            asked = [asyncio.create_task(cache.aget(KEY, [draw])) for draw in range(3)]
            puts = [
                asyncio.create_task(cache.aput(KEY, REQUEST, {draw: an_answer()})) for draw in range(3, 6)
            ]
            while ticks < 50:
                ticks += 1
                await asyncio.sleep(0.01)
            assert not any(task.done() for task in (*asked, *puts))
        await asyncio.gather(*puts)
        return ticks, {draw for found in await asyncio.gather(*asked) for draw in found}

    with closing(open_cache(address)) as cache:
        assert asyncio.run(main()) == (50, {0, 1, 2})
        assert set(cache.get(KEY)) == {*range(6)}


@with_postgres
def test_tasks_survive_a_server_that_is_restarted_and_are_told_of_one_that_is_gone(address: str) -> None:
    if postgres.GIVEN:
        pytest.skip("not the tests' own server")

    async def main(cache: Cache, draw: int) -> set[int]:
        await asyncio.gather(*(cache.aput(KEY, REQUEST, {draw + n: an_answer()}) for n in range(5)))
        return {*await cache.aget(KEY, range(20))}

    with closing(open_cache(address)) as cache:
        assert asyncio.run(main(cache, 0)) == {*range(5)}
        postgres.restart()
        assert asyncio.run(main(cache, 5)) == {*range(10)}
        tamper(address, "ALTER TABLE gotlang_answers RENAME TO elsewhere")
        with pytest.raises(CacheError, match=r"cannot write the cache at .*gotlang_answers"):
            asyncio.run(main(cache, 10))
        with pytest.raises(CacheError, match=r"cannot read the cache at .*gotlang_answers"):
            asyncio.run(cache.aget(KEY, [0]))
        tamper(address, "ALTER TABLE elsewhere RENAME TO gotlang_answers")


@with_postgres
def test_two_that_wait_for_each_other_both_write(address: str) -> None:
    """Another program locks rows in another order; the server ends one of the two, which writes again."""
    import psycopg

    fill(address, 1)
    other, done = a_request(1), threading.Event()
    with closing(open_cache(address)) as cache:
        cache.put(other.key(), other, {0: an_answer()})
        first, second = sorted([KEY, other.key()])
        lock = "SELECT 1 FROM gotlang_requests WHERE key = %s FOR UPDATE"

        def stranger() -> None:
            with suppress(psycopg.errors.DeadlockDetected), psycopg.connect(address) as connection:
                connection.execute("SET deadlock_timeout = '1min'")
                connection.execute(lock, [second])
                done.set()
                waits = "SELECT 1 FROM pg_locks WHERE NOT granted"
                while not connection.execute(waits).fetchall():
                    time.sleep(0.01)
                connection.execute(lock, [first])

        thread = threading.Thread(target=stranger)
        thread.start()
        done.wait()

        async def main() -> None:
            new = [a_request(number, prompt="changed") for number in range(2)]
            await asyncio.gather(*(cache.aput(one.key(), one, {7: an_answer()}) for one in new))

        asyncio.run(main())
        thread.join()
        assert set(cache.get(KEY)) == set(cache.get(other.key())) == {0, 7}


@with_postgres
def test_a_write_that_fails_leaves_nothing_behind(address: str) -> None:
    fill(address)
    with closing(open_cache(address)) as cache:
        tamper(address, "ALTER TABLE gotlang_answers RENAME TO elsewhere")
        for _ in range(2):
            with pytest.raises(CacheError, match=r"cannot write the cache at .*gotlang_answers"):
                cache.put(a_request(1).key(), a_request(1), {0: an_answer()})
        tamper(address, "ALTER TABLE elsewhere RENAME TO gotlang_answers")
        assert cache.request(a_request(1).key()) is None
        cache.put(KEY, REQUEST, {7: an_answer()})
        assert set(cache.get(KEY)) == {0, 1, 2, 7}


@with_postgres
def test_several_threads_make_the_tables_and_use_them_at_once(address: str) -> None:
    failures: list[BaseException] = []
    barrier = threading.Barrier(6)

    def work(number: int) -> None:
        try:
            barrier.wait()
            with closing(open_cache(address)) as cache:
                for draw in range(20):
                    request = a_request(draw % 4)
                    cache.put(
                        request.key(), request, {place: an_answer(f"{number}") for place in (3, 1, 2, draw)}
                    )
                    if draw % 7 == number:
                        cache.remove([a_request(other).key() for other in (3, 0, 2, 1)])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@with_postgres
def test_four_processes_share_one_cache(address: str) -> None:
    code = """
        me, seen, made = int(sys.argv[2]), 0, 0
        cache = open_cache(path)
        for number in range(60):
            request = a_request(number)
            if cache.get(request.key(), [0]):
                seen += 1
            else:
                made += 1
                cache.put(request.key(), request, {0: an_answer(f"shared {number}")})
            cache.put(request.key(), request, {1 + me: an_answer(f"own {me} {number}")})
        cache.close()
        print(json.dumps([seen, made]))
    """
    outputs = [json.loads(output_of(process)) for process in [python(code, address, me) for me in range(4)]]
    assert [seen + made for seen, made in outputs] == [60] * 4
    with closing(open_cache(address)) as cache:
        assert [entry.samples for entry in cache.entries()] == [5] * 60


@with_postgres
def test_kill_9_loses_nothing_that_was_flushed(address: str) -> None:
    code = """
        cache, first = open_cache(path), int(sys.argv[2])
        for number in range(first, first + 100_000):
            request = a_request(number)
            cache.put(request.key(), request, {draw: an_answer("x" * 500) for draw in range(3)})
            cache.flush()
            print(number, flush=True)
    """
    flushed = -1
    for lines in (1, 17, 40):
        process = python(code, address, flushed + 1)
        assert process.stdout
        for _ in range(lines):
            flushed = int(process.stdout.readline())
        process.kill()
        rest = process.stdout.read().split("\n")[:-1]
        process.communicate()
        flushed = int(rest[-1]) if rest else flushed
        with closing(open_cache(address)) as cache:
            draws = [entry.samples for entry in cache.entries()]
            assert draws in ([3] * (flushed + 1), [3] * (flushed + 2))


@with_postgres
def test_a_fork_is_told_to_open_again(address: str) -> None:
    process = python(
        """
        import warnings
        warnings.simplefilter("ignore")
        cache = open_cache(path)
        request = a_request()
        cache.put(request.key(), request, {0: an_answer()})
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        try:
            cache.put(request.key(), request, {1: an_answer()})
            print("put", sorted(cache.get(request.key())), flush=True)
        except CacheError as error:
            print(error.message.split(" was ", 1)[1], flush=True)
        cache.close()
        os._exit(0)
        """,
        address,
    )
    assert output_of(process) == "opened before this process was forked\nput [0, 1]\n"


@with_postgres
def test_a_closed_cache_says_so(address: str) -> None:
    cache = open_cache(address)
    cache.close()
    cache.close()
    for refused in (cache.flush, lambda: cache.get(KEY), lambda: cache.put(KEY, REQUEST, {0: an_answer()})):
        with pytest.raises(CacheError, match="is closed"):
            refused()
