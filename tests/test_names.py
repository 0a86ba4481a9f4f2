"""The meaning of names that a program reuses, or that have another meaning elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from gotlang.api import compile
from gotlang.compiler import compile_source
from gotlang.errors import CompileError
from gotlang.result import Result
from gotlang.span import Source
from tests.test_operations import run


def at_both_levels(body: str, **more: Any) -> Result:
    """A run, whose value is the same with the optimizer and without."""
    plain, optimized = (run(body, options={"level": level}, **more) for level in (0, 2))
    assert plain.value == optimized.value
    return optimized


def test_elements_of_two_blocks_may_have_one_name() -> None:
    body = """
foreach part in [1, 2]:
    Generate() next(part)
foreach part:
    Generate() next(part)
"""
    assert at_both_levels(body, result="list[int]").value == [3, 4]
    assert at_both_levels(body + "return part[0]").value == 3
    between = body.replace("foreach part:", "Map() it * 10\nforeach part in part:")
    assert at_both_levels(between, result="list[int]").value == [3, 4]


def test_blocks_beside_each_other_may_bind_one_name() -> None:
    body = """
foreach x in [1, 2]:
    Generate() next(x)
if x[0] == 2:
    y = Map() it + 5
    return [y[0]]
else:
    y = 4
    return [y]
"""
    assert at_both_levels(body).value == [7]
    body = """
xs = Generate() listed(2)
inside =
    ys = foreach x in xs:
        Map() x + 1
    y = Generate() next(8)
    Pool() [ys[0], ys[1], y]
y = 7
return inside + xs + [y]
"""
    assert at_both_levels(body).value == [1, 2, 9, 0, 1, 7]


def test_until_sees_what_a_name_stands_for_at_the_end_of_the_round() -> None:
    body = """
Generate() next(0)
repeat 5 until part[0] > 4:
    foreach part in [it]:
        Generate() next(part)
    foreach part:
        Generate() next(part)
    Pool() part[0]
"""
    assert at_both_levels(body).value == 5


@pytest.mark.parametrize("name", ["data", "step", "examples", "best"])
def test_a_word_of_a_declaration_may_be_a_name(name: str) -> None:
    body = f"{name} = Generate() listed(3)\nforeach x in {name}:\n    Generate() next(x)\n"
    body += f"return [{name}, thoughts]"
    assert at_both_levels(body).value == [[0, 1, 2], [1, 2, 3]]
    declarations = f"scheme inner({name}: int) -> int:\n    Generate() next({name})\n"
    body = f"x = Generate() next(4)\ninner(x)\n{name} = Map() it + 1\nreturn {name}"
    assert at_both_levels(body, declarations=declarations).value == 7


@pytest.mark.parametrize("name", ["cost", "score"])
def test_what_is_known_of_a_thought_needs_no_parentheses_anywhere(name: str) -> None:
    body = f"""
Generate() next(4)
Score() 7
x = {name}
if {name} > 1:
    return [it > 3, x == 7]
else:
    return [it > 3, x > 0]
"""
    assert at_both_levels(body).value == [True, True]


@pytest.mark.parametrize("label", ["start", "pair", "round", "merge step 1", "Is it?"])
def test_a_label_may_be_any_word(label: str) -> None:
    body = f"""
"{label}":
    Generate() next(1)
first = Generate() next(2)
"{label.replace(" ", "_")}_":
    Generate() next(5)
again = foreach x in [1, 2]:
    Generate() next(x)
Pool() first, again
"""
    assert at_both_levels(body, result="list[int]").value == [3, 2, 3]
    inside = f'Generate() parts(4)\nreduce a, b:\n    "{label}":\n        Aggregate() add(a, b)'
    assert at_both_levels(inside).value == 6
    assert (
        at_both_levels(f'Generate() next(0)\nrepeat 3:\n    "{label}":\n        Generate() next(it)').value
        == 4
    )


def test_labels_that_look_alike_are_told_apart() -> None:
    body = """
merge step 1:
    Generate() next(1)
merge_step 1:
    Generate() next(2)
part 1:
    merge step 1:
        Generate() next(3)
    inner from merge step 1 as x:
        Map() x * 10
out from merge step 1, merge_step 1, part 1 as a, b, c:
    Pool() a, b, c
"""
    assert at_both_levels(body, result="list[int]").value == [2, 3, 40]


def test_a_labelled_block_with_a_name_has_both() -> None:
    body = "x = merge step 1:\n    Generate() next(1)\nout from merge step 1 as y:\n    Pool() x, y"
    assert at_both_levels(body, result="list[int]").value == [2, 2]


@pytest.mark.parametrize(
    "body",
    [
        "foreach x, x in enumerate([1]):\n    Pool() x",
        "reduce a, b in [1] as a:\n    Pool() b",
        "y = [x for x, x in enumerate([1])]\nPool() y",
        "a = Generate() ask()\nstep 1 from a, a as x, x:\n    Pool() x",
    ],
)
def test_one_block_binds_a_name_once(body: str) -> None:
    text = 'prompt ask() -> int:\n    "?"\nscheme m() -> many any:\n' + "".join(
        f"    {line}\n" for line in body.split("\n")
    )
    with pytest.raises(CompileError) as caught:
        compile(text)
    assert [d.code for d in caught.value.diagnostics] == ["GOT0101"]


def test_a_file_is_imported_once_however_its_path_is_written() -> None:
    files = {
        "main.got": 'import "./parts/a.got"\nimport "parts//a.got"\nimport "./main.got"\n',
        "parts/a.got": 'import "./b.got"\nimport "b.got"\n',
        "parts/b.got": "param tries = 3\n",
    }
    files["main.got"] += "scheme m() -> int:\n    Pool() tries\n"
    found = compile_source(Source.of("main.got", files["main.got"]), files.__getitem__)
    assert (found.diagnostics, [*found.sources]) == ((), ["main.got", "parts/a.got", "parts/b.got"])
