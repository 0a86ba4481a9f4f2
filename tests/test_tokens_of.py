"""`tokens(it)`: every token of a response with its log-probability and the likeliest ones at its place."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from support.openai_server import LOGPROB, OpenAIServer

from gotlang.api import Options, check, compile
from gotlang.errors import GotError
from gotlang.models.simulated import Simulated, SimulatedModel

PROGRAM = """\
prompt solve(question: str) -> str:
    SETTING
    "{{ question }}"

scheme sure(question: str) -> float:
    first = Generate() solve(question)
    return WHAT
"""
HALF = math.log(0.5)


def program(what: str, setting: str = "top_logprobs 2") -> str:
    return PROGRAM.replace("WHAT", what).replace("SETTING", setting)


def solve(rng: Any, question: str) -> Simulated:
    return Simulated(
        "so 42", 2 * HALF, (("so", HALF, (("so", HALF), ("no", HALF), ("x", -9.0))), (" 42", HALF, ()))
    )


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("exp(-mean([t.logprob for t in tokens(first)]))", 2.0),  # its perplexity
        ("len(tokens(first)[0].top) / 1", 2.0),
        ("-sum([exp(x.logprob) * x.logprob for x in tokens(first)[0].top])", math.log(2)),
        ("1.0 if join([t.text for t in tokens(first)]) == first else 0.0", 1.0),
    ],
)
def test_what_is_computed_of_tokens(what: str, expected: float) -> None:
    options = Options(model=SimulatedModel({"solve": solve}), cache=None)
    assert compile(program(what)).run(question="?", options=options).value == pytest.approx(expected)


def test_an_endpoint_is_asked_for_them_and_they_are_kept_in_the_cache(tmp_path: Path) -> None:
    what = compile(program("sum([x.logprob for x in tokens(first)[0].top])"))
    with OpenAIServer(lambda body, index: "yes") as server:
        options = Options(model="openai:small", base_url=server.url, cache=tmp_path / "c.sqlite")
        found = [what.run(question="?", options=options).value for _ in range(2)]
    (request,) = server.requests
    assert (request.body["logprobs"], request.body["top_logprobs"]) == (True, 2)
    assert found == [pytest.approx(2 * LOGPROB - 1)] * 2


@pytest.mark.parametrize("refused", ["top_logprobs", "logprobs"])
def test_a_refusal_is_noted_and_what_is_not_known_is_no_number(refused: str, tmp_path: Path) -> None:
    what = compile(program("mean([x.logprob for x in tokens(first)[0].top])"))
    with OpenAIServer(lambda body, index: "yes", refuses={refused}) as server:
        options = Options(model="openai:small", base_url=server.url, cache=None)
        with pytest.raises(GotError) as caught:
            what.run(question="?", options=options)
    assert "of an empty list" in str(caught.value) or "no log-probabilities" in str(caught.value)
    assert refused not in server.requests[-1].body
    assert ("logprobs" in server.requests[-1].body) is (refused == "top_logprobs")


def test_the_check_asks_for_the_fact() -> None:
    found = check(program("len(tokens(first)) / 1", "temperature 1")).diagnostics
    assert [d.code for d in found] == ["GOT0322"]
    assert check(program("tokens(first)[0].txt", "logprobs true")).diagnostics[0].code == "GOT0208"
    assert check(program("1.0", "top_logprobs 21")).diagnostics[0].code == "GOT0312"


def test_tokens_that_are_not_the_text_s_are_refused() -> None:
    wrong = SimulatedModel({"solve": lambda rng, question: Simulated("yes", 0.0, (("no", 0.0, ()),))})
    with pytest.raises(GotError, match="tokens that are not its text's"):
        compile(program("confidence(first)")).run(question="?", options=Options(model=wrong, cache=None))
