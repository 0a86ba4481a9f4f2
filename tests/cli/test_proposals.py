"""Prompt search as users run it: what a proposer yields is told, and one that answers nonsense is stopped."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")
pytest.importorskip("dspy", reason="the extra `tune` is not installed")

from support.gotc import document, gotc
from support.openai_server import Body, OpenAIServer
from support.studies import Obedient, as_answer, course, prompt_plan

from gotlang.api import Options
from gotlang.errors import ModelError
from gotlang.models.base import PERMITTED, Permit, Reply, Request
from gotlang.tune import points
from gotlang.tune.study import tune
from gotlang.tune.trials import open_storage

PROGRAM = """
prompt twice(number: int) -> int:
    max_tokens 20
    instruction "Do something with the number."
    "Number: {{ number }}"

scheme once(number: int) -> int:
    Generate() twice(number)

study words:
    data "numbers.csv", train 8, test 8
    minimize abs(result - 2 * number)
    prompts twice with OPTIMIZER
    trials 4
    budget BUDGET
"""
PRICES = "[small]\ninput_per_million = 1.0\noutput_per_million = 2.0\n"


def is_proposal(body: Body) -> bool:
    """Whether a request is an optimizer's."""
    return "Respond with" in body["messages"][-1]["content"]


def tuned(folder: Path, server: OpenAIServer, optimizer: str, budget: float, *more: str) -> Any:
    (folder / "pyproject.toml").write_text("")
    (folder / "numbers.csv").write_text("number\n" + "".join(f"{n}\n" for n in range(3, 35)))
    (folder / "prices.toml").write_text(PRICES)
    (folder / "words.got").write_text(
        PROGRAM.replace("OPTIMIZER", optimizer).replace("BUDGET", f"{budget:.6f}")
    )
    found = ["--model", "openai:small", "--prices", "prices.toml", *more]
    environment = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": server.url}
    return gotc("tune", "words.got", *found, cwd=folder, **environment)


def right(body: Body) -> str:
    """Right where an instruction says how, else for numbers that three divides."""
    shown = "\n".join(message["content"] for message in body["messages"])
    number = int(re.findall(r"Number: (\d+)", shown)[-1])
    return str(2 * number if "Double it." in shown or number % 3 == 0 else number)


NONSENSE = {
    "words": "Bananas are rich in potassium, and they bend.",
    "a number": "42",
    "other JSON": '{"bananas": 3}',
    "a list": '["bananas", "plums"]',
    "half a form": "[[ ## proposed_prefix_for_output_field ## ]]\nBananas",
}


@pytest.mark.parametrize(
    ("optimizer", "nonsense"),
    [
        ("copro()", "words"),
        ("copro()", "half a form"),
        ("miprov2()", "a number"),
        ("gepa()", "other JSON"),
        ("gepa()", "a list"),
    ],
)
def test_a_proposer_that_answers_nonsense_is_stopped_and_said_so(
    tmp_path: Path, optimizer: str, nonsense: str
) -> None:
    def answer(body: Body, _: int) -> str:
        return NONSENSE[nonsense] if is_proposal(body) else right(body)

    with OpenAIServer(answer) as server:
        found = document(tuned(tmp_path, server, optimizer, 0.05, "--json"))
        asked = [seen for seen in server.requests if is_proposal(seen.body)]
    (proposed,) = found["proposed"]
    assert 2 <= len(asked) <= 10
    assert proposed["answers"] == proposed["unreadable"] == len(asked)
    assert proposed["usable"] == proposed["tried"] == proposed["kept"] == 0
    assert "has the form that was asked for" in proposed["stopped"]
    usd = sum(seen.charged.input_tokens + 2 * seen.charged.output_tokens for seen in asked) / 1e6
    assert proposed["usd"] == pytest.approx(usd)
    assert usd <= 0.05 * 0.05
    assert found["held_out"]["verdict"] == "no improvement found"


def test_a_small_budget_loses_no_more_than_its_share_to_nonsense(tmp_path: Path) -> None:
    with OpenAIServer(lambda body, _: "Bananas." * 50 if is_proposal(body) else right(body)) as server:
        done = tuned(tmp_path, server, "gepa()", 0.02)
        asked = [seen for seen in server.requests if is_proposal(seen.body)]
    assert done.returncode == 0, done.stderr
    usd = sum(seen.charged.input_tokens + 2 * seen.charged.output_tokens for seen in asked) / 1e6
    assert 0 < usd <= 0.05 * 0.02
    assert len(asked) < 8
    assert "Bananas.Bananas" in done.stderr
    assert "stopped: none of the" in done.stderr


def test_one_answer_that_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    """And not the whole request for many, which an optimizer would send again in another form."""
    numbers = iter(range(1000))

    def answer(body: Body, _: int) -> str:
        if not is_proposal(body):
            return right(body)
        number = next(numbers)
        text = body["messages"][-1]["content"]
        return "Bananas." if number % 3 == 0 else as_answer(text, f"Double it. (variant {number})")

    with OpenAIServer(answer) as server:
        found = document(tuned(tmp_path, server, "copro(breadth=7, depth=1)", 0.05, "--json"))
    (proposed,) = found["proposed"]
    assert (proposed["answers"], proposed["unreadable"], proposed["usable"]) == (6, 2, 4)
    assert proposed["stopped"] is None
    assert found["held_out"]["verdict"] == "better"


