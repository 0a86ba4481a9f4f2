"""The winner of a search: what points will cost is known before a call, and failures count on every row."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

from support.studies import guess_plan

from gotlang.api import Options, Session, run_to_end
from gotlang.tune.plan import StudyPlan, read_plan
from gotlang.tune.points import PointRunner
from gotlang.tune.sampler import CostModel
from gotlang.tune.space import space_of
from gotlang.tune.study import split, tune

# ---------------------------------------------------------------- what points will cost


def refused(
    plan: StudyPlan, candidates: list[dict[str, object]]
) -> list[tuple[dict[str, object], bool, float]]:
    """For each point whether it is refused, and what it costs in units of the untuned program."""

    async def go() -> list[tuple[dict[str, object], bool, float]]:
        rows = plan.read_rows(split(plan).train).rows
        options = Options(batching=plan.batching, level=2 if plan.early_stop else 1, prefer="cost")
        async with Session(plan.program, options) as session:
            space = space_of(plan)
            evaluation = PointRunner(plan, space, session)
            estimated = CostModel(evaluation, rows)
            assert estimated.broken({**space.start, "tries": 8}) == {}
            base = await evaluation.rows(space.start, rows)
            estimated.learn(base)
            out = []
            for point in candidates:
                measured = await evaluation.rows(point, rows)  # type: ignore[arg-type]
                part = fmean(m.usd or 0.0 for m in measured) / fmean(m.usd or 0.0 for m in base)
                out.append((point, bool(estimated.broken(point)), part))  # type: ignore[arg-type]
            return out

    return run_to_end(go(), virtual=True)


NO_SAVING = "batching false, early_stop false"
EVERYWHERE: list[dict[str, object]] = [
    {"tries": n, "style": s} for n in range(2, 9) for s in ("plain", "fancy")
]


@pytest.mark.parametrize(
    ("bound", "allowed"),
    [
        ("cost <= baseline", 1),
        ("cost <= 2 * baseline", 2),
        ("calls <= 4", 2),
        ("cost + 0.0 * calls <= baseline", 1),
    ],
)
def test_what_is_surely_too_dear_is_known_before_a_call(tmp_path: Path, bound: str, allowed: int) -> None:
    wish = f"train 10, test 10\nminimize error(result, target)\nsubject to {bound}\n{NO_SAVING}"
    for point, known, part in refused(guess_plan(tmp_path, wish), EVERYWHERE):
        if part <= allowed:
            assert not known, point
        if part > 1.3 * allowed:
            assert known, point


@pytest.mark.parametrize("bound", ["latency <= baseline", "right >= baseline", "error(result, target) <= 5"])
def test_of_other_bounds_nothing_is_said(tmp_path: Path, bound: str) -> None:
    wish = f"train 10, test 10\nminimize error(result, target)\nsubject to {bound}"
    assert not any(known for _, known, _ in refused(guess_plan(tmp_path, wish), EVERYWHERE))


def test_no_trial_is_spent_on_what_is_surely_too_dear(tmp_path: Path) -> None:
    wish = "train 10, test 10\nminimize error(result, target)\nsubject to cost <= baseline\ntrials 12\n"
    done = tune(guess_plan(tmp_path, wish + NO_SAVING), folder=None)
    assert done.rejected > 0
    assert {r.point["tries"] for r in done.trials.values()} <= {1, 2}


BRIEF = """
simulate with "brief_sim.py"

param form  = "long" in ["long", "brief"]
param tries = 2      in 1..6

prompt guess(target: int, form: str) -> int:
    max_tokens 400
    "Guess {{ target }}, {{ form }}."
    parse after "Answer:"

score error(attempt: int, target: int) -> lower:
    abs(attempt - target)

scheme near(target: int) -> int:
    Generate(k=tries) guess(target, form)
    Score() error(it, target)
    KeepBestN(1)

study near:
    data "numbers.csv", train 12, test 12
    minimize error(result, target)
    subject to cost <= BOUND * baseline
    trials 12
    batching false
"""
BRIEF_SIM = """
def guess(rng, target, form):
    return ("word " * 100 if form == "long" else "") + f"Answer: {target + rng.randint(5, 30)}"
"""


@pytest.mark.parametrize("bound", [1.0, 0.5])
def test_points_that_cost_less_than_their_estimate_are_found(tmp_path: Path, bound: float) -> None:
    """The estimate cannot know that brief answers are short: with them all six tries cost less than two."""
    (tmp_path / "near.got").write_text(BRIEF.replace("BOUND", str(bound)))
    (tmp_path / "brief_sim.py").write_text(BRIEF_SIM)
    (tmp_path / "numbers.csv").write_text("target\n" + "".join(f"{100 * n}\n" for n in range(24)))
    done = tune(read_plan(tmp_path / "near.got"), folder=None)
    assert done.winner.point["form"] == "brief"
    assert done.winner.point["tries"] in {4, 5, 6}


@pytest.mark.parametrize(("fails", "style"), [("fancy", "plain"), ("both", "fancy")])
def test_failures_count_on_rows_on_which_the_original_did_not_run(
    tmp_path: Path, fails: str, style: str
) -> None:
    """The untuned program stops after a few rows, since others are much better. A style that fails on
    later rows is infeasible, unless it fails there too."""
    clauses = "train 16, test 8\nminimize error(result, target)\nvary style, tries in 2..4\ntrials 20"
    plan = guess_plan(tmp_path, clauses)
    late = [row.inputs["target"] for row in plan.read_rows(split(plan).train[6:]).rows]
    (tmp_path / "guess_sim.py").write_text(f"""
def guess(rng, target, style):
    if target in {late} and (style == "fancy" or {fails == "both"}):
        return "I do not know"
    return str(target + rng.choice([-1, 1]) * (1 if style == "fancy" else rng.randint(20, 40)))
""")
    done = tune(plan, Options(cache=None), folder=None)
    best = next(point for point in done.front if "best" in point.names)
    assert best.trial.point["style"] == style
    assert done.held_out is not None
    assert not any(bound.violated for bound in done.held_out.constraints)
