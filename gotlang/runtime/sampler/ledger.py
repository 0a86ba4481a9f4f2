"""What a run cost: as it was paid, and as it would have been with less of a cache.

The three accounts and two ways of adding up time are the rows of Tables 2 and 3 of Framework of Thoughts.
They are made up when a run has ended, from what its operations asked for and in an order that rests on the
graph alone, so that they do not depend on which of two operations that share an answer happened to be first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, final

from gotlang.cache.base import StoredSample
from gotlang.models.base import Price, Usage
from gotlang.runtime.graph import FAILED, Graph, Operation, before, path_key

Times = tuple[float, float, float]
"""Seconds along the longest path: without cache, with the process cache, with the persistent one."""
NO_TIMES: Times = (0.0, 0.0, 0.0)

ACCOUNTS = ("none", "process", "persistent")


@final
@dataclass(slots=True)
class Account:
    """Answers asked of models, requests over the wire, tokens, US dollars (None once one price was unknown),
    and the seconds that all requests took one after the other.

    `lost` counts the requests that brought no answer and may have been charged all the same, which no other
    sum holds but that of the requests.
    """

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


class Round(NamedTuple):
    """Answers that an operation asked for at the same time, of one request.

    `start_s` and `hops` tell when it could ask at the earliest, `turn` numbers the rounds of an operation.
    `numbers` are those of the draws. `batch` is how many answers one request may hold: what was answered from
    a cache is counted as it would have been asked. `persistent` holds the draws that were in the persistent
    cache.
    """

    operation: Operation
    turn: int
    start_s: float
    hops: int
    key: str
    numbers: tuple[int, ...]
    answers: tuple[StoredSample, ...]
    persistent: frozenset[int]
    batch: int
    price: Price | None


@final
@dataclass(slots=True)
class Ledger:
    """The accounts of one run. `paid` is what really went over the wire in it.

    `accounts` and `times` are there once `settle` was called. `shared` is set where several operations
    took the same answer.
    """

    accounts: tuple[Account, Account, Account] = field(
        default_factory=lambda: (Account(), Account(), Account())
    )
    times: Times = NO_TIMES
    paid: Account = field(default_factory=Account)
    rounds: list[Round] = field(default_factory=list, repr=False)
    shared: bool = False

    def settle(self, graph: Graph, result: Operation) -> None:
        """Make up the accounts, and the times along the longest path to `result`."""
        one = result.seconds
        if self.shared or any(asked.persistent for asked in self.rounds):
            waits = self._tell_apart()
            self.times = (one, _path(graph, result, waits[0]), _path(graph, result, waits[1]))
            return
        # No answer was there before it was asked for, so all three accounts are the same.
        for asked in self.rounds:
            self._count(0, asked, asked.answers)
        whole = self.accounts[0]
        self.accounts = (whole, replace(whole), replace(whole))
        self.times = (one, one, one)

    def _tell_apart(self) -> tuple[_Waits, _Waits]:
        """Make up each account; how long operations waited with the process cache, and with the persistent
        one."""
        # Whoever is counted as the one that asked need not be the one that looked into the cache.
        before = {(asked.key, number) for asked in self.rounds for number in asked.persistent}
        seen: set[tuple[str, int]] = set()
        waits: tuple[_Waits, _Waits] = ({}, {})
        for asked in self._in_order():
            self._count(0, asked, asked.answers)
            draws = zip(asked.numbers, asked.answers, strict=True)
            # At temperature 0 every draw is the first, so some may be the same.
            fresh = {number: stored for number, stored in draws if (asked.key, number) not in seen}
            seen.update((asked.key, number) for number in fresh)
            process = list(fresh.values())
            persistent = [stored for n, stored in fresh.items() if (asked.key, n) not in before]
            for account, chosen in ((1, process), (2, persistent)):
                seconds = self._count(account, asked, chosen)
                turns = waits[account - 1].setdefault(asked.operation, {})
                turns[asked.turn] = max(turns.get(asked.turn, 0.0), seconds)
        return waits

    def _in_order(self) -> Iterable[Round]:
        if not self.shared:
            return self.rounds
        # Whoever could ask first, asks; an operation comes after those that it depends on.
        return sorted(self.rounds, key=lambda r: (r.start_s, r.hops, path_key(r.operation), r.turn, r.key))

    def _count(self, account: int, asked: Round, answers: Sequence[StoredSample]) -> float:
        longest = 0.0
        for start in range(0, len(answers), asked.batch):
            chunk = answers[start : start + asked.batch]
            seconds, usage = _together(chunk)
            self.accounts[account].add(len(chunk), 1, usage, asked.price, seconds)
            longest = max(longest, seconds)
        return longest

    def as_json(self) -> dict[str, Any]:
        """The accounts by name, each with the seconds along the longest path."""
        out: dict[str, Any] = {}
        for name, account, longest in zip(ACCOUNTS, self.accounts, self.times, strict=True):
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


def _together(answers: Sequence[StoredSample]) -> tuple[float, Usage]:
    """The seconds and the tokens of one request for these answers: its prompt is paid once."""
    if len(answers) == 1:
        (one,) = answers
        usage = one.usage
        if usage.output_tokens != one.completion.output_tokens:
            usage = Usage(usage.input_tokens, one.completion.output_tokens, usage.cached_input_tokens)
        return one.latency_s, usage
    return waited(answers), Usage(
        max(one.usage.input_tokens for one in answers),
        sum(one.completion.output_tokens for one in answers),
        max(one.usage.cached_input_tokens for one in answers),
    )


def waited(answers: Iterable[StoredSample]) -> float:
    """The seconds until all of these answers are there, asked for at the same time."""
    return max((one.latency_s for one in answers), default=0.0)


_Waits = dict["Operation", dict[int, float]]
"""The seconds that each operation waited in each of its turns."""


def _path(graph: Graph, result: Operation, waits: _Waits) -> float:
    """Seconds along the longest path to an operation."""
    ends: dict[Operation, float] = {}

    def end(operation: Operation | None) -> float:
        # What was known when it was made starts when its maker ended.
        while operation is not None and operation.constant:
            operation = operation.origin
        return 0.0 if operation is None else ends.get(operation, 0.0)

    for operation in graph.ended:
        if operation.state == FAILED and not operation.hops:
            continue  # it never ran
        start = max(map(end, before(operation)), default=0.0)
        ends[operation] = start + sum(waits.get(operation, {}).values())
    return end(result)
