"""Structure: from one prompt of a task (`io`), a study rewrites the graph; compared with hand-written
schemes.

    python benchmarks/structure.py ["keyword counting" ...] [--seeds 3] [--trials 80] --write

Half of a task's rows are for training. A study may spend per row what the best hand-written scheme costs on
the held-out rows (`cost <= ...`), and is judged on these rows by the errors and the cost of both, paired. The
model is simulated. Each study is a line in results/structure.jsonl, and is not run again; `--write` makes the
table of results/structure.json.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from measurement import PROGRAMS, Found, report, resumed, study_options

from gotlang import Options, Program, load
from gotlang.data.table import Table
from gotlang.evaluate.evaluation import RowRun
from gotlang.evaluate.rows import as_table
from gotlang.statistics import paired_difference
from gotlang.tune.plan import make_plan
from gotlang.tune.study import split, tune

TRIALS = 80
COLUMNS = {
    "task": "{}",
    "seed": "{}",
    "best hand-written": "{}",
    "errors": "{:.2f}",
    "cost per row": "${:.4f}",
    "found from `io`": "{}",
    "its errors": "{:.2f}",
    "its cost": "${:.4f}",
    "difference, 95% interval": "{}",
    "as good, at no higher cost": "{}",
    "the study": "${:.2f}",
}


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
    settings = Options(model="simulated", python=True, seed=seed, cache=None)
    data = PROGRAMS / "data" / task.data
    found = program.evaluate(data, scheme=scheme, columns=task.columns, options=settings)
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


def studied(task: str, seed: int, trials: int) -> Found:
    """One study of a task, and the hand-written schemes on its held-out rows."""
    about = TASKS[task]
    program = load(PROGRAMS / about.program)
    table: Table = as_table(PROGRAMS / "data" / about.data)
    settings = Options(model="simulated", python=True, seed=seed, cache=None)

    def plan(bound: float) -> Any:
        return make_plan(
            program,
            scheme="io",
            data=table,
            columns=about.columns,
            minimize=about.error,
            subject_to=[f"cost <= {bound:.8f}"],
            vary=["structure"],
            split_seed=seed,
            trials=trials,
            seed=seed,
        )

    parted = split(plan(1.0))
    written = {scheme: by_row(program, about, scheme, parted.test, seed) for scheme in about.schemes}
    best = min(
        written, key=lambda scheme: (summary(written[scheme])["error"], summary(written[scheme])["usd"])
    )
    done = tune(plan(summary(written[best])["usd"]), settings, folder=None)
    tuned = by_row(program.tuned(done.tuned), about, "io", parted.test, seed)
    lead = paired_difference([run.score for run in tuned], [run.score for run in written[best]])
    ours, theirs = summary(tuned), summary(written[best])
    return {
        "rows": {"train": len(parted.train), "held_out": len(parted.test)},
        "written": {scheme: summary(runs) for scheme, runs in written.items()},
        "best": best,
        "structure": done.tuned.settings.get("structure", "io"),
        "params": done.tuned.params,
        "verdict": done.held_out.verdict if done.held_out is not None else None,
        "tuned": ours,
        "lead": {"mean": lead.mean, "low": lead.low, "high": lead.high},
        "as_good": ours["error"] <= theirs["error"] and ours["usd"] <= theirs["usd"],
        "spent_usd": done.usd,
    }


def rows(lines: Sequence[Found]) -> Iterator[tuple[Any, ...]]:
    """A row for each study."""
    for one in sorted(lines, key=lambda line: (list(TASKS).index(line["task"]), line["seed"])):
        theirs, ours, lead = one["written"][one["best"]], one["tuned"], one["lead"]
        interval = f"{lead['mean']:+.2f} ({lead['low']:+.2f} to {lead['high']:+.2f})"
        yield (
            *(one["task"], one["seed"], f"`{one['best']}`", theirs["error"], theirs["usd"]),
            *(f"`{one['structure']}`", ours["error"], ours["usd"], interval),
            *("yes" if one["as_good"] else "no", one["spent_usd"]),
        )


def studies(tasks: Sequence[str], seeds: int, trials: int) -> list[Found]:
    """What names each study: all tasks with one seed, then with the next."""
    return [{"task": task, "seed": seed, "trials": trials} for seed in range(1, seeds + 1) for task in tasks]


if __name__ == "__main__":
    parser = study_options(__doc__)
    parser.add_argument("tasks", nargs="*", default=[*TASKS])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=TRIALS)
    given = parser.parse_args()
    wanted = studies(given.tasks, given.seeds, given.trials)
    report(given, COLUMNS, rows(resumed(given.out, wanted, studied, given.jobs)))
