"""The trials of a study in a storage of Optuna's, shared by any number of workers.

A trial is claimed by creating it: the storage numbers it. Its rows are stored with it, so that any worker can
compare with it, and Optuna's own tools show the study.
"""

from __future__ import annotations

import asyncio
import re
import time
import warnings
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, final

from msgspec import Struct

from gotlang import keys
from gotlang.errors import CacheLost, GotError, UsageError
from gotlang.processes import has_ended, process_name
from gotlang.records import InvalidRecord, from_json, from_plain, to_json
from gotlang.tune.points import Measured
from gotlang.tune.selections import Selections, SelectionStatistics
from gotlang.tune.space import Point, Space

WAIT_S = 0.02, 1.0
"""Seconds between two checks whether others have finished, at first and at most: each reads the storage."""
_ATTEMPTS = 4
_RETRY_S = 0.25
AWAY_S = 30.0
"""How often, and after how long, opening a database is tried again, and for how many seconds if it was open
before."""


@final
@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result of a trial for a sampler: objectives (None if the trial failed altogether), and the
    violation of each constraint."""

    values: tuple[float, ...] | None
    excess: Mapping[str, float]


@final
@dataclass(frozen=True, slots=True)
class Trial:
    """A measurement of a point: the cells from `first` on, one for each of `rows`. `result` is that of all
    cells of the point so far, `asked` are the samples that the first ones requested, four bytes each,
    `selections` their selections.

    `ended` is `complete`, or `failed` if no row has a result; a `skipped` trial was never to be run. For all
    trials of a point together (see `merged`) it tells whether the point ran on all train rows (`complete`; so
    is the untuned program in any case), or else why not: `infeasible`, `pruned`.
    """

    number: int
    point: Point
    rows: tuple[Measured, ...]
    result: TrialResult
    ended: str
    first: int = 0
    asked: bytes = b""
    selections: Selections = field(default_factory=dict)

    @property
    def feasible(self) -> bool:
        """Whether it violates no constraint."""
        return all(excess <= 0 for excess in self.result.excess.values())


class _StoredTrial(Struct, frozen=True):
    """The stored data of a finished trial; `rows` are JSON."""

    point: dict[str, Any]
    rows: str
    ended: str
    values: tuple[float, ...] | None
    excess: dict[str, float]
    first: int = 0
    asked: bytes = b""
    selections: str = "{}"


class StoredFront(Struct, frozen=True):
    """The front of a study: names of its points by the numbers of their trials, test rows by the same, the
    number of rows of the first planned comparison, and of the last one (`wanted`), to which rows may have
    been added, and why the study ended early."""

    names: dict[int, tuple[str, ...]] = {}
    rows: dict[int, tuple[Measured, ...]] = {}
    planned: int = 0
    wanted: int = 0
    partial: str | None = None


@final
class TrialStore:
    """The trials of one study. `takeover` also continues trials of workers on other machines."""

    def __init__(
        self,
        storage: str | None,
        name: str,
        maximize: Sequence[bool],
        *,
        facts: Mapping[str, Any] | None = None,
        takeover: bool = False,
    ) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._states = optuna.trial.TrialState
        # Workers that saw the same orphan at the same moment all measure it, as one trial: the first stores
        # it.
        self._unless_finished = partial(suppress, optuna.exceptions.UpdateFinishedTrialError)
        self.worker = process_name()
        self._takeover = takeover
        self._finished: dict[int, Trial] = {}
        self._mine: dict[int, int] = {}
        self._ahead: list[int] = []
        directions: Any = ["maximize" if upwards else "minimize" for upwards in maximize]
        self.study: Any = _open_study(storage, name, directions)
        self._storage: Any = self.study._storage
        self._id: int = self.study._study_id
        for key, value in (facts or {}).items():
            self.study.set_user_attr(key, value)

    def _trials(self) -> Any:
        return self._storage.get_all_trials(self._id, deepcopy=False)

    def orphan(self, limit: int) -> int | None:
        """A trial below `limit` whose worker no longer runs, claimed by this worker; None if there is
        none."""
        for trial in self._trials()[:limit]:
            running = trial.state == self._states.RUNNING and trial.number not in self._mine
            if running and (self._takeover or has_ended(trial.user_attrs.get("worker", ""))):
                with self._unless_finished():
                    return self._take(trial.number, trial._trial_id)
        return None

    def claim(self, limit: int) -> int | None:
        """The number of a new trial for this worker to run, below `limit`; None if none is left."""
        import optuna

        if self._ahead and self._ahead[0] < limit:
            return self._ahead.pop(0)
        if len(self._trials()) >= limit:
            return None
        template = optuna.trial.create_trial(state=self._states.RUNNING, user_attrs={"worker": self.worker})
        trial_id = self._storage.create_new_trial(self._id, template_trial=template)
        number = self._take(int(self._storage.get_trial(trial_id).number), trial_id)
        if number < limit:
            return number
        self._ahead.append(number)  # another worker was faster: this is one of the next measurements
        return None

    def claim_first(self) -> bool:
        """Claim the first trial, to measure it later. False if another worker has claimed it."""
        number = self.orphan(1)
        number = self.claim(1) if number is None else number
        if number is not None:
            self._ahead.insert(0, number)
        return number is not None

    def skip(self) -> None:
        """End a claimed trial that is not to be run, at the end of a search."""
        for number in self._ahead:
            with self._unless_finished():
                self._save(Trial(number, {}, (), TrialResult(None, {}), "skipped"))
            self._mine.pop(number)
        self._ahead.clear()

    def _take(self, number: int, trial_id: int) -> int:
        self._storage.set_trial_user_attr(trial_id, "worker", self.worker)
        self._mine[number] = trial_id
        return number

    def finish(self, space: Space, trial: Trial) -> None:
        """Store a trial that this worker claimed, unless another did."""
        with self._unless_finished():
            self._describe(space, trial)
            self._save(trial)
        self._mine.pop(trial.number)

    def _describe(self, space: Space, trial: Trial) -> None:
        """Store the attributes that Optuna's own tools show."""
        import optuna

        trial_id, storage = self._mine[trial.number], self._storage
        chosen = optuna.trial.FixedTrial(dict(trial.point))
        with quiet():
            for dimension in space.dimensions:
                if dimension.name in trial.point:
                    dimension.recorded.suggest(chosen)
        for name, distribution in chosen.distributions.items():
            value = distribution.to_internal_repr(trial.point[name])
            storage.set_trial_param(trial_id, name, value, distribution)
        for name, excess in trial.result.excess.items():
            storage.set_trial_system_attr(trial_id, f"constraints:{name}", excess)

    def _save(self, trial: Trial) -> None:
        trial_id = self._mine[trial.number]
        values = trial.result.values
        stored = {
            "point": dict(trial.point),
            "rows": to_json(trial.rows),
            "ended": trial.ended,
            "values": list(values) if values else None,
            "excess": dict(trial.result.excess),
            "first": trial.first,
            "asked": b64encode(trial.asked).decode(),
            "selections": to_json(trial.selections),
        }
        for key, value in stored.items():
            self._storage.set_trial_user_attr(trial_id, key, value)
        state = self._states.COMPLETE if values else self._states.FAIL
        self._storage.set_trial_state_values(trial_id, state=state, values=values)
        self._finished[trial.number] = trial

    def keep(
        self,
        names: Mapping[int, Sequence[str]],
        rows: Mapping[int, Sequence[Measured]],
        planned: int,
        partial: str | None,
    ) -> None:
        """Store the front, its points' names by the numbers of their trials, the results on test rows with
        their planned number, and why the study ended early."""
        known = self.kept()
        kept = {**known.rows, **{number: tuple(measured) for number, measured in rows.items()}}
        named = {number: tuple(each) for number, each in names.items()}
        found = StoredFront(named, kept, known.planned or planned, max(known.wanted, planned), partial)
        if found != known:
            self.study.set_user_attr("front", to_json(found))

    def kept(self) -> StoredFront:
        """The last record of `keep`."""
        stored = self.study.user_attrs.get("front")
        return from_json(stored, StoredFront) if stored else StoredFront()

    def keep_texts(self, texts: str) -> None:
        """Store the texts that trials choose from by number, as JSON."""
        self.study.set_user_attr("texts", texts)

    def texts(self) -> str | None:
        """The texts that were stored; None if there are none yet."""
        found = self.study.user_attrs.get("texts")
        return None if found is None else str(found)

    def leave(self) -> None:
        """Let others continue the claimed trials that this worker did not finish."""
        for trial_id in self._mine.values():
            with self._unless_finished():
                self._storage.set_trial_user_attr(trial_id, "worker", "")
        self._mine.clear()
        self._ahead.clear()

    def finished(self, below: int | None = None) -> dict[int, Trial]:
        """The finished trials by number; only those below a number if one is given."""
        for trial in self._trials():
            if trial.number in self._finished or not trial.state.is_finished():
                continue
            try:
                stored = from_plain(trial.user_attrs, _StoredTrial)
                rows = from_json(stored.rows, tuple[Measured, ...])
                selections = from_json(stored.selections, dict[str, SelectionStatistics])
            except InvalidRecord as error:
                raise damaged(f"trial {trial.number}", error) from None
            result = TrialResult(stored.values or None, stored.excess)
            self._finished[trial.number] = Trial(
                trial.number, stored.point, rows, result, stored.ended, stored.first, stored.asked, selections
            )
        return {n: trial for n, trial in sorted(self._finished.items()) if below is None or n < below}

    async def wait(self, below: int) -> dict[int, Trial]:
        """The trials below a number, once all of them are finished, by any worker.

        Returns fewer if an unfinished one belongs to a worker that no longer runs.
        """
        started, (least, most) = time.monotonic(), WAIT_S
        while True:
            done = self.finished(below)
            unfinished = (t for t in self._trials()[:below] if t.state == self._states.RUNNING)
            if len(done) >= below or any(has_ended(t.user_attrs.get("worker", "")) for t in unfinished):
                return done
            await self.pause(min(most, max(least, (time.monotonic() - started) / 10)))

    @staticmethod
    async def pause(seconds: float = WAIT_S[1]) -> None:
        """Wait before the storage is read again: for real time, also if time is simulated."""
        await asyncio.to_thread(time.sleep, seconds)


