"""Results, claims and spending of `gotc tune`, compared with hand-written TPE and random search with the same
cache.

    python -m benchmarks arms --quick             three seeds, and one of sort128
    python -m benchmarks arms --write             ten seeds

Each study of a planted program (`benchmarks/planted`) has 40 trials, 30 train rows and 60 test rows; the best
setting is known from the program's simulator. `sort128` is `studies/sort128.got` with the true means of
`benchmarks/landscape.py`. All arms have the same rows, samples and kind of cache, and pay for test rows. TPE
and random search by hand ask all train rows at each trial, know the bound, and judge the best allowed trial
on the test rows by a paired bootstrap interval. Each study appends a line to `--out`, so that the benchmark
can be interrupted and continued.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import optuna
from landscape import FILE, Landscape
from measurement import ROOT, Found, report, resumed, study_options
from planted import ERRORS, Truth, planted_plan, truth
from planted import key as point_key

from gotlang.api import Options, Session, run_to_end
from gotlang.cache.memory import MemoryCache
from gotlang.statistics import paired_difference, verdict
from gotlang.tune.plan import StudyPlan, read_plan
from gotlang.tune.points import Measured, PointRunner, excess
from gotlang.tune.space import Point, space_of
from gotlang.tune.study import split, tune

SORTING = "sort128"
FAILED = "constraint violated"
NEAR = 0.1
"""The planted best counts as nearly found if the setting found is this share of the way from it, or less."""
TOLERANCE = 0.01
"""A claim to keep a bound is wrong if the true cost is beyond it by more than this share."""


def options_of(plan: StudyPlan) -> Options:
    """The same cache, draws and execution for every arm."""
    return Options(
        seed=plan.seed,
        cache=MemoryCache(),
        batching=plan.batching,
        level=2 if plan.early_stop else 1,
        prefer="cost",
    )


def ours(plan: StudyPlan) -> Found:
    """The study as `gotc tune` runs it."""
    done = tune(plan, options_of(plan), folder=None)
    held = done.held_out
    compared = [each for each in held.compared if each.tuned is not None] if held is not None else []
    lead = [compared[0].lead.low, compared[0].lead.high] if compared and done.winner.number else None
    verdict = held.verdict if held is not None else "not compared"
    distinct = len({point_key(trial.point) for trial in done.trials.values()})
    point = dict(done.winner.point)
    return {"point": point, "usd": done.usd, "verdict": verdict, "lead": lead, "distinct": distinct}


def by_hand(plan: StudyPlan, sampler: Callable[[], optuna.samplers.BaseSampler]) -> Found:
    """The same study as a person would write it with Optuna and the cache."""
    parts, space = split(plan), space_of(plan)
    (objective,), (bound,) = plan.objectives, plan.constraints

    async def go() -> Found:
        async with Session(plan.program, options_of(plan)) as session:
            runner = PointRunner(plan, space, session)
            train = plan.read_rows(parts.train).rows
            study = optuna.create_study(sampler=sampler())
            study.enqueue_trial({d.name: d.default for d in space.dimensions})
            seen: list[tuple[float, float, Point]] = []
            base = 0.0
            for number in range(plan.trials):
                trial = study.ask()
                point = space.start if number == 0 else space.suggest(trial)
                rows = await runner.rows(point, train)
                value = objective.sign * mean(rows, lambda row: row.objectives[0])
                quantity = mean(rows, lambda row: row.quantities[0])
                base = quantity if number == 0 else base
                over = excess(bound, quantity, base)
                trial.set_constraint(bound.text, over)
                study.tell(trial, value)
                seen.append((value, over, point))
            best = min((v, place) for place, (v, over, _) in enumerate(seen) if over <= 0)[1]
            point = seen[best][2]
            test = plan.read_rows(parts.test).rows
            before = await runner.rows(space.start, test)
            after = await runner.rows(point, test)
            lead = paired_difference([r.objectives[0] for r in after], [r.objectives[0] for r in before])
            said: str = verdict(lead, lower_is_better=not objective.maximize)
            over = excess(bound, *(mean(rows, lambda row: row.quantities[0]) for rows in (after, before)))
            return {
                "point": dict(point),
                "usd": session.spent.usd or 0.0,
                "verdict": "no improvement found" if best == 0 else FAILED if over > 0 else said,
                "lead": [lead.low, lead.high] if best else None,
                "distinct": len({point_key(point) for _, _, point in seen}),
            }

    return run_to_end(go(), virtual=True)


def mean(rows: Sequence[Measured], quantity: Callable[[Measured], float | None]) -> float:
    """The mean of those that are known."""
    return fmean(value for row in rows if (value := quantity(row)) is not None)


def tpe(plan: StudyPlan) -> Found:
    """Optuna's TPE with the bound as a constraint."""
    group = any(d.guard is not None for d in space_of(plan).dimensions)
    return by_hand(
        plan,
        lambda: optuna.samplers.TPESampler(seed=plan.seed, multivariate=True, group=group),
    )


