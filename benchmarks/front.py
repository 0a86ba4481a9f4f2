"""The front of sorting by mistakes, dollars and seconds: coverage of its intervals, and reproducibility of
its files.

    python -m benchmarks front --seeds 10 --write

Each study (`benchmarks/front.got`) has 60 trials, 50 train and 50 test rows. Its intervals on the test rows
are simultaneous; they are compared with the means over all rows of the data, run with new samples at each
point, five of each row: with one, the means are hardly more exact than the intervals. Each point is then
picked from the stored study, its file written, read, and run on the test rows: its mistakes, its cost and its
seconds there must be those reported. `of trials` is the money of the study as a share of what 60 trials cost
that run the untuned program on the train rows, without a cache. Each study appends a line to `--out`, so that
the benchmark can be interrupted and continued.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from measurement import PROGRAMS, ROOT, Found, report, resumed, study_options
from msgspec import structs

from gotlang import load
from gotlang.api import Options, Session, run_to_end
from gotlang.cache.memory import MemoryCache
from gotlang.evaluate.rows import as_table
from gotlang.statistics import LEVEL
from gotlang.tune.judge import FrontPoint
from gotlang.tune.outcome import StudyResult
from gotlang.tune.plan import StudyPlan, read_plan
from gotlang.tune.points import PointRunner
from gotlang.tune.space import space_of
from gotlang.tune.study import tune

STUDY = ROOT / "benchmarks" / "front.got"
PROGRAM = PROGRAMS / "sorting.got"
COLUMNS_OF = {"numbers": "Unsorted", "truth": "Sorted"}
OTHER, SAMPLES = 1000, 5
"""What is added to a study's seed for the samples that its intervals are held against, and how many of each
row."""
Truth = list[list[float]]


def truth(plan: StudyPlan, seed: int, points: Sequence[FrontPoint]) -> Truth:
    """The means of the objectives at each point, over all rows, each with several samples of this seed."""

    async def go() -> Truth:
        async with Session(plan.program, settings(plan, seed)) as session:
            runner, rows = PointRunner(plan, space_of(plan), session), plan.read_rows().rows
            found: Truth = []
            for point in points:
                runs = [await runner.rows(point.trial.point, rows, again=again) for again in range(SAMPLES)]
                values = zip(*(row.objectives for rows in runs for row in rows), strict=True)
                found.append([fmean(value) for value in values])
            return found

    return run_to_end(go(), virtual=True)


def settings(plan: StudyPlan, seed: int) -> Options:
    """How the study runs its rows, with a cache of its own."""
    cache, batching, early_stop = MemoryCache(), plan.batching, plan.early_stop
    return Options(
        model="simulated",
        seed=seed,
        cache=cache,
        batching=batching,
        level=2 if early_stop else 1,
        prefer="cost",
    )


def as_promised(done: StudyResult, folder: Path) -> bool:
    """Whether the file of the picked point makes on the test rows the mistakes that the study says, costs as
    much and takes as long, without what the study has in its cache."""
    assert done.picked is not None and done.picked.held_out is not None
    file = folder / "picked.json"
    done.tuned.write(file)
    table = as_table(done.plan.data)
    rows = structs.replace(table, rows=tuple(table.rows[number] for number in done.tested))
    found = (
        load(PROGRAM)
        .tuned(file)
        .evaluate(
            rows,
            scheme=done.tuned.scheme,
            columns=COLUMNS_OF,
            options=settings(done.plan, done.plan.seed or 0),
        )
    )
    ran = [fmean(getattr(run, name) or 0.0 for run in found.runs) for name in ("score", "usd", "seconds")]
    said = [each.tuned for each in done.picked.held_out.compared[:3]]
    return all(a is not None and abs(a - b) <= 1e-6 * abs(b) for a, b in zip(said, ran, strict=True))


def studied(seed: int) -> Found:
    """What a study finds, and what is true of it."""
    plan = replace(read_plan(STUDY), seed=seed, split_seed=seed)
    own = settings(plan, seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        done = tune(plan, own, folder=folder)
        names = [point.names[0] for point in done.front]
        kept = [as_promised(tune(plan, own, folder=folder, picked=name), folder) for name in names]
    true = truth(plan, seed + OTHER, done.front)
    points = []
    for point, means, promise in zip(done.front, true, kept, strict=True):
        held = point.held_out
        assert held is not None, "every point of the front runs on the test rows"
        compared = held.compared[: len(plan.objectives)]
        leads = [value - first for value, first in zip(means, true[0], strict=True)]
        points.append(
            {
                "names": point.names,
                "point": dict(point.trial.point),
                "verdict": held.verdict,
                "tuned": [each.tuned for each in compared],
                "lead": [[each.lead.low, each.lead.high] for each in compared],
                "level": min(each.lead.level for each in compared),
                "true": means,
                "held": [
                    each.lead.low - 1e-9 <= lead <= each.lead.high + 1e-9
                    for each, lead in zip(compared, leads, strict=True)
                ],
                "as_promised": promise,
            }
        )
    original = done.trials[0].rows
    cold = plan.trials * len(done.trained) * fmean(row.usd or 0.0 for row in original)
    return {"points": points, "usd": done.usd, "cold": cold}


def simultaneous(line: Found) -> bool:
    """Whether the levels of a front's intervals are so high that all hold at once with 95%."""
    points = [each for each in line["points"] if "original" not in each["names"]]
    return all((1 - each["level"]) * len(points) * len(each["lead"]) <= 1 - LEVEL + 1e-9 for each in points)


def sums(line: Found) -> tuple[int, int, int, int]:
    """Points besides the original, those of them whose intervals all hold, intervals that hold, and files
    that run as promised (of the points and the original)."""
    points = [each for each in line["points"] if "original" not in each["names"]]
    held = [each["held"] for each in points]
    kept = sum(each["as_promised"] for each in line["points"])
    return len(points), sum(map(all, held)), sum(map(sum, held)), kept


COLUMNS = {
    "seed": "{}",
    "points": "{}",
    "simultaneous": "{}",
    "intervals that hold": "{}",
    "all hold": "{}",
    "files as promised": "{}",
    "spent": "${:.2f}",
    "of trials": "{:.0%}",
}


def table(lines: Sequence[Found]) -> Iterator[tuple[Any, ...]]:
    """A row for each study."""
    for line in lines:
        points, whole, held, kept = sums(line)
        yield (
            *(line["seed"], points, "yes" if simultaneous(line) else "no"),
            f"{held} of {points * len(line['points'][0]['lead'])}",
            "yes" if whole == points else "no",
            f"{kept} of {len(line['points'])}",
            *(line["usd"], line["usd"] / line["cold"]),
        )


def studies(seeds: int) -> list[Found]:
    """What names each study."""
    return [{"seed": seed} for seed in range(1, seeds + 1)]


if __name__ == "__main__":
    parser = study_options(__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    report(given, COLUMNS, table(resumed(given.out, studies(given.seeds), studied, given.jobs)))
