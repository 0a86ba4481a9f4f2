"""Whole studies: results, data separation, and limits on spending."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

from support.studies import GUESS, course, guess_plan, guess_study

from gotlang.api import Options, Session, compile, load
from gotlang.cache.memory import MemoryCache
from gotlang.errors import BudgetExceeded, CompileError, ModelError, UsageError
from gotlang.evaluate import evaluation
from gotlang.models.base import PERMITTED, Completion, Model, Permit, Price, Reply, Request, Usage
from gotlang.models.simulated import SimulatedModel
from gotlang.runtime.sampler.events import Asked
from gotlang.tune import allocation, search
from gotlang.tune.outcome import StudyResult
from gotlang.tune.plan import StudyPlan, make_plan, read_plan
from gotlang.tune.points import Measured, PointRunner
from gotlang.tune.search import StudySearch
from gotlang.tune.space import key_of, space_of
from gotlang.tune.study import run_study, split, tune
from gotlang.tune.tuned import apply, read_tuned, tuned

ROOT = Path(__file__).parents[1]


@pytest.fixture
def plan(tmp_path: Path) -> StudyPlan:
    return guess_plan(tmp_path)


# ---------------------------------------------------------------- what it finds


def test_a_study_finds_what_is_better_for_no_more_than_allowed(tmp_path: Path) -> None:
    plan = guess_plan(
        tmp_path,
        """
        train 20, test 20
        minimize error(result, target)
        subject to cost <= 2 * baseline
        trials 16
        batching false, early_stop false
        """,
    )
    done = tune(plan, folder=None)
    assert done.held_out is not None
    assert done.held_out.verdict == "better"
    assert done.tuned.params["style"] == "fancy"
    error, cost = done.held_out.compared[:2]
    assert error.tuned is not None and error.original is not None and error.lead.high < 0
    assert cost.tuned is not None and cost.original is not None and cost.tuned <= 2 * cost.original
    assert done.winner.ended == "complete"
    assert {r.ended for r in done.trials.values()} > {"complete"}


@pytest.mark.parametrize("sampler", ["tpe", "grid"])
def test_what_costs_more_never_wins(tmp_path: Path, sampler: str) -> None:
    plan = guess_plan(
        tmp_path,
        f"""
        train 20, test 20
        sampler {sampler}
        minimize error(result, target)
        subject to cost <= 0.5 * baseline
        vary tries in 2..8
        trials 8
        batching false, early_stop false
        """,
    )
    done = tune(plan, folder=None)
    assert done.winner.number == 0
    assert done.held_out is not None
    assert done.held_out.verdict == "no feasible trial"


def test_the_same_seed_gives_the_same_study(plan: StudyPlan) -> None:
    one, same, other = (tune(replace(plan, seed=s), folder=None) for s in (1, 1, 2))
    assert course(one.trials) == course(same.trials)
    assert course(one.trials) != course(other.trials)


def test_several_objectives_give_a_front(tmp_path: Path) -> None:
    clauses = "train 10, test 10\nminimize error(result, target), minimize cost\ntrials 12\nearly_stop false"
    done = tune(guess_plan(tmp_path, clauses), folder=None)
    best = [point.trial for point in done.front if point.names[0] != "original"]
    assert len(best) > 1
    values = sorted(r.result.values for r in best if r.result.values)
    assert all(b[1] < a[1] for a, b in pairwise(values) if a[0] < b[0])
    assert [p.trial.result.values for p in done.front if "best" in p.names] == [values[0]]


def test_an_objective_may_weigh_several_quantities(tmp_path: Path) -> None:
    alone = ["error(result, target)", "cost", "latency"]
    weighed = "0.8 * error(result, target) + 100 * cost + 2 * latency"
    aims = ", ".join(f"minimize {aim}" for aim in [weighed, *alone])
    done = tune(guess_plan(tmp_path, f"train 10, test 10\n{aims}\ntrials 3"), folder=None)
    value, error, cost, latency = done.trials[0].result.values or ()
    assert value == pytest.approx(0.8 * error + 100 * cost + 2 * latency)
    assert error > 0 and cost > 0 and latency > 0


@pytest.mark.parametrize("sampler", ["tpe(startup=3)", "random(seed=3)", "nsga2(population=4)"])
def test_a_sampler_proposes_points_of_a_space_that_cannot_be_listed(tmp_path: Path, sampler: str) -> None:
    clauses = f"train 6, test 6\nminimize error(result, target)\ntrials 10\nsampler {sampler}"
    plan = guess_plan(tmp_path, f"{clauses}\nvary tries, style, temperature in 0.0..1.0")
    done = tune(plan, folder=None)
    assert len({r.point.get("temperature") for r in done.trials.values()}) > 4
    assert 6 < sum(len(r.rows) for r in done.trials.values()) <= 11 * 6
    assert course(tune(plan, folder=None).trials) == course(done.trials)


@pytest.mark.parametrize("vary", ["tries, style", "tries, style, temperature in 0.0..1.0"])
def test_no_point_runs_twice_on_a_row_and_every_branch_runs(tmp_path: Path, vary: str) -> None:
    clauses = f"train 8, test 6\nminimize error(result, target)\ntrials 40\nvary {vary}"
    done = tune(guess_plan(tmp_path, clauses), folder=None)
    cells = [
        (key_of(stored["point"]), stored["first"] + place)
        for stored in (trial.user_attrs for trial in done.study.trials)
        for place, _ in enumerate(json.loads(stored["rows"]))
    ]
    assert len(cells) == len({*cells}) == sum(len(trial.rows) for trial in done.trials.values())
    assert len({key_of(trial.point) for trial in done.trials.values()}) == len(done.trials) >= 10
    assert {trial.point["style"] for trial in done.trials.values()} == {"plain", "fancy"}


def test_of_a_large_space_no_more_points_run_than_the_model_of_them_can_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "LISTED", 16)
    monkeypatch.setattr(search, "MOST_POINTS", 16)
    monkeypatch.setattr(allocation, "MOST_FREE", 4)
    clauses = "train 8, test 6\nminimize error(result, target)\ntrials 60"
    clauses += "\nvary tries, style, temperature in 0.0..1.0"
    done = tune(guess_plan(tmp_path, clauses), folder=None)
    assert 16 <= len(done.trials) < 16 + allocation.AT_ONCE + allocation.MOST_FREE
    assert done.trials[0].ended == "complete"


@pytest.mark.parametrize("simulated", [True, False])
def test_where_time_is_simulated_not_all_rows_are_held_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, simulated: bool
) -> None:
    running, most = 0, 0
    run_one = evaluation.run_one

    async def counted(*arguments: Any, **more: Any) -> Any:
        nonlocal running, most
        running, most = running + 1, max(most, running + 1)
        try:
            return await run_one(*arguments, **more)
        finally:
            running -= 1

    monkeypatch.setattr(evaluation, "run_one", counted)
    plan = guess_plan(tmp_path, "train 30, test 10\nminimize error(result, target)\ntrials 2\nsampler random")
    tune(plan, Options() if simulated else Options(model=Mortal()), folder=None)
    assert most == evaluation.DEFAULT_PARALLEL if simulated else most > evaluation.DEFAULT_PARALLEL


def test_a_grid_runs_every_point_on_every_row(tmp_path: Path) -> None:
    clauses = "train 6, test 6\nminimize error(result, target)\ntrials 16\nsampler grid"
    done = tune(guess_plan(tmp_path, clauses), folder=None)
    assert [r.ended for r in done.trials.values()] == ["complete"] * 16


@pytest.mark.parametrize(
    ("vary", "held"),
    [
        ("tries in 4..8, style", {"tries": range(4, 9)}),
        ('tries, style in ["fancy"]', {"style": ["fancy"]}),
        ("tries in [5, 7], style, temperature in 0.0..1.0", {"tries": [5, 7]}),
        ('tries in 3..5, style in ["fancy"], temperature in 0.0..1.0\nsampler nsga2', {"tries": [3, 4, 5]}),
    ],
)
def test_a_range_without_the_untuned_value_bounds_all_points_but_the_untuned_program(
    tmp_path: Path, vary: str, held: Mapping[str, Any]
) -> None:
    """A search stays in what is written, and compares it with the program as it is."""
    clauses = f"train 8, test 6\nminimize error(result, target)\ntrials 30\nvary {vary}"
    done = tune(guess_plan(tmp_path, clauses), folder=None)
    original, *others = done.trials.values()
    assert original.point == {name: {"tries": 2, "style": "plain"}[name] for name in original.point}
    assert len(others) >= 4 and original.point.keys() & held.keys()
    for trial in others:
        assert all(trial.point[name] in values for name, values in held.items())
    values = {**done.tuned.params, **done.tuned.settings}
    assert values.items() >= done.written.trial.point.items()


@pytest.mark.parametrize(
    ("vary", "points"),
    [("style", 2), ('tries in 3..4, style in ["fancy"]', 3), ("temperature in [0.0, 0.5]", 3)],
)
def test_a_grid_ends_with_its_last_point(tmp_path: Path, vary: str, points: int) -> None:
    aims = "train 6, test 6\nminimize error(result, target), minimize cost"
    clauses = f"{aims}\nvary {vary}\ntrials 12, sampler grid"
    done = tune(guess_plan(tmp_path, clauses), folder=None)
    assert len({tuple(r.point.items()) for r in done.trials.values()}) == len(done.trials) == points
    assert done.partial is None
    assert done.held_out is not None
    names = [found.name for found in done.held_out.compared]
    assert len(names) == len(set(names))


def test_settings_of_the_run_can_be_varied(tmp_path: Path) -> None:
    clauses = """
        train 6, test 6
        minimize latency
        vary concurrency in [1, 16], tries in 4..4
        trials 4
        batching false
    """
    done = tune(guess_plan(tmp_path, clauses), folder=None)
    assert done.tuned.settings.keys() <= {"concurrency"}
    assert {r.point["concurrency"] for n, r in done.trials.items() if n} == {1, 16}


def test_the_untuned_program_has_settings_of_its_own(tmp_path: Path) -> None:
    clauses = """
        train 4, test 4
        minimize error(result, target)
        vary temperature in [0.25], model in ["other"]
        trials 2
    """
    asked: list[float | None] = []
    plan = guess_plan(tmp_path, clauses)
    with (tmp_path / "guess_sim.py").open("a") as simulator:
        simulator.write('\nMODELS = {"other": {"input_per_million": 0.1, "output_per_million": 0.4}}\n')

    def observe(event: object) -> None:
        if isinstance(event, Asked):
            asked.append(event.request.settings.temperature)

    done = tune(plan, Options(observe=observe), folder=None)
    assert dict(done.trials[0].point) == {}
    assert asked[0] is None
    assert set(asked) == {None, 0.25}


def test_a_row_that_fails_makes_a_trial_worse_not_better(tmp_path: Path) -> None:
    path = guess_study(
        tmp_path, "train 12, test 12\nminimize error(result, target)\ntrials 10\nearly_stop false"
    )
    (tmp_path / "guess_sim.py").write_text(
        "def guess(rng, target, style):\n"
        "    return 'no idea' if style == 'fancy' else str(target + rng.randint(-9, 9))\n"
    )
    done = tune(read_plan(path), folder=None)
    fancy = [r for r in done.trials.values() if r.point.get("style") == "fancy"]
    assert fancy
    assert not any(r.feasible for r in fancy)
    assert done.tuned.params["style"] == "plain"


class Mortal(Model):
    """A model that is as wrong as a request has letters, and answers no more from a number of requests on."""

    name, simulated, price, batch = "mortal", False, Price(1.0, 2.0), 8

    def __init__(self, lives: float = float("inf")) -> None:
        self.lives = lives

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """Answers, while it lives."""
        self.lives -= 1
        if self.lives < 0:
            raise ModelError("nobody is there")
        said = [str(int(request.arguments["target"]) + (first + i) * 7 % 11 - 5) for i in range(n)]
        return Reply(tuple(Completion(text, output_tokens=2) for text in said), Usage(20, 2 * n), 0.1)


@pytest.mark.parametrize(("concurrency", "most"), [(4, range(1, 4)), (64, range(4, 9))])
def test_a_worker_leaves_measurements_to_others_that_it_has_no_slots_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, concurrency: int, most: range
) -> None:
    class Slow(Mortal):
        async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
            await asyncio.sleep(0.3)
            return await super().ask(request, n, first, permit)

    running, found, run = 0, [0], search.StudySearch._run

    async def counted(*arguments: Any) -> None:
        nonlocal running
        running += 1
        found.append(running)
        try:
            await run(*arguments)
        finally:
            running -= 1

    monkeypatch.setattr(search.StudySearch, "_run", counted)
    plan = guess_plan(tmp_path, "train 10, test 6\nminimize error(result, target)\ntrials 6\nbatching false")
    tune(plan, Options(model=Slow(), cache=tmp_path / "cache.sqlite", concurrency=concurrency), folder=None)
    assert max(found) in most


@pytest.mark.parametrize("lives", [15, 27])
def test_a_model_that_is_gone_ends_a_study_and_fails_no_trial(tmp_path: Path, lives: int) -> None:
    clauses = "train 10, test 6\nminimize error(result, target)\ntrials 6"
    plan = guess_plan(tmp_path, clauses)
    whole = tune(plan, Options(model=Mortal()), folder=None)

    def go(model: Mortal) -> Any:
        return tune(plan, Options(model=model, cache=tmp_path / "cache.sqlite"), folder=tmp_path / "kept")

    with pytest.raises(ModelError, match=r"no longer responds: .*nobody is there"):
        go(Mortal(lives))
    assert course(go(Mortal()).trials) == course(whole.trials)


class Away(Model):
    """A model that is away until it has answered a probe: a request with samples of its own."""

    name, simulated, price, batch = "away", False, Price(1.0, 2.0), 8

    def __init__(self) -> None:
        self.probes, self.back = 0, False

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """Answers a probe after a while."""
        if request.sample >= 2**40:
            self.probes += 1
            await asyncio.sleep(0.05)
            self.back = True
        elif not self.back:
            raise ModelError("nobody is there")
        said = tuple(Completion(str(request.arguments["target"]), output_tokens=2) for _ in range(n))
        return Reply(said, Usage(20, 2 * n), 0.1)


def test_points_that_lose_the_model_at_once_share_a_probe(tmp_path: Path) -> None:
    plan, model = guess_plan(tmp_path), Away()
    rows = plan.read_rows(range(1, 5)).rows

    async def go() -> list[list[Measured]]:
        async with Session(plan.program, Options(model=model, cache=MemoryCache())) as session:
            runner = PointRunner(plan, space_of(plan), session)
            runner.answered = rows[0]
            points = ({"tries": tries, "style": "fancy"} for tries in (1, 2, 3, 4))
            return await asyncio.gather(*(runner.rows(point, rows) for point in points))

    assert [len([row for row in found if not row.failure]) for found in asyncio.run(go())] == [4] * 4
    assert model.probes == 1


def test_a_row_that_fails_was_paid_for_too(tmp_path: Path) -> None:
    clauses = (
        "train 6, test 6\nminimize error(result, target)\nsubject to cost <= baseline, calls <= 9\ntrials 1"
    )
    path = guess_study(tmp_path, clauses)
    (tmp_path / "guess_sim.py").write_text(
        "def guess(rng, target, style):\n    return 'no idea' if target % 2 else str(target)\n"
    )
    rows = tune(read_plan(path), folder=None).trials[0].rows
    failed = [row for row in rows if row.failure]
    assert 0 < len(failed) < len(rows)
    for row in failed:
        assert row.usd is not None and row.usd > 0
        assert row.calls == 2
        assert row.quantities == (row.usd, 2.0)
        assert row.objectives == (None,)


def test_a_program_that_always_fails_is_an_error(tmp_path: Path) -> None:
    path = guess_study(tmp_path, "train 6, test 6\nminimize error(result, target)\ntrials 4")
    (tmp_path / "guess_sim.py").write_text("def guess(rng, target, style):\n    return 'no idea'\n")
    with pytest.raises(UsageError, match="fails on every train row"):
        tune(read_plan(path), folder=None)


# ---------------------------------------------------------------- what it may not see


def test_no_test_row_reaches_the_search(plan: StudyPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = split(plan)
    secret = {row.inputs["target"] for row in plan.read_rows(parts.test).rows}
    asked: list[int] = []
    known: list[bool] = []
    ask = SimulatedModel.ask
    rows = PointRunner.rows

    async def noting(self: SimulatedModel, request: Any, *more: Any, **how: Any) -> Any:
        asked.append(request.arguments["target"])
        return await ask(self, request, *more, **how)

    reached: list[set[int]] = []
    run = StudySearch.run

    async def remembered(self: StudySearch) -> None:
        await run(self)
        assert not secret & set(asked)
        reached.append(inputs_in_reach(self))

    async def looked(self: PointRunner, point: Any, some: Any, **how: Any) -> Any:
        known.append(bool(secret & {row.inputs["target"] for row in some}))
        return await rows(self, point, some, **how)

    monkeypatch.setattr(SimulatedModel, "ask", noting)
    monkeypatch.setattr(StudySearch, "run", remembered)
    monkeypatch.setattr(PointRunner, "rows", looked)
    tune(plan, folder=None)
    assert secret <= set(asked)
    # The search is over when the two programs meet on the test rows.
    assert known == sorted(known) and known[-2:] == [True, True]
    (found,) = reached
    assert {row.inputs["target"] for row in plan.read_rows(parts.train).rows} <= found
    assert not secret & found


def inputs_in_reach(start: object) -> set[int]:
    """The targets of all rows that an object leads to, over anything but modules, classes and frames."""
    seen, pending, found = {id(start)}, [start], set()
    while pending:
        top = pending.pop()
        if isinstance(top, dict) and isinstance(top.get("target"), int):
            found.add(top["target"])
        for other in gc.get_referents(top):
            if id(other) not in seen and not isinstance(other, type | type(sys) | type(tune)):
                seen.add(id(other))
                pending.append(other)
    return found


# ---------------------------------------------------------------- what it may spend


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_the_budget_holds(plan: StudyPlan, share: float) -> None:
    free = tune(plan, folder=None)
    tight = tune(replace(plan, budget=free.usd * share), folder=None)
    assert tight.usd <= free.usd * share
    assert tight.partial is not None
    cells = [sum(len(r.rows) for r in done.trials.values()) for done in (tight, free)]
    assert cells[0] < cells[1]
    for trial in tight.trials.values():  # what is kept is what the whole study has
        same = next(r for r in free.trials.values() if r.point == trial.point)
        assert trial.rows == same.rows[: len(trial.rows)]
    assert tight.held_out is not None or share < 0.5


def test_a_budget_below_the_worst_case_of_the_plan_is_used(tmp_path: Path) -> None:
    guess_plan(
        tmp_path,
        """
        train 8, test 8
        minimize error(result, target)
        subject to cost <= 2 * baseline
        trials 3
        batching false, early_stop false
        """,
    )
    path = tmp_path / "guess.got"
    path.write_text(path.read_text().replace("max_tokens 20", "max_tokens 100"))
    plan = read_plan(tmp_path / "study.got")
    free = tune(plan, folder=None)
    budget = 2 * free.usd
    most = Fraction(100 * 1.5 / 10**6)
    assert 16 * most > budget, "the requests of one trial, if they were all reserved at once"
    done = tune(replace(plan, budget=budget), folder=None)
    assert done.partial is None
    assert course(done.trials) == course(free.trials)
    assert done.usd == free.usd
    # Where only the next request of a trial cannot be reserved, the trials before it are kept.
    some = tune(replace(plan, budget=0.8 * free.usd), folder=None)
    assert some.partial is not None and "does not allow the next request" in some.partial
    assert 0 in some.trials and some.usd > 0.25 * free.usd


def test_a_budget_too_small_for_the_original_is_said(plan: StudyPlan) -> None:
    said = r"\$0\.000100 is too small for the untuned program on 20 rows"
    with pytest.raises(BudgetExceeded, match=said):
        tune(replace(plan, budget=1e-4), folder=None)


IMPROVED = """
prompt improve(target: int, attempt: int) -> int:
    max_tokens 4000
    "Target {{ target }}, attempt {{ attempt }}."

