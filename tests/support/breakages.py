"""The real code, broken on purpose: what the simulation must find, or it cannot find anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gotlang.disk
import gotlang.models.failures
from gotlang.cache.base import StoredSample
from gotlang.cache.codec import Put
from gotlang.cache.sqlite import SqliteCache, SqliteCoordination
from gotlang.errors import CacheError
from gotlang.models.base import Price, Request, Usage
from gotlang.runtime.sampler.budget import NO_CHARGE, Allowance, Budget, Reservation
from gotlang.runtime.sampler.limits import RequestQueue
from gotlang.runtime.sampler.sampler import Sampler
from gotlang.runtime.sampler.store import SampleStore


def _no_reservation() -> None:
    """A request is sent without a look at the limit."""

    async def take(self: Budget, request: Request, calls: int, price: Price | None) -> Reservation:
        return Reservation(calls, type(self.charged.usd)(0))

    Budget._take = take  # type: ignore[method-assign]


def _free_errors() -> None:
    """An error of a gateway is taken for free."""
    free = gotlang.models.failures.FREE
    gotlang.models.failures.FREE = {host: found | {500, 502, 504} for host, found in free.items()}


def _forgotten() -> None:
    """What may have been charged is given back."""
    real = Allowance.failed
    Allowance.failed = lambda self, usage: real(self, usage or Usage())  # type: ignore[method-assign]


def _cancelled() -> None:
    """What is cancelled under way is taken for free."""
    Allowance.end = lambda self: self._settle(NO_CHARGE)  # type: ignore[method-assign]


def _short() -> None:
    """A missing usage is taken for none."""
    real = Allowance.answered
    Allowance.answered = lambda self, n, usage: real(self, n, usage or Usage())  # type: ignore[method-assign]


def _in_place() -> None:
    """Files are written where they stand."""

    def write(path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            file.write(content[: len(content) // 2])
            file.flush()
            file.write(content[len(content) // 2 :])

    for module in (gotlang.disk, gotlang.report.history, gotlang.models.capabilities):
        module.replace_file = write  # type: ignore[attr-defined]


def _unsynced() -> None:
    """Files are put in their place, and operations of studies written, without a sync."""
    gotlang.disk.sync = lambda file: None


def _forgetful() -> None:
    """That a request is sent is not synced before it goes out."""
    real = SqliteCoordination.transaction

    def transaction(self: SqliteCoordination, work: Any, *, durable: bool = False) -> Any:
        return real(self, work)

    SqliteCoordination.transaction = transaction  # type: ignore[method-assign]


def _late() -> None:
    """Answers are written to the cache a few at a time."""
    real, waiting = SqliteCache._put, list[Any]()

    def put(self: SqliteCache, puts: Sequence[Put]) -> Sequence[CacheError | None]:
        waiting.append((self, puts))
        if len(waiting) == 8:
            for each in waiting:
                real(*each)
            waiting.clear()
        return [None] * len(puts)

    SqliteCache._put = put  # type: ignore[method-assign]


def _silent() -> None:
    """A write that failed is taken for one that did not."""

    async def put(self: SampleStore, key: str, request: Request, stored: Mapping[int, StoredSample]) -> int:
        try:
            self.cache.put(key, request, stored)
        except Exception:
            return 0
        return 0

    SampleStore.put = put  # type: ignore[method-assign]


def _blind() -> None:
    """The cache is not looked up."""

    async def look_up(self: Sampler, store: SampleStore, pending: Any, numbers: Sequence[int]) -> bool:
        return False

    Sampler._look_up = look_up  # type: ignore[method-assign]


def _stuck() -> None:
    """A slot is not given back."""
    RequestQueue.release = lambda self, model: None  # type: ignore[method-assign]


BREAKAGES: dict[str, Callable[[], None]] = {
    name.strip("_"): function
    for name, function in list(globals().items())
    if name.startswith("_") and callable(function) and not name.startswith("__")
}
