"""The hard limit: before a request is sent its worst case is set aside, and what could cross is not sent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import final

from gotlang.errors import BudgetExceeded, UsageError
from gotlang.models.base import Model, Price, Request, Usage, token_bound


@final
@dataclass(frozen=True, slots=True)
class Reservation:
    """Set aside for one request of `answers` answers: at most `usd` dollars."""

    answers: int
    usd: float


def worst_case(request: Request, answers: int, price: Price) -> float:
    """US dollars that no such request can exceed: each byte of the prompt a token, each answer at its
    longest."""
    usage = Usage(token_bound(request), request.settings.max_tokens * answers)
    return Price(price.input_per_million, price.output_per_million).usd(usage)


class Budget:
    """What may still be spent, over every role of a run. None means no limit.

    `spent_usd` and `spent_calls` are what was paid, and what may have been: a request that was sent and
    brought no answer counts at its worst. What requests under way may cost is set aside besides.
    Safe among the tasks of one event loop.
    """

    def __init__(self, max_usd: float | None = None, max_calls: int | None = None) -> None:
        self.max_usd = max_usd
        self.max_calls = max_calls
        self.spent_usd = 0.0
        self.spent_calls = 0
        self.refused = 0
        self._reserved_usd = 0.0
        self._reserved_calls = 0
        self._returned: list[asyncio.Future[None]] = []

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return self.max_usd is not None or self.max_calls is not None

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
        if not self.limited:
            return Reservation(answers, 0.0)
        while True:
            fitting = self._fitting(request, answers, price)
            if fitting == answers or (fitting > 0 and not self._reserved_calls):
                usd = worst_case(request, fitting, price) if price is not None else 0.0
                self._reserved_usd += usd
                self._reserved_calls += fitting
                return Reservation(fitting, usd)
            if not self._reserved_calls:
                self.refused += answers
                raise BudgetExceeded(self.reason())
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._returned.append(waiter)
            await waiter

    def settle(self, reservation: Reservation, answers: int, usd: float | None) -> None:
        """Give back what was set aside, and count what the request really cost."""
        self.spent_calls += answers
        self.spent_usd += usd or 0.0
        if not self.limited:
            return
        self._reserved_usd -= reservation.usd
        self._reserved_calls -= reservation.answers
        if not self._reserved_calls:
            self._reserved_usd = 0.0  # no drift from rounding
        waiting, self._returned = self._returned, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _fitting(self, request: Request, answers: int, price: Price | None) -> int:
        if self.max_calls is not None:
            answers = min(answers, self.max_calls - self.spent_calls - self._reserved_calls)
        if self.max_usd is not None and price is not None:
            left = self.max_usd - self.spent_usd - self._reserved_usd
            while answers > 0 and worst_case(request, answers, price) > left:
                answers -= 1
        return max(0, answers)

    def reason(self) -> str:
        """Why the next request was not sent, in words."""
        parts = []
        if self.max_usd is not None:
            parts.append(f"${self.spent_usd:.4f} of ${self.max_usd:.4f} spent")
        if self.max_calls is not None:
            parts.append(f"{self.spent_calls} of {self.max_calls} answers asked")
        return "the budget does not allow the next request: " + ", ".join(parts)
