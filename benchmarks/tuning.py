"""Cost and quality of a study: `gotc tune` and plain TPE that runs every row of every trial without a cache.

    python benchmarks/tuning.py --seeds 10 --write

Both search the same space with as many trials, on the simulated model. The plain study takes new samples in
each trial and has no racing and no forecast. Both winners run on the same held-out rows. Each study appends
a line to `--out`, so that the benchmark can be interrupted and continued; those in the file are not run
again. Whether a winner is in the best region is known from the file of `benchmarks/landscape.py`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from landscape import Landscape
from measurement import RESULTS, options, report

from gotlang.api import Options, Session, run_to_end
from gotlang.cache.memory import MemoryCache
from gotlang.statistics import difference_interval, mean_interval
from gotlang.tune.budget import StudyBudget
from gotlang.tune.plan import StudyPlan, read_plan
from gotlang.tune.points import Measured, PointRunner, mean
from gotlang.tune.sampler import Proposals
from gotlang.tune.search import StudyProgress, best_of, result_of
from gotlang.tune.space import Point, space_of
from gotlang.tune.study import split, tune
from gotlang.tune.trials import Trial


def ours(plan: StudyPlan) -> dict[str, Any]:
    """A study as `gotc tune` runs it; `usd` is spent on search and finals, without held-out rows."""
    spent: list[float] = []

    def note(progress: StudyProgress, budget: StudyBudget) -> None:
        if progress.stage == "held-out rows":
            spent.append(budget.book.spent_usd)

    done = tune(plan, Options(cache=MemoryCache()), folder=None, observe=note)
    return {
        "point": dict(done.winner.point),
        "usd": spent[0],
        "ended": done.to_dict()["ended"],
        "rejected": done.rejected,
        "verdict": done.held_out.verdict if done.held_out else None,
    }


def plain(plan: StudyPlan) -> dict[str, Any]:
    """The same study with TPE alone."""
    rows = plan.read_rows(split(plan).train).rows

    async def go() -> dict[str, Any]:
        options = Options(batching=plan.batching, early_stop=plan.early_stop)
        async with Session(plan.program, options) as session:
            space = space_of(plan)
            base = session.runner
            proposals = Proposals(
                space,
                plan.sampler,
                seed=plan.seed,
                size=plan.parallel,
                maximize=[o.maximize for o in plan.objectives],
                forecast=False,
            )
            records: dict[int, Trial] = {}
            usd = 0.0
            for number in range(plan.trials):
                point = proposals.point(number, lambda n: records[n].result)
                seed = 1000 * (plan.seed + 1) + number
                session.runner = replace(base, cache=None, settings=replace(base.settings, seed=seed))
                measured = await PointRunner(plan, space, session).rows(point, rows)
                usd += sum(row.usd or 0.0 for row in measured)
                against = records[0].rows if records else measured
                ended = "complete"
                records[number] = Trial(
                    number, point, tuple(measured), result_of(plan, measured, against), ended
                )
            winner = best_of(plan, records.values()) or records[0]
            return {"point": dict(winner.point), "usd": usd}

    return run_to_end(go(), virtual=True)


_cache = MemoryCache()


def held_out(plan: StudyPlan, points: list[Point]) -> list[Measured]:
    """Points on the held-out rows, one after the other."""
    rows = plan.read_rows(split(plan).test).rows

    async def go() -> list[Measured]:
        options = Options(batching=plan.batching, early_stop=plan.early_stop, cache=_cache)
        async with Session(plan.program, options) as session:
            evaluation = PointRunner(plan, space_of(plan), session)
            return [measured for point in points for measured in await evaluation.rows(point, rows)]

    return run_to_end(go(), virtual=True)


COLUMNS = {
    "": "{}",
    "held-out mistakes": "{:.2f}",
    "95% CI": "{}",
    "cost per row": "${:.4f}",
    "cost of the search": "${:.2f}",
    "share": "{:.1%}",
    "in the best region": "{}",
    "paired difference": "{:+.2f}",
    "95% CI of it": "{}",
}


def rows(lines: list[dict[str, Any]], landscape: Landscape) -> Iterator[tuple[Any, ...]]:
    """Both arms over the seeds that both have; the difference is that to plain TPE."""
    arms = {arm: {x["seed"]: x for x in lines if x["arm"] == arm} for arm in ("plain", "ours")}
    seeds = sorted(arms["ours"].keys() & arms["plain"].keys())
    plain = [arms["plain"][seed] for seed in seeds]
    for arm, by_seed in arms.items():
        studies = [by_seed[seed] for seed in seeds]
        values = mean_interval([x["held_out"] for x in studies])
        lead = difference_interval([x["held_out"] for x in studies], [x["held_out"] for x in plain])
        yield (
            "gotc tune" if arm == "ours" else "plain TPE",
            values.mean,
            f"{values.low:.2f} to {values.high:.2f}",
            fmean(x["cost"] for x in studies),
            fmean(x["usd"] for x in studies),
            sum(x["usd"] for x in studies) / sum(x["usd"] for x in plain),
            f"{sum(landscape.holds(x['point']) for x in studies)} of {len(studies)}",
            lead.mean if arm == "ours" else None,
            f"{lead.low:+.2f} to {lead.high:+.2f}" if arm == "ours" else None,
        )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("study", nargs="?", default="studies/sort128.got")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--arms", nargs="+", default=["ours", "plain"])
    parser.add_argument("--out", type=Path, default=RESULTS / "tuning.jsonl")
    parser.add_argument("--landscape", type=Path, default=RESULTS / "landscape.jsonl")
    given = parser.parse_args()
    plan = read_plan(given.study)
    lines = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    done = {(line["arm"], line["seed"]) for line in lines}
    for seed in range(1, given.seeds + 1):
        for arm in given.arms:
            if (arm, seed) in done:
                continue
            started = time.monotonic()
            found = (ours if arm == "ours" else plain)(replace(plan, seed=seed))
            tested = held_out(plan, [found["point"]])
            line = {
                "arm": arm,
                "seed": seed,
                **found,
                "held_out": mean([row.objectives[0] for row in tested]),
                "cost": mean([row.usd for row in tested]),
                "seconds": round(time.monotonic() - started, 1),
            }
            with given.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            lines.append(line)
    report(given, COLUMNS, rows(lines, Landscape.read(given.landscape)))


if __name__ == "__main__":
    main()
