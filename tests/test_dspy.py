"""Prompt search with DSPy: each optimizer fixes a planted flaw in both of two prompts, and makes none
worse."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")
pytest.importorskip("dspy", reason="the extra `tune` is not installed")

from support.gotc import ROOT, environment
from support.studies import HARM, SECRETS, TWO_PROMPTS, Obedient, as_answer, prompt_plan

from gotlang.api import Options, compile
from gotlang.models.base import PERMITTED, Completion, Permit, Reply, Request
from gotlang.tune.outcome import StudyResult
from gotlang.tune.prompts import dspy_module, tuned_program
from gotlang.tune.search import StudyProgress
from gotlang.tune.study import split, tune
from gotlang.tune.tuned import rewritten

OPTIMIZERS = {
    "copro": "copro(breadth=4, depth=2, rows=4)",
    "miprov2": "miprov2(candidates=4, trials=6, rows=4)",
    "gepa": "gepa(calls=60, rows=6)",
    "bootstrap": "bootstrap(demos=2, sets=2, rows=6)",
}


def test_loading_it_reads_no_env_file_of_a_project(tmp_path: Path) -> None:
    """Which LiteLLM does by itself: a stranger's `.env` could say where keys go."""
    (tmp_path / "dotenv.py").write_text(
        "def load_dotenv(*_, **__):\n    print('read')\ndotenv_values = dict\n"
    )
    code = "from gotlang.tune.prompts import load_dspy as load; load(); import litellm, dotenv; print(dotenv)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment(), "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"<module 'dotenv' from '{tmp_path / 'dotenv.py'}'>\n", done.stderr


def helpful(text: str, number: int) -> str:
    secret = list(SECRETS.values())[number % 2]
    return as_answer(text, f"{secret} (variant {number})")


def harmful(text: str, number: int) -> str:
    return as_answer(text, f"{HARM} (variant {number})")


def studied(folder: Path, optimizer: str, model: Obedient) -> StudyResult:
    return tune(prompt_plan(folder, OPTIMIZERS[optimizer]), Options(model=model), folder=None)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_each_optimizer_mends_both_prompts(tmp_path: Path, optimizer: str) -> None:
    done = studied(tmp_path, optimizer, Obedient(helpful))
    assert done.held_out is not None
    assert done.held_out.verdict == "better"
    assert done.held_out.compared[0].tuned == 0.0
    assert set(done.tuned.texts) == set(SECRETS)


@pytest.mark.parametrize("optimizer", ["copro", "miprov2", "gepa"])
def test_a_proposer_that_only_harms_leaves_the_original(tmp_path: Path, optimizer: str) -> None:
    model = Obedient(harmful)
    done = studied(tmp_path, optimizer, model)
    assert model.proposals > 0
    assert done.winner.number == 0
    assert done.tuned.texts == {}
    assert done.held_out is not None
    assert done.held_out.verdict == "no improvement found"


class Distracted(Obedient):
    """A model that any worked example leads astray."""

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        """One answer; wrong below an example."""
        reply = await super().ask(request, n, first, permit)
        shown = re.search(r": -?\d+\n-?\d+", "\n".join(m.content for m in request.messages))
        if shown is None:
            return reply
        return Reply((Completion("1000", output_tokens=5),), reply.usage, reply.latency_s)


def test_examples_that_only_harm_leave_the_original(tmp_path: Path) -> None:
    done = studied(tmp_path, "bootstrap", Distracted(helpful))
    assert done.winner.number == 0
    assert done.tuned.texts == {}
    assert done.held_out is not None
    assert done.held_out.verdict == "no improvement found"


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_no_test_row_is_shown_to_an_optimizer(tmp_path: Path, optimizer: str) -> None:
    plan = prompt_plan(tmp_path, OPTIMIZERS[optimizer])
    plan.data.write_text("number\n" + "".join(f"{n}\n" for n in range(70003, 70033)))
    parts = split(plan)
    train, test = (
        {row.inputs["number"] for row in plan.read_rows(part).rows} for part in (parts.train, parts.test)
    )
    shown: list[str] = []

    class Noting(Obedient):
        async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
            """One answer; what was asked is noted."""
            shown.extend(message.content for message in request.messages)
            return await super().ask(request, n, first, permit)

    ends: list[int] = []

    def note_the_end(progress: StudyProgress, _: object) -> None:
        if progress.stage == "held-out rows":
            ends.append(len(shown))

    tune(plan, Options(model=Noting(helpful)), folder=None, observe=note_the_end)
    before, after = "\n".join(shown[: ends[0]]), "\n".join(shown[ends[0] :])
    assert all(str(number) in before for number in train)
    assert not any(str(number) in before for number in test)
    assert all(str(number) in after for number in test)


