"""The hard limit: before a request is sent its worst case is set aside, and what could cross is not sent."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

from gotlang.errors import BudgetExceeded, UsageError
from gotlang.models.base import Model, Price, Request, Usage, token_bound

_MILLION = 10**6
_NOTHING = Fraction(0)
_NO_TOKENS = Usage()


@final
@dataclass(frozen=True, slots=True)
class Reservation:
    """Set aside for one request of `answers` answers: at most `usd` dollars."""

    answers: int
    usd: Fraction


class Budget:
    """What may still be spent, over every role and every run that shares it. None means no limit.

    `max_usd` is in US dollars, `max_calls` counts answers. `spent_usd` and `spent_calls` are what was paid,
    and what may have been: a request that was sent and brought no answer counts at its worst. What requests
    under way may cost is set aside besides. `refused` counts answers that were not asked for. Amounts are
    kept exactly, as the decimal numbers they were given as. Safe among the tasks of one event loop. Raises
    UsageError for a limit that is no number of at least 0.
    """

    def __init__(self, max_usd: float | None = None, max_calls: int | None = None) -> None:
        for limit, what in ((max_usd, "dollars"), (max_calls, "answers")):
            if limit is not None and not (math.isfinite(limit) and limit >= 0):
                raise UsageError(f"a limit of {limit} {what} makes no sense", help="give at least 0")
        self.max_usd = max_usd
        self.max_calls = max_calls
        self.spent_calls = 0
        self.refused = 0
        self._limit = _exact(max_usd) if max_usd is not None else None
        self._spent = _NOTHING
        self._reserved_usd = _NOTHING
        self._under_way = 0
        self._reserved_calls = 0
        self._returned: list[asyncio.Future[None]] = []

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return self.max_usd is not None or self.max_calls is not None

    @property
    def exhausted(self) -> bool:
        """Whether a request was not sent because it could exceed a limit."""
        return self.refused > 0

    @property
    def spent_usd(self) -> float:
        """US dollars spent so far, by requests whose price is known."""
        return float(self._spent)

    def check(self, model: Model) -> None:
        """Refuse a dollar limit where the model's price is not known. Raises UsageError."""
        if self.max_usd is not None and model.price is None:
            raise UsageError(
                f"the price of `{model.name}` is not known, so a limit in dollars cannot be kept",
                help="give its price in a file with `--prices`, or limit the answers with `--max-calls`",
            )

    async def reserve(self, request: Request, answers: int, price: Price | None) -> Reservation:
        """Set aside the worst case of a request for up to `answers` answers, or for as many as fit.

        Waits while requests under way may give back enough. Raises BudgetExceeded where not even one
        answer fits.
        """
        while True:
            fitting = self._fitting(request, answers, price) if self.limited else answers
            if fitting == answers or (fitting > 0 and not self._under_way):
                usd = worst_case(request, fitting, price) if self._limit is not None else _NOTHING
                self._under_way += 1
                self._reserved_usd = _sum(self._reserved_usd, usd)
                self._reserved_calls += fitting
                return Reservation(fitting, usd)
            if not self._under_way:
                self.refused += answers
                raise BudgetExceeded(self.reason())
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._returned.append(waiter)
            await waiter

    def settle(self, reservation: Reservation, answers: int, usd: Fraction) -> None:
        """Give back what was set aside, and count what the request really cost."""
        self.spent_calls += answers
        self._spent = _sum(self._spent, usd)
        self._under_way -= 1
        if reservation.usd:
            self._reserved_usd -= reservation.usd
        self._reserved_calls -= reservation.answers
        if self._returned:
            self._give_back()

    def reason(self) -> str:
        """Why the next request was not sent, in words."""
        parts = []
        if self.max_usd is not None:
            parts.append(f"${self.spent_usd:.4f} of ${self.max_usd:.4f} spent")
        if self.max_calls is not None:
            parts.append(f"{self.spent_calls} of {self.max_calls} answers asked")
        return "the budget does not allow the next request: " + ", ".join(parts)

    def _give_back(self) -> None:
        waiting, self._returned = self._returned, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _fitting(self, request: Request, answers: int, price: Price | None) -> int:
        if self.max_calls is not None:
            answers = min(answers, self.max_calls - self.spent_calls - self._reserved_calls)
        if self._limit is not None:
            answers = affordable(request, answers, price, self._limit - self._spent - self._reserved_usd)
        return max(0, answers)


