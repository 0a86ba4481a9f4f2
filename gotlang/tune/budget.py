"""The money of a study: one hard limit over all its roles, workers and restarts.

Every request is logged before it is sent with the most it can cost, and again with what it did cost. If a
worker dies, its open requests stay reserved at their maximum cost, for they may have been charged. The log is
a file of JSON lines under a lock; what was written survives kill -9.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, final

from gotlang.cache.coordination import NO_AMOUNT, Amount
from gotlang.errors import CacheError
from gotlang.models.base import Price, Request
from gotlang.models.prices import NOTHING_SPENT, Spent, dollars
from gotlang.runtime.sampler.budget import Budget, Reservation, affordable, worst_case
from gotlang.writing import make_folder, place


@final
class SpendLog:
    """What was reserved and spent, by all workers. `worker` is the name that this one signs with."""

    def __init__(self, path: Path, worker: str) -> None:
        self.path = path
        self.worker = worker
        self.spent = NOTHING_SPENT
        self.open: dict[str, float] = {}
        """The maximum costs of requests under way, by their names."""
        self._read = 0
        self._count = 0
        try:
            make_folder(place(path).parent)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise CacheError(f"cannot write the study's spend log {path}: {error.strerror}") from None
        with self.locked():
            pass

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the log alone, read up to its end."""
        import fcntl

        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            self._catch_up()
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _catch_up(self) -> None:
        text = os.pread(self._file, max(0, os.fstat(self._file).st_size - self._read), self._read)
        whole = text[: text.rfind(b"\n") + 1]
        if text != whole:
            # A worker was killed within a line. Nothing follows it: each line is written under the lock.
            os.ftruncate(self._file, self._read + len(whole))
        self._read += len(whole)
        try:
            for line in whole.splitlines():
                self._count_in(json.loads(line))
        except (ValueError, KeyError, TypeError):
            raise CacheError(
                f"{self.path} is not the spend log of a study",
                help="move it away to start with nothing spent",
            ) from None

    def _count_in(self, entry: dict[str, Any]) -> None:
        name = str(entry["request"])
        if "most" in entry:
            self.open[name] = float(entry["most"])
        else:
            self.open.pop(name, None)
            more = (int(entry.get("uncertain_calls", 0)), float(entry.get("uncertain_usd", 0.0)))
            self.spent += Spent(int(entry["calls"]), float(entry["usd"]), *more)

    def _write(self, entry: dict[str, Any]) -> None:
        line = json.dumps(entry).encode() + b"\n"
        os.write(self._file, line)
        self._read += len(line)
        self._count_in(entry)

    def reserve(self, most: float) -> str:
        """Log a request before it is sent; gives its name. Only while `locked`."""
        self._count += 1
        name = f"{self.worker}/{self._count}"
        self._write({"request": name, "most": most})
        return name

    def settle(self, name: str, charged: Amount, uncertain: Amount = NO_AMOUNT) -> None:
        """Log what it cost, and what it may have cost besides."""
        more = {"uncertain_calls": uncertain.calls, "uncertain_usd": float(uncertain.usd)}
        with self.locked():
            self._write({"request": name, "calls": charged.calls, "usd": float(charged.usd), **more})

    @property
    def committed_usd(self) -> float:
        """Charged, uncertain or reserved."""
        return self.spent.most_usd + sum(self.open.values())

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


@final
class StudyBudget(Budget):
    """The budget of a study for one worker; `max_usd`, at first all of it, is what may be spent for now, None
    for no limit."""

    def __init__(self, log: SpendLog, max_usd: float | None) -> None:
        super().__init__(max_usd, None)
        self.log = log
        self._total = max_usd
        self._names: dict[int, str] = {}

    def allow(self, max_usd: float | None) -> None:
        """Set what may be spent from now on."""
        self.max_usd = max_usd
        self.refused = 0

    def _take(self, request: Request, calls: int, price: Price | None) -> Reservation | None:
        # A row that got fewer samples than it asked for would end the study: wait for what may fit later.
        with self.log.locked():
            fitting = calls
            if self.max_usd is not None:
                left = Fraction(self.max_usd) - Fraction(self.log.committed_usd)
                fitting = affordable(request, calls, price, left)
            if fitting < calls and (not fitting or self._under_way):
                return None
            reservation = Reservation(fitting, worst_case(request, fitting, price))
            self._names[id(reservation)] = self.log.reserve(float(reservation.usd))
            return reservation

    def settle(self, reservation: Reservation, charged: Amount, uncertain: Amount = NO_AMOUNT) -> None:
        """Release what was reserved, and count what the request really cost.

        That is logged once the samples are in the cache, which is right after this. Killed between the two, a
        worker leaves an open request, but loses no sample that was billed.
        """
        name = self._names.pop(id(reservation))
        asyncio.get_running_loop().call_soon(self._settled, name, charged, uncertain)
        self.charged += charged
        self.uncertain += uncertain

    def _settled(self, name: str, charged: Amount, uncertain: Amount) -> None:
        self.log.settle(name, charged, uncertain)
        self._under_way -= 1
        self._give_back()

    def reason(self) -> str:
        """Why the next request was not sent, in words."""
        spent = f"{dollars(self.log.spent.usd)} spent"
        if more := self.log.committed_usd - (self.log.spent.usd or 0.0):
            spent += f" and {dollars(more)} uncertain"
        if self.max_usd is not None and self._total is not None and self.max_usd < self._total:
            spent += f", {dollars(self._total - self.max_usd)} reserved for its later stages"
        return f"the study's budget of {dollars(self._total)} does not allow the next request: {spent}"
