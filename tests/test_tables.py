"""The parser's tables as text: the same parser comes back, and never one for another grammar. A reader of
them reads as Lark does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from lark import Lark, Token, Tree
from support import programs

from gotlang.syntax.format import format_module
from gotlang.syntax.grammar import build_parser, from_tables, parser, reader, reader_from_tables, to_tables
from gotlang.syntax.nodes import Module
from gotlang.syntax.reader import Unreadable

PROGRAMS = Path(__file__).parents[1] / "programs"

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


@pytest.mark.parametrize("field", ["lark", "grammar"])
def test_tables_of_another_grammar_or_lark_are_left_alone(built: Lark, field: str) -> None:
    first, second = to_tables(built).splitlines()
    content = json.loads(second)
    content[field] = "another"
    assert from_tables(f"{first}\n{json.dumps(content)}") is None


def test_a_readers_tables_are_of_its_grammar(built: Lark) -> None:
    first = to_tables(built).splitlines()[0]
    assert reader_from_tables(first) is not None
    assert reader_from_tables(json.dumps({**json.loads(first), "grammar": "another"})) is None


class Shape:
    """What a reader reads, as plain data."""

    def token(self, kind: str, text: str, start: int, end: int) -> Any:
        return text, start, end

    def rule(self, name: str, start: int, end: int, parts: list[Any]) -> Any:
        return name, start, end, parts


def shape(tree: Tree[Any] | Token | None) -> Any:
    """The same of a tree of Lark's."""
    if isinstance(tree, Tree):
        start, end = getattr(tree.meta, "start_pos", 0), getattr(tree.meta, "end_pos", 0)
        return tree.data, start, end, [shape(child) for child in tree.children]
    return tree and (str(tree), tree.start_pos, tree.end_pos)


def same(text: str, start: str) -> None:
    ours = reader().read(reader().tokens(text), start, Shape())
    assert ours == shape(parser().parse(text, start=start))


@given(programs.modules)
def test_a_reader_reads_as_lark_does(module: Module) -> None:
    same(format_module(module).lstrip("\n"), "module")


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.got")), ids=lambda path: path.stem)
def test_a_reader_reads_programs_as_lark_does(path: Path) -> None:
    same(path.read_text(), "module")


def test_a_keyword_where_none_may_stand_is_a_name() -> None:
    same('param data = 1\nprompt lower(prompt: int) -> int:\n    count prompt\n    ""\n', "module")
    same("param in = 1\n", "module")
    with pytest.raises(Unreadable):
        reader().read(reader().tokens("param 1 = 1\n"), "module", Shape())


def test_lark_is_for_mistakes_alone() -> None:
    code = (
        "import sys; from gotlang.files import compile_file; from pathlib import Path\n"
        "print(all(compile_file(path).ok for path in sys.argv[1:]), 'lark' in sys.modules)"
    )
    command = [sys.executable, "-c", code, *map(str, sorted(PROGRAMS.glob("*.got")))]
    assert subprocess.check_output(command, text=True).split() == ["True", "False"]