def test_a_proposer_that_is_away_for_a_while_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(points, "PAUSE_S", 0.01)

    def script(text: str, number: int) -> str:
        return as_answer(text, f"Double it. (variant {number})")

    class Away(Obedient):
        """A model that is away for the proposals from the third to the eighth."""

        asked = 0

        async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
            self.asked += request.prompt == "proposal"
            if request.prompt == "proposal" and 3 <= self.asked <= 8:
                raise ModelError("nobody is there", retryable=True)
            return await super().ask(request, n, first, permit)

    plan = prompt_plan(tmp_path, "copro(breadth=4, depth=1)")
    alone = tune(plan, Options(model=Obedient(script)), folder=None)
    found = tune(plan, Options(model=Away(script)), folder=None)
    assert found.proposed == alone.proposed
    assert course(found.trials) == course(alone.trials)


def test_what_a_proposer_yields_is_told_on_the_way_and_in_the_end_and_survives_a_restart(
    tmp_path: Path,
) -> None:
    def answer(body: Body, _: int) -> str:
        return as_answer(body["messages"][-1]["content"], "Double it.") if is_proposal(body) else right(body)

    with OpenAIServer(answer) as server:
        done = tuned(tmp_path, server, "copro(breadth=4, depth=2)", 1.0)
        again = document(tuned(tmp_path, server, "copro(breadth=4, depth=2)", 1.0, "--json"))
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "copro: " in line]
    assert len(said) > 2, done.stderr  # on the way, too
    assert re.search(
        r"prompts twice: copro: 1 proposed, 1 usable, 1 tried, 1 kept; proposer \$0\.\d+", said[-1]
    )
    (proposed,) = again["proposed"]
    assert (proposed["answers"], proposed["proposed"], proposed["kept"]) == (7, 1, 1)
    assert proposed["usd"] > 0


def test_the_stand_in_for_simulated_models_adds_advice_and_never_grows(tmp_path: Path) -> None:
    program = 'simulate with "words_sim.py"\n' + PROGRAM
    program = program.replace("OPTIMIZER", "copro(breadth=8, depth=5, keep=100)").replace("BUDGET", "9")
    (tmp_path / "words.got").write_text(program)
    simulator = "def twice(rng, number, messages):\n    return str(2 * number + rng.randrange(9))\n"
    (tmp_path / "words_sim.py").write_text(simulator)
    (tmp_path / "numbers.csv").write_text("number\n" + "".join(f"{n}\n" for n in range(3, 35)))
    asked = ["--model", "simulated", "--allow-python", "--json"]
    found = document(gotc("tune", "words.got", *asked, cwd=tmp_path))
    (proposed,) = found["proposed"]
    assert proposed["answers"] == proposed["usable"] == proposed["tried"] == 39
    assert proposed["stopped"] is None
    assert proposed["usd"] < 39 * 0.002
    (file,) = (tmp_path / ".gotc" / "tune").glob("*.journal")
    (study,) = open_storage(str(file)).get_all_studies()
    kept = json.loads(study.user_attrs["texts"])
    texts = [text.get("instruction", "") for text in kept["choices"]["twice.instruction"]]
    assert len(texts) > 5
    assert max(map(len, texts)) < 140
    assert all(text.startswith("Do something with the number.\n") for text in texts[1:])


def test_workers_in_several_folders_have_the_texts_of_one_proposer(tmp_path: Path) -> None:
    """The proposer never answers the same again: with texts of its own, another worker would measure other
    texts under the same names. To continue a finished study elsewhere, or to pick a point, costs nothing."""
    numbers = count()

    def answer(body: Body, _: int) -> str:
        if not is_proposal(body):
            return right(body)
        return as_answer(body["messages"][-1]["content"], f"Double it. (variant {next(numbers)})")

    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder in folders:
        folder.mkdir()
    found = "copro(breadth=4, depth=2)", 1.0, "--json", "--storage", f"sqlite:///{tmp_path / 'study.db'}"
    with OpenAIServer(answer) as server:
        with ThreadPoolExecutor() as both:
            done = [*both.map(lambda folder: document(tuned(folder, server, *found)), folders[:2])]
        asked = len(server.requests)
        proposed = sum(is_proposal(seen.body) for seen in server.requests)
        done.append(document(tuned(folders[2], server, *found, "--max-usd", "2", "--resume")))
        for folder in folders:
            document(tuned(folder, server, *found, "--pick", "p1"))
        assert len(server.requests) == asked
    (told,) = done[0]["proposed"]
    assert told["answers"] == proposed
    for each in done:
        assert each["proposed"] == [told]
        assert [shown(point) for point in each["front"]] == [shown(point) for point in done[0]["front"]]
    files = [json.loads((folder / "words.tuned.json").read_text()) for folder in folders]
    assert files[0]["prompts"] == files[1]["prompts"] == files[2]["prompts"] != {}


def shown(point: dict[str, Any]) -> tuple[object, ...]:
    """A point of the front without its latency, which each worker may measure."""
    first = point["held_out"]["compared"][0]
    return point["names"], point["point"], point["prompts"], point["train"], first
