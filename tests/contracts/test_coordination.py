"""The contract of what processes on one cache coordinate with. Every store that coordinates passes it."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.caches import no_postgres, postgres_schema
from support.gotc import environment, gotc

from gotlang.cache import coordination as module
from gotlang.cache import open_cache
from gotlang.cache.base import Cache
from gotlang.cache.coordination import NO_CHARGE, Charge, Coordination, StoredBudget, sample_name
from gotlang.errors import CacheError, UsageError

with_postgres = pytest.mark.skipif(bool(no_postgres), reason=no_postgres)
Join = Callable[..., Coordination]
KEY = "a" * 64
DOLLAR = Charge(1, Fraction(1))
DIES = """\
import sys, time
from fractions import Fraction
from gotlang.cache import open_cache
from gotlang.cache.coordination import Charge
cache = open_cache(sys.argv[1])
shared = cache.coordination()
assert shared.claim("a" * 64, [0, 1])
assert shared.make("b", Fraction(10), None)
sent = shared.reserve("b", Charge(2, Fraction(1, 2)))
assert shared.mark(sent, "key/0")
shared.reserve("b", Charge(3, Fraction(3)))
print("there", flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody looks every time."""
    monkeypatch.setattr(module, "LOOK_S", 0.0)
    monkeypatch.setattr(module, "SEARCH_S", 0.0)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=with_postgres)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A new cache."""
    if request.param == "sqlite":
        yield str(tmp_path / "cache.sqlite")
    else:
        with postgres_schema() as schema:
            yield schema


@pytest.fixture
def join(address: str) -> Iterator[Join]:
    """Each call is one more participant, as in another process."""
    opened = []

    def one(lease_s: float = module.LEASE_S) -> Coordination:
        cache = open_cache(address)
        shared = cache.coordination()
        assert shared is not None
        shared.lease_s = lease_s
        opened.append((shared, cache))
        return shared

    yield one
    for shared, cache in opened:
        shared.close()
        cache.close()


def the(shared: Coordination, name: str = "b") -> StoredBudget:
    found = shared.budget(name)
    assert found is not None
    return found


def test_a_sample_is_claimed_once(join: Join) -> None:
    one, other = join(), join()
    assert one.claim(KEY, [0, 1, 2])
    assert not other.claim(KEY, [2, 3])
    assert not one.claim(KEY, [0])  # nor by another run of the same process
    assert other.claimed(KEY, [0]) and one.claimed(KEY, [0])
    assert not other.claimed(KEY, [3])  # all of them or none
    assert other.claim(KEY, [3]) and other.claim("b" * 64, [0])
    one.release(KEY, [0, 1, 2])
    one.flush()
    assert not other.claimed(KEY, [0, 1, 2])
    assert other.claim(KEY, [2])
    assert one.claim(KEY, [0, 1])
    one.release(KEY, [0, 1])
    assert one.claim(KEY, [1])  # again, before the release was written
    one.flush()
    assert other.claimed(KEY, [1]) and not other.claimed(KEY, [0])
    assert not other.expired(KEY, [2, 3])


def test_a_claim_that_nobody_waits_for_any_more_is_given_back(join: Join) -> None:
    one, other = join(), join()

    def slowly() -> bool:
        time.sleep(0.1)
        return one.claim(KEY, [0])

    def give_back(claimed: bool) -> None:
        assert claimed
        one.release(KEY, [0])
        one.flush_soon()

    async def main() -> None:
        asked = asyncio.create_task(one.soon(slowly, give_back))
        await asyncio.sleep(0.01)
        if asked.cancel():  # a server is asked in a thread; a file answers at once
            await asyncio.gather(asked, return_exceptions=True)
            assert asked.cancelled()
            await asyncio.sleep(0.3)
        else:
            give_back(asked.result())
            await asyncio.sleep(0)

    asyncio.run(main())
    one.close()
    assert other.claim(KEY, [0])
    assert not one._mine


def test_claims_end_with_the_process(join: Join) -> None:
    one, other = join(), join()
    assert one.claim(KEY, [0])
    one.close()
    assert other.claim(KEY, [0])


def test_what_does_not_fit_is_not_reserved(join: Join) -> None:
    one, other = join(), join()
    made = one.make("b", Fraction(2), 5)
    assert (made.max_usd, made.max_calls, made.charged) == (2, 5, NO_CHARGE)
    assert other.make("b", Fraction(3), None) == made  # the first one's limits
    assert other.budget("c") is None
    first = one.reserve("b", Charge(2, Fraction("1.5")))
    assert first is not None
    assert other.reserve("b", Charge(1, Fraction("0.500000000001"))) is None
    assert other.reserve("b", Charge(4, Fraction(0))) is None
    second = other.reserve("b", Charge(3, Fraction("0.5")))
    assert second is not None
    assert the(one).reserved == Charge(5, Fraction(2))
    one.settle(first, Charge(1, Fraction("0.25")), Charge(1, Fraction("0.5")))
    one.flush()
    assert the(other) == StoredBudget(
        "b",
        Fraction(2),
        5,
        Charge(1, Fraction("0.25")),
        Charge(1, Fraction("0.5")),
        Charge(3, Fraction("0.5")),
    )
    assert one.reserve("b", Charge(0, Fraction("0.75")), Fraction("1.9")) is None  # a lower limit for now
    assert one.reserve("b", Charge(0, Fraction("0.75"))) is not None


def test_a_budget_without_limits_counts(join: Join) -> None:
    one = join()
    one.make("b", None, None)
    reserved = one.reserve("b", Charge(10**6, Fraction(1000)))
    assert reserved is not None
    one.settle(reserved, DOLLAR)
    one.flush()
    one.settle(reserved, DOLLAR)  # a second time is nothing
    assert the(one).charged == DOLLAR and the(one).reserved == NO_CHARGE


def test_limits_are_changed_for_everybody(join: Join) -> None:
    one, other = join(), join()
    one.make("b", Fraction(1), None)
    one.make("a", None, 1)
    assert other.reserve("b", DOLLAR) and not other.reserve("b", DOLLAR)
    one.limit("b", Fraction(2), None)
    assert other.reserve("b", DOLLAR)
    assert [budget.name for budget in one.budgets()] == ["a", "b"]
    assert not one.remove("b")  # requests are under way
    other.close()
    assert one.remove("b") and one.budget("b") is None
    with pytest.raises(UsageError, match="too high"):
        one.make("c", Fraction(10**6), None)


def test_what_was_not_sent_returns_when_a_process_leaves(join: Join) -> None:
    one, other = join(), join()
    one.make("b", Fraction(2), None)
    sent, unsent = one.reserve("b", DOLLAR), one.reserve("b", DOLLAR)
    assert sent and unsent and one.mark(sent, "key/0")
    assert other.waiting("b")
    one.close()
    assert (the(other).uncertain, the(other).reserved) == (DOLLAR, NO_CHARGE)
    assert not other.waiting("b")


def test_a_killed_process_leaves_its_sent_requests_uncertain(join: Join, address: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", DIES, address], env=environment(), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "there\n"
    other = join()
    assert other.claimed(KEY, [1]) and not other.claim(KEY, [1])
    assert the(other).reserved == Charge(5, Fraction("3.5"))
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not other.claimed(KEY, [1])
    assert other.claim(KEY, [1])
    assert (the(other).uncertain, the(other).reserved) == (Charge(2, Fraction("0.5")), NO_CHARGE)


def test_a_part_of_a_reservation_is_sent_for_its_own(join: Join) -> None:
    one, other = join(), join()
    one.make("b", Fraction(4), 9)
    whole = one.reserve("b", Charge(3, Fraction(3)), role="r")
    assert whole is not None
    first, second, third = (f"{whole.split()[0]}.{n} r" for n in range(3))
    assert one.mark(first, "key/0", whole, DOLLAR)
    assert one.mark(first, "key/0", whole, DOLLAR)  # as after a lost connection
    assert one.mark(second, "key/1", whole, DOLLAR)
    assert not one.mark(third, "key/2", whole, Charge(1, Fraction("1.5")))  # more than is left of it
    assert the(other).reserved == Charge(3, Fraction(3))
    one.settle(first, Charge(1, Fraction("0.25")))
    one.flush()
    assert (the(other).charged, the(other).reserved) == (Charge(1, Fraction("0.25")), Charge(2, Fraction(2)))
    assert other.bury(one.owner) == {"b": DOLLAR}  # what was sent; the rest returns
    assert (the(other).uncertain, the(other).reserved) == (DOLLAR, NO_CHARGE)
    assert other.roles("b") == {"r": (Charge(1, Fraction("0.25")), DOLLAR)}
    assert not one.mark(third, "key/2", whole, DOLLAR)  # it was given back


def test_a_response_settles_only_its_own_payment(join: Join) -> None:
    """A dead process's request is linked to its first sample, until somebody requests that anew: who learned
    of the link before then settles nothing with the new answer."""
    dead, one, other = join(), join(), join()
    dead.make("b", Fraction(9), None)
    for key in ("a", "b"):
        sent = dead.reserve("b", DOLLAR)
        assert sent and dead.mark(sent, sample_name(key, 0))
    dead.close()
    known = dict(one.orphans("b"))
    assert known.keys() == {"a/0", "b/0"}
    assert other.claim("a", [0])  # its answer, which will come, is another one than was paid for
    for sample, reservation in known.items():
        one.settle(reservation, Charge(1, Fraction("0.25")), orphan=sample)
    one.flush()
    assert (the(one).charged, the(one).uncertain) == (Charge(1, Fraction("0.25")), DOLLAR)


def test_a_process_that_gives_no_sign_is_taken_for_dead(join: Join) -> None:
    """And if it comes back, it sends nothing, and what it had sent is known after all."""
    one, other = join(0.2), join(0.2)
    one.make("b", Fraction(9), None)
    assert one.claim(KEY, [0])
    sent, unsent = one.reserve("b", DOLLAR), one.reserve("b", DOLLAR)
    assert sent and unsent and one.mark(sent, "key/0")
    assert other.claim("c" * 64, [0])
    time.sleep(1.5)  # it renews nothing
    assert other.budgets()[0].uncertain == DOLLAR
    assert other.claim(KEY, [0])
    assert not one.mark(unsent, "key/0")
    assert one.expired(KEY, [0])
    one.settle(sent, Charge(1, Fraction("0.25")))
    one.flush()
    assert the(one).charged == Charge(1, Fraction("0.25"))
    assert (the(one).uncertain, the(one).reserved) == (NO_CHARGE, NO_CHARGE)


def test_money_is_booked_by_role_also_that_of_the_dead(join: Join) -> None:
    one, other = join(0.2), join(0.2)
    one.make("b", Fraction(9), None)
    half = Charge(1, Fraction("0.5"))
    first, plain = one.reserve("b", DOLLAR, None, "search"), one.reserve("b", DOLLAR)
    second, unsent = (one.reserve("b", DOLLAR, None, "held-out rows") for _ in range(2))
    assert first and plain and second and unsent and one.mark(second, "key/0")
    one.settle(first, half, half)
    one.settle(plain, DOLLAR)
    one.flush()
    assert other.roles("b") == {"search": (half, half)}
    time.sleep(1.5)  # it renews nothing
    assert other.budgets()[0].uncertain == half + DOLLAR
    assert other.roles("b")["held-out rows"] == (NO_CHARGE, DOLLAR)
    one.settle(second, half)  # back again, it knows what was charged
    one.flush()
    assert other.roles("b") == {"search": (half, half), "held-out rows": (half, NO_CHARGE)}
    assert other.remove("b") and one.roles("b") == {}


def test_a_file_from_before_there_were_roles_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "cache.sqlite.coordination"
    with sqlite3.connect(file) as connection:
        for name, statement in module.TABLES.items():
            connection.execute(statement if name != "gotlang_roles" else "SELECT 1")
        connection.execute("INSERT INTO gotlang_budgets (name, charged_calls) VALUES ('b', 3)")
    cache = open_cache(tmp_path / "cache.sqlite")
    shared = cache.coordination()
    assert shared is not None
    assert the(shared).charged.calls == 3 and shared.roles("b") == {}
    shared.close()
    cache.close()


def test_nothing_is_coordinated_where_nothing_is_written(tmp_path: Path) -> None:
    open_cache(tmp_path / "cache.sqlite").close()
    cache = open_cache(tmp_path / "cache.sqlite", readonly=True)
    assert cache.coordination() is None
    cache.close()
    assert not list(tmp_path.glob("*coordination*"))


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"hello, this is no database" * 100, "not a SQLite database"), (b"", "is empty: the amount spent")],
)
def test_another_file_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "cache.sqlite.coordination").write_bytes(content)
    cache = open_cache(tmp_path / "cache.sqlite")
    shared = cache.coordination()
    assert shared is not None
    with pytest.raises(CacheError, match=words):
        shared.claim(KEY, [0])
    shared.close()
    cache.close()


