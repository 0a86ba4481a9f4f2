"""What a study costs: `gotc tune` beside plain TPE that runs every row of every trial and keeps no answers.

    python benchmarks/tuning.py studies/sort128.got --seeds 10 --out benchmarks/tuning.jsonl
    python benchmarks/tuning.py --table benchmarks/tuning.jsonl --landscape benchmarks/landscape.jsonl

Both search the same space with as many trials, on the simulated model. The plain study draws anew in each
trial, as one without a cache does, and has no racing and no forecast. Both winners run on the same held-out
rows. A line a study goes to the file, so that the benchmark can be stopped and gone on with. With the file of
`benchmarks/landscape.py` the table also says how many studies ended in the best region.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))


from landscape import Landscape

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
    """A study as `gotc tune` runs it; `usd` is what its search and its finals paid, before the held-out
    rows."""
    paid: list[float] = []

    def note(progress: StudyProgress, purse: StudyBudget) -> None:
        if progress.stage == "held-out rows":
            paid.append(purse.book.spent_usd)

    done = tune(plan, Options(), folder=None, observe=note)
    return {
        "point": dict(done.winner.point),
        "usd": paid[0],
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", nargs="?", default="studies/sort128.got")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--arms", default="ours,plain")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/tuning.jsonl"))
    parser.add_argument("--table", type=Path)
    parser.add_argument("--landscape", type=Path)
    given = parser.parse_args()
    if given.table:
        lines = [json.loads(line) for line in given.table.read_text().splitlines()]
        print(table(lines, Landscape.read(given.landscape) if given.landscape else None))
        return
    plan = read_plan(given.study)
    known = given.out.read_text().splitlines() if given.out.exists() else []
    done = {(line["arm"], line["seed"]) for line in map(json.loads, known)}
    for seed in range(1, given.seeds + 1):
        for arm in given.arms.split(","):
            if (arm, seed) in done:
                continue
            started = time.monotonic()
            found = (ours if arm == "ours" else plain)(replace(plan, seed=seed))
            rows = held_out(plan, [found["point"]])
            line = {
                "arm": arm,
                "seed": seed,
                **found,
                "held_out": mean([row.objectives[0] for row in rows]),
                "cost": mean([row.usd for row in rows]),
                "seconds": round(time.monotonic() - started, 1),
            }
            with given.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(line, flush=True)


def table(lines: list[dict[str, Any]], landscape: Landscape | None) -> str:
    """Both arms over the seeds that both have, with the paired interval of their difference."""
    arms = {arm: {x["seed"]: x for x in lines if x["arm"] == arm} for arm in ("ours", "plain")}
    seeds = sorted(arms["ours"].keys() & arms["plain"].keys())
    out = [
        "| | held-out value | cost a row | search, dollars | in the best region |",
        "| --- | --- | --- | --- | --- |",
    ]
    spent: dict[str, list[float]] = {}
    for arm, by_seed in arms.items():
        values = mean_interval([by_seed[s]["held_out"] for s in seeds])
        spent[arm] = [by_seed[s]["usd"] for s in seeds]
        cost = sum(by_seed[s]["cost"] for s in seeds) / len(seeds)
        name = "gotc tune" if arm == "ours" else "plain TPE"
        hits = sum(landscape.holds(by_seed[s]["point"]) for s in seeds) if landscape else None
        region = "" if hits is None else f"{hits} of {len(seeds)}"
        out.append(
            f"| {name} | {values.mean:.2f} ({values.low:.2f} to {values.high:.2f}) | {cost:.4f} | "
            f"{sum(spent[arm]) / len(seeds):.2f} | {region} |"
        )
    lead = difference_interval(
        [arms["ours"][s]["held_out"] for s in seeds], [arms["plain"][s]["held_out"] for s in seeds]
    )
    share = sum(spent["ours"]) / sum(spent["plain"])
    out += [
        "",
        f"{len(seeds)} seeds. Difference of the held-out values, paired by seed: {lead.mean:+.2f}, 95% from "
        f"{lead.low:+.2f} to {lead.high:+.2f}. `gotc tune` pays {share:.1%} of the dollars.",
    ]
    return "\n".join(out)


if __name__ == "__main__":
    main()