quiet = partial(warnings.catch_warnings, action="ignore")
"""A context without Optuna's warnings of experimental features."""


def _open_study(storage: str | None, name: str, directions: Any) -> Any:
    """The study in its storage, created if needed. Raises UsageError for an invalid storage."""
    import optuna

    for left in reversed(range(_ATTEMPTS)):
        try:
            with quiet():
                return optuna.create_study(
                    storage=open_storage(storage),
                    study_name=name,
                    directions=directions,
                    load_if_exists=True,
                    sampler=optuna.samplers.RandomSampler(),
                )
        except GotError:
            raise
        except Exception as error:  # any error of a driver about a URL or a server that does not respond
            # Workers that start together create the tables of a new storage together; one of them loses.
            if left and type(error).__module__.startswith("sqlalchemy") and "://" in str(storage):
                time.sleep(_RETRY_S)
                continue
            help = "a storage is a file, or a URL of Optuna's such as `sqlite:///study.db`"
            if isinstance(error, ImportError):
                help = "its database needs a driver: `pip install 'psycopg[binary]'` for postgresql://"
            # The first line of what the error says, without the password of a URL.
            line = (str(error).splitlines() or [type(error).__name__])[0]
            plain = re.sub(r"://[^@/\s]*@", "://...@", line)
            raise UsageError(f"cannot open the storage: {plain}", help=help) from None
    raise AssertionError("the last attempt returns or raises")


