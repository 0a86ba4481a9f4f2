"""Coordination of the processes on one cache: who requests a sample, and how much they may spend together.

A process has a lease, which it renews while it runs. If it dies, the first process that notices releases its
claims and settles its reservations: unsent ones return to the budget, sent ones may have been charged. On its
own machine that is noticed at once, elsewhere when the lease ends. A process that continues after that, such
as one that was suspended, finds its unsent reservations gone, and does not send those requests.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any, Final, Protocol, TypeVar, final

from msgspec import Struct

from gotlang.cache.batches import aside
from gotlang.errors import CacheError, UsageError
from gotlang.models.prices import dollars
from gotlang.processes import has_ended, process_name
from gotlang.records import escaped

LEASE_S: Final = 60.0
"""Seconds after which a process that has not renewed its lease counts as dead."""
LOOK_S: Final = 0.02
"""Seconds for which the last known claims of other processes are used."""
SEARCH_S: Final = 0.5
"""Seconds between two searches for dead processes, with up to `FEW` processes; with more they take turns."""
FEW: Final = 10
UNIT: Final = 10**12
"""Amounts are stored as integers: this many make a US dollar."""
MOST: Final = 10**18
"""The largest amount, which also represents no limit."""

_TABLES: Final = {
    "gotlang_owners": """
        CREATE TABLE gotlang_owners (id TEXT PRIMARY KEY, alive_until DOUBLE PRECISION NOT NULL)
    """,
    "gotlang_claims": """
        CREATE TABLE gotlang_claims (key TEXT, draw BIGINT, owner TEXT NOT NULL, PRIMARY KEY (key, draw))
    """,
    "gotlang_budgets": """
        CREATE TABLE gotlang_budgets (
            name TEXT PRIMARY KEY, max_usd BIGINT, max_calls BIGINT,
            charged_usd BIGINT NOT NULL DEFAULT 0, charged_calls BIGINT NOT NULL DEFAULT 0,
            uncertain_usd BIGINT NOT NULL DEFAULT 0, uncertain_calls BIGINT NOT NULL DEFAULT 0,
            reserved_usd BIGINT NOT NULL DEFAULT 0, reserved_calls BIGINT NOT NULL DEFAULT 0
        )
    """,
    "gotlang_reservations": """
        CREATE TABLE gotlang_reservations (
            id TEXT PRIMARY KEY, budget TEXT NOT NULL, owner TEXT NOT NULL, state BIGINT NOT NULL,
            usd BIGINT NOT NULL, calls BIGINT NOT NULL, sample TEXT NOT NULL DEFAULT ''
        )
    """,
    "gotlang_roles": """
        CREATE TABLE gotlang_roles (
            budget TEXT, role TEXT, uncertain_usd BIGINT NOT NULL, uncertain_calls BIGINT NOT NULL,
            charged_usd BIGINT NOT NULL, charged_calls BIGINT NOT NULL, PRIMARY KEY (budget, role)
        )
    """,
}
TABLES: Final = {name: " ".join(statement.split()) for name, statement in _TABLES.items()}
"""In SQL that both SQLite and PostgreSQL accept; `gotlang_now()` is the store's clock in seconds."""
_RESERVED, _SENT, _ORPHANED = 0, 1, 2
"""States of a reservation; an orphaned one was sent by a process that died."""