STEPS = f"param step = 0 in 0..4\n{TWO_PROMPTS}    Map() it + step - 3\n"
"""The same program with a param that is right at 3: neither it nor the texts alone make every row right."""


@pytest.mark.parametrize("optimizer", ["copro", "gepa"])
def test_params_and_prompts_are_searched_together(tmp_path: Path, optimizer: str) -> None:
    plan = prompt_plan(tmp_path, OPTIMIZERS[optimizer], "    subject to cost <= 2 * baseline\n", STEPS)
    done = tune(replace(plan, trials=40), Options(model=Obedient(helpful)), folder=None)
    assert done.tuned.params == {"step": 3}
    assert set(done.tuned.texts) == set(SECRETS)
    assert done.held_out is not None
    assert done.held_out.compared[0].tuned == 0.0
    points = [dict(record.point) for record in done.trials.values()]
    assert len({point.pop("step") for point in points}) > 1
    assert len({str(point) for point in points}) > 2


def test_what_the_proposer_costs_counts_against_the_budget(tmp_path: Path) -> None:
    model = Obedient(helpful)
    done = tune(prompt_plan(tmp_path, OPTIMIZERS["copro"]), Options(model=model), folder=None)
    each = model.price.input_per_million * 50 / 1e6 + model.price.output_per_million * 5 / 1e6
    assert done.usd == pytest.approx(each * (model.proposals + model.answers))
    assert done.roles["proposer"].calls == model.proposals
    assert set(done.roles) == {"proposer", "texts", "search", "held-out rows"}
    assert sum(spent.calls for spent in done.roles.values()) == done.calls


def test_proposals_take_no_more_than_their_share(tmp_path: Path) -> None:
    plan = prompt_plan(tmp_path, OPTIMIZERS["copro"])
    free = tune(plan, Options(model=Obedient(helpful)), folder=None)
    model = Obedient(helpful)
    # A proposal may cost more than it does: a share that covers what they cost lets only some through.
    tight = tune(replace(plan, budget=free.usd * 1.4), Options(model=model), folder=None)
    assert 0 < model.proposals < 14
    assert tight.usd <= free.usd * 1.4
    assert tight.held_out is not None


def test_a_proposal_that_drops_what_a_prompt_must_show_is_not_used(tmp_path: Path) -> None:
    text = TWO_PROMPTS.replace('    instruction "Do something with the number."\n    "Number', '    "Number')
    plan = prompt_plan(tmp_path, OPTIMIZERS["copro"])
    (tmp_path / "both.got").write_text(text)
    from gotlang.tune.plan import read_plan

    done = tune(read_plan(tmp_path / "study.got"), Options(model=Obedient(helpful)), folder=None)
    assert plan.searches
    assert "double" not in done.tuned.texts
    assert "mirror" in done.tuned.texts


def test_a_program_is_a_module_that_any_optimizer_takes() -> None:
    import dspy

    program = compile(TWO_PROMPTS, "both.got")
    student = dspy_module(program, options=Options(model=Obedient(helpful)))
    assert student(number=4).result == [4, 4]
    assert [name for name, _ in student.named_predictors()] == ["double", "mirror"]
    student.double.signature = student.double.signature.with_instructions(SECRETS["double"])
    assert student(number=4).result == [8, 4]
    assert student.deepcopy()(number=4).result == [8, 4]
    changed = tuned_program(student)
    assert changed.run(number=4, options=Options(model=Obedient(helpful))).value == [8, 4]

    def metric(example: dspy.Example, prediction: dspy.Prediction, trace: object = None) -> bool:
        return bool(prediction.result == [2 * example.number, -example.number])

    examples = [dspy.Example(number=n).with_inputs("number") for n in (3, 6, 9)]
    taught = dspy.BootstrapFewShot(metric=metric, max_bootstrapped_demos=1, max_labeled_demos=0).compile(
        dspy_module(program, options=Options(model=Obedient(helpful))), trainset=examples
    )
    assert taught(number=4).result == [8, -4]
    assert tuned_program(taught).run(number=4, options=Options(model=Obedient(helpful))).value == [8, -4]


def test_texts_that_were_not_changed_leave_the_program_as_it_is() -> None:
    program = compile(TWO_PROMPTS, "both.got")
    made = dspy_module(program, options=Options(model=Obedient(helpful)))
    assert tuned_program(made).compilation.source.text == program.compilation.source.text
    assert rewritten(program.compilation, {}, {}).source.text == program.compilation.source.text
