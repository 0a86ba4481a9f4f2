"""Studies that are killed, and studies that several processes share: the same trials, nothing paid twice.

A worker is killed once so many calls count in the study's budget, so that the moments lie all over the study
and not in the start of the process. A thread of its own does it, in the midst of whatever the others do:
another process may look too late on a busy machine. GOTC_KILLS says how often; the default is quick.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

from support.caches import no_postgres, postgres_schema
from support.studies import course, guess_plan

from gotlang.cache import open_cache
from gotlang.cache.coordination import NO_CHARGE, StoredBudget
from gotlang.tune.outcome import StudyResult
from gotlang.tune.plan import read_plan
from gotlang.tune.search import merged
from gotlang.tune.study import tune
from gotlang.tune.trials import Trial, TrialStore

ROOT = Path(__file__).parents[1]
KILLS = int(os.environ.get("GOTC_KILLS", "3"))
CLAUSES = """
train 30, test 10
minimize error(result, target)
subject to cost <= 2 * baseline
trials 24
"""


KILLER = """
import os, signal, sqlite3, sys, threading, time

def spent():
    try:
        with sqlite3.connect("file:.gotc/cache.sqlite.coordination?mode=ro", uri=True) as connection:
            return connection.execute("SELECT charged_calls FROM gotlang_budgets").fetchone()[0]
    except (sqlite3.Error, TypeError):
        return 0

def watch(calls):
    while spent() < calls:
        time.sleep(0.0005)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=watch, args=[int(sys.argv.pop(1))], daemon=True).start()
from gotlang.cli.main import main

main()
"""


def worker(folder: Path, *more: str, killed_at: int | None = None) -> subprocess.Popen[str]:
    """`gotc tune` on the study in a folder; it dies once so many calls were charged."""
    start = ["-m", "gotlang"] if killed_at is None else ["-c", KILLER, str(killed_at)]
    command = [sys.executable, *start, "tune", "study.got", "--model", "simulated", "--json", *more]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What a worker printed; it must end well."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    document: dict[str, Any] = json.loads(out)
    return document


def kept_trials(folder: Path) -> dict[int, Trial]:
    """The points in the storage of the folder's study."""
    (journal,) = (folder / ".gotc" / "tune").glob("*.journal")
    plan = read_plan(folder / "study.got")
    return merged(plan, TrialStore(str(journal), journal.stem, [False]).finished().values(), plan.train or 0)


def kept_answers(folder: Path) -> int:
    """How many different answers the folder's cache has."""
    cache = open_cache(folder / ".gotc" / "cache.sqlite")
    try:
        return sum(entry.samples for entry in cache.entries())
    finally:
        cache.close()


def the_budget(folder: Path) -> StoredBudget:
    """The budget of the folder's study."""
    cache = open_cache(folder / ".gotc" / "cache.sqlite")
    shared = cache.coordination()
    assert shared is not None
    try:
        (budget,) = shared.budgets()
        return budget
    finally:
        shared.close()
        cache.close()


def undisturbed(folder: Path, clauses: str, budget: float | None = None) -> StudyResult:
    """The same study by one process, without kills."""
    folder.mkdir()
    return tune(replace(guess_plan(folder, clauses, 60), budget=budget), folder=folder / "kept")


def test_killed_at_random_moments_it_loses_and_repeats_nothing(tmp_path: Path) -> None:
    alone = undisturbed(tmp_path / "alone", CLAUSES)
    budget = (4 + KILLS) * alone.usd
    guess_plan(tmp_path, CLAUSES, 60)
    moments = sorted(random.Random(KILLS).sample(range(1, alone.calls * 9 // 10), KILLS))
    for moment in moments:
        child = worker(tmp_path, "--max-usd", str(budget), killed_at=moment)
        _, err = child.communicate(timeout=120)
        assert child.returncode == -signal.SIGKILL, err
    done = ended(worker(tmp_path, "--max-usd", str(budget)))
    assert course(kept_trials(tmp_path)) == course(alone.trials)
    assert done["winner"]["trial"] == alone.winner.number
    assert done["held_out"]["compared"] == json.loads(json.dumps(alone.to_dict()))["held_out"]["compared"]
    # What was paid is kept, nothing was paid twice, and it is what a study pays that nobody killed.
    spent = the_budget(tmp_path)
    assert kept_answers(tmp_path) == alone.calls
    assert spent.charged.calls <= alone.calls
    # What was under way at a kill may have been charged: it stays in the budget. What was not sent returned.
    assert spent.uncertain.calls > 0 or spent.charged.calls == alone.calls
    assert spent.reserved == NO_CHARGE
    assert float(spent.charged.usd) <= alone.usd * (1 + 1e-9)
    assert float(spent.used.usd) <= budget
    # And the same by role.
    roles = done["roles"].values()
    assert set(done["roles"]) == {"search", "held-out rows"}
    assert sum(role["calls"] for role in roles) == spent.charged.calls
    assert sum(role["uncertain_usd"] for role in roles) == pytest.approx(float(spent.uncertain.usd))


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgresql", marks=pytest.mark.skipif(bool(no_postgres), reason=no_postgres)),
    ]
)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A storage in a new database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'study.db'}"
        return
    with postgres_schema() as address:
        yield address


def test_two_workers_share_a_study_in_a_database(tmp_path: Path, database: str) -> None:
    clauses = "train 20, test 10\nminimize error(result, target)\ntrials 12"
    alone = undisturbed(tmp_path / "alone", clauses)
    guess_plan(tmp_path, clauses, 60)
    both = [worker(tmp_path, "--storage", database, "--out", f"{i}.json") for i in range(2)]
    for document in [ended(child) for child in both]:
        assert document["trials"] == len(alone.trials)
        assert document["winner"]["trial"] == alone.winner.number


@pytest.mark.parametrize("clauses", [CLAUSES, "train 30, test 10\nminimize error(result, target)\ntrials 16"])
def test_two_workers_share_a_study(tmp_path: Path, clauses: str) -> None:
    alone = undisturbed(tmp_path / "alone", clauses)
    guess_plan(tmp_path, clauses, 60)
    both = [worker(tmp_path, "--out", f"{i}.json") for i in range(2)]
    documents = [ended(child) for child in both]
    assert course(kept_trials(tmp_path)) == course(alone.trials)
    assert kept_answers(tmp_path) == alone.calls
    # Samples that both request at the same moment are paid twice, all others are cached for the other worker.
    # How many those are depends on the scheduling of the processes (1.2 was seen on a busy machine); without
    # sharing, it would be all of them.
    assert alone.calls <= the_budget(tmp_path).charged.calls <= 1.5 * alone.calls
    for document in documents:
        assert document["trials"] == len(alone.trials)
        assert document["winner"]["trial"] == alone.winner.number
        assert document["held_out"]["verdict"] == documents[0]["held_out"]["verdict"]