@final
class Allowance:
    """Leave to send one request, from the first time to the last: what is set aside for it, and the count of
    what its repeats may have cost.

    `lost` counts requests that brought nothing and may have been charged, `charged` is what those cost whose
    cost is known.
    """

    __slots__ = ("_budget", "_price", "_request", "_reservation", "answers", "charged", "lost", "repeats")

    def __init__(self, budget: Budget, request: Request, model: Model, reservation: Reservation) -> None:
        self.answers = reservation.answers
        self.lost = 0
        self.repeats = 0
        self.charged = _NO_TOKENS
        self._budget = budget
        self._request = request
        self._price = model.price
        self._reservation: Reservation | None = reservation

    @classmethod
    async def of(cls, budget: Budget, request: Request, answers: int, model: Model) -> Allowance:
        """Leave to ask for as many answers as fit. Raises BudgetExceeded where not even one does, and
        UsageError where the limit is in dollars and the price is not known."""
        budget.check(model)
        return cls(budget, request, model, await budget.reserve(request, answers, model.price))

    async def again(self, usage: Usage | None) -> None:
        """The request brought nothing and may have been charged: count it, and set aside for one more.

        `usage` is what it cost, None where that is not known. Raises BudgetExceeded where another does not
        fit.
        """
        self.repeats += 1
        if usage is None:
            self.lost += 1
        else:
            self.charged += usage
        self._settle(self.answers, self._worst if usage is None else cost(self._price, usage))
        reservation = await self._budget.reserve(self._request, self.answers, self._price)
        if reservation.answers < self.answers:
            self._budget.settle(reservation, 0, _NOTHING)
            raise BudgetExceeded(self._budget.reason())
        self._reservation = reservation

    def answered(self, answers: int, usage: Usage, lost: int) -> None:
        """The request brought answers; `usage` is that of all its repeats, of which `lost` brought nothing
        and may have been charged besides."""
        usd = cost(self._price, usage)
        if self.repeats:
            usd -= cost(self._price, self.charged)
        self._unknown(answers, usd, lost - self.lost)
        self.lost = max(lost, self.lost)

    def failed(self, lost: int) -> None:
        """It brought nothing in the end; in all, `lost` of its requests may have been charged."""
        self._unknown(0, _NOTHING, lost - self.repeats)
        self.lost = max(lost, self.lost)

    def abandoned(self) -> None:
        """It was left under way: it may have been charged."""
        self._unknown(0, _NOTHING, 1)
        self.lost += 1

    def returned(self) -> None:
        """It was not sent."""
        self._settle(0, _NOTHING)

    @property
    def _worst(self) -> Fraction:
        return worst_case(self._request, self.answers, self._price)

    def _unknown(self, answers: int, usd: Fraction, more: int) -> None:
        """Settle with so many requests more, of which nobody was told."""
        if more > 0:
            answers += more * self.answers
            usd += more * self._worst
        self._settle(answers, usd)

    def _settle(self, answers: int, usd: Fraction) -> None:
        reservation, self._reservation = self._reservation, None
        if reservation is not None:
            self._budget.settle(reservation, answers, usd)


def worst_case(request: Request, answers: int, price: Price | None) -> Fraction:
    """US dollars that no such request can exceed: each byte of the prompt a token, each answer at its
    longest. 0 where the price is not known."""
    if price is None:
        return _NOTHING
    inputs, cached, outputs, unit = _prices(price)
    tokens = token_bound(request) * max(inputs, cached) + request.settings.max_tokens * answers * outputs
    return Fraction(tokens, unit)


def affordable(request: Request, answers: int, price: Price | None, left: Fraction) -> int:
    """As many of some answers as cost at most what is left."""
    prompt = worst_case(request, 0, price)
    if prompt > left:
        return 0
    each = worst_case(request, 1, price) - prompt
    return min(answers, (left - prompt) // each) if each else answers


def cost(price: Price | None, usage: Usage) -> Fraction:
    """What a request with this usage costs in US dollars, exactly. 0 where the price is not known."""
    if price is None:
        return _NOTHING
    inputs, cached, outputs, unit = _prices(price)
    fresh = usage.input_tokens - usage.cached_input_tokens
    tokens = fresh * inputs + usage.cached_input_tokens * cached + usage.output_tokens * outputs
    return Fraction(tokens, unit)


@lru_cache(maxsize=64)
def _prices(price: Price) -> tuple[int, int, int, int]:
    """What one token costs, of input, of input that the provider had cached, of output: whole numbers, and
    how many of them make a US dollar."""
    inputs, outputs = _exact(price.input_per_million), _exact(price.output_per_million)
    cached = inputs if price.cached_input_per_million is None else _exact(price.cached_input_per_million)
    unit = math.lcm(inputs.denominator, cached.denominator, outputs.denominator)
    return int(inputs * unit), int(cached * unit), int(outputs * unit), unit * _MILLION


def _sum(a: Fraction, b: Fraction) -> Fraction:
    """Both together; adding nothing, as runs without a limit mostly do, costs nothing."""
    return a + b if b else a


def _exact(value: float) -> Fraction:
    """The decimal number that a float was written as: 0.1 is a tenth."""
    return Fraction(repr(float(value)))
