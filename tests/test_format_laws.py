"""The printer against the parser: what is written is read back, and writing it again changes nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st
from support import programs
from support.laws import tried

from gotlang.diagnostics import render
from gotlang.span import NOWHERE, Source
from gotlang.syntax.expressions import Expression, Identifier
from gotlang.syntax.format import format_expression, format_module
from gotlang.syntax.nodes import Comment, Module, TypeAlias, TypeNode
from gotlang.syntax.parse import parse, parse_expression


def _read(text: str) -> tuple[Module, Source]:
    source = Source.of("law.got", text)
    module, problems = parse(source)
    assert not problems, "\n".join(render(problem, {source.name: source}) for problem in problems)
    return module, source


def _comments(module: Module) -> Counter[tuple[int, str]]:
    """Each comment with the number of the declaration that it is in or above."""
    starts = [declaration.span.start for declaration in module.declarations]
    found: Counter[tuple[int, str]] = Counter()
    for comment in module.comments:
        owner = bisect_right(starts, comment.span.start)
        if (owner and not comment.own_line) or comment.nested or _within(module, owner - 1, comment):
            owner -= 1
        found[owner, comment.text] += 1
    return found


def _within(module: Module, number: int, comment: Comment) -> bool:
    return number >= 0 and comment.span.start < module.declarations[number].span.end


@given(programs.expressions)
@tried(300)
def test_an_expression_is_read_back(expression: Expression) -> None:
    assert parse_expression(Source.of("law", format_expression(expression))) == expression


@given(programs.type_nodes)
def test_a_type_is_read_back(type_: TypeNode) -> None:
    module = Module(NOWHERE, (TypeAlias(NOWHERE, Identifier(NOWHERE, "T"), type_),))
    assert _read(format_module(module))[0] == module


@given(programs.modules)
def test_a_module_is_read_back(module: Module) -> None:
    assert _read(format_module(module))[0] == module


@given(st.data())
def test_comments_stay_and_a_second_time_changes_nothing(data: st.DataObject) -> None:
    module = data.draw(programs.modules)
    text = data.draw(programs.with_comments(format_module(module)))
    before, source = _read(text)
    assert before == module
    once = format_module(before, source)
    after, source = _read(once)
    twice = format_module(after, source)
    assert after == before
    assert twice == once, "\n".join(unified_diff(once.splitlines(), twice.splitlines(), "once", "twice"))
    assert _comments(after) == _comments(before)