_RENEW = """
    INSERT INTO gotlang_owners (id, alive_until) VALUES (?, gotlang_now() + ?)
    ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until
"""
_OTHERS = f"""
    SELECT id, CASE WHEN alive_until BETWEEN gotlang_now() AND gotlang_now() + ? THEN 0 ELSE 1 END
    FROM gotlang_owners WHERE id <> ?
    UNION SELECT owner, 1 FROM gotlang_reservations
    WHERE state < {_ORPHANED} AND owner <> ? AND owner NOT IN (SELECT id FROM gotlang_owners)
    UNION SELECT owner, 1 FROM gotlang_claims
    WHERE owner <> ? AND owner NOT IN (SELECT id FROM gotlang_owners)
"""  # noqa: S608 - a number
_BURY = "DELETE FROM gotlang_owners WHERE id = ?"
# A statement that is repeated after a lost connection finds its own claim and its own reservation.
_CLAIM = """
    INSERT INTO gotlang_claims (key, draw, owner) VALUES {}
    ON CONFLICT (key, draw) DO UPDATE SET owner = excluded.owner
    WHERE gotlang_claims.owner = excluded.owner RETURNING draw
"""
_RELEASE = "DELETE FROM gotlang_claims WHERE key = ? AND owner = ? AND draw IN ({})"
_MAKE = """
    INSERT INTO gotlang_budgets (name, max_usd, max_calls) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING
"""
_BUDGETS = """
    SELECT name, max_usd, max_calls, charged_usd, charged_calls, uncertain_usd, uncertain_calls,
           reserved_usd, reserved_calls
    FROM gotlang_budgets
"""
_RESERVE = """
    INSERT INTO gotlang_reservations (id, budget, owner, state, usd, calls) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO NOTHING RETURNING id
"""
_TAKE = f"""
    UPDATE gotlang_budgets SET reserved_usd = reserved_usd + ?, reserved_calls = reserved_calls + ?
    WHERE name = ? AND charged_calls + uncertain_calls + reserved_calls + ? <= coalesce(max_calls, {MOST})
    AND charged_usd + uncertain_usd + reserved_usd + ? <= coalesce(max_usd, {MOST})
    AND charged_usd + uncertain_usd + reserved_usd + ? <= ?
    RETURNING name
"""  # noqa: S608 - a number
_MARK = f"""
    UPDATE gotlang_reservations SET state = ?, sample = ? WHERE id = ? AND state < {_ORPHANED} RETURNING id
"""  # noqa: S608 - numbers
_SPLIT = f"""
    UPDATE gotlang_reservations SET usd = usd - ?, calls = calls - ?
    WHERE id = ? AND state = {_RESERVED} AND usd >= ? AND calls >= ? RETURNING budget
"""  # noqa: S608 - a number
_PART = """
    INSERT INTO gotlang_reservations (id, budget, owner, state, usd, calls, sample)
    VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id
"""
_END = "DELETE FROM gotlang_reservations WHERE id = ? RETURNING budget, state, usd, calls"
_END_ORPHAN = (
    "DELETE FROM gotlang_reservations WHERE id = ? AND sample = ? RETURNING budget, state, usd, calls"
)
_SETTLE = """
    UPDATE gotlang_budgets
    SET reserved_usd = reserved_usd - ?, reserved_calls = reserved_calls - ?,
        uncertain_usd = uncertain_usd + ?, uncertain_calls = uncertain_calls + ?,
        charged_usd = charged_usd + ?, charged_calls = charged_calls + ?
    WHERE name = ?
    RETURNING name, max_usd, max_calls, charged_usd, charged_calls, uncertain_usd, uncertain_calls,
              reserved_usd, reserved_calls
"""
_BOOK = """
    INSERT INTO gotlang_roles (uncertain_usd, uncertain_calls, charged_usd, charged_calls, budget, role)
    VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (budget, role) DO UPDATE SET
        uncertain_usd = gotlang_roles.uncertain_usd + excluded.uncertain_usd,
        uncertain_calls = gotlang_roles.uncertain_calls + excluded.uncertain_calls,
        charged_usd = gotlang_roles.charged_usd + excluded.charged_usd,
        charged_calls = gotlang_roles.charged_calls + excluded.charged_calls
"""
_ROLES = """
    SELECT role, charged_usd, charged_calls, uncertain_usd, uncertain_calls
    FROM gotlang_roles WHERE budget = ?
"""
_UNSENT = f"""
    DELETE FROM gotlang_reservations WHERE owner = ? AND state = {_RESERVED} RETURNING budget, usd, calls, id
"""  # noqa: S608 - a number
_ORPHANS = f"""
    UPDATE gotlang_reservations SET state = {_ORPHANED} WHERE owner = ? AND state = {_SENT}
    RETURNING budget, usd, calls, id
"""  # noqa: S608 - numbers
_FORGET = f"UPDATE gotlang_reservations SET sample = '' WHERE state = {_ORPHANED} AND sample IN "  # noqa: S608
_ANSWERED = f"""
    SELECT sample, id FROM gotlang_reservations WHERE budget = ? AND state = {_ORPHANED} AND sample <> ''
"""  # noqa: S608 - a number
_OPEN = f"""
    SELECT 1 FROM gotlang_reservations
    WHERE budget = ? AND state < {_ORPHANED} AND owner IN (SELECT id FROM gotlang_owners) LIMIT 1
"""  # noqa: S608 - a number

