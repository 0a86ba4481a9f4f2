"""What became of each trial, kept in a storage of Optuna, where any number of workers meet.

A trial is claimed by creating it: the storage numbers it. Its rows are kept with it, so that any worker can
compare with it, and anyone who opens the storage sees the study as Optuna's own tools show it.
"""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, final

from gotlang.errors import UsageError
from gotlang.tune.objective import Measured, mean
from gotlang.tune.proposals import Told
from gotlang.tune.racing import Race
from gotlang.tune.space import Point, Space

WAIT_S = 0.02
"""Between two looks at whether other workers have finished."""
_ATTEMPTS = 4
_AGAIN_S = 0.25
"""How often, and after how long, a database is asked again that would not open."""


@final
@dataclass(frozen=True, slots=True)
class Record:
    """A finished trial. `ended` is `full`, or why it stopped before: `worse`, `infeasible`, `failed`,
    and `skipped` where it was never to be run."""

    number: int
    point: Point
    rows: tuple[Measured, ...]
    told: Told
    ended: str

    @property
    def feasible(self) -> bool:
        """Whether it breaks no constraint."""
        return all(excess <= 0 for excess in self.told.excess.values())


def worker_name() -> str:
    """A name for this process, by which others on this machine can tell whether it still runs."""
    return f"{socket.gethostname()}:{os.getpid()}:{_born(os.getpid())}"


def gone(worker: str) -> bool:
    """Whether a worker of this machine runs no more. Of other machines' workers nothing is known: False."""
    host, _, rest = worker.partition(":")
    pid, _, born = rest.partition(":")
    return host == socket.gethostname() and _born(int(pid)) != born