scheme two(target: int) -> int:
    Generate(k=tries) guess(target, style)
    Score() error(it, target)
    KeepBestN(1)
"""
STEPS = {
    "    Generate() improve(target, it)\n": True,
    "    Generate(max_tokens=10) improve(target, it)\n": False,
    """\
    if style == "fancy":
        Generate() improve(target, it)
    else:
        Generate() guess(it, style)
""": False,
}


@pytest.mark.parametrize("steps", STEPS)
def test_a_budget_below_one_call_that_is_sure_to_come_is_refused_before_anything_is_paid(
    tmp_path: Path, steps: str
) -> None:
    plan = guess_plan(
        tmp_path, "train 6, test 6\nminimize error(result, target)\ntrials 2\nvary tries in 1..3"
    )
    path = tmp_path / "guess.got"
    path.write_text(path.read_text() + IMPROVED + steps)
    with (tmp_path / "guess_sim.py").open("a") as file:
        file.write("def improve(rng, target, attempt):\n    return str(target)\n")
    study = tmp_path / "study.got"
    study.write_text(study.read_text().replace('"guess.got"', '"guess.got" scheme two'))
    asked: list[object] = []
    plan, options = replace(read_plan(study), budget=0.005), Options(observe=asked.append)
    if not STEPS[steps]:
        assert tune(plan, options, folder=None).partial is None
        return
    with pytest.raises(
        BudgetExceeded, match=r"does not allow one call of `improve`, .* \$0.0060 or more"
    ) as caught:
        tune(plan, options, folder=None)
    assert (
        caught.value.help is not None
        and "`--max-usd 0.01` at least, or lower `max_tokens`" in caught.value.help
    )
    assert not [event for event in asked if isinstance(event, Asked)]


def test_a_study_goes_on_with_more_money(plan: StudyPlan, tmp_path: Path) -> None:
    whole = tune(plan, folder=None)
    folder, options = tmp_path / "state", Options(cache=tmp_path / "cache.sqlite")
    with pytest.raises(BudgetExceeded):
        tune(replace(plan, budget=whole.usd / 200), options, folder=folder)
    some = tune(replace(plan, budget=whole.usd / 2), options, folder=folder)
    rest = tune(plan, options, folder=folder)
    assert sum(len(r.rows) for r in some.trials.values()) < sum(len(r.rows) for r in rest.trials.values())
    assert course(rest.trials) == course(whole.trials)
    # What had little money compares its own best on test rows, which may be another one.
    compared = some.roles["held-out rows"].usd if "held-out rows" in some.roles else 0.0
    assert whole.usd - 1e-9 <= rest.usd <= whole.usd + (compared or 0.0)
    assert tune(plan, options, folder=folder).usd == rest.usd


# ---------------------------------------------------------------- the result


def test_a_tuned_file_makes_a_program(plan: StudyPlan, tmp_path: Path) -> None:
    done = tune(plan, folder=None)
    path = tmp_path / "near.tuned.json"
    done.tuned.write(path)
    assert read_tuned(path) == done.tuned
    changed = tuned(load(tmp_path / "guess.got"), path)
    assert {p.name: p.default for p in changed.ir(0).params} == {**done.tuned.params}
    assert changed.run(target=5).value is not None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "not JSON"),
        ("[]", "not a tuned file"),
        ('{"format": "gotlang.tuned", "format_version": 9}', "another version"),
        ('{"format": "gotlang.tuned", "format_version": 1, "program": "x"}', "damaged"),
    ],
)
def test_what_is_no_tuned_file_is_refused(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=what):
        read_tuned(path)


def test_applying_changes_the_params_and_nothing_else(plan: StudyPlan, tmp_path: Path) -> None:
    done = tune(plan, folder=None)
    assert done.tuned.params["style"] == "fancy"
    (path,) = apply(plan.program, done.tuned)
    assert path == tmp_path / "guess.got" or path.resolve() == (tmp_path / "guess.got")
    before, after = GUESS.splitlines(), (tmp_path / "guess.got").read_text().splitlines()
    assert len(before) == len(after)
    changed = [b for a, b in zip(before, after, strict=True) if a != b]
    assert changed
    assert all(line.startswith("param ") for line in changed)
    assert {p.name: p.default for p in load(path).ir(0).params} == dict(done.tuned.params)
    assert apply(load(path), done.tuned) == []


def test_a_program_that_changed_meanwhile_is_not_overwritten(plan: StudyPlan, tmp_path: Path) -> None:
    done = tune(plan, folder=None)
    (tmp_path / "guess.got").write_text("# mine\n" + GUESS)
    with pytest.raises(UsageError, match="has changed"):
        apply(plan.program, done.tuned)
    assert (tmp_path / "guess.got").read_text().startswith("# mine")


# ---------------------------------------------------------------- what cannot be

BAD_STORAGES = {
    "nonsense://me:secret@host/x": "Can't load plugin",
    "mysql://me:secret@host/x": "driver|DB access module",
    "redis://me:secret@host/x": "removed",
    "://": "URL",
    "study.got": "not the storage of a study",
    "study.got/x": "is not a folder",
    "sqlite:////nowhere/at/all.db": "unable to open",
}


@pytest.mark.parametrize("storage", BAD_STORAGES)
def test_a_storage_that_cannot_be_opened_is_said(
    tmp_path: Path, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = guess_plan(tmp_path)
    with pytest.raises(UsageError, match=BAD_STORAGES[storage]) as caught:
        tune(replace(plan, storage=storage), folder=None)
    assert "secret" not in f"{caught.value.message} {caught.value.help}"
    assert (tmp_path / "study.got").read_text().startswith("study near:")


@pytest.mark.parametrize("bound", ["cost <= 1e-9", "cost <= baseline - 1.0", "latency <= 0.001"])
def test_a_constraint_that_nothing_keeps_is_said(tmp_path: Path, bound: str) -> None:
    wish = f"train 10, test 10\nminimize error(result, target)\nsubject to {bound}\ntrials 6"
    done = tune(guess_plan(tmp_path, wish), folder=None)
    assert done.held_out is not None
    assert done.held_out.verdict == "no feasible trial"
    assert done.unmet == [bound]
    assert {p.name: p.default for p in done.plan.program.ir(0).params} == dict(done.tuned.params)


def test_a_study_whose_program_changed_is_not_gone_on_with(plan: StudyPlan, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    tune(replace(plan, trials=3), folder=folder)
    done = tune(replace(plan, trials=4), folder=folder, takeover=True)
    assert done.trials
    (tmp_path / "guess.got").write_text(GUESS.replace("in 1..8", "in 1..9"))
    changed = replace(read_plan(tmp_path / "study.got"), trials=3)
    with pytest.raises(UsageError, match="have changed"):
        tune(changed, folder=folder, takeover=True)
    assert tune(changed, folder=folder).trials


def test_a_study_that_reads_other_columns_is_another_one(plan: StudyPlan, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    plan.data.write_text("Target,Other\n" + "".join(f"{n},{n + 500}\n" for n in range(40)))
    tune(replace(plan, trials=2), folder=folder)
    with pytest.raises(UsageError, match="have changed"):
        tune(replace(plan, trials=2, columns={"target": "Other"}), folder=folder, takeover=True)


# ---------------------------------------------------------------- what the checker says

MISTAKES = {
    "train 5, test 5\nminimize eror(result, target)": "GOT0103|GOT0104|`eror`",
    "train 5, test 5": "needs an objective",
    "train 5, test 5\nminimize style": "is a param, not a result",
    "train 5, test 5\nminimize cost\nsubject to cost": "compares a quantity",
    "train 5, test 5\nminimize cost\nsubject to cost <= base": "compares a quantity",
    "train 5, test 5\nminimize cost\nvary trys in 1..3": "did you mean `tries`",
    "train 5, test 5\nminimize cost\nvary tries in 1..30": "outside the declared range",
    'train 5, test 5\nminimize cost\nvary tries in ["a"]': "must be int",
    "train 5, test 5\nminimize cost\nsampler tpf": "did you mean `tpe`",
    "train 5, test 5\nminimize cost\nsampler tpe(sead=1)": "did you mean `seed`",
    "train 5, test 5\nminimize cost\ntrails 5": "did you mean `trials`",
    "train 5, test 5\nminimize cost\ntrials 5.5": "must be int",
    "train 5, test 5\nminimize cost\ntrials 5, trials 6": "duplicate setting `trials`",
    "train 5, train 6, test 5\nminimize cost": "duplicate setting `train`",
    "train 5, test 5\nminimize cost\nvary tries in 1..2\nvary tries in 3..4": "param to vary `tries`",
    "train 5, test 5\nminimize cost\nprompts guess, guess with copro": "duplicate prompt to optimize `guess`",
    "train 5, test 5\nminimize cost\ntrials 0": "`trials` must be at least 1",
    "train 5, test 5\nminimize cost\nparallel 4": "no `parallel` any more .* any number of workers",
    "train 5, test 5\nminimize cost\nfinals 0": "no `finals` any more .* there are no finals",
    "train 5, test 5\nminimize cost\nsampler none": "not a valid sampler",
    "train 0, test 5\nminimize cost": "`train` must be at least 1",
    "train 5, test 5\nminimize cost\nbudget -1": "`budget` must be at least 0",
    "train 5, test 5\nminimize cost\nrace hyperband": "no `race` any more .* no longer race: rows",
    "train 5, test 5\nminimize cost\nsampler nsga2(population=1)": "`population` must be at least 2",
    "train 5, test 5\nminimize cost\nprompts guess with copro(breadth=1)": "`breadth` must be at least 2",
    "train 5, test 5\nminimize cost\nprompts guess with bootstrap(rows=0)": "`rows` must be at least 1",
    "train 5, test 5\nminimize cost\nvary concurrency in [4, 0]": "`concurrency` must be at least 1",
    "train 5, test 5\nminimize cost\nvary temperature in -1.0..1.0": "`temperature` must be at least 0",
    'train 5, test 5\nminimize cost\nvary schedule in ["deep"]': "`schedule` must be one of",
    "train 5, test 5\nminimize cost\nprompts gess with copro": "did you mean `guess`",
    "tran 5, test 5\nminimize cost": "did you mean `train`",
}


@pytest.mark.parametrize("clauses", MISTAKES)
def test_mistakes_in_a_study_are_said(tmp_path: Path, clauses: str) -> None:
    import re

    with pytest.raises(CompileError) as caught:
        read_plan(guess_study(tmp_path, clauses))
    said = " ".join(f"{d.code} {d.message} {d.help}" for d in caught.value.diagnostics)
    assert re.search(MISTAKES[clauses], said), said


def test_what_a_failed_row_counts_as_may_be_below_nothing(tmp_path: Path) -> None:
    clauses = "train 5, test 5\nmaximize 0 - error(result, target)\nfailed -100"
    assert read_plan(guess_study(tmp_path, clauses)).failed == -100


@pytest.mark.parametrize(
    ("aim", "said"),
    [
        ("error(result, target) / (target - target)", r"has no value for row \d+ of the data"),
        ("error(result, truth)", "`truth` needs the known answers, and .*numbers.csv has no column"),
        ("score", "the scheme `near` has no `Score`"),
    ],
)
def test_an_aim_without_a_value_is_said(tmp_path: Path, aim: str, said: str) -> None:
    path = guess_study(tmp_path, f"train 5, test 5\nminimize {aim}\ntrials 2")
    (tmp_path / "guess.got").write_text(
        GUESS.replace("    Score() error(it, target)\n", "")
        .replace("    KeepBestN(1)\n", "    Vote()\n")
        .replace("target: int) -> lower", "goal: int) -> lower")
        .replace("- target)", "- goal)")
    )
    with pytest.raises((UsageError, CompileError), match=said):
        tune(read_plan(path), folder=None)


def test_a_bound_without_a_value_is_said(tmp_path: Path) -> None:
    clauses = "train 5, test 5\nminimize cost\nsubject to failures <= 1 / baseline\ntrials 2"
    with pytest.raises(UsageError, match="the bound of `failures <= 1 / baseline` has no value where the"):
        tune(guess_plan(tmp_path, clauses), folder=None)


@pytest.mark.parametrize("sampler", ["tpe", "random", "nsga2"])
@pytest.mark.parametrize("seed", [-1, 2**64])
def test_any_whole_number_is_a_seed(tmp_path: Path, sampler: str, seed: int) -> None:
    clauses = f"train 3, test 3\nminimize error(result, target)\ntrials 2, sampler {sampler}"
    clauses += "\nvary temperature in 0.0..1.0"
    assert len(tune(replace(guess_plan(tmp_path, clauses), seed=seed), folder=None).trials) == 2


def test_a_study_opens_files_of_its_project_only(tmp_path: Path) -> None:
    inner = tmp_path / "project" / "studies"
    inner.mkdir(parents=True)
    path = guess_study(inner, "train 5, test 5\nminimize error(result, target)")
    (inner / "guess.got").rename(tmp_path / "guess.got")
    path.write_text(path.read_text().replace('"guess.got"', '"../../guess.got"'))
    (tmp_path / "project" / "gotc.toml").write_text("")
    with pytest.raises(CompileError) as caught:
        read_plan(path)
    found = caught.value.diagnostics[0]
    assert "outside the study's project" in found.message
    assert found.help is not None
    assert "gotc.toml" in found.help
    (inner / "pyproject.toml").unlink()
    (tmp_path / "project" / "gotc.toml").unlink()
    (tmp_path / "gotc.toml").write_text("")
    (tmp_path / "guess_sim.py").write_text((inner / "guess_sim.py").read_text())
    assert read_plan(path).program.name == "guess"


def test_a_study_may_stand_in_its_program(tmp_path: Path) -> None:
    guess_study(tmp_path, "train 5, test 5\nminimize cost")
    path = tmp_path / "guess.got"
    path.write_text(
        GUESS + '\nstudy t:\n    data "numbers.csv", train 5, test 5\n    minimize cost\n    trials 3\n'
    )
    assert tune(read_plan(path), folder=None).winner is not None
    with pytest.raises(CompileError):
        read_plan_of_text('study t:\n    data "x.csv"\n    minimize cost\n', tmp_path)


def read_plan_of_text(text: str, folder: Path) -> StudyPlan:
    path = folder / "alone.got"
    path.write_text(text)
    return read_plan(path)


def test_a_plan_of_a_program_without_a_study() -> None:
    from gotlang.tune.plan import plan_of

    with pytest.raises(UsageError, match="has no study"):
        plan_of(compile(GUESS, "guess.got").compilation, Path())


# ---------------------------------------------------------------- from Python


def test_a_program_tunes_itself(tmp_path: Path) -> None:
    guess_study(tmp_path, "train 5, test 5\nminimize cost")
    done = load(tmp_path / "guess.got").tune(
        data="numbers.csv",
        columns={"target": "Target"},
        minimize="error(result, target)",
        subject_to=["cost <= 2 * baseline"],
        train=20,
        test=20,
        trials=8,
        sampler="random(seed=2)",
        batching=False,
        folder=None,
    )
    assert 20 < sum(len(trial.rows) for trial in done.trials.values()) <= 8 * 20
    assert set(done.tuned.params) == {"tries", "style"}
    with pytest.raises(CompileError):
        load(tmp_path / "guess.got").tune(data="numbers.csv", minimize="eror(result)", folder=None)


def test_a_program_tunes_any_scheme_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guess_study(tmp_path, "train 5, test 5\nminimize cost")
    path = tmp_path / "guess.got"
    path.write_text(GUESS + 'scheme words(word: str) -> str:\n    Map() word + "!"\n')
    wish: dict[str, Any] = {
        "data": "numbers.csv",
        "columns": {"target": "Target"},
        "minimize": "error(result, target)",
        "scheme": "near",
    }
    done = load(path).tune(**wish, train=5, test=5, trials=2, folder=None)
    assert (done.plan.scheme, done.tuned.scheme, done.tuned.program) == ("near", "near", "guess")
    assert apply(load(path), msgspec.structs.replace(done.tuned, params={"tries": 5})) == [path]
    monkeypatch.chdir(tmp_path)
    alone = compile(path.read_text(), "guess.got").tune(**wish, train=5, test=5, trials=2, folder=None)
    assert alone.plan.scheme == "near"


def test_columns_are_inferred_as_eval_does_and_rows_may_be_in_memory(tmp_path: Path) -> None:
    guess_study(tmp_path, "train 5, test 5\nminimize cost")
    program = load(tmp_path / "guess.got")
    rows = [{"row": place, "amount": 7 * place} for place in range(12)]
    plan = make_plan(program, data=rows, minimize="error(result, target)", trials=2)
    assert plan.read_rows().matching.inferred == ("target",)
    (tmp_path / "numbers.csv").write_text("id,amount\n" + "".join(f"{n},{7 * n}\n" for n in range(12)))
    same = make_plan(program, data="numbers.csv", minimize="error(result, target)", trials=2)
    assert [row.inputs for row in same.read_rows().rows] == [row.inputs for row in plan.read_rows().rows]

    async def both() -> list[StudyResult]:
        return [await run_study(each, folder=None) for each in (plan, same)]

    one, other = asyncio.run(both())  # on a loop that is not of virtual time, as in a notebook
    assert course(one.trials) == course(other.trials)
    assert len(repr(one)) < 600
    assert "<th>verdict</th>" in one._repr_html_()
    assert [line["trial"] for line in one.rows()] == list(one.trials)


def test_a_plan_from_python_has_all_that_a_declared_one_has(tmp_path: Path) -> None:
    clauses = """
        train 5, test 7, seed 3
        maximize right, minimize cost
        subject to cost <= 2 * baseline, right >= 0.1
        vary tries in 1..3, style in ["plain", "fancy"], temperature in [0.0, 0.5]
        prompts guess with copro(breadth=4)
        trials 9, sampler tpe(seed=2), failed 5.0
    """
    declared = read_plan(guess_study(tmp_path, clauses))
    made = make_plan(
        load(tmp_path / "guess.got"),
        data="numbers.csv",
        columns={"target": "Target"},
        minimize="cost",
        maximize="right",
        subject_to=["cost <= 2 * baseline", "right >= 0.1"],
        vary=["tries in 1..3", 'style in ["plain", "fancy"]', "temperature in [0.0, 0.5]"],
        prompts={"guess": "copro(breadth=4)"},
        train=5,
        test=7,
        split_seed=3,
        name="near",
        trials=9,
        sampler="tpe(seed=2)",
        failed=5.0,
    )
    assert set(map(str, made.objectives)) == set(map(str, declared.objectives))
    program, objectives = declared.program, declared.objectives
    assert replace(made, program=program, objectives=objectives) == declared
    for wrong in (
        {"vary": ["trys in 1..3"]},
        {"trials": 0},
        {"trails": 9},
        {"sampler": "tpf"},
        {"minimize": "1 +"},
    ):
        with pytest.raises(CompileError):
            make_plan(load(tmp_path / "guess.got"), **{"data": "numbers.csv", "minimize": "cost", **wrong})


def test_two_workers_share_a_study_on_one_loop(plan: StudyPlan, tmp_path: Path) -> None:
    small = replace(plan, trials=6)

    async def both() -> list[StudyResult]:
        options = Options(cache=tmp_path / "cache.sqlite")
        return await asyncio.gather(*[run_study(small, options, folder=tmp_path) for _ in range(2)])

    one, other = asyncio.run(asyncio.wait_for(both(), 60))
    assert course(one.trials) == course(other.trials)
    assert one.winner.number == other.winner.number