_Result = TypeVar("_Result")
Execute = Callable[[str, Sequence[object]], list[Any]]
"""Runs a statement with its arguments, each a `?` in it; returns the rows."""


class Database(Protocol):
    """The storage of coordination: it has `TABLES`. `remote`: a transaction waits for a network; `shared`:
    other processes read it, so that settlements are written at once."""

    remote: bool = False
    shared: bool = True

    def transaction(self, work: Callable[[Execute], _Result], *, durable: bool = False) -> _Result:
        """The result of statements that take effect together or not at all, also if this process is killed;
        with `durable` they, and all before them, survive a power failure. `work` may run again if the
        connection breaks. Raises CacheError."""

    def close(self) -> None:
        """Close the file; a second call does nothing."""


NOTHING: Final = Fraction(0)


@final
class Charge(Struct, frozen=True, gc=False):
    """Calls, and exact US dollars (0 where the price is unknown)."""

    calls: int = 0
    usd: Fraction = NOTHING

    def __add__(self, other: Charge) -> Charge:
        if self is NO_CHARGE or other is NO_CHARGE:
            return other if self is NO_CHARGE else self
        # Adding 0, as runs without a price do, takes no time.
        usd = self.usd if other.usd is NOTHING else self.usd + other.usd
        return Charge(self.calls + other.calls, usd)


NO_CHARGE = Charge()


@final
class StoredBudget(Struct, frozen=True):
    """A stored budget. `charged` is known to have been billed, `uncertain` may have been, `reserved` is the
    maximum cost of requests in flight. None means no limit."""

    name: str
    max_usd: Fraction | None
    max_calls: int | None
    charged: Charge
    uncertain: Charge
    reserved: Charge

    @property
    def used(self) -> Charge:
        """The amount that counts towards the limits."""
        return self.charged + self.uncertain + self.reserved

    def __str__(self) -> str:
        """`$1.2000 of $2.0000 charged, $0.0100 uncertain, $0.3000 reserved; 10 of 20 calls`."""
        parts = []
        limit = "" if self.max_usd is None else f" of {dollars(float(self.max_usd))}"
        if limit or self.used.usd:
            parts.append(f"{dollars(float(self.charged.usd))}{limit} charged")
            for amount, what in ((self.uncertain, "uncertain"), (self.reserved, "reserved")):
                if amount.usd:
                    parts.append(f"{dollars(float(amount.usd))} {what}")
        limit = "" if self.max_calls is None else f" of {self.max_calls:,}"
        calls = f"{self.charged.calls:,}{limit} calls charged"
        for amount, what in ((self.uncertain, "uncertain"), (self.reserved, "reserved")):
            if amount.calls:
                calls += f" and {amount.calls:,} {what}"
        return ", ".join([*parts, calls])


