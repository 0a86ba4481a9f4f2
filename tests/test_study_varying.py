"""What a study varies besides params: settings of prompts, texts, examples, models, schemes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

from gotlang.api import load
from gotlang.errors import CompileError, UsageError
from gotlang.options import Options
from gotlang.runtime.sampler.events import Asked
from gotlang.session import Session
from gotlang.tune.plan import StudyPlan, make_plan, read_plan
from gotlang.tune.points import PointRunner
from gotlang.tune.space import Point, Space, space_of, with_texts
from gotlang.tune.study import tune
from gotlang.tune.tuned import PromptTexts, Shot, apply

PROGRAM = """
simulate with "sums_sim.py"

param tries = 2 in 1..3

prompt add(numbers: list[int]) -> int:
    max_tokens 40
    temperature 0.5
    instruction "Add the numbers."
    examples:
        numbers = [1, 2] -> 3
        numbers = [4] -> 4
    "{{ numbers }}"

prompt check(numbers: list[int], total: int) -> int:
    "Is {{ total }} the sum of {{ numbers }}? Give the right sum."

score distance(total: int, numbers: list[int]) -> lower, best 0:
    abs(total - sum(numbers))

scheme io(numbers: list[int]) -> int:
    Generate() add(numbers)

scheme checked(numbers: list[int]) -> int:
    total =
        Generate(k=tries) add(numbers)
        Score() distance(it, numbers)
        KeepBestN(1)
    Generate() check(numbers, total)
"""
SIMULATOR = """
MODELS = {
    "small": {"input_per_million": 0.1, "output_per_million": 0.4},
    "large": {"input_per_million": 10.0, "output_per_million": 40.0},
}


def add(rng, numbers, model, messages):
    near = 0 if model == "large" or "carefully" in messages[0].content else 9
    return str(sum(numbers) + rng.randint(-near, near))


def check(rng, numbers, total, model):
    return str(sum(numbers))