def at_random(plan: StudyPlan) -> Found:
    """Random search."""
    return by_hand(plan, lambda: optuna.samplers.RandomSampler(seed=plan.seed))


ARMS: Mapping[str, Callable[[StudyPlan], Found]] = {"gotc tune": ours, "TPE": tpe, "random": at_random}


def plan_of(program: str, seed: int) -> StudyPlan:
    """The study of a program with a seed."""
    if program != SORTING:
        return planted_plan(program, seed)
    return replace(read_plan(ROOT / "studies" / "sort128.got"), seed=seed, split_seed=seed)


def judged(line: Found, facts: Truth | Landscape) -> Found:
    """What the truth says of a study's result."""
    point, lead = line["point"], line["lead"]
    if isinstance(facts, Landscape):
        name = point_key(point)
        regret = facts.regret(point)
        gain = None if regret is None else 1 - regret
        known = name in facts.value
        true = facts.value[name] - facts.value[facts.start] if known else None
        over = facts.cost[name] / facts.cost[facts.start] - 1 if known else 1.0
    else:
        gain, true, over = facts.gain(point), facts.lead(point), facts.beyond(point)
    claims = line["verdict"] == "better"
    return {
        "gain": gain,
        "best": gain is not None and gain >= 1 - 1e-9,
        "near": gain is not None and gain >= 1 - NEAR,
        "false": claims and (true is None or true >= 0 or over > TOLERANCE),
        "held": None if lead is None or true is None else lead[0] - 1e-9 <= true <= lead[1] + 1e-9,
    }


COLUMNS = {
    "program": "{}",
    "arm": "{}",
    "studies": "{}",
    "best found": "{}",
    "nearly": "{}",
    "gain": "{:.2f}",
    "spent": "${:.4f}",
    "of TPE's": "{:.0%}",
    "better": "{}",
    "false claims": "{}",
    "intervals that hold": "{}",
}


def table(lines: Sequence[Found], facts: Mapping[str, Truth | Landscape]) -> Iterator[tuple[Any, ...]]:
    """A row for each program and arm."""
    for program, known in facts.items():
        theirs = [line["usd"] for line in lines if (line["program"], line["arm"]) == (program, "TPE")]
        for arm in ARMS:
            some = [line for line in lines if (line["program"], line["arm"]) == (program, arm)]
            if not some:
                continue
            found = [judged(line, known) for line in some]
            paid = fmean(line["usd"] for line in some)
            held = [each["held"] for each in found if each["held"] is not None]
            yield (
                program,
                arm,
                len(some),
                sum(each["best"] for each in found),
                sum(each["near"] for each in found),
                fmean(each["gain"] or 0.0 for each in found),
                paid,
                paid / fmean(theirs) if theirs else None,
                sum(line["verdict"] == "better" for line in some),
                sum(each["false"] for each in found),
                f"{sum(held)} of {len(held)}",
            )


def studies(programs: Sequence[str], arms: Sequence[str], seeds: int, sorting: int) -> list[Found]:
    """What names each study: all programs and arms with one seed, then with the next."""
    return [
        {"program": program, "arm": arm, "seed": seed}
        for seed in range(1, max(seeds, sorting) + 1)
        for program in programs
        for arm in arms
        if seed <= (sorting if program == SORTING else seeds)
    ]


def studied(program: str, arm: str, seed: int) -> Found:
    """What an arm finds."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return ARMS[arm](plan_of(program, seed))


def facts_of(programs: Sequence[str], landscape: Path = FILE) -> dict[str, Truth | Landscape]:
    """What is true of each program."""
    return {name: Landscape(landscape) if name == SORTING else truth(name) for name in programs}


def main() -> None:
    parser = study_options(__doc__)
    parser.add_argument("--quick", action="store_true", help="three seeds, sort128 once")
    parser.add_argument("--programs", nargs="+", default=[*ERRORS, SORTING])
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=ARMS)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--landscape", type=Path, default=FILE)
    given = parser.parse_args()
    seeds, sorting = (given.seeds or few for few in ((3, 1) if given.quick else (10, 10)))
    wanted = studies(given.programs, given.arms, seeds, sorting)
    lines = resumed(given.out, wanted, studied, given.jobs)
    report(given, COLUMNS, table(lines, facts_of(given.programs, given.landscape)))


if __name__ == "__main__":
    main()