@final
class Coordination:
    """One process's part. It joins at the first claim or reservation; `keep_alive` renews its lease.

    For one event loop, not across a fork. Everything that reads or writes raises CacheError. `soon` does it
    in a thread, in sequence, if that waits for a network.
    """

    def __init__(self, database: Database, *, lease_s: float = LEASE_S) -> None:
        self.owner = f"{process_name()}:{os.urandom(4).hex()}"
        self._transaction = database.transaction
        self._threads = ThreadPoolExecutor(1, "gotlang-coordination") if database.remote else None
        self._flushing, self._shared = False, database.shared
        self._read = self._transaction if database.shared else self._act
        self._close = database.close
        self.lease_s = lease_s
        self._renewed = 0.0
        self._joined = False
        self._mine: set[tuple[str, int]] = set()
        self._expired: set[tuple[str, int]] = set()
        self._others: frozenset[tuple[str, int]] = frozenset()
        self._looked = self._searched = float("-inf")
        self._search_s = SEARCH_S
        self._reserved = 0
        self._ended: list[Callable[[Execute], object]] = []
        self._orphans: dict[str, dict[str, str]] = {}

    async def soon(
        self, act: Callable[[], _Result], undo: Callable[[_Result], None] | None = None
    ) -> _Result:
        """The result of `act`. If nobody awaits it any more, `undo` is called with it."""
        return act() if self._threads is None else await aside(self._threads, act, undo)

    def flush_soon(self) -> None:
        """`flush` once this turn of the loop has ended, if another process may wait for that."""
        if self._shared and not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self._flush_now)

    def _flush_now(self) -> None:
        self._flushing = False
        if self._threads is None:
            self.flush()
        else:
            self._threads.submit(self.flush)

    # Claims

    def claim(self, key: str, numbers: Sequence[int]) -> bool:
        """Claim samples of a request, all of them or none; returns whether no other process has claimed any
        of them."""
        wanted = {(key, number) for number in numbers}
        if wanted & self._mine:
            return False
        claim = _CLAIM.format(", ".join(["(?, ?, ?)"] * len(wanted)))
        # In a fixed order, so that no two processes wait for each other.
        rows = [value for key, number in sorted(wanted) for value in (key, number, self.owner)]
        samples = [sample_name(*each) for each in wanted]
        forget = _FORGET + "({})".format(", ".join("?" * len(samples)))

        def work(execute: Execute) -> bool:
            if len(execute(claim, rows)) == len(wanted):
                # A sample that is found in the cache from now on need not be the one that a dead process paid
                # for.
                execute(forget, samples)
                return True
            execute(*self._release(key, numbers))
            return False

        self._join()
        if not self._act(work):
            self._looked = float("-inf")
            return False
        self._mine |= wanted
        self._expired -= wanted
        return True

    def release(self, key: str, numbers: Sequence[int]) -> None:
        """Release claims with the next `flush`: the samples are in the cache, or could not be obtained."""
        self._mine.difference_update((key, number) for number in numbers)
        statement = self._release(key, numbers)
        self._ended.append(lambda execute: execute(*statement))

    def expired(self, key: str, numbers: Sequence[int]) -> bool:
        """Whether these claims were taken away because this process was suspended for too long."""
        with suppress(CacheError):
            self._join()
        return bool(self._expired) and any((key, number) in self._expired for number in numbers)

    def claimed(self, key: str, numbers: Iterable[int]) -> bool:
        """Whether any of these samples is claimed, by another process or by another run of this one."""
        now = time.monotonic()
        self._search(now)
        wanted = sorted(numbers)
        if self._threads is not None:  # all claims of hundreds of machines would be too many to read
            ask = "SELECT draw FROM gotlang_claims WHERE key = ? AND owner <> ? AND draw IN ({})"
            ask = ask.format(", ".join("?" * len(wanted)))
            if self._transaction(lambda execute: execute(ask, (key, self.owner, *wanted))):
                return True
        elif now - self._looked >= LOOK_S:
            select = "SELECT key, draw FROM gotlang_claims WHERE owner <> ?"
            self._others = frozenset(self._transaction(lambda execute: execute(select, (self.owner,))))
            self._looked = now
        return any((key, number) in self._others or (key, number) in self._mine for number in wanted)

    def _release(self, key: str, numbers: Sequence[int]) -> tuple[str, list[object]]:
        return _RELEASE.format(", ".join("?" * len(numbers))), [key, self.owner, *numbers]

    # Budgets

    def make(self, name: str, max_usd: Fraction | None, max_calls: int | None) -> StoredBudget:
        """The budget with this name, which is created with these limits if it does not exist."""
        self._transaction(lambda execute: execute(_MAKE, (name, _limit(max_usd), max_calls)))
        found = self.budget(name)
        assert found is not None
        return found

    def budget(self, name: str) -> StoredBudget | None:
        """The current state of a budget; None if it does not exist."""
        rows = self._read(lambda execute: execute(f"{_BUDGETS} WHERE name = ?", (name,)))
        return _budget(rows[0]) if rows else None

    def roles(self, name: str) -> dict[str, tuple[Charge, Charge]]:
        """The charged and uncertain amounts of a budget by role."""
        rows = self._read(lambda execute: execute(_ROLES, (name,)))
        return {str(role): (_amount(*amounts[:2]), _amount(*amounts[2:])) for role, *amounts in rows}

    def budgets(self) -> list[StoredBudget]:
        """All budgets, by name, after the reservations of dead processes were settled."""
        self._search(float("inf"))
        return [_budget(row) for row in self._read(lambda e: e(f"{_BUDGETS} ORDER BY name", ()))]

    def limit(self, name: str, max_usd: Fraction | None, max_calls: int | None) -> None:
        """Change the limits of a budget, from the next reservation on."""
        change = "UPDATE gotlang_budgets SET max_usd = ?, max_calls = ? WHERE name = ?"
        self._transaction(lambda execute: execute(change, (_limit(max_usd), max_calls, name)), durable=True)

    def remove(self, name: str) -> bool:
        """Delete a budget with all its amounts; returns False if processes have requests in flight in it."""

        def work(execute: Execute) -> bool:
            if execute(_OPEN, (name,)):
                return False
            for table in ("reservations", "roles"):
                execute(f"DELETE FROM gotlang_{table} WHERE budget = ?", (name,))  # noqa: S608 - a name of ours
            execute("DELETE FROM gotlang_budgets WHERE name = ?", (name,))
            return True

        with suppress(CacheError):  # a damaged one is removed, too
            self._search(float("inf"))
        return self._transaction(work)

    def reserve(self, name: str, most: Charge, max_usd: Fraction | None = None, role: str = "") -> str | None:
        """Reserve the maximum cost of a request; returns the reservation's id, which ends in the role that it
        is booked to (if any), or None if the limit does not allow it.

        `max_usd` is a temporary limit, if it is lower than the budget's.
        """
        self._join()
        self._reserved += 1
        id, usd = f"{self.owner}/{self._reserved} {role}", ceil(most.usd * UNIT)
        limit = MOST if max_usd is None else _limit(max_usd)

        def work(execute: Execute) -> bool:
            if not execute(_RESERVE, (id, name, self.owner, _RESERVED, usd, most.calls)):
                return True  # made before the connection broke
            if execute(_TAKE, (usd, most.calls, name, most.calls, usd, usd, limit)):
                return True
            execute(_END, (id,))
            return False

        return id if self._act(work) else None

    def mark(
        self,
        reservation: str,
        sample: str | None,
        part_of: str | None = None,
        most: Charge = NO_CHARGE,
        *,
        durable: bool = True,
    ) -> bool:
        """Record that a request is about to be sent, for this sample first, durably if it may be billed; with
        None, that it was refused free of charge. Returns False if it must not be sent, because its
        reservation was returned when this process was taken for dead. `part_of` is a reservation of several
        requests, from which it takes `most`."""
        state, usd = _RESERVED if sample is None else _SENT, ceil(most.usd * UNIT)

        def work(execute: Execute) -> bool:
            if execute(_MARK, (state, sample or "", reservation)):
                return True
            for (budget,) in execute(_SPLIT, (usd, most.calls, part_of, usd, most.calls)) if part_of else ():
                row = (reservation, budget, self.owner, state, usd, most.calls, sample or "")
                return bool(execute(_PART, row))
            return False

        return self._transaction(work, durable=durable and sample is not None)

    def orphans(self, name: str) -> dict[str, str]:
        """The reservations of a budget whose processes died after they had sent the request, by its first
        sample. If that sample is stored, its cost is known."""
        if name not in self._orphans:
            self._search(float("inf"))
            self._orphans[name] = dict(self._transaction(lambda execute: execute(_ANSWERED, (name,))))
        return self._orphans[name]

    def settle(
        self, reservation: str, charged: Charge, uncertain: Charge = NO_CHARGE, *, orphan: str | None = None
    ) -> None:
        """Return a reservation with the next `flush`, and count what was charged for it and what may have
        been. `orphan` is the sample of a dead process's reservation: nothing happens if another process has
        claimed that sample since, so that its stored response is another one."""
        end = (_END, (reservation,)) if orphan is None else (_END_ORPHAN, (reservation, orphan))
        self._ended.append(partial(_settled, end=end, charged=charged, uncertain=uncertain))

    def flush(self) -> None:
        """Write releases and settlements. Those that cannot be written now are kept, and tried again with the
        next lease."""
        if self._ended:
            with suppress(CacheError):
                self._act(lambda execute: None)

    def waiting(self, name: str) -> bool:
        """Whether requests of living processes are in flight that may return part of their reservation."""
        self._search(time.monotonic())
        return bool(self._read(lambda execute: execute(_OPEN, (name,))))

    # Leases

    async def keep_alive(self) -> None:
        """Renew the lease until cancelled, for periods without claims and reservations."""
        while True:
            await asyncio.sleep(self.lease_s / 4)
            if self._joined:
                with suppress(CacheError):  # tried again soon; without it the lease ends
                    await self.soon(self._join)
                self.flush_soon()

    def close(self) -> None:
        """Leave: claims are released, unsent reservations return, and open ones count as uncertain."""
        if self._threads is not None:
            self._threads.shutdown()
        if self._joined:
            self.flush()
            with suppress(CacheError):
                self.bury(self.owner)
        self._close()

    def _act(self, work: Callable[[Execute], _Result]) -> _Result:
        """A transaction that first writes pending releases and settlements."""
        ended = tuple(self._ended)

        def both(execute: Execute) -> _Result:
            for change in ended:
                change(execute)
            return work(execute)

        result = self._transaction(both)
        del self._ended[: len(ended)]  # more may have ended meanwhile
        return result

    def _join(self) -> None:
        """Renew the lease, unless that was done recently."""
        if (now := time.time()) - self._renewed < self.lease_s / 5:
            return

        def work(execute: Execute) -> None:
            execute(_RENEW, (self.owner, self.lease_s))
            if now - self._renewed > self.lease_s:  # others may have taken over
                kept = execute("SELECT key, draw FROM gotlang_claims WHERE owner = ?", (self.owner,))
                self._expired |= self._mine.difference(kept)

        self._transaction(work)
        self._renewed, self._joined = now, True

    def _search(self, now: float) -> None:
        """Take over from processes that have died, unless that was done recently."""
        if now - self._searched < self._search_s:
            return
        self._searched = time.monotonic()
        arguments = (self.lease_s + 1.0, self.owner, self.owner, self.owner)
        others = self._transaction(lambda execute: execute(_OTHERS, arguments))
        # One search serves all processes.
        self._search_s = SEARCH_S * max(1.0, len(others) / FEW)
        for owner, late in others:
            if late or has_ended(str(owner).rpartition(":")[0]):
                self.bury(owner)

    def bury(self, owner: str) -> dict[str, Charge]:
        """Settle what a process that is known to have ended left behind, before its lease ends. Returns the
        amounts that it may have been charged, by budget."""

        def work(execute: Execute) -> dict[str, Charge]:
            execute(_BURY, (owner,))
            execute("DELETE FROM gotlang_claims WHERE owner = ?", (owner,))
            changes: dict[str, list[int]] = {}
            for statement, orphaned in ((_UNSENT, 0), (_ORPHANS, 1)):
                for budget, usd, calls, id in execute(statement, (owner,)):
                    _checked([(budget, None, None, usd, calls, 0, 0, 0, 0)])
                    if orphaned:
                        _book(execute, budget, id, (usd, calls, 0, 0))
                    change = changes.setdefault(budget, [0, 0, 0, 0])
                    for place, value in enumerate((usd, calls, usd * orphaned, calls * orphaned)):
                        change[place] += value
            for budget in sorted(changes):
                _checked(execute(_SETTLE, (*changes[budget], 0, 0, budget)))
            return {budget: _amount(*change[2:]) for budget, change in changes.items()}

        found = self._transaction(work)
        self._orphans.clear()
        return found


