"""The cost of a run: what was spent, and what it would have cost with less of a cache.

The three accounts and two ways of adding up time are the rows of Tables 2 and 3 of Framework of Thoughts.
They are computed when a run has ended, from the requests of its operations and in an order that depends on
the graph alone: not on which of two operations that share a sample happened to be first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, final

from msgspec import Struct, field
from msgspec.structs import replace

from gotlang.cache.base import StoredSample
from gotlang.models.base import Price, Usage
from gotlang.models.prices import Spent
from gotlang.runtime.graph import FAILED, Graph, Operation, before, path_key
from gotlang.runtime.sampler.budget import Allowance
from gotlang.runtime.sampler.events import SampleSource
from gotlang.thought import packed, several

Times = tuple[float, float, float]
"""Seconds along the critical path: without cache, with the process cache, with the persistent one."""

ACCOUNTS = ("none", "process", "persistent")
_MOST_USAGES = 4096
"""Maximum number of distinct usages that are shared as one object."""


@final
class Account(Struct):
    """Model calls, HTTP requests, tokens, US dollars (None once a price was unknown), and the sum of the
    seconds of all requests. The next three are as in `Spent`; reasoning tokens are among the output."""

    calls: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    sequential_s: float = 0.0
    uncertain_calls: int = 0
    uncertain_usd: float | None = 0.0
    free_calls: int = 0
    reasoning_tokens: int = 0

    def add(self, calls: int, requests: int, usage: Usage, price: Price | None, seconds: float) -> None:
        """Count requests with this number of calls."""
        self.calls += calls
        self.requests += requests
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.reasoning_tokens += usage.reasoning_tokens
        self.sequential_s += seconds
        if price is None:
            self.usd = None if usage.input_tokens or usage.output_tokens else self.usd
        elif self.usd is not None:
            self.usd += price.usd(usage)

    def pay(self, allowance: Allowance, price: Price | None) -> None:
        """Count what a request, with its retries, is known to have been billed, and may have been in
        addition."""
        self.add(allowance.charged.calls, 0, allowance.usage, price, 0.0)
        uncertain = allowance.uncertain
        self.uncertain_calls += uncertain.calls
        self.free_calls += allowance.free_calls
        if price is None:
            self.uncertain_usd = None if uncertain.calls else self.uncertain_usd
        elif self.uncertain_usd is not None:
            self.uncertain_usd += float(uncertain.usd)

    @property
    def paid(self) -> Spent:
        """The same in the form of all reports."""
        return Spent(self.calls, self.usd, self.uncertain_calls, self.uncertain_usd, self.free_calls)


class Answered(Struct, frozen=True):
    """The data of a sample that an account counts."""

    latency_s: float
    usage: Usage
    output_tokens: int


@final
class Round(Struct, frozen=True, gc=False):
    """Samples of one request that an operation requested at the same time.

    A run keeps one for each call, so it has no reference to the operation, which garbage collection would
    follow, and none to the texts; a single item is stored without a tuple. `operation` is its index in the
    graph. `start_s` and `hops` are the earliest time at which it could be requested, `turn` numbers the
    rounds of an operation. `batch` is the maximum number of samples in one request: cached ones count as they
    would have been requested.
    """

    operation: int
    turn: int
    start_s: float
    hops: int
    key: str
    batch: int
    price: Price | None
    _numbers: int | tuple[int, ...]
    _latencies: float | tuple[float, ...]
    _usages: Usage | tuple[Usage, ...]
    _written: int | tuple[int, ...]
    _persistent: int | tuple[int, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its samples."""
        return several(self._numbers)

    @property
    def samples(self) -> Iterable[Answered]:
        """Its samples, in the order of their numbers."""
        return map(Answered, several(self._latencies), several(self._usages), several(self._written))

    @property
    def only(self) -> Usage | None:
        """The tokens of its sample; None if it has several."""
        usage, written = self._usages, self._written
        return usage.part(written) if isinstance(usage, Usage) and isinstance(written, int) else None

    @property
    def seconds(self) -> float:
        """The seconds that its slowest sample took."""
        return max(several(self._latencies))

    @property
    def persistent(self) -> tuple[int, ...]:
        """The numbers of the samples that were in the persistent cache."""
        return several(self._persistent)


