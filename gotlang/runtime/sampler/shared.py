"""A budget that processes share, in the coordination beside their cache; it lasts over restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from fractions import Fraction
from functools import partial
from typing import Self

from gotlang.cache.base import StoredSample
from gotlang.cache.coordination import (
    NO_AMOUNT,
    UNIT,
    Amount,
    Coordination,
    StoredBudget,
    sample_name,
)
from gotlang.errors import CacheError, UsageError
from gotlang.models.base import Price, Request
from gotlang.models.prices import Spent, dollars
from gotlang.runtime.sampler.budget import Budget, Reservation, affordable, cost, exact, worst_case

WAIT_S = 0.05
"""Seconds between two looks at whether another process has given something back."""
ROLE: ContextVar[str] = ContextVar("role", default="")
"""What a shared budget books the requests of a task to, besides the whole."""


class SharedBudget(Budget):
    """The budget with this name; the limits are those that it has there. `charged` and `uncertain` are what
    this process spent. Raises CacheError where the coordination cannot be read or written."""

    def __init__(self, coordination: Coordination, name: str, stored: StoredBudget) -> None:
        super().__init__(None if stored.max_usd is None else float(stored.max_usd), stored.max_calls)
        self.whole = False
        self.coordination = coordination
        self.name = name
        self.for_now: Fraction | None = None
        """A limit in dollars below the budget's own, for now."""

    @classmethod
    def open(
        cls, coordination: Coordination, name: str, max_usd: float | None, max_calls: int | None
    ) -> Self:
        """The budget with this name; if there is none, it is made with these limits.

        Raises UsageError if there is none and no limit to make it with, or if it has other limits.
        """
        # As it is stored, to the millionth of a millionth of a dollar.
        limit = None if max_usd is None else Fraction(int(exact(max_usd) * UNIT), UNIT)
        if max_usd is None and max_calls is None:
            stored = coordination.budget(name)
            if stored is None:
                raise UsageError(
                    f"there is no budget `{name}` beside this cache",
                    help="`--max-usd` or `--max-calls` makes it; `gotc budget list` shows all",
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
        """What all processes together have spent, as of now."""
        found = self.coordination.budget(self.name)
        if found is None:
            raise UsageError(f"the budget `{self.name}` was removed")
        return found

    @property
    def spent_by_all(self) -> Spent:
        """The same as reports have it."""
        return _spent(self.stored.charged, self.stored.uncertain)

    @property
    def spent_by_role(self) -> dict[str, Spent]:
        """What all processes together have spent on each role."""
        return {role: _spent(*amounts) for role, amounts in self.coordination.roles(self.name).items()}

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
        shared, most = self.coordination, worst_case(request, calls, price)
        reserve = partial(shared.reserve, self.name, Amount(calls, most), self.for_now, ROLE.get())

        def give_back(name: str | None) -> None:
            if name is not None:
                shared.settle(name, NO_AMOUNT)
                shared.flush_soon()

        name = await shared.soon(reserve, give_back)
        return None if name is None else Reservation(calls, most, name)

    async def _may_return(self) -> bool:
        return await super()._may_return() or await self.coordination.soon(
            partial(self.coordination.waiting, self.name)
        )

    async def _wait(self, returned: asyncio.Future[None]) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_S):
                await returned

    async def mark(self, reservation: Reservation, sample: str) -> bool:
        """Record durably that a request is on its way."""
        return await self.coordination.soon(partial(self.coordination.mark, reservation.name, sample))

    def unmark(self, reservation: Reservation) -> None:
        self.coordination.mark(reservation.name, None)

    async def found(self, key: str, stored: Mapping[int, StoredSample], price: Price | None) -> None:
        """Count what a process that died had paid for these samples as what they say."""
        await super().found(key, stored, price)
        with suppress(CacheError):  # it stays uncertain
            orphans = await self.coordination.soon(partial(self.coordination.orphans, self.name))
            for number, sample in stored.items() if orphans else ():
                if (reservation := orphans.pop(name := sample_name(key, number), None)) is not None:
                    paid = Amount(sample.batch, cost(price, sample.usage))
                    self.coordination.settle(reservation, paid, orphan=name)
            self.coordination.flush_soon()

    def settle(self, reservation: Reservation, charged: Amount, uncertain: Amount = NO_AMOUNT) -> None:
        """Give back a reservation, and count what the request cost.

        That is written after the samples, which are in the cache by now. Killed between the two, a process
        leaves what may have been charged, but loses no sample that was billed.
        """
        self.charged += charged
        self.uncertain += uncertain
        self.coordination.settle(reservation.name, charged, uncertain)
        self.coordination.flush_soon()
        asyncio.get_running_loop().call_soon(self._settled)

    def _settled(self) -> None:
        self._under_way -= 1
        self._give_back()

    def reason(self) -> str:
        """Why the next request was not sent."""
        if self._over:
            return super().reason()
        return f"the budget `{self.name}` does not allow the next request: {self.stored}"


def _spent(charged: Amount, uncertain: Amount) -> Spent:
    return Spent(charged.calls, float(charged.usd), uncertain.calls, float(uncertain.usd))
