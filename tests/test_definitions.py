"""Operations, functions and open schemes: equal to the program with everything inlined by hand."""

from __future__ import annotations

import re
import sys

import pytest

from gotlang.api import compile, run
from gotlang.compiler import compile_source
from gotlang.errors import CompileError
from gotlang.ir.parse import from_text
from gotlang.ir.text import to_text
from gotlang.span import Source
from gotlang.syntax.format import format_module
from gotlang.syntax.parse import parse

PARTS = """
prompt guess(q: str) -> int:
    "{{ q }}"
prompt critique(n: int, q: str) -> str:
    "{{ q }} {{ n }}"
prompt again(q: str, n: int, note: str) -> int:
    "{{ q }} {{ n }} {{ note }}"
prompt words(q: str) -> list[str]:
    "{{ q }}"
score off(n: int) -> lower, best 0:
    n * n
param tries = 3 in 1..5
"""
BEST = """
operation BestOf(k: int = 5) p: prompt, s: score:
    Generate(k=k) p
    Score() s
    KeepBestN(1)
"""


def ir(text: str) -> str:
    return to_text(compile(PARTS + text, "main.got").ir(0))


def body(text: str) -> str:
    """The IR of a scheme without the blocks that operations are."""
    text = ir(text).partition("scheme main")[2]
    text = re.sub(r"\n +(?:%\w+ = block|yield|enter)[^\n]*|%\w+", "", text)
    return " ".join(text.split())


def found(text: str) -> list[tuple[str, str]]:
    with pytest.raises(CompileError) as caught:
        compile(PARTS + text)
    return [(d.code, d.message) for d in caught.value.diagnostics]


def test_an_operation_is_the_lines_that_it_stands_for() -> None:
    used = BEST + "scheme main(q: str) -> int:\n    BestOf(tries) guess(q), off(it)\n"
    written = """scheme main(q: str) -> int:
    Generate(k=tries) guess(q)
    Score() off(it)
    KeepBestN(1)
"""
    assert body(used) == body(written)
    for program in (used, written):
        text = ir(program)
        assert to_text(from_text(text)) == text


def test_the_samples_are_those_of_the_lines_written_out() -> None:
    """A line after one of an operation counts on, and none counts otherwise for being in an operation."""
    text = f"""{BEST}
scheme main(q: str) -> int:
    a = BestOf() guess(q), off(it)
    Generate() guess(q)
    Pool() it + a
"""
    asked = [line for line in ir(text).split("\n") if "Generate" in line]
    assert ["line" in line for line in asked] == [False, True]
    assert 'line "guess(q=q)" 1' in asked[1]


def test_what_the_body_binds_hides_nothing_and_is_hidden_by_nothing() -> None:
    text = """
operation Sum(k: int) p: prompt:
    a = Generate(k=k) p
    xs = [x + k for x in a]
    Pool() sum(xs)
operation Twice() p: prompt:
    a = Sum(2) p
    b = Sum(len([x for x in [a, 1]])) p
    Pool() a + b
scheme main(q: str) -> int:
    a = Twice() guess(q)
    x = Twice() guess(q + str(a))
    Pool() a + x
"""
    assert ir(text).count("Generate @guess") == 4


def test_a_setting_that_looks_at_thoughts_is_computed_before() -> None:
    text = """
operation Plus(n: int):
    Map() it + 1
    Map() it + n
scheme main(x: int) -> int:
    Pool() x
    Plus(it * 10)
"""
    assert run(compile(text), x=2).value == 23


def test_a_prompt_that_is_given_may_get_more_inputs() -> None:
    text = """
operation Mend(rounds: int = 1) draft: prompt, note: prompt, better: prompt:
    Generate() draft
    repeat rounds:
        said = Generate() note
        Improve() better(said)
scheme main(q: str) -> int:
    Mend(2) guess(q), critique(it, q), again(q, it)
"""
    assert "Improve @again(q=q, n=it, note=said)" in ir(text)


