"""`confidence`: of a whole answer, of one field of it, and the errors if it is unknown."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gotlang.api import Options, check, compile
from gotlang.errors import EvaluationError
from gotlang.models.base import PERMITTED, Completion, Model, Permit, Reply, Request, Usage
from gotlang.thought import ResponseLogprobs, Thought, confidence, field_confidence

HALF = math.log(0.5)
SURE = math.log(0.9)


def thought(value: Any, *tokens: tuple[str, float]) -> Thought:
    mean = sum(p for _, p in tokens) / len(tokens) if tokens else None
    return Thought(value, response=ResponseLogprobs(mean, tokens))


def test_the_whole_answer_counts_a_token_on_average() -> None:
    assert confidence(thought("x y", ("x", HALF), (" y", HALF))) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("value", "tokens", "expected"),
    [
        ({"rating": 80}, [("Rating", 0.0), (": ", 0.0), ("80", SURE), ("\n", HALF)], 0.9),
        ({"rating": 80}, [("Rating:", HALF), (" 8", SURE), ("0", SURE), (".", HALF)], 0.81),
        ({"rating": 8}, [("Rating: 80? ", HALF), ("8", SURE)], 0.9),
        ({"rating": 0.5}, [('{"rating": ', HALF), ("0.5", SURE), ("}", HALF)], 0.9),
        ({"how_sure": "high"}, [("80. How sure: ", HALF), ("high", SURE)], 0.9),
    ],
)
def test_a_field_counts_the_tokens_that_write_it(
    value: dict[str, Any], tokens: list[tuple[str, float]], expected: float
) -> None:
    assert field_confidence(thought(value, *tokens), next(iter(value))) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("subject", "name", "message"),
    [
        (thought({"rating": 1}), "rating", "no log-probabilities"),
        (thought("text", ("text", HALF)), "rating", "no field `rating`"),
        (thought({"rating": 1}, ("one", HALF)), "rating", "not found in the response"),
    ],
)
def test_what_is_not_known_is_said(subject: Thought, name: str, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        field_confidence(subject, name)


PROGRAM = '''
prompt rate(text: str) -> {rating: int, why: str}:
    """
    Rate {{ text }}.
    """

scheme sure(text: str) -> float:
    first = Generate(logprobs=true) rate(text)
    return WHAT
'''


class Rater(Model):
    """A model that writes `Rating: 80`, the number with probability 0.9, every other token with 0.5."""

    name, simulated, price, batch = "rater", False, None, 8

    async def ask(self, request: Request, n: int, first: int = 0, permit: Permit = PERMITTED) -> Reply:
        tokens = (("Rating: ", HALF), ("80", SURE), ("\nWhy: good", HALF))
        text = "".join(token for token, _ in tokens)
        total = sum(p for _, p in tokens)
        return Reply((Completion(text, logprob=total, tokens=tokens, output_tokens=3),) * n, Usage(1, 3), 0.0)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [("confidence(first.rating)", 0.9), ("confidence(first)", (0.5 * 0.9 * 0.5) ** (1 / 3))],
)
def test_a_program_reads_both(expression: str, expected: float) -> None:
    program = compile(PROGRAM.replace("WHAT", expression))
    assert program.run(text="x", options=Options(model=Rater())).value == pytest.approx(expected)


def test_only_a_field_of_a_thought_has_a_confidence() -> None:
    found = check(PROGRAM.replace("WHAT", "confidence(first.nothing)")).diagnostics
    assert "nothing" in found[0].message
    found = check(PROGRAM.replace("WHAT", "cost(first.rating)")).diagnostics
    assert [d.code for d in found] == ["GOT0201"]
