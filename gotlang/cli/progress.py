"""How far a run is, or the runs of many rows, counted from their events, and in words."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import final

from gotlang.cli.output import complain
from gotlang.runtime.graph import RUNNING, Operation
from gotlang.runtime.sampler.budget import Budget
from gotlang.runtime.sampler.events import Added, Asked, Ended, Event, Failed, Started, Unsaved
from gotlang.runtime.sampler.store import unsaved_note


@final
class Progress:
    """An observer that counts. Several runs may share one, as the rows of a data set do: then `rows` is how
    many there are, and `row_done` is called as each ends.

    `budget` tells what was spent and may be (None: not known yet), `priced` whether prices are known. `now`
    gives seconds on any clock.
    """

    def __init__(self, *, rows: int | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self.rows = rows
        self.rows_done = 0
        self.budget: Budget | None = None
        self.priced = True
        self.stopping = False
        self.operations = 0
        self.done = 0
        self.lost = 0
        self.paid = 0
        self.cached = 0
        self.failed = 0
        self.unsaved = 0
        self._trouble = ""
        self._now = now
        self._started = now()
        self._running: dict[int, Operation] = {}

    def __call__(self, event: Event) -> None:
        """Count an event."""
        match event:
            case Added():
                self.operations += event.more
            case Started():
                self._running[id(event.operation)] = event.operation
            case Ended():
                self._running.pop(id(event.operation), None)
                self.done += 1
            case Asked():
                for sample in event.samples:
                    if isinstance(sample, tuple):
                        self.paid += sample[1] == "model"
                        self.cached += sample[1] != "model"
            case Failed():
                self.failed += 1
                self.lost += event.fatal
            case Unsaved():
                self.unsaved += event.more
                if event.reason and not self._trouble:
                    complain(f"answers are paid and cannot be kept, for now: {event.reason}")
                self._trouble = event.reason or self._trouble

    def unsaved_note(self) -> str | None:
        """What to say of paid answers that are not in the cache; None where all are."""
        return unsaved_note(self.unsaved, self._trouble) if self.unsaved else None

    def row_done(self) -> None:
        """One more row of the data set has ended."""
        self.rows_done += 1

    @property
    def running(self) -> int:
        """Operations that wait for a model or a tool."""
        # Those that failed are told by their state: no event names them.
        return sum(operation.state == RUNNING for operation in list(self._running.values()))

    @property
    def seconds(self) -> float:
        """Since the start."""
        return self._now() - self._started

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the rows done; None where it is not known how much is to come."""
        if not self.rows or not self.rows_done:
            return None
        return self.seconds / self.rows_done * (self.rows - self.rows_done)

    def paid_for(self) -> tuple[int, float | None] | None:
        """Answers and US dollars paid so far (None where a price is not known); None before the start."""
        if self.budget is None:
            return None
        return self.budget.spent_calls, self.budget.spent_usd if self.priced else None

    @property
    def waiting(self) -> int:
        """Operations that are known and not ready yet, or ready and held back by `--concurrency`."""
        return max(0, self.operations - self.done - self.lost - self.running)

    def lines(self) -> list[str]:
        """What there is to say, most important first: how far it is, the operations, answers and money."""
        far = [f"{self.rows_done} of {self.rows} rows"] if self.rows is not None else []
        left = self.seconds_left
        if left is not None:
            far.append(f"{duration(left)} left")
        operations = f"{self.done:,} operations done, {self.running:,} running, {self.waiting:,} waiting"
        answers = self.paid + self.cached
        found = [f"{answers:,} answers" + (f" ({self.cached:,} cached)" if self.cached else "")]
        if self.failed:
            found.append(f"{self.failed:,} failed")
        if self.unsaved:
            found.append(f"{self.unsaved:,} not kept")
        if self.seconds > 0:
            found.append(f"{answers / self.seconds:.1f} a second")
        found.append(self._spent())
        return [" · ".join(part for part in parts if part) for parts in (far, [operations], found) if parts]

    def spent(self) -> str:
        """What was paid for so far, in words."""
        usd = self.paid_for()
        cost = "cost unknown" if usd is None or usd[1] is None else f"${usd[1]:.4f}"
        return f"{self.paid} answer{'' if self.paid == 1 else 's'}, {cost}"

    def line(self) -> str:
        """All of it in one line."""
        return ("stopping: " if self.stopping else "") + " · ".join(self.lines())

    def _spent(self) -> str:
        if self.budget is None:
            return ""
        usd = self.budget.max_usd
        calls = self.budget.max_calls
        spent = f"${self.budget.spent_usd:.4f}" if self.priced else "cost unknown"
        of = f" of ${usd:.4f}" if usd is not None and self.priced else ""
        also = f", {self.budget.spent_calls} of {calls} answers" if calls is not None else ""
        return f"{spent}{of}{also}"


def duration(seconds: float) -> str:
    """`0.4 s`, `59 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
