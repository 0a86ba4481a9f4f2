"""The reference's section on failures: each of its cases is run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gotlang.api import Options, compile
from gotlang.errors import RunError
from gotlang.ir.evaluate import Evaluator
from gotlang.span import Source
from gotlang.syntax.parse import parse_expression

PAGE = (Path(__file__).parents[1] / "docs" / "language.md").read_text()
SECTION = re.search(r"^## When something fails\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
assert SECTION is not None
PROGRAM = "".join(re.findall(r"^```got\n(.*?)^```", SECTION[1], re.MULTILINE | re.DOTALL))
CASES = re.findall(r"^# (\w+)\((.*)\) (gives|fails:) (.*)$", PROGRAM, re.MULTILINE)


def value(text: str) -> object:
    """The value of a constant of the language."""
    node = parse_expression(Source.of("case", text))
    return Evaluator()(node, {})  # type: ignore[arg-type]


@pytest.mark.parametrize(("scheme", "inputs", "how", "expected"), CASES)
@pytest.mark.parametrize("level", [0, 2])
def test_what_the_reference_says_of_failure(
    scheme: str, inputs: str, how: str, expected: str, level: int
) -> None:
    program = compile(PROGRAM, "cases.got")
    given = {name: value(text) for name, text in re.findall(r"(\w+)=(\[.*?\]|\S+?)(?:, |$)", inputs)}
    if how == "gives":
        assert program.run(given, scheme=scheme, options=Options(level=level)).value == value(expected)
    else:
        with pytest.raises(RunError) as caught:
            program.run(given, scheme=scheme, options=Options(level=level))
        assert caught.value.message == expected


def test_every_sentence_has_its_cases() -> None:
    assert len(CASES) == PROGRAM.count("\n# ") >= 17