def test_a_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "cache.sqlite.coordination") as connection:
        connection.execute("CREATE TABLE gotlang_budgets (name TEXT)")
    cache = open_cache(tmp_path / "cache.sqlite")
    shared = cache.coordination()
    assert shared is not None
    with pytest.raises(CacheError, match="not the coordination file of a cache"):
        shared.budgets()
    cache.close()


@pytest.mark.parametrize("name", ["cache.sqlite", "cache.sqlite.coordination"])
def test_a_link_out_of_the_folder_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    Path(name).symlink_to(tmp_path / "victim")
    with pytest.raises(CacheError, match="a link leads out of the current folder"):
        cache = open_cache("cache.sqlite")
        shared = cache.coordination()
        assert shared is not None
        shared.claim(KEY, [0])
    assert not (tmp_path / "victim").exists()


def test_a_file_that_goes_stops_the_spending(tmp_path: Path) -> None:
    cache = open_cache(tmp_path / "cache.sqlite")
    shared = cache.coordination()
    assert shared is not None
    shared.make("b", Fraction(1), None)
    for path in tmp_path.glob("*.coordination*"):
        path.unlink()
    with pytest.raises(CacheError, match="deleted or replaced while in use"):
        shared.reserve("b", DOLLAR)
    shared.close()
    cache.close()