def sample_name(key: str, number: int) -> str:
    """The name of a request's sample."""
    return f"{key}/{number}"


def _settled(execute: Execute, end: tuple[str, tuple[str, ...]], charged: Charge, uncertain: Charge) -> None:
    for budget, state, usd, calls in execute(*end):
        # An amount that was counted as uncertain after this process was taken for dead is now known.
        reserved = (0, 0) if state == _ORPHANED else (usd, calls)
        guessed = (usd, calls) if state == _ORPHANED else (0, 0)
        more = ceil(uncertain.usd * UNIT) - guessed[0], uncertain.calls - guessed[1]
        amounts = (*more, ceil(charged.usd * UNIT), charged.calls)
        _checked(execute(_SETTLE, (*reserved, *amounts, budget)))
        _book(execute, budget, end[1][0], amounts)


def _book(execute: Execute, budget: str, reservation: str, amounts: Sequence[int]) -> None:
    """Count the result of a reservation for its role: uncertain and charged dollars and calls."""
    role = reservation.partition(" ")[2]
    if role and any(amounts):
        execute(_BOOK, (*amounts, budget, role))


def _limit(usd: Fraction | None) -> int | None:
    """A limit in dollars in its stored form. Raises UsageError if it is too high."""
    if usd is not None and usd * UNIT >= MOST:
        raise UsageError(f"a shared budget of ${float(usd):,.0f} is too high", help="give at most $999,999")
    return None if usd is None else int(usd * UNIT)


def _amount(usd: int, calls: int) -> Charge:
    return Charge(int(calls), Fraction(usd, UNIT))


def _checked(rows: Sequence[Sequence[Any]]) -> None:
    """Raise CacheError, which rolls back the transaction, if a manipulated file raised a budget."""
    for row in rows:
        _budget(row)


def _budget(row: Sequence[Any]) -> StoredBudget:
    name, max_usd, max_calls, *amounts = row
    try:
        if any(not 0 <= int(amount) < 2**63 for amount in (max_usd or 0, max_calls or 0, *amounts)):
            raise ValueError
        charged, uncertain, reserved = map(_amount, amounts[::2], amounts[1::2])
        limit = None if max_usd is None else Fraction(max_usd, UNIT)
        return StoredBudget(str(name), limit, max_calls, charged, uncertain, reserved)
    except (TypeError, ValueError):
        raise CacheError(
            f"the budget `{escaped(str(name))}` is damaged", help="remove it with `gotc budget remove`"
        ) from None