def test_an_argument_that_is_used_twice_is_computed_once() -> None:
    text = """
function square(x: int) -> int = x * x
function tail[T](xs: list[T]) -> list[T] = [x for i, x in enumerate(xs) if i > 0]
scheme main(x: int, xs: list[str]) -> int:
    y = tail(xs)
    Pool() square(x) + square(x + len(y))
"""
    assert "x * x + [x_2 * x_2 for x_2 in [x + len(y)]][0]" in ir(text)
    assert run(compile(text), x=2, xs=["a", "b"]).value == 13


def test_an_open_scheme_is_made_for_what_it_is_given() -> None:
    text = """
scheme refine[T](q: str, draft: prompt(str) -> T, note: prompt(T, str) -> str = critique, n: int = 2) -> T:
    Generate(k=n) draft(q)
    said = Generate() note(it[0], q)
    KeepBestN(1)
scheme most[T](q: str, ask: prompt(str) -> T, k: int = 2) -> T:
    Generate(k=k) ask(q)
    Vote()
scheme main(q: str) -> int:
    a = most(q, guess)
    b = most(q, words, k=4)
    c = most(q + "!", guess, k=tries)
    Pool() a + c + len(b)
"""
    text = text[text.index("scheme most") :]
    made = ir(text)
    assert "scheme most__guess(q: str, k: int) -> int" in made
    assert "scheme most__words(q: str, k: int) -> list[str]" in made
    assert made.count("\nscheme ") == 3
    assert compile(PARTS + text, "main.got").scheme().name == "main"


@pytest.mark.parametrize(
    ("definition", "use", "code", "message"),
    [
        ("", 'BestOf("a") guess(q), -it', "GOT0201", '`k` of `BestOf` is int, not "a"'),
        ("", "BestOf(3) gues(q), -it", "GOT0746", "`p` of `BestOf` is a prompt"),
        ("", "BestOf(n=3) guess(q), -it", "GOT0203", "`BestOf` has no parameter `n`"),
        ("", "BestOf(3) guess(q)", "GOT0202", "`BestOf` needs `s`"),
        ("", "BestOf(3) guess(q), -it, 4", "GOT0202", "`BestOf` takes 2, not 3"),
        (
            "operation Loop() p: prompt:\n    Loop() p",
            "Loop() guess(q)",
            "GOT0745",
            "operation `Loop` uses itself",
        ),
        (
            "operation Vote() p: prompt:\n    Generate() p",
            "Generate() guess(q)",
            "GOT0746",
            "operation `Vote` is built in",
        ),
        ("function f(x: int) -> int = f(x)", "Pool() f(1)", "GOT0745", "function `f` uses itself"),
        (
            "function f(x: int) -> int = x / 2",
            "Pool() f(1)",
            "GOT0201",
            "the result of `f` is int, not float",
        ),
        ("function f(x: int) -> int = x", 'Pool() f("a")', "GOT0201", '`x` of `f` is int, not "a"'),
        (
            "scheme f(p: prompt) -> int:\n    Generate() p(3)",
            "f(guess)",
            "GOT0201",
            "`q` of prompt `guess` must be str",
        ),
        (
            "scheme f(p: prompt) -> int:\n    Generate() p()",
            "f(guess(q))",
            "GOT0746",
            "`p` of `f` is the name of a prompt",
        ),
        (
            "scheme f[T](p: prompt) -> T:\n    Generate() p(q)",
            "f(guess)",
            "GOT0747",
            "`T` of `f` cannot be inferred",
        ),
        (
            "operation Leak():\n    Map() it + m",
            "m = len(q)\n    Pool() 1\n    Leak()",
            "GOT0103",
            "name `m` is not known",
        ),
        (
            "function f(x: int) -> int = x + m",
            "m = len(q)\n    Pool() f(m)",
            "GOT0103",
            "name `m` is not known",
        ),
        (
            "function f(x: int, y: int = m) -> int = x + y",
            "m = 3\n    Pool() f(m)",
            "GOT0103",
            "name `m` is not known",
        ),
        (
            "operation Late(m: int, n: int = m):\n    Pool() n",
            "m = 3\n    Late(m)",
            "GOT0103",
            "name `m` is not known",
        ),
        (
            "function f(x: int) -> int = x + it",
            "Pool() 1\n    Map() f(it)",
            "GOT0105",
            "`it` is not defined in a function",
        ),
        (
            "operation Twice(p: int) p: prompt:\n    Generate() p",
            "Generate() guess(q)",
            "GOT0101",
            "duplicate",
        ),
        (
            "operation Odd() score: prompt:\n    Generate() score",
            "Generate() guess(q)",
            "GOT0102",
            "`score` has",
        ),
        (
            "scheme f(k: int = 4) -> int:\n    Pool() k",
            "f(3)",
            "GOT0746",
            "an input of a scheme that runs has no default",
        ),
    ],
)
def test_mistakes(definition: str, use: str, code: str, message: str) -> None:
    text = f"{BEST}{definition}\nscheme main(q: str) -> int:\n    {use}\n"
    assert (code, message) in [(c, m[: len(message)]) for c, m in found(text)]


