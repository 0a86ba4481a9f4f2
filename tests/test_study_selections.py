"""What selections tell of points with fewer candidates, and how a search uses it."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.laws import tried
from support.studies import guess_plan

from gotlang.api import Options, Session
from gotlang.cache.memory import MemoryCache
from gotlang.tune.plan import StudyPlan
from gotlang.tune.points import CellSamples, PointRunner
from gotlang.tune.selections import SelectionStatistics, gains_of
from gotlang.tune.space import Dimension, Point, Space, space_of
from gotlang.tune.study import tune
from gotlang.tune.surrogate import Surrogate, gaps_of

SCORES = st.lists(st.lists(st.floats(0, 9), min_size=1, max_size=6), min_size=1, max_size=6)


def selected(scores: list[list[float]], most: int) -> SelectionStatistics:
    """Selections of the highest of so many candidates each."""
    found = SelectionStatistics(0, (0.0,))
    for one in scores:
        found += SelectionStatistics(1, tuple(max(one[: n + 1]) - one[0] for n in range(min(most, len(one)))))
    return found


@given(SCORES, st.integers(1, 6))
@tried(200)
def test_a_point_with_more_candidates_tells_of_one_with_fewer(scores: list[list[float]], most: int) -> None:
    """What lists of one length gain with fewer of them is what was recorded of all of them."""
    length = min(map(len, scores))
    scores, fewer = [one[:length] for one in scores], min(most, length)
    found = gains_of([(1, {"a": selected(scores, length)}), (1, {"a": selected(scores, fewer)})])["a"]
    told = sum(max(one[:fewer]) - one[0] for one in scores)
    assert found[1] == pytest.approx(told, abs=1e-9)
    assert found[0] >= found[1] - 1e-9


def test_a_step_is_counted_as_often_as_a_run_comes_there() -> None:
    once, thrice = SelectionStatistics(4, (0.0, 2.0)), SelectionStatistics(12, (0.0, 3.0))
    assert gains_of([(4, {"a": once}), (4, {"a": thrice}), (4, {})]) == {"a": [0.5, 0.75, 0.0]}


def noted(plan: StudyPlan, point: Point, *, early: bool) -> CellSamples:
    """What a point asked for and selected on the rows of a plan."""

    async def go() -> CellSamples:
        options = Options(seed=3, cache=MemoryCache(), batching=False, prefer="cost" if early else "latency")
        async with Session(plan.program, options) as session:
            found = CellSamples()
            await PointRunner(plan, space_of(plan), session).rows(point, plan.read_rows().rows, noted=found)
            return found

    return asyncio.run(go())


def test_selections_are_noted_row_by_row_whatever_stops_early(tmp_path: Path) -> None:
    plan = guess_plan(tmp_path)
    plain, early = (noted(plan, {"tries": 8, "style": "fancy"}, early=early) for early in (False, True))
    ((step, selection),) = plain.selections.items()
    assert selection.times == 40 and len(selection.gains) == 8
    assert list(selection.gains) == sorted(selection.gains) and selection.gains[0] == 0 < selection.gains[1]
    assert early.selections[step].up_to(7) == pytest.approx(selection.gains)
    assert len(early.asked) < len(plain.asked)
    fewer = noted(plan, {"tries": 3, "style": "fancy"}, early=False).selections[step]
    assert fewer.gains == pytest.approx(selection.gains[:3])  # the first three of eight


def test_what_goes_along_with_a_feature_is_known_with_few_points() -> None:
    line = Space((Dimension("k", "k", 5, 1, 20, whole=True),), {"k": 5})
    points: list[Point] = [{"k": k} for k in range(1, 21)]
    curve = np.log(np.arange(1, 21))
    curve = (curve - curve.mean()) / curve.std()
    alone, along = 0.0, 0.0
    for seed in range(10):
        rng = random.Random(seed)
        places = rng.sample(range(20), 6)
        values = [2 * curve[p] + rng.gauss(0, 0.5) for p in places]
        for features in (None, curve[:, None]):
            mean, _ = Surrogate().posterior(gaps_of(line, points), places, values, [0.25] * 6, features)
            wrong = float(((mean - mean.mean() - 2 * curve) ** 2).sum())
            alone, along = (alone + wrong, along) if features is None else (alone, along + wrong)
    assert along < 0.5 * alone


def test_selections_are_stored_with_a_study(tmp_path: Path) -> None:
    plan = guess_plan(tmp_path)
    done = tune(plan, folder=tmp_path / "kept")
    again = tune(replace(plan), folder=tmp_path / "kept")
    found = [trial.selections for trial in done.trials.values()]
    assert found == [trial.selections for trial in again.trials.values()]
    assert fmean(selection.times for each in found for selection in each.values()) >= 4