def _born(pid: int) -> str:
    """When a process began, in the kernel's ticks; empty where it runs no more."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "" if os.path.isdir("/proc/self") or not _runs(pid) else "?"
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


@final
class Records:
    """The trials of one study. `takeover` also continues trials of workers on other machines."""

    def __init__(
        self,
        storage: str | None,
        name: str,
        maximize: Sequence[bool],
        *,
        facts: dict[str, Any] | None = None,
        takeover: bool = False,
    ) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.worker = worker_name()
        self.name = name
        self._takeover = takeover
        self._finished: dict[int, Record] = {}
        self._mine: dict[int, int] = {}
        directions: Any = ["maximize" if upwards else "minimize" for upwards in maximize]
        self.study: Any = _open_study(storage, name, directions)
        self._storage: Any = self.study._storage
        self._id: int = self.study._study_id
        for key, value in (facts or {}).items():
            self.study.set_user_attr(key, value)

    def orphan(self, limit: int) -> int | None:
        """A trial below `limit` that a worker left which runs no more, now this worker's; None where none
        is."""
        import optuna

        for trial in self._storage.get_all_trials(self._id, deepcopy=False)[:limit]:
            if trial.state == optuna.trial.TrialState.RUNNING and trial.number not in self._mine:
                worker = trial.user_attrs.get("worker", "")
                if self._takeover or not worker or gone(worker):
                    return self._take(trial.number, trial._trial_id)
        return None

    def claim(self, limit: int) -> int | None:
        """The number of a new trial for this worker to run, below `limit`; None where there is none left."""
        import optuna

        if len(self._storage.get_all_trials(self._id, deepcopy=False)) >= limit:
            return None
        template = optuna.trial.create_trial(
            state=optuna.trial.TrialState.RUNNING, user_attrs={"worker": self.worker}
        )
        trial_id = self._storage.create_new_trial(self._id, template_trial=template)
        number = int(self._storage.get_trial(trial_id).number)
        self._take(number, trial_id)
        if number >= limit:  # another worker was faster
            self._keep(Record(number, {}, (), Told(None, {}), "skipped"))
            return None
        return number

    def _take(self, number: int, trial_id: int) -> int:
        self._storage.set_trial_user_attr(trial_id, "worker", self.worker)
        self._mine[number] = trial_id
        return number

    def finish(self, space: Space, record: Record) -> None:
        """Keep what became of a trial that this worker claimed."""
        import optuna

        trial_id = self._mine[record.number]
        storage = self._storage
        chosen = optuna.trial.FixedTrial(dict(record.point))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for dimension in space.dimensions:
                if dimension.name in record.point:
                    dimension.suggest(chosen)
        for name, distribution in chosen.distributions.items():
            storage.set_trial_param(
                trial_id, name, distribution.to_internal_repr(record.point[name]), distribution
            )
        for name, excess in record.told.excess.items():
            storage.set_trial_system_attr(trial_id, f"constraints:{name}", excess)
        if len(self.study.directions) == 1:
            # Each is a write of its own, and storages are slow: as many as a race has looks are plenty.
            for seen in Race().waves(len(record.rows)):
                so_far = mean([row.objectives[0] for row in record.rows[:seen]])
                if so_far is not None:
                    storage.set_trial_intermediate_value(trial_id, seen, so_far)
        self._keep(record)

    def _keep(self, record: Record) -> None:
        import optuna

        trial_id = self._mine.pop(record.number)
        kept = {
            "point": dict(record.point),
            "rows": json.dumps([row.as_json() for row in record.rows]),
            "ended": record.ended,
            "values": list(record.told.values) if record.told.values else None,
            "excess": dict(record.told.excess),
        }
        for key, value in kept.items():
            self._storage.set_trial_user_attr(trial_id, key, value)
        state = optuna.trial.TrialState
        self._storage.set_trial_state_values(
            trial_id,
            state=state.COMPLETE if record.told.values else state.FAIL,
            values=record.told.values,
        )
        self._finished[record.number] = record

    def leave(self) -> None:
        """Let others continue what this worker claimed and did not finish."""
        for trial_id in self._mine.values():
            self._storage.set_trial_user_attr(trial_id, "worker", "")
        self._mine.clear()

    def finished(self, below: int | None = None) -> dict[int, Record]:
        """The finished trials by number, those below a number where one is given."""
        for trial in self._storage.get_all_trials(self._id, deepcopy=False):
            if (
                trial.number in self._finished
                or not trial.state.is_finished()
                or "ended" not in trial.user_attrs
            ):
                continue
            kept = trial.user_attrs
            values = kept["values"]
            self._finished[trial.number] = Record(
                trial.number,
                kept["point"],
                tuple(Measured.of_json(row) for row in json.loads(kept["rows"])),
                Told(tuple(values) if values else None, kept["excess"]),
                kept["ended"],
            )
        return {n: r for n, r in sorted(self._finished.items()) if below is None or n < below}

    def wait(self, below: int) -> dict[int, Record]:
        """The trials below a number, once all of them are finished, by whomever.

        Returns fewer where one that is not finished was left by a worker that runs no more.
        """
        import optuna

        while True:
            done = self.finished(below)
            if len(done) >= below:
                return done
            for trial in self._storage.get_all_trials(self._id, deepcopy=False)[:below]:
                worker = trial.user_attrs.get("worker", "")
                if trial.state == optuna.trial.TrialState.RUNNING and (not worker or gone(worker)):
                    return done
            time.sleep(WAIT_S)


def _open_study(storage: str | None, name: str, directions: Any) -> Any:
    """The study in its storage, made where there is none. Raises UsageError for what is no storage."""
    import optuna

    left = _ATTEMPTS
    while True:
        left -= 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return optuna.create_study(
                    storage=open_storage(storage),
                    study_name=name,
                    directions=directions,
                    load_if_exists=True,
                    sampler=optuna.samplers.RandomSampler(),
                )
            except ImportError as error:
                raise UsageError(
                    f"cannot open the storage: {_plain(error)}",
                    help="its database needs a driver: `pip install 'psycopg[binary]'` for postgresql://",
                ) from None
            except json.JSONDecodeError:
                raise UsageError(f"{storage} is no storage of a study") from None
            except Exception as error:  # whatever a driver makes of a URL or of a server that is not there
                # Workers that start together make the tables of a new storage together; one of them loses.
                if left and type(error).__module__.startswith("sqlalchemy") and "://" in str(storage):
                    time.sleep(_AGAIN_S)
                    continue
                raise UsageError(
                    f"cannot open the storage: {_plain(error)}",
                    help="a storage is a file, or a URL of Optuna's such as `sqlite:///study.db`",
                ) from None


def open_storage(where: str | None) -> Any:
    """A storage of Optuna: memory for None, any URL that Optuna takes, else a journal file.

    Raises ImportError where the URL's driver is not installed.
    """
    import optuna
    from optuna.storages import journal

    if where is None:
        return optuna.storages.InMemoryStorage()
    if "://" in where:
        # The package that a cache in PostgreSQL needs is enough for a storage in it.
        plain, psycopg = "postgresql://", find_spec("psycopg") and not find_spec("psycopg2")
        return optuna.storages.get_storage(
            where.replace(plain, "postgresql+psycopg://", 1) if psycopg and where.startswith(plain) else where
        )
    path = Path(where)
    path.parent.mkdir(parents=True, exist_ok=True)
    return optuna.storages.JournalStorage(journal.JournalFileBackend(str(path), lock_obj=_file_lock(path)))


def _file_lock(path: Path) -> Any:
    """A lock that goes with its process. Optuna's own ones outlive a kill and make everyone wait."""
    import fcntl

    from optuna.storages.journal._file import BaseJournalFileLock

    class FileLock(BaseJournalFileLock):
        def __init__(self) -> None:
            self._file: int | None = None

        def acquire(self) -> bool:
            self._file = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(self._file, fcntl.LOCK_EX)
            return True

        def release(self) -> None:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    return FileLock()


def _plain(error: Exception) -> str:
    """The first line of what an error says, without the password of a URL."""
    import re

    lines = str(error).splitlines() or [type(error).__name__]
    return re.sub(r"://[^@/\s]*@", "://...@", lines[0])
