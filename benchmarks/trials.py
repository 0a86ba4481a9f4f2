"""Overhead of a study's trial in processor time, compared with plain Optuna.

    python -m benchmarks trials [--quick] [--rounds 5]

A study of a planted program with 40 trials runs as `gotc tune` does, without a folder; then the same cells
run again with an empty cache and no study. What the study takes beyond them, verdict included, is divided by
its trials. Beside it plain Optuna with TPE: suggest, tell, and nothing in between. Both use one thread.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import statistics
import time
from collections.abc import Iterator
from typing import Any

import optuna
from arms import options_of
from measurement import options, report
from planted import planted_plan

from gotlang.api import Session, run_to_end
from gotlang.tune.plan import StudyPlan
from gotlang.tune.points import PointRunner
from gotlang.tune.space import space_of
from gotlang.tune.study import split, tune

PROGRAMS = ("peak", "trap", "persona")
COLUMNS = {
    "program": "{}",
    "trials": "{:,}",
    "rows of all": "{:,}",
    "ms a trial": "{:.1f}",
    "range": "{}",
    "ms, plain Optuna": "{:.1f}",
    "ratio": "{:.2f}",
    "goal": "{}",
}


def study(plan: StudyPlan) -> tuple[int, int, float]:
    """The trials of a study, their rows, and milliseconds a trial beyond the rows."""
    started = time.process_time()
    done = tune(plan, options_of(plan), folder=None)
    whole = time.process_time() - started

    async def rows() -> int:
        count = 0
        async with Session(plan.program, options_of(plan)) as session:
            runner, parts = PointRunner(plan, space_of(plan), session), split(plan)
            train = plan.read_rows(parts.train).rows
            for trial in done.trials.values():
                for again in range(0, len(trial.rows), len(train)):
                    some = train[: len(trial.rows) - again]
                    count += len(await runner.rows(trial.point, some, again=again // len(train)))
            for point in (runner.space.start, done.winner.point):
                count += len(await runner.rows(point, plan.read_rows(parts.test).rows))
        return count

    started = time.process_time()
    count = run_to_end(rows(), virtual=True)
    alone = time.process_time() - started
    return len(done.trials), count, 1e3 * (whole - alone) / len(done.trials)


def by_hand(plan: StudyPlan, trials: int) -> float:
    """Milliseconds a trial of Optuna's TPE."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = space_of(plan)
    started = time.process_time()
    found = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=plan.seed, multivariate=True))
    for number in range(trials):
        trial = found.ask()
        space.suggest(trial)
        found.tell(trial, float(number * 7919 % 101))
    return 1e3 * (time.process_time() - started) / trials


def rows(rounds: int) -> Iterator[tuple[Any, ...]]:
    for program in PROGRAMS:
        study(planted_plan(program, 0))  # what is imported late
        by_hand(planted_plan(program, 0), 20)
        found = []
        for seed in range(1, rounds + 1):
            plan = planted_plan(program, seed)
            trials, count, ours = study(plan)
            found.append((trials, count, ours, by_hand(plan, trials)))
        ours = [line[2] for line in found]
        yield (
            program,
            round(statistics.median(line[0] for line in found)),
            round(statistics.median(line[1] for line in found)),
            statistics.median(ours),
            f"{min(ours):.1f} to {max(ours):.1f}",
            statistics.median(line[3] for line in found),
            statistics.median(line[2] / line[3] for line in found),
            "at most 10 ms",
        )


if __name__ == "__main__":
    given = options(__doc__, rounds=5, quick=1).parse_args()
    report(given, COLUMNS, rows(given.rounds))
