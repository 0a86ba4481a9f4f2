"""Who wins a study: what points will cost, what trials are worth together, and who wins the finals."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

from support.studies import guess_plan

from gotlang.api import Options, Session, run_to_end
from gotlang.tune.plan import StudyPlan
from gotlang.tune.points import Measured, PointRunner
from gotlang.tune.sampler import CostModel
from gotlang.tune.search import UNLIKELY, may_win, shrunk
from gotlang.tune.space import Dimension, Point, Space, space_of
from gotlang.tune.study import split, tune
from gotlang.tune.trials import Trial, TrialResult

# ---------------------------------------------------------------- what trials are worth together

LINE = Space((Dimension("x", "x", 10, 0, 20, whole=True), Dimension("c", "c", "a", choices=("a", "b"))), {})


def worth(point: Point) -> float:
    """A hollow at 14, and half as good again with b."""
    x = point["x"]
    assert isinstance(x, int)
    return (x - 14) ** 2 / 20 + (2.0 if point["c"] == "a" else 0.0)


def recorded(
    points: list[dict[str, object]], rng: random.Random, noise: float, rows: int = 20
) -> dict[int, Trial]:
    """Trials as a search leaves them, some of them stopped early."""
    out: dict[int, Trial] = {}
    for number, point in enumerate(points):
        count = rows if number % 3 == 0 else rows // 2
        values = [worth(point) + rng.gauss(0, noise) for _ in range(count)]  # type: ignore[arg-type]
        seen = tuple(Measured((value,), (), 0.01, 1.0, 5) for value in values)
        out[number] = Trial(number, point, seen, TrialResult((fmean(values),), {}), "complete")  # type: ignore[arg-type]
    return out


def points(rng: random.Random, count: int) -> list[dict[str, object]]:
    return [{"x": rng.randint(0, 20), "c": rng.choice("ab")} for _ in range(count)]


def test_trials_together_are_nearer_to_the_truth_than_each_alone() -> None:
    alone, together = 0.0, 0.0
    for seed in range(10):
        rng = random.Random(seed)
        records = recorded(points(rng, 40), rng, 3.0)
        found = shrunk(LINE, records)
        for number, record in records.items():
            assert record.result.values is not None
            alone += (record.result.values[0] - worth(record.point)) ** 2
            together += (found[number] - worth(record.point)) ** 2
    assert together < 0.5 * alone


def test_without_noise_each_trial_is_worth_what_it_is() -> None:
    records = recorded(points(random.Random(1), 30), random.Random(1), 0.0)
    same = {n: Trial(n, r.point, records[0].rows, r.result, r.ended) for n, r in records.items()}
    assert shrunk(LINE, same) == {n: r.result.values[0] for n, r in records.items() if r.result.values}


def test_a_few_trials_are_believed_by_themselves() -> None:
    records = recorded(points(random.Random(2), 7), random.Random(2), 2.0)
    assert shrunk(LINE, records) == {n: r.result.values[0] for n, r in records.items() if r.result.values}


def test_a_trial_that_is_proposed_again_says_nothing_new() -> None:
    rng = random.Random(3)
    records = recorded(points(rng, 20), rng, 3.0)
    more = dict(records)
    for number in range(20, 30):
        more[number] = Trial(number, records[4].point, records[4].rows, records[4].result, "complete")
    once, often = shrunk(LINE, records), shrunk(LINE, more)
    assert often[25] == pytest.approx(once[4])
    assert {n: often[n] for n in once} == pytest.approx(once)


# ---------------------------------------------------------------- the finals

NOISY = """
train 20, test 20
minimize error(result, target)
subject to cost <= 4 * baseline
trials 16
batching false, early_stop false, seed 5
"""


@pytest.fixture
def nobody_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """All finalists run to the end, however far behind."""
    monkeypatch.setattr(sys.modules["gotlang.tune.search"], "UNLIKELY", 0.0)


@pytest.mark.usefixtures("nobody_leaves")
def test_likely_winners_run_again_with_new_draws(tmp_path: Path) -> None:
    plan = guess_plan(tmp_path, NOISY + "finals 3")
    done = tune(plan, folder=None)
    assert 2 <= len(done.finals) <= 3
    assert done.winner == done.finals[0].trial
    assert [f.mean for f in done.finals] == sorted(f.mean for f in done.finals)
    for finalist in done.finals:
        assert len(finalist.trial.rows) == finalist.rows == 20
        assert finalist.again is not None
        assert finalist.again != finalist.before
        assert finalist.mean == pytest.approx((finalist.before + finalist.again) / 2)
    assert done.to_dict()["finals"][0]["trial"] == done.winner.number


@pytest.mark.parametrize(("unlikely", "seen"), [(0.1, 8), (UNLIKELY, 0)])
def test_who_is_too_far_behind_leaves_the_finals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unlikely: float, seen: int
) -> None:
    plan = replace(guess_plan(tmp_path, NOISY.replace("seed 5", "seed 6") + "finals 8"), train=12)
    monkeypatch.setattr(sys.modules["gotlang.tune.search"], "UNLIKELY", unlikely)
    done = tune(plan, folder=None)
    assert [f.rows for f in done.finals] == [seen] * 3
    # Where all of them run to the end the same one wins, for more money.
    monkeypatch.setattr(sys.modules["gotlang.tune.search"], "UNLIKELY", 0.0)
    whole = tune(plan, folder=None)
    assert [f.rows for f in whole.finals] == [12] * 3
    assert whole.winner == done.winner
    assert done.usd < whole.usd


@pytest.mark.parametrize("left", [1, 10, 40])
def test_of_who_leaves_the_finals_few_would_have_won(left: int) -> None:
    rng = random.Random(left)
    left_it, would_have_won = 0, 0
    for _ in range(4000):
        behind = [rng.gauss(0, 1) for _ in range(20)]
        if sum(behind) > 0 and not may_win(behind, left):
            left_it += 1
            would_have_won += sum(behind) + sum(rng.gauss(0, 1) for _ in range(left)) < 0
    assert left_it > 400
    assert would_have_won / left_it < UNLIKELY


def test_nobody_leaves_the_finals_unseen_or_at_their_end() -> None:
    assert may_win([9.0] * 7, 40)
    assert may_win([9.0] * 20, 0)
    assert not may_win([0.1] * 20, 40)
    assert not may_win([0.0] * 20, 40)
    assert may_win([-1.0, *[0.1] * 19], 40)


@pytest.mark.usefixtures("nobody_leaves")
@pytest.mark.parametrize("more", ["finals 0", "finals 1"])
def test_a_study_without_finals_pays_for_none(tmp_path: Path, more: str) -> None:
    without = tune(guess_plan(tmp_path, NOISY + more), folder=None)
    assert len(without.finals) == 1
    assert without.finals[0].again is None
    (tmp_path / "more").mkdir()
    assert without.usd < tune(guess_plan(tmp_path / "more", NOISY), folder=None).usd


# ---------------------------------------------------------------- what points will cost


def refused(
    plan: StudyPlan, candidates: list[dict[str, object]]
) -> list[tuple[dict[str, object], bool, float]]:
    """For each point whether it is refused, and what it costs in units of the untuned program."""

    async def go() -> list[tuple[dict[str, object], bool, float]]:
        rows = plan.read_rows(split(plan).train).rows
        options = Options(batching=plan.batching, early_stop=plan.early_stop)
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


@pytest.mark.parametrize(
    "bound", ["latency <= baseline", "cost >= 0.1 * baseline", "error(result, target) <= 5"]
)
def test_of_other_bounds_nothing_is_said(tmp_path: Path, bound: str) -> None:
    wish = f"train 10, test 10\nminimize error(result, target)\nsubject to {bound}"
    assert not any(known for _, known, _ in refused(guess_plan(tmp_path, wish), EVERYWHERE))


def test_no_trial_is_spent_on_what_is_surely_too_dear(tmp_path: Path) -> None:
    wish = "train 10, test 10\nminimize error(result, target)\nsubject to cost <= baseline\ntrials 12\n"
    done = tune(guess_plan(tmp_path, wish + NO_SAVING), folder=None)
    assert done.rejected > 0
    assert {r.point["tries"] for r in done.trials.values()} <= {1, 2}