_Waits = dict[Operation, dict[int, float]]
"""The seconds that each operation waited in each of its turns."""


@final
class Ledger(Struct):
    """The accounts of one run. `spent` is what was really sent in it.

    `accounts` and `times` are set by `settle`. `shared` says that operations shared a sample, `stored` that
    one was in the persistent cache.
    """

    accounts: tuple[Account, Account, Account] = field(
        default_factory=lambda: (Account(), Account(), Account())
    )
    times: Times = (0.0, 0.0, 0.0)
    spent: Account = field(default_factory=Account)
    rounds: list[Round] = field(default_factory=list)
    shared: bool = False
    stored: bool = False
    _usages: dict[Usage, Usage] = field(default_factory=dict)

    def note(
        self,
        asked: tuple[int, int, float, int, str],
        batch: int,
        price: Price | None,
        numbers: Sequence[int],
        found: Sequence[tuple[StoredSample, SampleSource]],
    ) -> None:
        """Add a round that was `asked` for, as its first fields describe."""
        if len(found) == 1:  # as in most cases
            ((one, source),) = found
            usage, written, number = self._known(one.usage), one.completion.output_tokens, numbers[0]
            stored = number if source == "persistent" else ()
            self.stored |= stored != ()
            self.rounds.append(Round(*asked, batch, price, number, one.latency_s, usage, written, stored))
            return
        samples = [one for one, _ in found]
        pairs = zip(numbers, found, strict=True)
        persistent = sorted({number for number, (_, source) in pairs if source == "persistent"})
        self.stored |= persistent != []
        self.rounds.append(
            Round(
                *asked,
                batch,
                price,
                packed(numbers),
                packed([one.latency_s for one in samples]),
                packed([self._known(one.usage) for one in samples]),
                packed([one.completion.output_tokens for one in samples]),
                packed(persistent) if persistent else (),
            )
        )

    def _known(self, usage: Usage) -> Usage:
        """An equal usage that was seen before: most requests of a step have one of a few usages."""
        known = self._usages
        return known.setdefault(usage, usage) if len(known) < _MOST_USAGES else known.get(usage, usage)

    def settle(self, graph: Graph, result: Operation) -> None:
        """Compute the accounts, and the times along the critical path to `result`."""
        total = result.seconds
        if self.shared or self.stored:
            apart = self._count_apart(graph.operations)
            process, persistent = (_critical_path_s(graph, result, waits) for waits in apart)
            self.times = (total, process, persistent)
        else:
            self._count_together()
            self.times = (total, total, total)
        for account in self.accounts:  # rounded, so that they do not depend on the order of summation
            account.usd = None if account.usd is None else round(account.usd, 12)

    def _count_together(self) -> None:
        """The accounts if no sample was cached when it was requested: all three are the same."""
        # Most rounds are of one sample, and most of these have one of a few usages.
        whole, alike = self.accounts[0], Counter[tuple[Price | None, Usage]]()
        for asked in self.rounds:
            if (usage := asked.only) is not None:
                alike[asked.price, usage] += 1
                whole.sequential_s += asked.seconds
            else:
                self._count(0, asked, list(asked.samples))
        for (price, usage), times in alike.items():
            whole.add(times, times, usage.times(times), price, 0.0)
        self.accounts = (whole, replace(whole), replace(whole))

    def _count_apart(self, operations: Sequence[Operation]) -> tuple[_Waits, _Waits]:
        """Compute each account; returns how long operations waited with the process cache, and with the
        persistent one."""
        # The operation that counts as the first to request need not be the one that queried the cache.
        stored = {(asked.key, number) for asked in self.rounds for number in asked.persistent}
        seen: set[tuple[str, int]] = set()
        waits: tuple[_Waits, _Waits] = ({}, {})
        rounds: Iterable[Round] = self.rounds
        if self.shared:
            # The operation that could request first counts as first; an operation comes after those it
            # depends on.
            rounds = sorted(
                rounds, key=lambda r: (r.start_s, r.hops, path_key(operations[r.operation]), r.turn, r.key)
            )
        for asked in rounds:
            self._count(0, asked, list(asked.samples))
            pairs = zip(asked.numbers, asked.samples, strict=True)
            # At temperature 0 every sample is the first, so some may be the same.
            fresh = {number: sample for number, sample in pairs if (asked.key, number) not in seen}
            seen.update((asked.key, number) for number in fresh)
            missing = [sample for number, sample in fresh.items() if (asked.key, number) not in stored]
            for account, samples in ((1, list(fresh.values())), (2, missing)):
                seconds = self._count(account, asked, samples)
                turns = waits[account - 1].setdefault(operations[asked.operation], {})
                turns[asked.turn] = max(turns.get(asked.turn, 0.0), seconds)
        return waits

    def _count(self, account: int, asked: Round, samples: Sequence[Answered]) -> float:
        """Add samples to an account; the seconds of the slowest request."""
        slowest = 0.0
        for start in range(0, len(samples), asked.batch):
            chunk = samples[start : start + asked.batch]
            seconds, usage = _as_one_request(chunk)
            self.accounts[account].add(len(chunk), 1, usage, asked.price, seconds)
            slowest = max(slowest, seconds)
        return slowest

    def accounts_json(self) -> dict[str, Any]:
        """The accounts by name, each with the seconds along the critical path."""
        return {
            name: _sums(account, sequential_s=round(account.sequential_s, 6), critical_path_s=seconds)
            for name, account, seconds in zip(ACCOUNTS, self.accounts, self.times, strict=True)
        }

    def spent_json(self) -> dict[str, Any]:
        """The spending as plain data."""
        return {**_sums(self.spent), **self.spent.paid.to_dict()}


