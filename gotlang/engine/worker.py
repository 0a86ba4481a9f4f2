"""The actor of a node: one session on one event loop, for all rows that the node gets.

Processes exchange frozen dataclasses of ours, in Ray's own encoding, none of which is stored.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, final

from msgspec import structs

from gotlang.cache.coordination import NO_CHARGE, Charge
from gotlang.errors import (
    BudgetExceeded,
    CacheError,
    CacheLost,
    GotError,
    ModelError,
    RunError,
    UsageError,
)
from gotlang.evaluate.evaluation import Notes, RowRun, run_one
from gotlang.evaluate.rows import Row
from gotlang.ir import program as ir
from gotlang.metric import Metric
from gotlang.models.base import Address
from gotlang.options import Options
from gotlang.program import CheckedProgram
from gotlang.runtime.context import RunSettings
from gotlang.runtime.python import resolve
from gotlang.runtime.run import Runner
from gotlang.runtime.sampler.budget import Budget
from gotlang.runtime.sampler.events import Asked, Event, Failure, RowsEnded, guarded
from gotlang.runtime.sampler.shared import LEASE_CALLS, ROLE, SharedBudget
from gotlang.session import Session
from gotlang.version import __version__

_MOST_JOBS: Final = 32
"""Number of jobs that a worker keeps: a study has one for each of its measurements."""


@final
@dataclass(frozen=True, slots=True)
class MeasurementJob:
    """The common data of all rows of one measurement. `limit` is that on concurrent requests, `budget` the
    name of the shared budget (None: the session's own) with its current limit, `role` the role it is booked
    to, `notes` the data collected about each run (None: nothing)."""

    program: ir.Program
    scheme: ir.Scheme
    params: Mapping[str, Any]
    settings: RunSettings
    limit: int | None
    metric: Metric
    measures: tuple[ir.MetricFunction, ...]
    count_missing: bool
    budget: tuple[str, Fraction | None] | None
    role: str
    notes: Callable[[], Notes] | None


@final
@dataclass(frozen=True, slots=True)
class Opened:
    """A worker is ready: its name in the coordination, and the name of its machine."""

    owner: str
    machine: str


@final
@dataclass(frozen=True, slots=True)
class RowReply:
    """A row that ended, or the `error` that ended it; the amounts spent, refused and counted since the
    previous reply; `lost` is the reason if the worker can no longer store anything."""

    run: RowRun | None
    error: GotError | None
    charged: Charge
    uncertain: Charge
    free_calls: int
    refused: int
    counted: RowsEnded
    notes: Notes | None
    endpoints: tuple[Address, ...]
    lost: str | None


@final
@dataclass(slots=True)
class _Reported:
    """The amounts of a budget that replies have reported so far."""

    charged: Charge = NO_CHARGE
    uncertain: Charge = NO_CHARGE
    free_calls: int = 0
    refused: int = 0


def fingerprints(program: CheckedProgram) -> dict[str, str]:
    """The Python files of a program with a hash of each (empty: the file does not exist)."""
    found = {}
    for entry in (*program.ir(0).python, *program.ir(0).simulators):
        file = resolve(entry.folder, entry.path)
        found[str(file)] = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
    return found


class Worker:
    """The actor; every method returns data, and raises none of our errors."""

    def __init__(
        self, program: CheckedProgram, options: Options, folder: str, files: Mapping[str, str], version: str
    ) -> None:
        self._program, self._options, self._folder, self._files = program, options, folder, files
        self._version = version
        self._session: Session | None = None
        self._runners: dict[str, tuple[MeasurementJob, Runner]] = {}
        self._budgets: dict[str, SharedBudget] = {}
        self._told: dict[int, _Reported] = {}

    async def open(self, share: float) -> Opened | GotError:
        """Open the session, with a share of limits per minute. Returns the error if that fails."""
        if self._version != __version__:
            words = f"it has gotlang {__version__}, the driver {self._version}"
            return UsageError(words, help=f"pip install gotlang=={self._version}")
        try:
            os.chdir(self._folder)
            if fingerprints(self._program) != self._files:
                raise OSError("its Python is missing, or another version")
            rpm, tpm = self._rates(share)
            session = Session(self._program, structs.replace(self._options, rpm=rpm, tpm=tpm))
            await session.__aenter__()
        except OSError as error:
            help = "the program's files must be at the same place on every node: see docs/scale.md"
            return UsageError(f"{self._folder}: {error.strerror or error}", help=help)
        except GotError as error:
            return portable(error)
        self._session = session
        return Opened(session.coordination.owner if session.coordination else "", os.uname().nodename)

    async def run(self, name: str, job: list[Any], row: Row, repeat: int) -> RowReply:
        """Run a row of the job with this name, which is fetched if it is not known; `job` is a reference."""
        assert self._session is not None
        if name not in self._runners:
            found: MeasurementJob = await job[0]
            self._runners[name] = found, self._runner(self._session, found)
            for old in list(self._runners)[:-_MOST_JOBS]:
                del self._runners[old]
        chosen, runner = self._runners[name]
        ROLE.set(chosen.role)
        counts = _Counts()
        notes = chosen.notes() if chosen.notes is not None else None
        watched = structs.replace(
            runner, observe=guarded((counts, notes.note if notes is not None else None), {})
        )
        run, error = None, None
        try:
            run = await run_one(
                watched,
                chosen.scheme,
                row,
                repeat,
                chosen.metric,
                chosen.measures,
                count_missing=chosen.count_missing,
            )
            run = replace(run, error=portable(run.error) if run.error is not None else None)
        except GotError as failed:
            error = portable(failed)
        coordination = self._session.coordination
        if coordination is not None and isinstance(runner.budget, SharedBudget):
            with suppress(CacheError):  # it is written later
                await coordination.soon(coordination.flush)  # the receiver of the reply finds its cost
        return self._reply(run, error, runner.budget, counts.rows, notes)

    def _runner(self, session: Session, job: MeasurementJob) -> Runner:
        base = session.runner
        budget: Budget = base.budget
        if job.budget is not None:
            name, for_now = job.budget
            if name not in self._budgets:
                assert session.coordination is not None
                self._budgets[name] = SharedBudget.open(session.coordination, name, None, None)
            self._budgets[name].for_now = for_now
            budget = self._budgets[name]
            budget.lease_calls = LEASE_CALLS
        same = base.limits.total.limit == job.limit
        return structs.replace(
            base,
            program=job.program,
            params=job.params,
            settings=job.settings,
            budget=budget,
            limits=base.limits if same else base.limits.with_total(job.limit),
            engines=base.engines,
        )

    def _reply(
        self,
        run: RowRun | None,
        error: GotError | None,
        budget: Budget,
        counted: RowsEnded,
        notes: Notes | None,
    ) -> RowReply:
        session, told = self._session, self._told.setdefault(id(budget), _Reported())
        assert session is not None
        reply = RowReply(
            run,
            error,
            _less(budget.charged, told.charged),
            _less(budget.uncertain, told.uncertain),
            budget.free_calls - told.free_calls,
            budget.refused - told.refused,
            counted,
            notes,
            session.endpoints,
            session.stopped if (session.stopped or "").startswith(CacheLost.WORDS) else None,
        )
        told.charged, told.uncertain = budget.charged, budget.uncertain
        told.free_calls, told.refused = budget.free_calls, budget.refused
        return reply

    def _rates(self, share: float) -> tuple[float | None, float | None]:
        rpm, tpm = self._options.rpm, self._options.tpm
        return None if rpm is None else rpm * share, None if tpm is None else tpm * share

    async def share(self, share: float) -> None:
        """Change the share of limits per minute from now on."""
        if self._session is not None:
            self._session.models.limit(*self._rates(share))

    async def stop(self, reason: str) -> None:
        """Finish the requests in flight and send no more."""
        if self._session is not None:
            self._session.stop(reason)

    async def close(self) -> None:
        """Close the session: unsent reservations return to the budget."""
        if self._session is not None:
            await self._session.__aexit__(None, None, None)


@final
class _Counts:
    """Counts the data of a progress line about a run."""

    def __init__(self) -> None:
        self.rows = RowsEnded()

    def __call__(self, event: Event) -> None:
        """Process an event of the run."""
        rows = self.rows
        if isinstance(event, Asked):
            sources = [sample[1] for sample in event.samples if isinstance(sample, tuple)]
            paid = sources.count("model")
            self.rows = structs.replace(
                rows, calls=rows.calls + paid, cached=rows.cached + len(sources) - paid
            )
        elif isinstance(event, Failure):
            self.rows = structs.replace(rows, failed=rows.failed + 1)


def _less(now: Charge, before: Charge) -> Charge:
    return Charge(now.calls - before.calls, now.usd - before.usd)


def portable(error: GotError) -> GotError:
    """An error without data that only its own process has: spans, graphs, texts."""
    kinds = (UsageError, CacheLost, CacheError, RunError, BudgetExceeded, ModelError)
    kind = next((kind for kind in kinds if isinstance(error, kind)), GotError)
    return kind(error.message, help=error.help)
