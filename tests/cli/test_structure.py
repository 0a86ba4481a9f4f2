"""`vary structure`: a study rewrites the program, and the result is a program that runs as it promised."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from support.gotc import document, gotc

from gotlang.api import compile, load
from gotlang.errors import UsageError
from gotlang.tune.plan import make_plan
from gotlang.tune.space import Point, space_of
from gotlang.tune.structure import simplified
from gotlang.tune.surrogate import gaps_of

PROGRAM = """\
simulate with "near_sim.py"

prompt guess(target: int) -> int:
    max_tokens 20
    "Guess {{ target }}."

prompt mend(target: int, wrong: int) -> int:
    max_tokens 20
    "{{ wrong }} is not {{ target }}."

score error(attempt: int, target: int) -> lower, best 0:
    abs(attempt - target)

# From one guess.
scheme near(target: int) -> int:
    Generate() guess(target)
    Score() error(it, target)

study near:
    data "numbers.csv", train 20, test 20
    minimize error(result, target)
    subject to cost <= 8 * baseline
    vary structure
    trials 16
"""
SIMULATOR = """
def guess(rng, target):
    return str(target + rng.randint(-20, 20))
def mend(rng, target, wrong):
    return str(target + rng.randint(-9, 9))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "near.got").write_text(PROGRAM)
    (tmp_path / "near_sim.py").write_text(SIMULATOR)
    (tmp_path / "numbers.csv").write_text("target\n" + "".join(f"{7 * n}\n" for n in range(40)))
    (tmp_path / "pyproject.toml").write_text("")
    assert gotc("trust", ".", cwd=tmp_path).returncode == 0
    return tmp_path


def test_a_study_of_structure_ends_in_a_program_that_runs_as_it_promised(folder: Path) -> None:
    done = document(gotc("tune", "near.got", "--model", "simulated", "--json", cwd=folder))
    assert done["held_out"]["verdict"] == "better"
    assert done["program"] == "near.tuned.got"
    structure = done["tuned"]["settings"]["structure"]
    assert "best_of(guess)" in structure or "(mend)" in structure
    cost = next(one for one in done["held_out"]["compared"] if one["name"] == "cost")
    assert cost["original"] < cost["tuned"] < 9 * cost["original"]

    changed = (folder / "near.tuned.got").read_text("utf-8")
    assert gotc("fmt", "--check", "near.tuned.got", cwd=folder).returncode == 0
    run = ("--model", "simulated", "--input", "target=70", "--json")
    tuned = document(gotc("run", "near.got", "--tuned", "near.tuned.json", *run, cwd=folder))
    alone = document(gotc("run", "near.tuned.got", *run, cwd=folder))
    assert tuned["result"] == alone["result"]
    assert tuned["spent"] == alone["spent"] or tuned["spent"]["calls"] == 0

    shown = gotc("tune", "near.got", "--model", "simulated", "--apply", cwd=folder)
    assert "+++ near.tuned.got\n" in shown.stdout and "\n+param " in shown.stdout
    assert (folder / "near.got").read_text("utf-8") == changed
    assert "next: use p" in shown.stdout and "write it into the program" not in shown.stdout


def test_variants_that_surely_break_a_bound_are_not_run(folder: Path) -> None:
    (folder / "near.got").write_text(PROGRAM.replace("cost <= 8 * baseline", "calls <= 3"))
    done = document(gotc("tune", "near.got", "--model", "simulated", "--json", cwd=folder))
    assert done["rejected"] > 0
    calls = [one["tuned"] for one in done["held_out"]["compared"] if one["name"] == "calls"]
    assert calls == [pytest.approx(3, abs=1)] and calls[0] <= 3


def test_no_file_of_the_program_is_overwritten(folder: Path) -> None:
    program = folder / "near.tuned.got"
    program.write_text(PROGRAM)
    tuned = ("tune", program.name, "--model", "simulated", "--out", "near.json", "--json")
    assert document(gotc(*tuned, cwd=folder))["program"] == "near.tuned.tuned.got"
    assert program.read_text() == PROGRAM and (folder / "near.got").read_text() == PROGRAM