"""


def study(folder: Path, clauses: str) -> StudyPlan:
    """The plan of a study of the sums."""
    (folder / "pyproject.toml").write_text("")
    (folder / "sums.got").write_text(PROGRAM)
    (folder / "sums_sim.py").write_text(SIMULATOR)
    (folder / "careful.md").write_text("Add the numbers carefully.\n")
    (folder / "rows.jsonl").write_text("".join(f'{{"numbers": [{n}, {n + 3}]}}\n' for n in range(40)))
    lines = "".join(f"    {line.strip()}\n" for line in clauses.strip().splitlines())
    aim = "" if "imize" in clauses else "    minimize distance(result, numbers)\n"
    (folder / "s.got").write_text(
        'study s:\n    program "sums.got" scheme checked\n    data "rows.jsonl", train 8, test 8\n'
        + aim
        + lines
    )
    return read_plan(folder / "s.got")


def asked(plan: StudyPlan, space: Space, *points: Point) -> list[list[dict[str, Any]]]:
    """What prompts ask on one row at points; all samples of a request are asked for together."""
    found: list[list[dict[str, Any]]] = []

    def note(event: object) -> None:
        if isinstance(event, Asked):
            one, settings = event.request, event.request.settings
            said = " ".join(message.content for message in one.messages)
            about = {
                "prompt": one.prompt,
                "model": one.model.removeprefix("simulated:").partition("@")[0],
                "temperature": settings.temperature,
            }
            more = {"top_p": settings.top_p, "max_tokens": settings.max_tokens, "said": said}
            found[-1].append({**about, **more})

    async def run() -> None:
        async with Session(plan.program, Options(model="simulated", observe=note)) as session:
            runner = PointRunner(plan, space, session)
            for point in points:
                found.append([])
                await runner.rows(point, plan.read_rows([1]).rows)

    asyncio.run(run())
    return found


def test_settings_of_a_prompt_and_of_all(tmp_path: Path) -> None:
    plan = study(tmp_path, "vary add.temperature in 0.0..0.4, check.max_tokens in [7, 9], top_p in [0.5]")
    space = space_of(plan)
    assert [d.name for d in space.dimensions] == ["add.temperature", "check.max_tokens", "top_p"]
    assert space.start == {"add.temperature": 0.5}
    own, other = asked(
        plan, space, space.start, {"add.temperature": 0.25, "check.max_tokens": 9, "top_p": 0.5}
    )
    assert [(r["prompt"], r["temperature"], r["max_tokens"], r["top_p"]) for r in own] == [
        ("add", 0.5, 40, None),
        ("check", None, 2048, None),
    ]
    assert [(r["prompt"], r["temperature"], r["max_tokens"], r["top_p"]) for r in other] == [
        ("add", 0.25, 40, 0.5),
        ("check", None, 9, 0.5),
    ]


def test_texts_and_examples_are_separate(tmp_path: Path) -> None:
    clauses = 'vary add.instruction in ["Sum.", file "careful.md", "Add the numbers."], add.examples in 0..2'
    plan = study(tmp_path, clauses)
    space = space_of(plan)
    shown = {d.name: len(d.choices) for d in space.dimensions}
    assert shown == {"prompt add.instruction": 3, "prompt add.examples": 3}
    listed = space.points(9)
    assert listed is not None and len(listed) == 9
    own, careful, bare = asked(
        plan,
        space,
        space.start,
        {"prompt add.instruction": 2, "prompt add.examples": 2},
        {"prompt add.instruction": 0, "prompt add.examples": 1},
    )
    assert "Add the numbers.\n\n[1, 2]\n3\n\n[4]\n4" in own[0]["said"]
    assert "Add the numbers carefully.\n\n[1, 2]\n3" in careful[0]["said"]
    assert "[4]" not in careful[0]["said"]
    assert "Add the numbers.\n\n[1, 4]" in bare[0]["said"]


def test_found_texts_join_those_that_are_listed(tmp_path: Path) -> None:
    plan = study(tmp_path, 'vary add.instruction in ["Sum."]')
    space = with_texts(space_of(plan), {"add.instruction": 3, "add.examples": 2, "check.instruction": 1})
    shown = {d.name: len(d.choices) for d in space.dimensions}
    assert shown == {"prompt add.instruction": 4, "prompt add.examples": 2}

    async def texts() -> list[dict[str, PromptTexts]]:
        async with Session(plan.program, Options(model="simulated")) as session:
            shot = Shot({"numbers": [2]}, 2)
            found = {
                "add.instruction": [PromptTexts(), PromptTexts("One."), PromptTexts("Two.")],
                "add.examples": [PromptTexts(), PromptTexts(examples=(shot,))],
            }
            runner = PointRunner(plan, space, session, found)
            numbers = ((1, 0), (2, 1), (3, 0))
            return [
                runner.chosen_texts({"prompt add.instruction": a, "prompt add.examples": b})
                for a, b in numbers
            ]

    listed, one, two = asyncio.run(texts())
    assert [t["add"].instruction for t in (listed, one, two)] == ["Sum.", "One.", "Two."]
    assert one["add"].examples == (Shot({"numbers": [2]}, 2),)
    assert listed["add"].examples is two["add"].examples is None


def test_a_scheme_varies_with_what_only_it_uses(tmp_path: Path) -> None:
    plan = study(tmp_path, "vary scheme in [io, checked], tries in 1..3, check.temperature in [0.0, 1.0]")
    space = space_of(plan)
    listed = space.points(100)
    assert listed is not None
    assert listed[0] == {"scheme": "checked", "tries": 2}
    assert [p for p in listed if p["scheme"] == "io"] == [{"scheme": "io"}]
    assert len(listed) == 1 + 1 + 3 * 2
    io, checked = asked(plan, space, {"scheme": "io"}, space.start)
    assert [r["prompt"] for r in io] == ["add"]
    assert [r["prompt"] for r in checked] == ["add", "check"]


def test_models_routes_each_prompt(tmp_path: Path) -> None:
    plan = study(tmp_path, 'vary models in [small, "large"], scheme in [io], tries in [1]')
    space = space_of(plan)
    assert [d.name for d in space.dimensions] == ["scheme", "add.model", "check.model", "tries"]
    point = {"scheme": "checked", "tries": 1, "add.model": "small", "check.model": "large"}
    (found,) = asked(plan, space, point)
    assert [(r["prompt"], r["model"]) for r in found] == [("add", "small"), ("check", "large")]


@pytest.mark.parametrize(
    "vary", ['models in [small, "larg"]', 'add.model in ["larg"]', 'model in ["small", "larg"]']
)
def test_a_model_that_the_simulator_does_not_declare_is_refused_before_any_call(
    tmp_path: Path, vary: str
) -> None:
    asked: list[object] = []
    with pytest.raises(UsageError, match="the simulator declares no model `larg`") as refused:
        tune(study(tmp_path, f"vary {vary}"), Options(model="simulated", observe=asked.append), folder=None)
    assert refused.value.help == "it declares `simulated:small`, `simulated:large`"
    assert not asked


def test_the_result_is_written_and_applied(tmp_path: Path) -> None:
    plan = study(
        tmp_path,
        """
        vary add.instruction in [file "careful.md"], add.temperature in [0.0], add.examples in [1]
        vary add.model in ["small"]
        trials 30
        """,
    )
    done = tune(plan, Options(model="simulated"), folder=None)
    assert done.held_out is not None
    point = {
        "prompt add.instruction": 1,
        "add.temperature": 0.0,
        "prompt add.examples": 1,
        "add.model": "small",
    }
    space = space_of(plan)
    params, settings = space.params_and_settings(point)
    assert (params, settings) == ({}, {"add.temperature": 0.0, "add.model": "small"})
    texts = {"add": PromptTexts("Add the numbers carefully.", (Shot({"numbers": [1, 2]}, 3),))}
    found = type(done.tuned)("sums", "checked", params, texts, settings)
    found.write(tmp_path / "found.json")
    program = load(tmp_path / "sums.got")
    (prompt, other) = program.tuned(tmp_path / "found.json").ir(0).prompts
    values = {name: getattr(value, "value", None) for name, value in prompt.settings}
    assert values == {"max_tokens": 40, "temperature": 0.0, "model": "small"}
    assert not other.settings
    assert len(prompt.examples) == 1
    apply(program, found)
    before, after = PROGRAM.splitlines(), (tmp_path / "sums.got").read_text().splitlines()
    assert set(after) - set(before) == {
        "    temperature 0.0",
        '    model "small"',
        '    instruction "Add the numbers carefully."',
    }


@pytest.mark.parametrize("scheme", ["io", "checked"])
def test_a_study_finds_the_better_scheme(tmp_path: Path, scheme: str) -> None:
    plan = study(tmp_path, "vary scheme in [io, checked]\ntrials 4")
    done = tune(replace(plan, scheme=scheme), Options(model="simulated"), folder=None)
    assert done.tuned.scheme == "checked"
    assert done.tuned.settings == {"scheme": "checked"}


def test_a_text_in_a_file_must_fit_its_prompt(tmp_path: Path) -> None:
    study(tmp_path, "vary tries")
    program = load(tmp_path / "sums.got")
    how: dict[str, Any] = {"data": "rows.jsonl", "minimize": "cost", "scheme": "checked"}
    with pytest.raises(UsageError, match=r"cannot read .*none.md, which `add.instruction` names"):
        make_plan(program, vary=['add.instruction in [file "none.md"]'], **how)
    (tmp_path / "wrong.md").write_text("Check {{ totals }}.")
    with pytest.raises(UsageError, match=r"wrong.md: this text does not show `total`"):
        make_plan(program, vary=['check.instruction in [file "wrong.md"]'], **how)
    with pytest.raises(CompileError, match="prompt `sub` is not known"):
        make_plan(program, vary=["sub.temperature in 0.0..1.0"], **how)
    with pytest.raises(UsageError, match="outside"):
        make_plan(program, vary=['add.instruction in [file "../x.md"]'], **how)
    plan = make_plan(program, vary=["scheme in [io]", 'add.instruction in [file "careful.md"]'], **how)
    changed = plan.fingerprint()
    (tmp_path / "careful.md").write_text("Add them.")
    again = make_plan(program, vary=["scheme in [io]", 'add.instruction in [file "careful.md"]'], **how)
    assert again.fingerprint() != changed


def test_a_study_in_the_file_of_its_program_stays_the_same_with_more_trials(tmp_path: Path) -> None:
    study(tmp_path, "vary tries")
    text = (tmp_path / "sums.got").read_text()

    def fingerprint(trials: int, program: str = text) -> str:
        one = f'study one:\n    data "rows.jsonl"\n    minimize cost\n    trials {trials}\n'
        other = f'study other:\n    data "rows.jsonl"\n    minimize calls\n    trials {trials}\n'
        (tmp_path / "sums.got").write_text(one + program + other)
        return read_plan(tmp_path / "sums.got", "one").fingerprint()

    assert fingerprint(5) == fingerprint(6)
    assert fingerprint(5) != fingerprint(5, text.replace("Add the", "Sum the"))


REFUSED = {
    "vary tries in 1..3, temperature in [0.0, 0.5]\nsampler grid, trials 4": "more points than the 4 trials",
    "vary temperature in 0.0..1.0\nsampler grid": "infinitely many values",
    'vary models in ["small", "large"]\nsampler cmaes': "`cmaes` needs numbers",
    "vary deep in 1..3": 'matters only where way == "deep", and none of that varies',
    "maximize right\nvary tries": "`right` needs the known answers, and .*rows.jsonl has no column",
    "minimize abs(result - truth)\nvary tries": "`truth` needs the known answers",
}


@pytest.mark.parametrize("clauses", REFUSED)
def test_what_can_find_nothing_is_refused_before_anything_is_asked(tmp_path: Path, clauses: str) -> None:
    study(tmp_path, "vary tries")
    changed = PROGRAM.replace("(k=tries)", "(k=tries + deep)").replace(
        "param tries",
        'param way = "wide" in ["wide", "deep"]\nparam deep = 1 in 1..3 when way == "deep"\nparam tries',
    )
    (tmp_path / "sums.got").write_text(changed + "    GroundTruth() it == truth\n")
    text = (tmp_path / "s.got").read_text().replace("    vary tries\n", "")
    if "imize" in clauses:
        text = text.replace("    minimize distance(result, numbers)\n", "")
    (tmp_path / "s.got").write_text(text + "".join(f"    {line}\n" for line in clauses.splitlines()))
    asked: list[object] = []
    with pytest.raises(UsageError, match=REFUSED[clauses]) as caught:
        tune(read_plan(tmp_path / "s.got"), Options(model="simulated", observe=asked.append), folder=None)
    assert caught.value.help
    assert not [event for event in asked if isinstance(event, Asked)]
