"""Values at the edges: numbers that are equal and written differently, nothing at all, too much."""

from __future__ import annotations

from typing import Any

import pytest

from gotlang.api import compile
from gotlang.errors import CompileError, GotError, RunError
from tests.test_operations import run


def value_of(expression: str) -> Any:
    """What an expression of the language gives."""
    return compile(f"scheme m() -> any:\n    return {expression}\n").run().value


def test_equal_numbers_are_counted_as_equal() -> None:
    assert value_of("count_difference([1, 2.5, 3], [3.0, 1.0, 2.5])") == 0
    assert value_of("[unique([1, 1.0, 2]), set([2, 1, 1.0])]") == [[1, 2], [1, 2]]
    assert value_of("[intersection([1, 2], [2.0]), difference([1, 2], [2.0])]") == [[2], [1]]
    assert value_of("len(unique([[{a: 2}], [{a: 2.0}]]))") == 1
    body = 'xs = ["6", "5", "5.0"]\nforeach x in xs:\n    Generate() told(x)\nVote()'
    told = 'prompt told(x: str) -> float:\n    "{{ x }}"\n'
    assert run(body, declarations=told, simulators={"told": lambda rng, x: x}, result="float").value == 5


def test_truth_is_no_number() -> None:
    text = "scheme m(x: list[any]) -> any:\n    return {kinds: len(unique(x)), there: x[0] in x}\n"
    assert compile(text).run({"x": [1, True, 1.0]}).value == {"kinds": 2, "there": True}


def test_fill_writes_answers_as_prompts_do_and_leaves_what_has_none() -> None:
    assert value_of('fill("<1> <2> <3> <9>", [["x"], [], none])') == '["x"] [] <3> <9>'
    texts = '["who <1>", "he and <1> and <3>"]'
    body = f"foreach i, t in enumerate({texts}) after references(t):\n    Map() fill(t, done)"
    assert run(body, result="list[str]").value == ["who <1>", "he and who <1> and <3>"]


@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", "1e999", "none"])
def test_no_text_is_read_as_a_number_without_end(text: str) -> None:
    with pytest.raises(RunError, match="is not a number"):
        compile("scheme m(text: str) -> float:\n    return float(text)\n").run({"text": text})


def test_arithmetic_has_no_number_without_end() -> None:
    for expression in ("x * 10", "x + x", "-x - x", "x / 0.01", "mean([x]) * 9"):
        with pytest.raises(RunError, match="a number too large"):
            compile(f"scheme m(x: float) -> float:\n    return {expression}\n").run({"x": 1e308})
        with pytest.raises(CompileError) as caught:
            value_of(expression.replace("x", "1e308"))
        assert [found.message for found in caught.value.diagnostics] == ["a number too large"]


@pytest.mark.parametrize("level", [0, 2])
def test_keeping_none_ends_no_sampling(level: int) -> None:
    body = "Generate(k=3) next(1)\nScore() distance(it, 2)\nKeepBestN(len([n for n in [1] if it > 9]))"
    with pytest.raises(GotError):
        run(body, result="many int", options={"level": level})


@pytest.mark.parametrize("step", ["Score(k=few) rate(it)", "Score(k=few) judged(it)", "KeepBestN(few)"])
def test_no_value_of_a_param_may_ask_for_nothing(step: str) -> None:
    declarations = "param few = 0 in 0..2\nscore judged(n: int) -> lower:\n    a = Generate() rate(n)\n    a"
    with pytest.raises(CompileError) as caught:
        run(f"Generate() next(1)\nScore() it\n{step}\nVote()", declarations=declarations)
    assert {found.code for found in caught.value.diagnostics} == {"GOT0312"}


@pytest.mark.parametrize("drafts", [1, 2])
def test_what_is_known_of_thoughts_does_not_depend_on_how_many_there_are(drafts: int) -> None:
    body = """
Generate(k=drafts) listed(3)
Score() sum(it)
lists = Select() len(it) > 0
foreach one in lists:
    Map() score(one)
"""
    found = run(body, declarations=f"param drafts = {drafts}", result="list[float]")
    assert found.value == [3] * drafts


@pytest.mark.parametrize(
    "expression",
    [
        "[xs[1:] for x in xs]",
        "[x for x in xs if -1 in xs]",
        "[x for x in xs if xs == ys]",
        "[x for x in xs if {a: xs} == {a: ys}]",
        "[[xs] for x in xs]",
        "[{a: xs} for x in xs]",
        "[text + text for x in xs]",
        "[text[x:] for x in xs]",
        "[str(x) for x in xs if text != other]",
        "[len(str(nested)) for x in xs]",
        "[len(unique(nested)) for x in xs]",
        "[len(values(counted)) for x in xs]",
        "[add_counts(counted, counted) for x in xs]",
    ],
)
def test_what_an_expression_goes_through_is_bounded_whatever_it_does(expression: str) -> None:
    inputs: dict[str, Any] = {
        "xs": list(range(20_000)),
        "ys": list(range(20_000)),
        "text": "a" * 50_000,
        "other": "a" * 50_001,
    }
    inputs |= {"nested": [list(range(2_000))] * 4, "counted": {str(n): n for n in range(3_000)}}
    types = "xs: list[int], ys: list[int], text: str, other: str, nested: list[list[int]]"
    types += ", counted: dict[str, int]"
    with pytest.raises(RunError, match="this iterates over more than 5,000,000 elements"):
        compile(f"scheme m({types}) -> any:\n    return len({expression})\n").run(inputs)


def test_what_is_quick_costs_little() -> None:
    inputs: dict[str, Any] = {"names": {str(n): n for n in range(20_000)}, "text": "word " * 2_000}
    found = '[n for n in keys(names) if n in names and names[n] >= 0 and "word" in text]'
    text = f"scheme m(names: dict[str, int], text: str) -> any:\n    return len({found})\n"
    assert compile(text).run(inputs).value == 20_000


def test_a_value_of_none_is_a_thought_like_others() -> None:
    body = "Generate() parts(3)\nMap() none if it == 0 else it\n"
    assert run(body, result="many any").value == [None, 1, 2]
    found = run(f"{body}return {{count: len(thoughts), first: thoughts[0] == none}}", result="any").value
    assert found == {"count": 3, "first": True}
    assert run(f"{body}Select() it == none\nMap() 7", result="many any").value == [7]
    assert run(f"{body}Vote()", result="int?").value is None
    assert len(run(f"{body}Aggregate() digit(thoughts)").outcome.thoughts[0].parents) == 3


def test_an_example_without_a_value_has_a_place() -> None:
    text = 'prompt p(x: int) -> int:\n    "{{ x }}"\n    examples:\n        x = 1 // 0 -> 2\n'
    with pytest.raises(CompileError) as caught:
        compile(f"{text}scheme m() -> int:\n    Generate() p(1)\n", "main.got")
    (problem,) = caught.value.diagnostics
    assert (problem.code, text[problem.span.start : problem.span.end]) == ("GOT0405", "1 // 0")
    assert "main.got" in caught.value.sources


@pytest.mark.parametrize(("result", "value"), [("int", "none if it > 0 else 1"), ("str", "{a: it}.a")])
def test_a_result_is_of_the_type_that_its_scheme_declares(result: str, value: str) -> None:
    declarations = "scheme loose(n: int) -> any:\n    Map() n\n    return " + value.replace("it", "n")
    with pytest.raises(CompileError) as caught:
        run("Generate() next(1)\nloose(it)", declarations=declarations, result=result)
    (problem,) = caught.value.diagnostics
    assert problem.message == f"scheme `main` must output {result}"
