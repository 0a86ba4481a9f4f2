"""The hard limit on spending: the maximum cost of a request is reserved before it is sent."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from typing import final

from msgspec import Struct

from gotlang.cache.base import StoredSample
from gotlang.cache.coordination import NO_CHARGE, NOTHING, Charge
from gotlang.errors import BudgetExceeded, UsageError
from gotlang.models.base import AlreadyCached, Model, Price, Request, Usage, token_bound
from gotlang.models.prices import Spent, calls_text, dollars

_MILLION = 10**6
_NO_USAGE = Usage()


@final
class Reservation(Struct, frozen=True, gc=False):
    """A reservation for one request of `calls` calls: at most `usd` US dollars; `id` in a shared budget."""

    calls: int
    usd: Fraction
    name: str = ""


class Budget:
    """A limit on spending, for all runs that share it. None means no limit.

    `max_usd` is in US dollars, `max_calls` counts calls. `charged` is known to have been billed, `uncertain`
    is the maximum cost of requests that may have been. The maximum cost of requests in flight is reserved in
    addition. `free_calls` cost nothing, `refused` counts calls that were not requested. Amounts are exact
    decimal numbers. Safe among the tasks of one event loop. Raises UsageError for a negative limit.
    """

    whole = True
    """Whether its own counts are complete: no other process spends from it."""

    def __init__(self, max_usd: float | None = None, max_calls: int | None = None) -> None:
        for limit, unit in ((max_usd, "dollars"), (max_calls, "calls")):
            if limit is not None and not (math.isfinite(limit) and limit >= 0):
                raise UsageError(f"invalid limit of {limit} {unit}", help="give at least 0")
        self.max_usd = max_usd
        self.max_calls = max_calls
        self.charged = self.uncertain = NO_CHARGE
        self.free_calls = 0
        self.refused = 0
        self._over: dict[tuple[str, str], str] = {}
        self._limit = exact(max_usd) if max_usd is not None else None
        self._reserved_usd = NOTHING
        self._under_way = 0
        self._reserved_calls = 0
        self._returned: list[asyncio.Future[None]] = []
        self._before = 0, 0.0
        """Calls and dollars that were spent before the current limit, which do not count towards it."""

    @property
    def exhausted(self) -> bool:
        """Whether a request was not sent because it could exceed a limit."""
        return self.refused > 0

    @property
    def spent_calls(self) -> int:
        """Calls that count towards the limit: charged and uncertain ones."""
        return self.charged.calls + self.uncertain.calls

    @property
    def _spent(self) -> Fraction:
        return self.charged.usd + self.uncertain.usd

    def spent(self, *, priced: bool) -> Spent:
        """The spending so far; `priced` tells whether the price is known."""
        charged, uncertain = self.charged, self.uncertain
        usd, more = (float(charged.usd), float(uncertain.usd)) if priced else (None, None)
        return Spent(charged.calls, usd, uncertain.calls, more, self.free_calls)

    def check(self, model: Model) -> None:
        """Refuse a dollar limit for a model without a known price. Raises UsageError."""
        if self.max_usd is not None and model.price is None:
            raise UsageError(
                f"the price of `{model.name}` is unknown, so a limit in dollars cannot be enforced",
                help="specify its price in a file with `--prices`, or limit the calls with `--max-calls`",
            )

    async def reserve(self, request: Request, calls: int, price: Price | None) -> Reservation:
        """Reserve the maximum cost of a request for up to `calls` calls, or for as many as the limit allows.

        Waits while requests in flight may return enough. Raises BudgetExceeded if not even one call is
        possible.
        """
        self.check_open(request, calls)
        while (reservation := await self._take(request, calls, price)) is None:
            if not await self._may_return():
                self.refused += calls
                raise BudgetExceeded(self.reason())
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._returned.append(waiter)
            await self._wait(waiter)
            await asyncio.sleep(0)  # the response that was paid may have shown that this one is not needed
            self.check_open(request, calls)
        self._under_way += 1
        return reservation

    @contextmanager
    def at_most(self, usd: float | None, calls: int | None) -> Iterator[None]:
        """A context in which no more than this is spent in addition to the limits (None: no further
        limit)."""
        before, calls_before, usd_before = (self.max_usd, self.max_calls, self._limit), 0, 0.0
        if calls is not None:
            most = self.spent_calls + calls
            if self.max_calls is None or most < self.max_calls:
                self.max_calls, calls_before = most, self.spent_calls
        if usd is not None:
            part = self._spent + exact(usd)
            if self._limit is None or part < self._limit:
                self._limit, usd_before = part, float(self._spent)
            self.max_usd = float(self._limit)
        self._before = calls_before, usd_before
        try:
            yield
        finally:
            self.max_usd, self.max_calls, self._limit = before
            self._before = 0, 0.0

    def unlimited(self, calls: int) -> Reservation | None:
        """A reservation without a limit; None if there is one to `reserve` within."""
        if self.max_calls is not None or self._limit is not None or self._over:
            return None
        self._under_way += 1
        self._reserved_calls += calls
        return Reservation(calls, NOTHING)

    async def _may_return(self) -> bool:
        """Whether requests in flight may return a part of their reservation."""
        return self._under_way > 0

    async def _wait(self, returned: asyncio.Future[None]) -> None:
        """Wait until a reservation was returned, or until the next check is due."""
        await returned

    async def mark(self, reservation: Reservation, sample: str, *, durable: bool = True) -> bool:
        """Record that a request is sent, for this sample first. Returns False if its reservation is no longer
        valid."""
        return True

    def unmark(self, reservation: Reservation) -> None:
        """Record that the last request sent was refused free of charge."""

    async def found(self, key: str, stored: Mapping[int, StoredSample], price: Price | None) -> None:
        """Record that these samples of a request were in the cache."""
        self.free_calls += len(stored)

    async def _take(self, request: Request, calls: int, price: Price | None) -> Reservation | None:
        """A reservation within the limit; None if it allows nothing now, or if requests in flight may allow
        more."""
        fitting = calls
        if self.max_calls is not None:
            fitting = min(fitting, self.max_calls - self.spent_calls - self._reserved_calls)
        if self._limit is not None:
            fitting = affordable(request, fitting, price, self._limit - self._spent - self._reserved_usd)
        if fitting < calls and (fitting <= 0 or self._under_way):
            return None
        usd = worst_case(request, fitting, price) if self._limit is not None else NOTHING
        if usd is not NOTHING:
            self._reserved_usd += usd
        self._reserved_calls += fitting
        return Reservation(fitting, usd)

    def settle(self, reservation: Reservation, charged: Charge, uncertain: Charge = NO_CHARGE) -> None:
        """Return a reservation; count what is known to have been billed, and what may have been in addition.
        Both are zero for a request that was free or not sent."""
        self.charged += charged
        if uncertain is not NO_CHARGE:
            self.uncertain += uncertain
        self._under_way -= 1
        if reservation.usd is not NOTHING:
            self._reserved_usd -= reservation.usd
        self._reserved_calls -= reservation.calls
        if self._returned:
            self._give_back()

    def compare(self, request: Request, reservation: Reservation, spent: Charge) -> None:
        """Stop requests to a model that charged more than was reserved: the next request could exceed a
        limit."""
        where = (request.endpoint, request.model)
        if self._limit is not None and spent.usd > reservation.usd:
            told, most = dollars(float(spent.usd)), dollars(float(reservation.usd))
            said = f"charged {told} for a request that may cost {most} at most"
        elif self.max_calls is not None and spent.calls > reservation.calls:
            said = f"charged {calls_text(spent.calls)} where {calls_text(reservation.calls)} were requested"
        else:
            return
        self._over.setdefault(
            where, f"`{request.model}` {said}, so no more requests are sent to it under a limit"
        )

    def check_open(self, request: Request, calls: int = 1) -> None:
        """Raise BudgetExceeded if the model of a request has charged more than was reserved."""
        if self._over and (reason := self._over.get((request.endpoint, request.model))) is not None:
            self.refused += calls
            raise BudgetExceeded(reason)

    def _give_back(self) -> None:
        """Wake the reservations that wait."""
        waiting, self._returned = self._returned, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def reason(self) -> str:
        """Why the next request was not sent."""
        if self._over:
            return next(iter(self._over.values()))
        return "the budget does not allow the next request: " + ", ".join(
            self.used(priced=self.max_usd is not None)
        )

    def used(self, *, priced: bool) -> list[str]:
        """`$0.1200 of $0.1500 spent and $0.0250 uncertain` (if `priced`), `3 of 5 calls made`."""
        spent = self.spent(priced=priced)
        calls_before, usd_before = self._before
        parts = []
        if priced:
            of = "" if self.max_usd is None else f" of {dollars(self.max_usd - usd_before)}"
            more = f" and {dollars(spent.uncertain_usd)} uncertain" if self.uncertain.usd else ""
            usd = None if spent.usd is None else max(0.0, spent.usd - usd_before)
            parts.append(f"{dollars(usd)}{of} spent{more}")
        if self.max_calls is not None:
            more = f" and {spent.uncertain_calls} uncertain" if spent.uncertain_calls else ""
            made, most = max(0, spent.calls - calls_before), self.max_calls - calls_before
            parts.append(f"{made} of {most} calls made{more}")
        return parts


@final
class Allowance(Struct):
    """The reservation of one request through all its retries, and their cost.

    `charged` and `uncertain` are as in `Budget`, `usage` the tokens that are known to be billed, `requests`
    counts the requests sent.
    """

    calls: int
    _budget: Budget
    _request: Request
    _price: Price | None
    _reservation: Reservation | None
    _durable: bool = True
    """Whether what is sent must be known after a power failure: nothing is owed to a simulated model."""
    charged: Charge = NO_CHARGE
    uncertain: Charge = NO_CHARGE
    usage: Usage = _NO_USAGE
    free_calls: int = 0
    requests: int = 0
    _under_way: bool = False

    @classmethod
    def at_once(cls, budget: Budget, request: Request, calls: int, model: Model) -> Allowance | None:
        """A reservation of all of these calls if nothing is limited; None if there is a limit to reserve
        within."""
        reservation = budget.unlimited(calls)
        return (
            None
            if reservation is None
            else cls(calls, budget, request, model.price, reservation, not model.simulated)
        )

    @classmethod
    async def of(cls, budget: Budget, request: Request, calls: int, model: Model) -> Allowance:
        """Reserve as many calls as the limit allows. Raises BudgetExceeded if not even one is possible, and
        UsageError for a limit in dollars and a model without a known price."""
        if budget.max_usd is not None:
            budget.check(model)
        price = model.price
        reservation = await budget.reserve(request, calls, price)
        return cls(reservation.calls, budget, request, price, reservation, not model.simulated)

    async def sending(self, sample: str = "") -> None:
        """Record that the request is sent, for this sample first. Raises BudgetExceeded if nothing may be
        sent to its model any more, and AlreadyCached if the cache must be checked again."""
        self._budget.check_open(self._request)
        reservation = self._reservation
        if reservation is not None and not await self._budget.mark(
            reservation, sample, durable=self._durable
        ):
            raise AlreadyCached
        self.requests += 1
        self._under_way = True

    def failed(self, usage: Usage | None) -> None:
        """Record that the last request sent had no completion. `usage` is what was billed: nothing if it is
        0, up to the maximum cost if it is None."""
        self._under_way = False
        if usage is None:
            self._settle(NO_CHARGE, self._worst(self.calls))
        elif usage.tokens:
            self.usage += usage
            self._settle(Charge(self.calls, cost(self._price, usage)))
        else:
            if self._reservation is not None:
                self._budget.unmark(self._reservation)
            self.free_calls += self.calls
            self._budget.free_calls += self.calls

    async def again(self) -> None:
        """Reserve again what the last request used up. Raises BudgetExceeded if the limit does not allow
        it."""
        if self._reservation is None:
            reservation = await self._budget.reserve(self._request, self.calls, self._price)
            if reservation.calls < self.calls:
                self._budget.settle(reservation, NO_CHARGE)
                raise BudgetExceeded(self._budget.reason())
            self._reservation = reservation

    def answered(self, calls: int, usage: Usage | None, told: Usage = _NO_USAGE) -> None:
        """Record the number of completions in the response; an unknown usage (None) counts at its maximum, of
        which the amount that the endpoint has `told` so far is certain."""
        if usage is None:
            most, sure = self._worst(max(calls, self.calls), calls), cost(self._price, told)
            self.usage += told
            self._settle(Charge(0, sure), Charge(most.calls, max(NOTHING, most.usd - sure)))
        else:
            self.usage = usage if self.usage is _NO_USAGE else self.usage + usage
            self._settle(Charge(calls, cost(self._price, usage)))

    def end(self) -> None:
        """Record that no more requests are sent. A request that is still in flight may be billed; unsent
        reservations are returned."""
        if self._reservation is not None:
            self._settle(NO_CHARGE, self._worst(self.calls) if self._under_way else NO_CHARGE)

    def _worst(self, most: int, calls: int | None = None) -> Charge:
        return Charge(most if calls is None else calls, worst_case(self._request, most, self._price))

    def _settle(self, charged: Charge, uncertain: Charge = NO_CHARGE) -> None:
        reservation, self._reservation = self._reservation, None
        if reservation is not None:
            budget = self._budget
            self.charged += charged
            if uncertain is not NO_CHARGE:
                self.uncertain += uncertain
            budget.settle(reservation, charged, uncertain)
            if budget.max_calls is not None or budget.max_usd is not None:
                budget.compare(self._request, reservation, charged + uncertain)


def worst_case(request: Request, calls: int, price: Price | None) -> Fraction:
    """The maximum cost of a request in US dollars: a token per byte of the prompt, and completions of maximum
    length. 0 for an unknown price."""
    if price is None:
        return NOTHING
    inputs, cached, written, outputs, unit = _prices(price)
    tokens = (
        token_bound(request) * max(inputs, cached, written) + request.settings.max_tokens * calls * outputs
    )
    return Fraction(tokens, unit)


def affordable(request: Request, calls: int, price: Price | None, left: Fraction) -> int:
    """The maximum number of calls that the remaining budget allows."""
    prompt = worst_case(request, 0, price)
    if prompt > left:
        return 0
    each = worst_case(request, 1, price) - prompt
    return min(calls, (left - prompt) // each) if each else calls


def cost(price: Price | None, usage: Usage) -> Fraction:
    """The exact cost of this usage in US dollars. 0 for an unknown price."""
    if price is None:
        return NOTHING
    inputs, cached, written, outputs, unit = _prices(price)
    fresh = usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens
    tokens = fresh * inputs + usage.cached_input_tokens * cached + usage.cache_write_tokens * written
    tokens += usage.output_tokens * outputs
    return Fraction(tokens, unit)


@lru_cache(maxsize=64)
def _prices(price: Price) -> tuple[int, int, int, int, int]:
    """The price of one token of input, of input read from a prompt cache, of input written to one and of
    output as whole numbers of a unit, and how many units make a US dollar."""
    inputs, outputs = exact(price.input_per_million), exact(price.output_per_million)
    cached, written = (
        inputs if special is None else exact(special)
        for special in (price.cached_input_per_million, price.cache_write_per_million)
    )
    unit = math.lcm(*(each.denominator for each in (inputs, cached, written, outputs)))
    return int(inputs * unit), int(cached * unit), int(written * unit), int(outputs * unit), unit * _MILLION


def exact(value: float) -> Fraction:
    """The decimal number from which a float was parsed: 0.1 is a tenth."""
    return Fraction(repr(float(value)))