@pytest.mark.parametrize(
    ("definition", "use", "value"),
    [
        ("operation Add(n: int? = none):\n    if n != none:\n        Map() it + n", "Add()\n    Add(3)", 5),
        ("operation Add(n: int?):\n    if n != none:\n        Map() it + n", "n = it\n    Add(n)", 4),
        ("operation Add(on: bool = false):\n    if on:\n        Map() it + 1", "Add()\n    Add(true)", 3),
        ("operation Add(n: int):\n    repeat n:\n        Map() it + 6 // n", "Add(0)\n    Add(2)", 8),
        ("operation Add(n: int):\n    if n > 0:\n        Map() it + 6 // n", "Add(0)\n    Add(2)", 5),
        (
            "operation Add(n: int):\n    if n > 0:\n        Map() 6 // n\n    else:\n        Map() it + 1",
            "Add(0)\n    Add(1)",
            6,
        ),
        (
            "function half(x: int, by: int = 0) -> int = x // by if by != 0 else 7",
            "Map() half(it) + half(it, 2)",
            8,
        ),
        (
            "function some(x: int?) -> int = 0 if x == none else x + 1",
            "n = it\n    Map() some(3) + some(none) + some(it) + some(n)",
            10,
        ),
        (
            "function known(xs: list[int?]) -> list[int] = [x for x in xs if x != none]",
            "Map() len(known([it, none])) + len(known([it])) + len(known([]))",
            2,
        ),
        (
            "type Step = Act {n: int} | Stop\ntype Steps = {all: list[Step]}\n"
            'function stops(s: Steps) -> int = len([x for x in s.all if x.type == "Stop"])',
            "Map() stops({all: [Act {n: it}]}) + stops({all: [Stop, Act {n: it}]})",
            1,
        ),
        (
            "type Step = Act {n: int} | Stop\noperation Of(step: Step):\n    match step:\n"
            "        Act {n}:\n            Pool() n\n        Stop:\n            Pool() 0",
            "n = it\n    x = Of(Act {n: 3})\n    y = Of(Stop)\n    Pool() n + x + y",
            5,
        ),
        (
            "function head[T](xs: list[T], other: T?) -> T? = xs[0] if len(xs) > 0 else other",
            "x = head([it], none)\n    Pool() 0 if x == none else x",
            2,
        ),
    ],
)
def test_a_definition_may_ask_what_one_use_has_decided(definition: str, use: str, value: int) -> None:
    text = f"{definition}\nscheme main() -> int:\n    Pool() 2\n    {use}\n"
    assert run(compile(text)).value == value
    assert to_text(from_text(compile(text).ir_text(0))) == compile(text).ir_text(0)


