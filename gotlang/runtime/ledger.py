"""What a run cost: as it was paid, and as it would have been with less of a cache.

The three accounts and two ways of adding up time are the rows of Tables 2 and 3 of Framework of Thoughts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, final

from gotlang.cache.base import Stored
from gotlang.models.base import Price, Usage

Times = tuple[float, float, float]
"""Seconds along the longest path: without cache, with the process cache, with the persistent one."""
NO_TIMES: Times = (0.0, 0.0, 0.0)

Source = Literal["model", "process", "persistent"]
"""Where an answer came from."""

ACCOUNTS = ("none", "process", "persistent")


@final
@dataclass(slots=True)
class Account:
    """Answers asked of models, requests over the wire, tokens, US dollars (None once one price was unknown),
    and the seconds that all requests took one after the other. `lost` counts the requests that brought no
    answer and may have been charged all the same, which no other sum holds but that of the requests."""

    calls: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    sequential_s: float = 0.0
    lost: int = 0

    def add(self, answers: int, requests: int, usage: Usage, price: Price | None, seconds: float) -> None:
        """Count requests that gave so many answers."""
        self.calls += answers
        self.requests += requests
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.sequential_s += seconds
        if price is None:
            self.usd = None if usage.input_tokens or usage.output_tokens else self.usd
        elif self.usd is not None:
            self.usd += price.usd(usage)


@final
@dataclass(slots=True)
class Ledger:
    """The accounts of one run. `paid` is what really went over the wire in it."""

    accounts: tuple[Account, Account, Account] = field(
        default_factory=lambda: (Account(), Account(), Account())
    )
    paid: Account = field(default_factory=Account)

    def count(self, answers: Sequence[tuple[Stored, Source]], batch: int, price: Price | None) -> Times:
        """Count answers that one operation asked for at the same time; the seconds it waited in each account.

        `batch` is how many answers one request may hold: what was answered from a cache is counted as it
        would have been asked.
        """
        sources: tuple[tuple[Source, ...], ...] = (
            ("model", "process", "persistent"),
            ("model", "persistent"),
            ("model",),
        )
        waited = []
        for account, wanted in zip(self.accounts, sources, strict=True):
            chosen = [stored for stored, source in answers if source in wanted]
            longest = 0.0
            for start in range(0, len(chosen), batch):
                together = chosen[start : start + batch]
                seconds = max(s.latency_s for s in together)
                usage = Usage(
                    max(s.usage.input_tokens for s in together),
                    sum(s.answer.output_tokens for s in together),
                    max(s.usage.cached_input_tokens for s in together),
                )
                account.add(len(together), 1, usage, price, seconds)
                longest = max(longest, seconds)
            waited.append(longest)
        return (waited[0], waited[1], waited[2])

    def as_json(self, times: Times) -> dict[str, Any]:
        """The accounts by name, each with the seconds along the longest path."""
        out: dict[str, Any] = {}
        for name, account, longest in zip(ACCOUNTS, self.accounts, times, strict=True):
            out[name] = {
                "calls": account.calls,
                "requests": account.requests,
                "input_tokens": account.input_tokens,
                "output_tokens": account.output_tokens,
                "usd": _rounded(account.usd, 12),
                "sequential_s": _rounded(account.sequential_s, 6),
                "longest_path_s": longest,
            }
        return out

    def paid_json(self) -> dict[str, Any]:
        """What was paid."""
        paid = self.paid
        return {
            "calls": paid.calls,
            "requests": paid.requests,
            "lost": paid.lost,
            "input_tokens": paid.input_tokens,
            "output_tokens": paid.output_tokens,
            "usd": _rounded(paid.usd, 12),
        }


def _rounded(sum_: float | None, digits: int) -> float | None:
    """A sum without its last bits, which hang on the order of adding: equal runs print equal sums."""
    return None if sum_ is None else round(sum_, digits)
