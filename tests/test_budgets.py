"""Budgets of schemes: what the check and the start of a run prove holds, and what they cannot prove is
refused."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from cli.conftest import Gotc, folder, gotc  # noqa: F401
from support.openai_server import OpenAIServer

import gotlang
from gotlang.models.simulated import SimulatedModel
from tests.budgets import Sent, hold
from tests.support.laws import NEW, times

PRICED = """\
prompt ask(q: str) -> str:
    max_tokens 10
    "{{ q }}"
param tries = 2 in 1..5
scheme main(q: str) -> str within 3 calls, 2 hops, 0.0005 usd:
    Generate(k=tries) ask(q)
    Vote()
    Generate() ask(it)
scheme outer(q: str) -> str:
    main(q)
"""


@pytest.mark.parametrize("part", range(2))
def test_runs_of_generated_programs_stay_in_the_budgets_that_are_proven(part: int) -> None:
    first = 1_000_000 if NEW else 0
    for number in range(first + part, first + times(16), 2):
        hold(str(number))


def run(scheme: str, q: str, **params: int) -> tuple[str, int]:
    """The message of a refusal, or nothing, and how many requests were sent."""
    sent, model = Sent(), SimulatedModel({"ask": lambda rng, q: random.Random(q).choice("ab")})
    options = gotlang.Options(model=model, params=params, observe=sent, cache=None)
    try:
        gotlang.compile(PRICED).run(q=q, scheme=scheme, options=options)
    except gotlang.UsageError as error:
        return error.message, sent.count
    return "", sent.count


@pytest.mark.parametrize("scheme", ["main", "outer"])
def test_the_start_of_a_run_proves_what_depends_on_its_inputs_and_params(scheme: str) -> None:
    message, sent = run(scheme, "short")
    assert message == "" and sent
    message, sent = run(scheme, "long " * 1000)
    assert "may take 0.0" in message and "more than its budget of 0.0005 usd" in message and not sent
    message, sent = run(scheme, "short", tries=3)
    assert "may take 4 calls = 1 + tries" in message and not sent


def test_rows_are_proven_one_by_one() -> None:
    model = SimulatedModel({"ask": lambda rng, q: "a"})
    rows = [{"q": "short"}, {"q": "long " * 1000}]
    with pytest.raises(gotlang.UsageError, match="more than its budget"):
        gotlang.compile(PRICED).evaluate(
            rows, scheme="main", options=gotlang.Options(model=model, cache=None)
        )


def test_dollars_of_a_model_without_a_price_cannot_be_proven(gotc: Gotc, folder: Path) -> None:  # noqa: F811
    (folder / "main.got").write_text(PRICED)
    with OpenAIServer(lambda body, index: "a") as server:
        done = gotc("run", "main.got", "--input", "q=x", "--model", "openai:m", "--base-url", server.url)
        assert (done.code, server.requests) == (2, [])
        assert "the price of a model is not known" in done.err and "--prices" in done.err


def test_python_that_adds_steps_is_not_bounded(folder: Path) -> None:  # noqa: F811
    (folder / "grow.py").write_text(
        "from gotlang import changes_graph\n@changes_graph\ndef grow(view):\n    return 1\n"
    )
    (folder / "main.got").write_text(
        'import python "grow.py": grow -> int\nprompt ask(q: str) -> str:\n    "{{ q }}"\n'
        "scheme main(q: str) -> int within 1 call:\n    Generate() ask(q)\n    Call grow()\n"
    )
    with pytest.raises(gotlang.UsageError, match="`grow` adds steps"):
        gotlang.run(
            folder / "main.got",
            {"q": "x"},
            options=gotlang.Options(model=SimulatedModel({"ask": lambda rng, q: "a"}), python=True),
        )


def test_the_ir_keeps_budgets() -> None:
    from gotlang.ir.parse import from_text

    program = gotlang.compile(PRICED).ir()
    assert program.scheme("main").limits == (("calls", 3), ("hops", 2), ("usd", 0.0005))
    assert from_text(gotlang.compile(PRICED).ir_text()).scheme("main") == program.scheme("main")


def test_a_race_starts_after_all_that_its_lines_use() -> None:
    text = (
        'prompt ask(q: str) -> str:\n    "{{ q }}"\n'
        "scheme main(q: str) -> str within 3 calls, 2 hops:\n    x = Generate() ask(q)\n    race:\n"
        "        Pool() x\n        labelled:\n            Generate() ask(q)\n            Generate() ask(it)\n"
    ).replace("labelled:", "line 1:")
    with pytest.raises(gotlang.CompileError, match="may take 3 hops"):
        gotlang.compile(text)
    program = gotlang.compile(text.replace("2 hops", "3 hops"))
    model = SimulatedModel({"ask": lambda rng, q: "a"})
    result = program.run(q="b", options=gotlang.Options(model=model, cache=None))
    assert result.outcome.ledger.spent.calls == 3


def test_a_search_starts_after_what_its_end_is_told_by() -> None:
    text = (
        'prompt ask(q: str) -> str:\n    "{{ q }}"\n'
        "scheme main(q: str) -> str within 3 calls, 2 hops:\n    x = Generate() ask(q)\n"
        '    search state from "a" until state == x, rollouts 1, select best:\n'
        '        expand: Generate() ask("b")\n        value: Score() 1\n    Generate() ask(it)\n'
    )
    with pytest.raises(gotlang.CompileError, match="may take 3 hops"):
        gotlang.compile(text)