TAMPERED = [
    "UPDATE gotlang_budgets SET charged_usd = -1000000000000000",
    "UPDATE gotlang_budgets SET uncertain_calls = -5",
    "UPDATE gotlang_budgets SET reserved_usd = -1000000000000000",
    "UPDATE gotlang_budgets SET charged_usd = 'x'",
    "UPDATE gotlang_budgets SET max_usd = -5",
    "INSERT INTO gotlang_reservations VALUES ('a', 'b', 'gone', 0, 1000000000000000, 100, '')",
    "INSERT INTO gotlang_reservations VALUES ('a', 'b', 'gone', 0, -1000000000000000, -100, '')",
    "INSERT INTO gotlang_reservations VALUES ('a', 'b', 'gone', 1, -1000000000000000, -100, '')",
]


def tampered(folder: Path, statement: str) -> tuple[Cache, Coordination]:
    """A cache with the budget `b`, to whose file a statement was done."""
    cache = open_cache(folder / "cache.sqlite")
    shared = cache.coordination()
    assert shared is not None
    shared.make("b", Fraction(2), 5)
    with sqlite3.connect(folder / "cache.sqlite.coordination") as connection:
        connection.execute(statement)
    return cache, shared


@pytest.mark.parametrize("statement", TAMPERED)
def test_a_manipulated_file_cannot_raise_a_budget(tmp_path: Path, statement: str) -> None:
    """Amounts below 0, and reservations that were never taken, would: all of them are refused."""
    cache, shared = tampered(tmp_path, statement)
    for act in (
        lambda: (shared.make("b", Fraction(2), 5), shared.waiting("b")),
        lambda: (shared.budget("b"), shared.waiting("b")),
        shared.budgets,
    ):
        shared._searched = float("-inf")
        with pytest.raises(CacheError, match="the budget `b` is damaged") as refused:
            act()
        assert refused.value.help
    cache.close()


