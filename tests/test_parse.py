"""What golden cases do not show: limits, single expressions and types, what is left of a broken program."""

from __future__ import annotations

import pytest

from gotlang.compiler import compile_source
from gotlang.diagnostics import Diagnostic
from gotlang.span import Source, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.parse import MAX_EXPLAINED, MAX_LENGTH, MAX_PROBLEMS, MAX_TOKENS, parse, parse_expression


def _codes(text: str) -> list[str]:
    return [problem.code for problem in parse(Source.of("a.got", text))[1]]


def test_the_right_declarations_of_a_broken_program_are_there() -> None:
    text = "param a = 1\nparam b 2\nparam c = 3\nscheme s() -> int:\n    f(\ntype T = int\n"
    module, problems = parse(Source.of("a.got", text))
    assert [type(d) for d in module.declarations] == [n.Param, n.Param, n.Scheme, n.TypeAlias]
    assert {"b", "f"} <= module.unsure
    assert [problem.code for problem in problems] == ["GOT0001", "GOT0009"]
    assert module.span == Span("a.got", 0, len(text))


def test_mistakes_come_in_the_order_of_the_text_and_not_without_end() -> None:
    problems = parse(Source.of("a.got", "param a\n" * 500))[1]
    assert len(problems) == MAX_PROBLEMS
    assert list(problems) == sorted(problems, key=lambda problem: problem.span.start)


def test_after_the_last_mistake_that_is_told_the_declarations_without_one_are_read() -> None:
    text = "param a\n" * MAX_PROBLEMS * 2 + "scheme broken() -> int:\n    f(x +)\n" + "param b = 3\n"
    module, problems = parse(Source.of("a.got", text))
    assert len(problems) == MAX_PROBLEMS
    assert [type(d) for d in module.declarations] == [n.Param]
    assert "broken" in module.unsure


@pytest.mark.parametrize("wrong", ["\x07", "\x00", "\u2028", "\udce9", "\ud83c", "\ufeff", "\x01\x02\x03"])
@pytest.mark.parametrize(
    "line", ["param {}a = 1", "# {}", 'param a = "{}"', "    {}Vote()", "{}param a = 1", "{}"]
)
def test_a_character_that_no_program_may_have_leaves_the_rest(wrong: str, line: str) -> None:
    before = 'prompt p(x: str) -> str:\n    "{{ x }}"\n\nscheme s(x: str) -> str:\n    Generate() p(x)\n'
    text = f"{before}{line.format(wrong)}\nparam b = 2\nparam c d\n"
    module, problems = parse(Source.of("a.got", text))
    assert [problem.code for problem in problems] == ["GOT0002", "GOT0001"]
    assert text[problems[0].span.start] == wrong[0]
    names = [d.name.text for d in module.declarations if isinstance(d, n.Prompt | n.Scheme | n.Param)]
    assert {"p", "s", "b"} <= {*names}


def test_a_file_that_is_no_program_is_told_once() -> None:
    assert _codes("\x00\x7f a\n" * MAX_PROBLEMS) == ["GOT0002"]
    assert _codes("param a = 1 # \udce9\n" * MAX_PROBLEMS) == ["GOT0002"]


def test_lines_are_taken_out_only_so_often() -> None:
    broken = "scheme s() -> int:\n" + "    f(x +)\n" * 40 + "    g()\n"
    assert 20 <= len(_codes(broken)) <= MAX_PROBLEMS


@pytest.mark.parametrize(
    "text",
    [
        "# " + "a" * MAX_LENGTH,
        "param a = [" + "1," * (MAX_TOKENS // 2 + 10) + "]\n",
        "param a = 1\n" * (MAX_TOKENS // 4 + 10),
    ],
)
def test_a_program_too_long(text: str) -> None:
    assert _codes(text) == ["GOT0006"]


def test_long_texts_and_comments_are_few_words() -> None:
    text = "# " + "a " * MAX_TOKENS + '\nprompt p() -> int:\n    """' + "a " * MAX_TOKENS + '"""\n'
    assert _codes(text) == []


@pytest.mark.parametrize("end", ["", " x 2"])
def test_a_mistake_in_a_very_long_declaration_is_said_shortly(end: str) -> None:
    text = "param a = [" + "1, " * (MAX_EXPLAINED // 3) + "]" + end + "\n"
    problems = parse(Source.of("a.got", text))[1]
    assert [problem.message for problem in problems] == (["unexpected `x`"] if end else [])


def test_a_byte_order_mark_is_no_part_of_a_program() -> None:
    module, problems = parse(Source.of("a.got", "\ufeffparam a = 1\n"))
    assert problems == ()
    assert module.declarations[0].span == Span("a.got", 1, 12)
    assert _codes("param a = 1\n\ufeff") == ["GOT0002"]


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_of_other_systems(end: str) -> None:
    text = 'prompt p() -> int:\n    """\n    Two\n    lines.\n    """\n'
    assert parse(Source.of("a.got", text.replace("\n", end))) == parse(Source.of("a.got", text))


def test_an_expression_alone() -> None:
    found = parse_expression(Source.of("--fail-if", "  mean(mistakes) > 2 "))
    assert isinstance(found, e.Compare)
    assert found.span == Span("--fail-if", 2, 20)


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("", "GOT0001", 0),
        ("mean(x", "GOT0009", 4),
        (" a b", "GOT0001", 3),
        ("a +", "GOT0001", 2),
        ("a\x00", "GOT0002", 1),
        ("1\n2", "GOT0001", 1),
        ("x = 1", "GOT0001", 2),
        ('"open', "GOT0004", 0),
        ("not " * 200 + "a", "GOT0005", 4 * 101),
    ],
)
def test_a_mistake_in_an_expression(text: str, code: str, at: int) -> None:
    source = Source.of("--fail-if", text)
    found = parse_expression(source)
    assert isinstance(found, Diagnostic)
    assert (found.code, found.span.start) == (code, at)
    assert found.span.start < found.span.end <= len(source.text)


def test_a_type() -> None:
    module, problems = parse(Source.of("a.got", 'type T = list["a" | "b"]\n'))
    alias = module.declarations[0]
    assert isinstance(alias, n.TypeAlias)
    union = n.UnionTypeNode(Span("a.got", 14, 23), ("a", "b"))
    assert alias.type == n.NamedType(alias.span, e.Identifier(alias.span, "list"), (union,))
    assert problems == ()
    assert _codes("type T = list[\n") == ["GOT0009"]


def test_numbers_with_signs_are_numbers_and_those_in_brackets_are_not() -> None:
    def value(text: str) -> e.Expression | Diagnostic:
        return parse_expression(Source.of("x", text))

    assert isinstance(value("-5"), e.Constant)
    assert isinstance(value("- 5.0"), e.Constant)
    assert isinstance(value("-(5)"), e.Unary)
    assert isinstance(value("--5"), e.Unary)
    assert isinstance(value("-5 ** 2"), e.Unary)


@pytest.mark.parametrize(
    "line",
    [
        "Generate(k=",
        "Generate(k=tries) sort(",
        "Gen",
        "x = ",
        "mistakes(it, half.",
        "foreach list half in",
        "if x",
    ],
)
def test_what_stands_around_a_broken_line_is_checked(line: str) -> None:
    text = f"scheme s(x: int) -> int:\n    Pool() x\n    {line}\n    Map() it + unknown\n"
    found = compile_source(Source.of("a.got", text)).diagnostics
    assert {d.span.start for d in found} & {text.index("unknown")}
    assert any(text[: d.span.start].count("\n") == 2 for d in found)