def test_an_error_in_a_definition_points_to_the_use() -> None:
    text = "operation Bad():\n    KeepBestN(1)\nscheme main(x: int) -> int:\n    Pool() x\n    Bad()\n"
    source = Source.of("a.got", text)
    (diagnostic,) = compile_source(source).diagnostics
    assert source.position(diagnostic.span.start)[0] == 5
    assert [source.position(label.span.start)[0] for label in diagnostic.labels][:1] == [2]


def test_definitions_that_use_each_other_without_end_are_refused() -> None:
    text = "function f0(x: int) -> int = x\n" + "".join(
        f"function f{i}(x: int) -> int = f{i - 1}(x) + f{i - 1}(x + {i})\n" for i in range(1, 20)
    )
    assert ("GOT0745", "more than 10,000 uses of definitions") in found(
        text + "scheme main() -> int:\n    Pool() f19(1)\n"
    )


@pytest.mark.parametrize(("levels", "errors"), [(50, 0), (51, 1), (60, 1)])
def test_operations_that_use_each_other_too_deeply_are_refused(levels: int, errors: int) -> None:
    text = "operation O0() p: prompt:\n    Generate() p\n" + "".join(
        f"operation O{i}() p: prompt:\n    O{i - 1}() p\n" for i in range(1, levels)
    )
    text += f'prompt q() -> str:\n    "hi"\nscheme main() -> str:\n    O{levels - 1}() q()\n'
    told = ("GOT0745", "operations used more than 50 levels deep inside each other")
    if errors:
        assert found(text) == [told] * errors
    else:
        compile(PARTS + text)


def test_the_canonical_form() -> None:
    text = """operation BestOf(k: int = 5) p: prompt, s: score:
    Generate(k=k) p

function last[T](xs: list[T]) -> T = xs[len(xs) - 1]

scheme refine[T](task: str, draft: prompt(str) -> T, rounds: int = 3) -> T:
    Generate() draft(task)
"""
    source = Source.of("a.got", text)
    module, problems = parse(source)
    assert not problems and format_module(module, source) == text


@pytest.mark.parametrize(
    ("first", "more"),
    [
        ("n", "[x{i} for x{i} in [{e}]][0]"),
        ("n", "sum([x{i} for x{i} in [1] if x{i} > {e}])"),
        ("true", "(n > 0 if {e} else n < {i})"),
    ],
)
def test_the_time_does_not_double_with_each_level(first: str, more: str) -> None:
    text = first
    for i in range(30):
        text = more.format(i=i, e=text)
    result = "bool" if first == "true" else "int"
    assert compile(f"scheme main(n: int) -> {result}:\n    Pool() {text}\n").schemes


def test_functions_inside_each_other_have_a_depth_that_every_stage_bears() -> None:
    def program(count: int) -> str:
        more = "".join(f"function u{i + 1}(x: int) -> int = u{i}(x + 1) * x\n" for i in range(count))
        text = f"function u0(x: int) -> int = x * x\n{more}"
        return f"{text}scheme main(n: int) -> int:\n    Pool() u{count}(n + 1)\n"

    assert run(compile(program(40)), n=0).value > 0
    for count in (60, 300):
        told = found(program(count))
        assert set(told) == {("GOT0745", "functions are nested too deeply")}
        assert len(told) <= count // 50


def test_many_uses_of_operations_are_checked_in_a_time_that_grows_with_them() -> None:
    def steps(count: int) -> int:
        more = "".join(f"operation O{i + 1}() e: int:\n    O{i}() e\n    O{i}() e\n" for i in range(count))
        text = f"operation O0() e: int:\n    Map() it + e\n{more}"
        use = f"scheme main(n: int) -> int:\n    Pool() n\n    O{count}() n\n"
        source = Source.of("main.got", text + use)
        calls = 0

        def count_calls(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += event == "call"

        sys.setprofile(count_calls)
        try:
            assert compile_source(source).ok
        finally:
            sys.setprofile(None)
        return calls

    steps(2)
    assert steps(8) < 7 * steps(6)