def _password(address: str) -> str | None:
    from sqlalchemy import make_url

    return make_url(address).password


def _patiently(dialect: Any, _: object, places: Sequence[Any], names: Mapping[str, Any]) -> Any:
    """A connection to a server that was reachable before, and may be restarting."""
    end = time.monotonic() + AWAY_S
    while True:
        try:
            return dialect.connect(*places, **names)
        except dialect.loaded_dbapi.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(_RETRY_S)


def damaged(what: str, error: InvalidRecord) -> UsageError:
    """The error for a damaged part of a study."""
    return UsageError(
        f"{what} in the study's storage cannot be read: {error}",
        help="another `--storage` starts the study anew, with responses from the cache",
    )


def lost(error: Exception) -> CacheLost:
    """The error after a storage failed in the middle of a study; `error` is Optuna's."""
    cause = str(error.__cause__ or error).strip().splitlines() or [type(error).__name__]
    plain = re.sub(r"://[^@/\s]*@", "://...@", cause[0])
    return CacheLost(
        f"the study's storage failed: {plain}", help="the same command continues the study when it is back"
    )


def open_storage(where: str | None) -> Any:
    """A storage of Optuna: memory for None, any URL that Optuna accepts, else a journal file.

    Raises ImportError if the URL's driver is not installed.
    """
    import optuna
    from sqlalchemy import event

    from gotlang.tune.journal import StudyJournal

    if where is None:
        return optuna.storages.InMemoryStorage()
    if "://" in where:
        # The package that a cache in PostgreSQL needs is sufficient for a storage in it.
        plain, psycopg = "postgresql://", find_spec("psycopg") and not find_spec("psycopg2")
        if psycopg and where.startswith(plain):
            where = where.replace(plain, "postgresql+psycopg://", 1)
        if not where.startswith("postgresql"):
            return optuna.storages.get_storage(where)
        settings: dict[str, Any] = {"pool_pre_ping": True}
        if (password := keys.read("PGPASSWORD")) and not _password(where):
            # libpq would read it itself, but not while it is hidden from a program's Python.
            settings["connect_args"] = {"password": password}
        storage = optuna.storages.RDBStorage(where, engine_kwargs=settings)
        event.listen(storage.engine, "do_connect", _patiently)
        return storage
    return optuna.storages.JournalStorage(StudyJournal(Path(where)))
