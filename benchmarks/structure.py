"""Structure: from one prompt of a task (`io`), a study rewrites the graph; beside it our own schemes.

    python benchmarks/structure.py [TASK ...] [--seeds 3] [--trials 80] [--train 20]

A study may spend per row what the best hand-written scheme costs on the held-out rows (`cost <= ...`),
and is judged on these rows by the errors and the cost of both, paired. The model is simulated. Results are
added to results/structure.json, a study at a time: what is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from gotlang import Options, Program, load
from gotlang.data.table import Table
from gotlang.evaluate.evaluation import RowRun
from gotlang.evaluate.rows import as_table
from gotlang.statistics import paired_difference
from gotlang.tune.plan import make_plan
from gotlang.tune.study import split, tune

HERE = Path(__file__).parent
PROGRAMS = HERE.parent / "programs"
RESULTS = HERE / "results" / "structure.json"


@dataclass(frozen=True)
class Task:
    """A program with several schemes for one task, its rows and what an error is."""

    program: str
    data: str
    columns: dict[str, str]
    error: str
    schemes: tuple[str, ...]


TASKS = {
    "sorting, 64 digits": Task(
        "sorting.got",
        "digits64.csv",
        {"numbers": "Unsorted", "truth": "Sorted"},
        "mistakes(result, numbers)",
        ("io", "cot", "tot", "tot2", "tot_rounds", "got", "got_rounds"),
    ),
    "intersection, 64 numbers": Task(
        "sets.got",
        "sets64.csv",
        {"set1": "SET1", "set2": "SET2", "truth": "INTERSECTION"},
        "errors(result, intersection(set1, set2))",
        ("io", "cot", "tot", "tot2", "got"),
    ),
    "keyword counting": Task(
        "keywords.got",
        "countries.csv",
        {"text": "Text", "countries": "Countries"},
        "errors(result, countries)",
        ("io", "cot", "tot", "tot2", "got4", "got8", "gotx"),
    ),
}


def by_row(program: Program, task: Task, scheme: str, rows: tuple[int, ...], seed: int) -> list[RowRun]:
    """Runs of a scheme on rows by their numbers, in that order; equal requests are not shared with others."""
    options = Options(model="simulated", python=True, seed=seed, cache=None)
    data = PROGRAMS / "data" / task.data
    found = program.evaluate(data, scheme=scheme, columns=task.columns, options=options)
    runs = {run.row.number: run for run in found.runs}
    return [runs[number] for number in rows]


def summary(runs: list[RowRun]) -> dict[str, float]:
    """Mean score, cost in US dollars and calls of runs."""
    return {
        "error": fmean(run.score for run in runs if run.score is not None),
        "usd": fmean(run.usd or 0.0 for run in runs),
        "calls": fmean(run.calls or 0 for run in runs),
        "failures": sum(run.state == "failed" for run in runs),
    }


def studied(name: str, seed: int, trials: int, train: int) -> dict[str, Any]:
    """One study of a task, and the hand-written schemes on its held-out rows."""
    task = TASKS[name]
    program = load(PROGRAMS / task.program)
    table: Table = as_table(PROGRAMS / "data" / task.data)
    options = Options(model="simulated", python=True, seed=seed, cache=None)

    def plan(bound: float) -> Any:
        return make_plan(
            program,
            scheme="io",
            data=table,
            columns=task.columns,
            minimize=task.error,
            subject_to=[f"cost <= {bound:.8f}"],
            vary=["structure"],
            train=train,
            split_seed=seed,
            trials=trials,
            seed=seed,
        )

    rows = split(plan(1.0)).test
    written = {scheme: by_row(program, task, scheme, rows, seed) for scheme in task.schemes}
    best = min(
        written, key=lambda scheme: (summary(written[scheme])["error"], summary(written[scheme])["usd"])
    )
    started = time.monotonic()
    done = tune(plan(summary(written[best])["usd"]), options, folder=None)
    tuned = by_row(program.tuned(done.tuned), task, "io", rows, seed)
    lead = paired_difference([run.score for run in tuned], [run.score for run in written[best]])
    ours, theirs = summary(tuned), summary(written[best])
    return {
        "seed": seed,
        "trials": trials,
        "rows": {"train": train, "held_out": len(rows)},
        "written": {scheme: summary(runs) for scheme, runs in written.items()},
        "best": best,
        "structure": done.tuned.settings.get("structure", "io"),
        "params": done.tuned.params,
        "verdict": done.held_out.verdict if done.held_out is not None else None,
        "tuned": ours,
        "lead": {"mean": lead.mean, "low": lead.low, "high": lead.high},
        "as_good": ours["error"] <= theirs["error"] and ours["usd"] <= theirs["usd"],
        "spent_usd": done.usd,
        "seconds": time.monotonic() - started,
    }


def main() -> None:
    """Run what is missing, and print a line for each study."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("tasks", nargs="*", default=[*TASKS])
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--trials", type=int, default=80)
    options.add_argument("--train", type=int, default=20)
    chosen = options.parse_args()
    found: dict[str, list[dict[str, Any]]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for seed in range(1, chosen.seeds + 1):
        for name in chosen.tasks:
            studies = found.setdefault(name, [])
            if all(one["seed"] != seed for one in studies):
                studies.append(studied(name, seed, chosen.trials, chosen.train))
                RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    for name in chosen.tasks:
        for one in found[name]:
            theirs, ours, lead = one["written"][one["best"]], one["tuned"], one["lead"]
            interval = f"{lead['mean']:+.2f} ({lead['low']:+.2f} to {lead['high']:+.2f})"
            print(
                f"{name}, seed {one['seed']}: {one['structure']}: error {ours['error']:.2f} for "
                f"${ours['usd']:.4f}; best of ours ({one['best']}): {theirs['error']:.2f} for "
                f"${theirs['usd']:.4f}; difference {interval}, "
                f"{'as good for no more' if one['as_good'] else 'falls short'}"
            )


if __name__ == "__main__":
    main()