def _sums(account: Account, **more: float) -> dict[str, Any]:
    # Sums are rounded so that they do not depend on summation order: equal runs print equal sums.
    return {
        "calls": account.calls,
        "requests": account.requests,
        "input_tokens": account.input_tokens,
        "output_tokens": account.output_tokens,
        **({"reasoning_tokens": account.reasoning_tokens} if account.reasoning_tokens else {}),
        "usd": None if account.usd is None else round(account.usd, 12),
        **more,
    }


def _as_one_request(samples: Sequence[Answered]) -> tuple[float, Usage]:
    """The seconds and the tokens of one request for these samples: its prompt is billed once."""
    if len(samples) == 1:
        (one,) = samples
        return one.latency_s, one.usage.part(one.output_tokens)
    written = Counter[Usage]()
    for one in samples:
        written[one.usage] += one.output_tokens
    return latency(samples), Usage(
        max(usage.input_tokens for usage in written),
        written.total(),
        max(usage.cached_input_tokens for usage in written),
        sum(usage.part(tokens).reasoning_tokens for usage, tokens in written.items()),
        max(usage.cache_write_tokens for usage in written),
    )


def latency(samples: Iterable[StoredSample | Answered]) -> float:
    """The seconds until all of these samples are available, requested at the same time."""
    return max([one.latency_s for one in samples], default=0.0)


def _critical_path_s(graph: Graph, result: Operation, waits: _Waits) -> float:
    """Seconds along the critical path to an operation."""
    ends: dict[Operation, float] = {}

    def end(operation: Operation | None) -> float:
        # A constant is available when the operation that added it has ended.
        while operation is not None and operation.constant:
            operation = operation.origin
        return 0.0 if operation is None else ends.get(operation, 0.0)

    for operation in graph.ended:
        if operation.state == FAILED and not operation.hops:
            continue  # it never ran
        start = max(map(end, before(operation)), default=0.0)
        ends[operation] = start + sum(waits.get(operation, {}).values())
    return end(result)
