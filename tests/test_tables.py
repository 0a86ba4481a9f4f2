"""The parser's tables as text: the same parser comes back, and never one for another grammar."""

from __future__ import annotations

import json

import pytest
from lark import Lark

from gotlang.syntax.grammar import build_parser, from_tables, to_tables

PROGRAM = """
param tries = 3 in 1..9
prompt answer(question: str) -> int:
    "{{ question }}"
scheme vote(question: str) -> int:
    Generate(k=tries) answer(question)
    if len(thoughts) > 2:
        Vote()
"""


@pytest.fixture(scope="module")
def built() -> Lark:
    return build_parser()


def test_a_parser_from_its_tables_reads_the_same(built: Lark) -> None:
    again = from_tables(to_tables(built))
    assert again is not None
    for start, text in (
        ("module", PROGRAM),
        ("expression", "a + [x for x in xs if x > 2][0]"),
    ):
        assert again.parse(text, start=start) == built.parse(text, start=start)


@pytest.mark.parametrize("field", ["lark", "grammar", "format"])
def test_tables_of_another_grammar_or_lark_are_left_alone(built: Lark, field: str) -> None:
    content = json.loads(to_tables(built))
    content["stamp"][field] = "another"
    assert from_tables(json.dumps(content)) is None
