"""A budget that processes share, in the coordination beside their cache; it persists across restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Self, final

from msgspec import Struct

from gotlang.cache.base import StoredSample
from gotlang.cache.coordination import (
    NO_CHARGE,
    UNIT,
    Charge,
    Coordination,
    StoredBudget,
    sample_name,
)
from gotlang.errors import CacheError, UsageError
from gotlang.models.base import Price, Request
from gotlang.models.prices import Spent, dollars
from gotlang.runtime.sampler.budget import Budget, Reservation, affordable, cost, exact, worst_case

WAIT_S = 0.05
"""Seconds between two checks whether another process has returned a reservation."""
ROLE: ContextVar[str] = ContextVar("role", default="")
"""The role to which a shared budget books the requests of a task, in addition to the total."""


LEASE_CALLS = 16
"""Number of requests of the current size for which a worker of many reserves at a time."""
IDLE_S = 0.5
"""Seconds after which a process without requests returns its reservation for further ones."""


@final
class _Lease(Struct, eq=False):
    """A reservation of several requests: the remainder, and the number of unsent parts."""

    name: str
    left: Charge
    parts: int = 0
    unsent: int = 0


class SharedBudget(Budget):
    """The budget with this name, with its stored limits. `charged` and `uncertain` are the spending of this
    process. Raises CacheError if the coordination cannot be read or written."""

    def __init__(self, coordination: Coordination, name: str, stored: StoredBudget) -> None:
        super().__init__(None if stored.max_usd is None else float(stored.max_usd), stored.max_calls)
        self.whole = False
        self.coordination = coordination
        self.name = name
        self.for_now: Fraction | None = None
        """A limit in dollars below the budget's own, for now."""
        self.lease_calls = 1
        """Requests per reservation. All processes change one row of the database for each; with
        hundreds of workers that row is what they wait for."""
        self._leases: dict[str, _Lease] = {}
        self._parts: dict[str, _Lease] = {}
        self._leasing = asyncio.Lock()

    @classmethod
    def open(
        cls, coordination: Coordination, name: str, max_usd: float | None, max_calls: int | None
    ) -> Self:
        """The budget with this name; if it does not exist, it is created with these limits.

        Raises UsageError if it does not exist and there is no limit to create it with, or if it has other
        limits.
        """
        # As it is stored, to the millionth of a millionth of a dollar.
        limit = None if max_usd is None else Fraction(int(exact(max_usd) * UNIT), UNIT)
        if max_usd is None and max_calls is None:
            stored = coordination.budget(name)
            if stored is None:
                raise UsageError(
                    f"this cache has no budget `{name}`",
                    help="`--max-usd` or `--max-calls` creates it; `gotc budget list` shows all",
                )
        else:
            stored = coordination.make(name, limit, max_calls)
        if limit not in (None, stored.max_usd) or max_calls not in (None, stored.max_calls):
            has = " and ".join(
                text
                for text in (
                    "" if stored.max_usd is None else f"of {dollars(float(stored.max_usd))}",
                    "" if stored.max_calls is None else f"of {stored.max_calls} calls",
                )
                if text
            )
            raise UsageError(
                f"the budget `{name}` has a limit {has}",
                help="leave out `--max-usd` and `--max-calls`, or change it for all with `gotc budget set`",
            )
        return cls(coordination, name, stored)

    @property
    def stored(self) -> StoredBudget:
        """The current spending of all processes."""
        found = self.coordination.budget(self.name)
        if found is None:
            raise UsageError(f"the budget `{self.name}` was removed")
        return found

    @property
    def spent_by_all(self) -> Spent:
        """The same in the form of reports."""
        return _spent(self.stored.charged, self.stored.uncertain)

    @property
    def spent_by_role(self) -> dict[str, Spent]:
        """The spending of all processes by role."""
        return {role: _spent(*amounts) for role, amounts in self.coordination.roles(self.name).items()}

    def unlimited(self, calls: int) -> None:
        """None, because every request is reserved where all processes see it."""
        return

    async def _take(self, request: Request, calls: int, price: Price | None) -> Reservation | None:
        reservation = await self._reserve(request, calls, price)
        if reservation is None and not await self._may_return():
            stored = await self.coordination.soon(lambda: self.stored)
            used, limits = (
                stored.used,
                [limit for limit in (stored.max_usd, self.for_now) if limit is not None],
            )
            if stored.max_calls is not None:
                calls = min(calls, stored.max_calls - used.calls)
            if limits:
                calls = affordable(request, calls, price, min(limits) - used.usd)
            reservation = await self._reserve(request, calls, price) if calls > 0 else None
        return reservation

    async def _reserve(self, request: Request, calls: int, price: Price | None) -> Reservation | None:
        most = Charge(calls, Fraction(ceil(worst_case(request, calls, price) * UNIT), UNIT))
        if self.lease_calls > 1:
            async with self._leasing:
                if (name := await self._part(most, ROLE.get())) is not None:
                    return Reservation(calls, most.usd, name)
        name = await self._reserved(most, ROLE.get())
        return None if name is None else Reservation(calls, most.usd, name)

    async def _reserved(self, most: Charge, role: str) -> str | None:
        shared = self.coordination

        def give_back(name: str | None) -> None:
            if name is not None:
                shared.settle(name, NO_CHARGE)
                shared.flush_soon()

        return await shared.soon(partial(shared.reserve, self.name, most, self.for_now, role), give_back)

    async def _part(self, most: Charge, role: str) -> str | None:
        """A part of a reservation for several requests; the smaller the remaining budget, the fewer."""
        lease = self._leases.get(role)
        while lease is None or lease.left.calls < most.calls or lease.left.usd < most.usd:
            self._end(role)
            if self.lease_calls < 2:
                return None
            several = Charge(self.lease_calls * most.calls, self.lease_calls * most.usd)
            if (name := await self._reserved(several, role)) is None:
                self.lease_calls //= 2
            else:
                lease = self._leases[role] = _Lease(name, several)
        lease.left = Charge(lease.left.calls - most.calls, lease.left.usd - most.usd)
        lease.parts += 1
        lease.unsent += 1
        whole, _, booked = lease.name.partition(" ")
        name = f"{whole}.{lease.parts} {booked}"
        self._parts[name] = lease
        return name

    def _end(self, role: str) -> None:
        """Return the remainder of a lease, unless parts of it are still to be sent."""
        lease = self._leases.pop(role, None)
        if lease is not None and not lease.unsent:
            self.coordination.settle(lease.name, NO_CHARGE)
            self.coordination.flush_soon()

    async def _may_return(self) -> bool:
        return await super()._may_return() or await self.coordination.soon(
            partial(self.coordination.waiting, self.name)
        )

    async def _wait(self, returned: asyncio.Future[None]) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_S):
                await returned

    async def mark(self, reservation: Reservation, sample: str, *, durable: bool = True) -> bool:
        """Record durably that a request is about to be sent."""
        most, lease = Charge(reservation.calls, reservation.usd), self._parts.pop(reservation.name, None)
        whole = None if lease is None else lease.name
        marked = await self.coordination.soon(
            partial(self.coordination.mark, reservation.name, sample, whole, most, durable=durable)
        )
        if lease is not None:
            self._took(lease)
        return marked

    def _took(self, lease: _Lease) -> None:
        """A part of a lease was sent, or will not be; the last part of an old lease ends it."""
        lease.unsent -= 1
        if not lease.unsent and lease not in self._leases.values():
            self.coordination.settle(lease.name, NO_CHARGE)
            self.coordination.flush_soon()

    def unmark(self, reservation: Reservation) -> None:
        self.coordination.mark(reservation.name, None)

    async def found(self, key: str, stored: Mapping[int, StoredSample], price: Price | None) -> None:
        """Count what a dead process had paid for these samples by their stored usage."""
        await super().found(key, stored, price)
        with suppress(CacheError):  # it stays uncertain
            orphans = await self.coordination.soon(partial(self.coordination.orphans, self.name))
            for number, sample in stored.items() if orphans else ():
                if (reservation := orphans.pop(name := sample_name(key, number), None)) is not None:
                    paid = Charge(sample.batch, cost(price, sample.usage))
                    self.coordination.settle(reservation, paid, orphan=name)
            self.coordination.flush_soon()

    def settle(self, reservation: Reservation, charged: Charge, uncertain: Charge = NO_CHARGE) -> None:
        """Return a reservation, and count what the request cost.

        That is written after the samples, which are in the cache by now. Killed between the two, a process
        leaves an uncertain charge, but loses no sample that was billed.
        """
        self.charged += charged
        self.uncertain += uncertain
        if (lease := self._parts.pop(reservation.name, None)) is not None:  # it was not sent
            lease.left += Charge(reservation.calls, reservation.usd)
            self._took(lease)
        else:
            self.coordination.settle(reservation.name, charged, uncertain)
            self.coordination.flush_soon()
        asyncio.get_running_loop().call_soon(self._settled)

    def _idle(self) -> None:
        for role in () if self._under_way else tuple(self._leases):
            self._end(role)

    def _settled(self) -> None:
        self._under_way -= 1
        if self._leases and not self._under_way:
            asyncio.get_running_loop().call_later(IDLE_S, self._idle)
        self._give_back()

    def reason(self) -> str:
        """Why the next request was not sent."""
        if self._over:
            return super().reason()
        return f"the budget `{self.name}` does not allow the next request: {self.stored}"


def _spent(charged: Charge, uncertain: Charge) -> Spent:
    return Spent(charged.calls, float(charged.usd), uncertain.calls, float(uncertain.usd))