@pytest.mark.parametrize("statement", TAMPERED)
def test_a_damaged_budget_can_be_removed(tmp_path: Path, statement: str) -> None:
    cache, shared = tampered(tmp_path, statement)
    at = ("--cache", "cache.sqlite")
    assert gotc("budget", "list", *at, cwd=tmp_path).returncode == 2
    assert gotc("budget", "remove", "b", *at, cwd=tmp_path).returncode == 0
    assert gotc("budget", "list", *at, cwd=tmp_path).returncode == 0
    shared.close()
    cache.close()


def test_what_nobody_holds_keeps_nobody_waiting(join: Join) -> None:
    """Claims and reservations whose owner is not known any more, as after a power failure, are released."""
    one, other = join(), join()
    one.make("b", Fraction(2), None)
    assert one.claim(KEY, [0]) and one.reserve("b", DOLLAR)
    one._transaction(lambda execute: execute("DELETE FROM gotlang_owners", ()))
    assert not other.waiting("b")
    assert other.claim(KEY, [0])
    assert the(other).reserved == NO_CHARGE


NUMBERS = count()
OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["reserve", "send", "settle", "leave"]), st.integers(0, 2), st.integers(0, 9)),
    max_size=40,
)


@given(OPERATIONS)
def test_a_limit_holds_in_every_order(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    """Three processes reserve, send, settle and leave: what counts is never above the limit, and no less than
    what was sent and not settled, or charged."""
    folder = tmp_path_factory.mktemp(f"c{next(NUMBERS)}")
    cache = open_cache(folder / "cache.sqlite")
    limit = Fraction(20)

    def enter() -> tuple[Coordination, list[tuple[str, Charge, bool]]]:
        shared = cache.coordination()
        assert shared is not None
        return shared, []

    processes = [enter() for _ in range(3)]
    processes[0][0].make("b", limit, None)
    charged = Fraction(0)
    try:
        for what, which, size in steps:
            shared, held = processes[which]
            if what == "reserve":
                most = Charge(1, Fraction(size))
                if (id := shared.reserve("b", most)) is not None:
                    held.append((id, most, False))
            elif what == "send" and held:
                id, most, _ = held.pop(size % len(held))
                assert shared.mark(id, "key/0")
                held.append((id, most, True))
            elif what == "settle" and held:
                id, most, sent = held.pop(size % len(held))
                shared.settle(id, Charge(1, most.usd / 2) if sent else NO_CHARGE)
                shared.flush()
                charged += most.usd / 2 if sent else 0
            elif what == "leave":
                shared.close()
                charged += sum(most.usd for _, most, sent in held if sent)
                processes[which] = enter()
            found = the(processes[which][0])
            reserved = sum(most.usd for _, held in processes for _, most, _ in held)
            assert found.charged.usd + found.uncertain.usd == charged
            assert found.reserved.usd == reserved
            assert charged + reserved <= limit
    finally:
        for shared, _ in processes:
            shared.close()
        cache.close()
