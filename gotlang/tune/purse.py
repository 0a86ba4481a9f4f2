"""The money of a study: one hard limit over all its roles, workers and restarts.

Every request is written down before it is sent with the most it can cost, and again with what it did cost. A
worker that dies leaves its open requests in the book at their worst case, for they may have been charged. The
book is a file of JSON lines under a lock; what was written survives kill -9.
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

from gotlang.errors import BudgetExceeded, CacheError
from gotlang.models.base import Price, Request
from gotlang.runtime.sampler.budget import Budget, Reservation, affordable, worst_case


@final
class Book:
    """What was reserved and paid, by all workers. `worker` is what this one signs with."""

    def __init__(self, path: Path, worker: str) -> None:
        self.path = path
        self.worker = worker
        self.paid_usd = 0.0
        self.answers = 0
        self.open: dict[str, float] = {}
        """The worst cases of requests under way, by their names."""
        self._read = 0
        self._count = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise CacheError(f"cannot keep the study's book {path}: {error.strerror}") from None
        with self.locked():
            pass

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Alone with the book, which is read up to its end."""
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
        for line in whole.splitlines():
            try:
                entry = json.loads(line)
                self._take(entry)
            except (ValueError, KeyError, TypeError):
                raise CacheError(
                    f"{self.path} is not a study's book", help="move it away to start the study's money anew"
                ) from None

    def _take(self, entry: dict[str, Any]) -> None:
        name = str(entry["request"])
        if "most" in entry:
            self.open[name] = float(entry["most"])
        else:
            self.open.pop(name, None)
            self.paid_usd += float(entry["usd"])
            self.answers += int(entry["answers"])

    def _write(self, entry: dict[str, Any]) -> None:
        line = json.dumps(entry).encode() + b"\n"
        os.write(self._file, line)
        self._read += len(line)
        self._take(entry)

    def reserve(self, most: float) -> str:
        """Write down a request before it is sent; its name. Only while `locked`."""
        self._count += 1
        name = f"{self.worker}/{self._count}"
        self._write({"request": name, "most": most})
        return name

    def settle(self, name: str, answers: int, usd: float) -> None:
        """Write down what it cost."""
        with self.locked():
            self._write({"request": name, "answers": answers, "usd": usd})

    @property
    def committed_usd(self) -> float:
        """Paid, or perhaps still to be paid."""
        return self.paid_usd + sum(self.open.values())

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


@final
class Purse(Budget):
    """The budget of a study for one worker. `limit_usd` is what may be spent now, None for no limit."""

    def __init__(self, book: Book, limit_usd: float | None) -> None:
        super().__init__(limit_usd, None)
        self.book = book
        self.empty = False
        """Whether a request was not sent for want of money."""
        self._names: dict[int, str] = {}

    async def reserve(self, request: Request, answers: int, price: Price | None) -> Reservation:
        """Set aside the worst case of a request for up to `answers` answers, or for as many as fit.

        Waits while requests of this worker may give back enough for all: a row that got fewer answers than it
        asked for would end the study. Raises BudgetExceeded where not even one fits.
        """
        while True:
            with self.book.locked():
                fitting = self._affordable(request, answers, price)
                if fitting == answers or (fitting and not self._under_way):
                    most = worst_case(request, fitting, price)
                    reservation = Reservation(fitting, most)
                    self._names[id(reservation)] = self.book.reserve(float(most))
                    self._under_way += 1
                    return reservation
            if not self._under_way:
                self.empty = True
                raise BudgetExceeded(self.reason())
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._returned.append(waiter)
            await waiter

    def _affordable(self, request: Request, answers: int, price: Price | None) -> int:
        if self.max_usd is None:
            return answers
        return affordable(request, answers, price, Fraction(self.max_usd) - Fraction(self.book.committed_usd))

    def settle(self, reservation: Reservation, answers: int, usd: Fraction) -> None:
        """Give back what was set aside, and count what the request really cost.

        The book hears of it once the answers are in the cache, which is right after this. Killed between
        the two, a worker leaves an open request and no answer that was paid and lost.
        """
        name = self._names.pop(id(reservation))
        asyncio.get_running_loop().call_soon(self._settled, name, answers, float(usd))
        self.spent_calls += answers
        self._spent += usd

    def _settled(self, name: str, answers: int, usd: float) -> None:
        self.book.settle(name, answers, usd)
        self._under_way -= 1
        self._give_back()

    def reason(self) -> str:
        """Why the next request was not sent, in words."""
        return (
            f"the study's budget does not allow the next request: ${self.book.committed_usd:.4f} of "
            f"${self.max_usd or 0.0:.4f} spent"
        )