def test_a_program_that_changed_does_not_take_the_rewrites_of_another(folder: Path) -> None:
    gotc("tune", "near.got", "--model", "simulated", cwd=folder)
    (folder / "near.got").write_text(PROGRAM.replace("guess(", "say(").replace("mend(", "amend("))
    (folder / "near_sim.py").write_text(SIMULATOR.replace("guess(", "say(").replace("mend(", "amend("))
    run = ("--model", "simulated", "--input", "target=70", "--tuned", "near.tuned.json")
    done = gotc("run", "near.got", *run, cwd=folder)
    assert done.returncode == 2 and "cannot be rewritten by `" in done.stderr


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("vary structure in 1..3", "the rewrites to choose from are not listed"),
        ("vary structure, scheme in [near, far]", "`vary structure` rewrites one scheme"),
    ],
)
def test_wrong_studies_of_structure(folder: Path, clause: str, message: str) -> None:
    far = "\nscheme far(target: int) -> int:\n    Generate(k=2) guess(target)\n    Vote()\n"
    (folder / "near.got").write_text(PROGRAM.replace("vary structure", clause) + far)
    done = gotc("check", "near.got", cwd=folder)
    assert done.returncode != 0 and message in done.stdout + done.stderr


def test_a_scheme_that_no_rewrite_fits_is_refused_before_anything_is_asked(folder: Path) -> None:
    bare = "scheme bare(target: int) -> int:\n    Pool() target\n"
    (folder / "bare.got").write_text(bare)
    plan = make_plan(
        load(folder / "bare.got"), data=[{"target": 1}, {"target": 2}], minimize="result", vary=["structure"]
    )
    with pytest.raises(UsageError, match="no rewrite applies to the scheme `bare`"):
        space_of(plan)


def test_params_of_a_rewrite_vary_only_where_it_is() -> None:
    program = compile(PROGRAM.replace('simulate with "near_sim.py"\n', "").partition("\nstudy ")[0])
    plan = make_plan(program, data=[{"target": n} for n in range(9)], minimize="cost", vary=["structure"])
    space = space_of(plan)
    assert space.start == {"structure": "near"}
    (structure, *others) = space.dimensions
    assert structure.name == "structure" and structure.choices[0] == "near"
    assert {one.name for one in others} >= {"guess_tries", "guess_votes", "mend_rounds", "mend_tries"}
    assert all(one.guard is not None for one in others)


def test_points_of_several_variants_have_distances_of_a_space() -> None:
    program = compile(PROGRAM.replace('simulate with "near_sim.py"\n', "").partition("\nstudy ")[0])
    plan = make_plan(program, data=[{"target": n} for n in range(9)], minimize="cost", vary=["structure"])
    space, chance = space_of(plan), random.Random(1)
    points = [space.sample(chance) for _ in range(60)]
    middle = np.eye(60) - 1 / 60
    for gap in gaps_of(space, points):
        # Squared distances of points in a space, without their center, are those of products.
        assert np.linalg.eigvalsh(-0.5 * middle @ gap @ middle).min() > -1e-9


TWO_PROMPTS = """\
prompt guess(target: int) -> int:
    "Guess {{ target }}."

prompt estimate(target: int) -> int:
    "Estimate {{ target }}."

score error(attempt: int, target: int) -> lower, best 0:
    abs(attempt - target)

scheme near(target: int) -> int:
    Generate() guess(target)
    Score() error(it, target)
"""


def test_variants_are_as_near_as_the_rewrites_that_they_have_in_common() -> None:
    data = [{"target": n} for n in range(9)]
    plan = make_plan(compile(TWO_PROMPTS), data=data, minimize="error(result, target)", vary=["structure"])
    space = space_of(plan)
    points: list[Point] = [
        {"structure": "best_of(guess)", "guess_tries": 9},
        {"structure": "other_prompt(estimate)+best_of(estimate)", "estimate_tries": 9},
        {"structure": "other_prompt(estimate)+vote(estimate)", "estimate_votes": 9},
        space.start,
    ]
    structure, *others = gaps_of(space, points)
    assert structure[1, 2] < structure[0, 2] and structure[0, 1] < structure[0, 2]
    assert len(others) < len(space.dimensions) - 1  # the tries of either prompt are one dimension
    assert sum(others)[0, 1] == 0 < sum(others)[0, 2]

    chance = random.Random(2)
    near = [space.near(points[0], chance) for _ in range(200)]
    moved = [point for point in near if point["structure"] == points[1]["structure"]]
    far = [point for point in near if point["structure"] == points[2]["structure"]]
    assert len(moved) > len(far) > 0
    assert all(point["estimate_tries"] == 9 for point in moved)  # tries are taken over


def test_what_the_winner_switches_off_is_left_out() -> None:
    program = compile(PROGRAM.replace('simulate with "near_sim.py"\n', "").partition("\nstudy ")[0])
    params = {"guess_tries": 4, "mend_rounds": 0, "mend_tries": 3}
    settings = {"structure": "best_of(guess)+refine(mend)", "temperature": 1.0}
    left = {"structure": "best_of(guess)", "temperature": 1.0}
    assert simplified(program, "near", params, settings) == ({"guess_tries": 4}, left)
    once = {**params, "guess_tries": 1}
    assert simplified(program, "near", once, settings) == ({}, {"temperature": 1.0})
