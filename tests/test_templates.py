"""Prompts' texts: what they render to, what they refuse, and what they cost at most."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.laws import tried
from support.timing import within

from gotlang.errors import TemplateError
from gotlang.templates import Template
from gotlang.templates.plain import Place, PlainTemplate, read_plain
from gotlang.templates.rules import check, tree
from gotlang.templates.sandbox import SandboxedTemplate, runnable

VALUES: dict[str, Any] = {
    "numbers": [3, 4],
    "names": ["Élodie", 'a "b"'],
    "text": "as it is: <&> 'x'",
    "half": 0.5,
    "flag": True,
    "nothing": None,
    "counts": {"Peru": 2, "Chile": 1},
    "states": [{"left": [1, 2], "score": 3}, {"left": [], "score": 1}],
    "empty": [],
}


@pytest.mark.parametrize(
    ("template", "rendered"),
    [
        ("{{ numbers }}", "[3, 4]"),
        ("{{ names }}", '["Élodie", "a \\"b\\""]'),
        ("{{ text }}", "as it is: <&> 'x'"),
        ("{{ half }} {{ flag }} {{ nothing }}", "0.5 true null"),
        ("{{ counts }}", '{"Peru": 2, "Chile": 1}'),
        ("{{ counts.Peru }} {{ counts['Chile'] }}", "2 1"),
        ("{{ states[0].left[1] }} {{ states[-1].score }}", "2 1"),
        ("{{ numbers | length }} numbers", "2 numbers"),
        ("{{ numbers[1:] }}{{ text[:5] }}{{ numbers[::-1] }}", "[4]as it[4, 3]"),
        ("{{ numbers | join(', ') }}", "3, 4"),
        ("{{ states | join('; ', attribute='left') }}", "[1, 2]; []"),
        ("{{ 'a' ~ numbers ~ 1 }}", "a[3, 4]1"),
        (
            "{{ numbers + [5] }} {{ 'a' + 'b' }} {{ 7 // 2 * 2.0 }} {{ 7 % 4 - 1 / 2 }}",
            "[3, 4, 5] ab 6.0 2.5",
        ),
        ("{{ 'many' if numbers | length > 1 else 'one' }}", "many"),
        ("{% if flag and not empty %}yes{% elif flag %}no{% else %}else{% endif %}", "yes"),
        (
            "{% for n in numbers %}{{ loop.index }}: {{ n }}{{ '' if loop.last else ', ' }}{% endfor %}",
            "1: 3, 2: 4",
        ),
        ("{% for n in numbers if n > 3 %}{{ n }}{% else %}none{% endfor %}", "4"),
        ("{% for n in empty %}{{ n }}{% else %}none{% endfor %}", "none"),
        ("{% for name, count in counts | items %}{{ name }}={{ count }};{% endfor %}", "Peru=2;Chile=1;"),
        ("{% for name in counts %}{{ name }} {% endfor %}", "Peru Chile "),
        ("{% for i in range(3) %}{{ i }}{% endfor %}{{ range(1, 8, 3) }}", "012[1, 4, 7]"),
        (
            "{{ 3 in numbers }} {{ 'is' in text }} {{ numbers is defined }} {{ gone is defined }}",
            "true true true false",
        ),
        ("{{ gone | default('-') }}", "-"),
        ("{{ 7 is odd }} {{ 6 is divisibleby(3) }} {{ counts is mapping }}", "true true true"),
        ("{{ 1 < 2 < 3 }} {{ numbers == [3, 4] }}", "true true"),
        ("{{ [3, 1, 2] | sort(reverse=true) }} {{ ['b', 'A'] | sort }}", '[3, 2, 1] ["A", "b"]'),
        ("{{ states | sort(attribute='score') | map(attribute='score') }}", "[1, 3]"),
        ("{{ [2, 1, 2] | unique }} {{ [[1], '[1]'] | unique }}", '[2, 1] [[1], "[1]"]'),
        ("{{ states | sum(attribute='score') }} {{ numbers | min }} {{ numbers | max }}", "4 3 4"),
        (
            "{{ [1, 2, 3] | batch(2) }} {{ numbers | reverse }} {{ 'ab' | reverse }}",
            "[[1, 2], [3]] [4, 3] ba",
        ),
        ("{{ counts | tojson }} {{ [1] | tojson(indent=1) }}", '{"Peru": 2, "Chile": 1} [\n 1\n]'),
        ("{{ 2.345 | round(2) }} {{ '7' | int + 1 }} {{ 'x' | int(0) }} {{ '1.5' | float }}", "2.35 8 0 1.5"),
        ("{{ numbers | first }} {{ numbers | last }} {{ -1 | abs }} {{ 'a b' | wordcount }}", "3 4 1 2"),
        ("{{ ' a ' | trim }}{{ 'it is' | title }}{{ 'aa' | replace('a', 'b', 1) }}", "aIt Isba"),
        ("{{ 'a\nb' | indent(2) }} {{ numbers | string | length }} {{ 'ab' | list }}", 'a\n  b 6 ["a", "b"]'),
        ("a{# a comment #}b{% raw %}{{ x }}{% endraw %}", "ab{{ x }}"),
        ("one newline goes\n\n", "one newline goes\n"),
        ("a\n  {% for n in numbers %}\n- {{ n }}\n  {% endfor %}\nb", "a\n- 3\n- 4\nb"),
        ("{% for n in numbers %}{{ n }} {% endfor %}\nb", "3 4 b"),
    ],
)
def test_renders(template: str, rendered: str) -> None:
    assert Template.parse(template).render(VALUES) == rendered


@pytest.mark.parametrize(
    "expression",
    [
        "'a b' | title", "'they are' | capitalize", "' x ' | trim", "'xyx' | trim('x')",
        "['b', 'A', 'c'] | sort | join", "['b', 'A', 'a'] | unique | join(',')", "[3, 1] | min",
        "['b', 'A'] | max", "[1, 2] | sum(start=3)", "2.5 | round", "2.567 | round(1, 'floor')", "-2.1 | abs",
        "'aXaX' | replace('X', 'y')", "'a b c' | wordcount", "'a\nb\n\nc' | indent(3, first=true)",
        "'a\nb\n\nc' | indent('> ', blank=true)", "'abc' | first", "'abc' | last", "'7' | int", "3.9 | int",
        "'a' | upper ~ 'B' | lower", "[1, 2, 3] | length", "'abc' | reverse", "1 is odd and 2 is even",
    ],
)  # fmt: skip
def test_filters_mean_what_they_mean_in_jinja(expression: str) -> None:
    found = Template.parse("{{ " + expression + " }}").render({})
    wanted = jinja2.Environment(finalize=lambda v: str(v).lower() if isinstance(v, bool) else v).from_string(
        "{{ " + expression + " }}"
    )
    assert found == wanted.render()


def test_names_are_those_from_outside() -> None:
    template = Template.parse(
        "{{ a.b }}{% for x, y in pairs if x > limit %}{{ x }}{{ loop.index }}{% else %}{{ x2 }}{% endfor %}"
        "{% for i in range(n) %}{{ i }}{% endfor %}{{ x }}{{ c | default(d) }}{{ {'k': e} }}"
    )
    assert template.names.keys() == {"a", "pairs", "limit", "x2", "n", "x", "c", "d", "e"}


def test_equal_texts_are_parsed_once() -> None:
    assert Template.parse("x {{ y }}") is Template.parse("x {{ y }}")


# Each of these is refused when it is parsed, by a message with these words, at the line it stands on.
REFUSED = [
    ("{% macro m() %}{% endmacro %}", "macro"),
    ("{% set x = 1 %}", "set"),
    ("{% set x %}{% endset %}", "set"),
    ("{% import 'a' as b %}", "import"),
    ("{% from 'a' import b %}", "import"),
    ("{% include '/etc/passwd' %}", "include"),
    ("{% extends 'a' %}", "extends"),
    ("{% block a %}{% endblock %}", "block"),
    ("{% call f() %}{% endcall %}", "call"),
    ("{% filter upper %}{% endfilter %}", "filter"),
    ("{% with a = 1 %}{% endwith %}", "with"),
    ("{% autoescape true %}{% endautoescape %}", "autoescape"),
    ("{% do x %}", "unknown tag 'do'"),
    ("{% debug %}", "unknown tag 'debug'"),
    ("{% for x in y recursive %}{% endfor %}", "recursive"),
    ("{{ x ** 2 }}", "**"),
    ("{{ x.__class__ }}", "__class__"),
    ("{{ x | map(attribute='a') | map('upper') }}", "map"),
    ("{{ _x }}", "_x"),
    ("{{ _budget }}", "_budget"),
    ("{{ self }}", "self"),
    ("{{ self.__init__.__globals__ }}", "__globals__"),
    ("{{ x() }}", "can only call `range`"),
    ("{{ x.upper() }}", "can only call `range`"),
    ("{{ ''.join(['a']) }}", "can only call `range`"),
    ("{{ '{0.__class__}'.format(1) }}", "can only call `range`"),
    ("{{ lipsum(10) }}", "can only call `range`"),
    ("{{ cycler('a') }}", "can only call `range`"),
    ("{{ namespace(a=1) }}", "can only call `range`"),
    ("{% for x in y %}{{ loop.cycle('a') }}{% endfor %}", "can only call `range`"),
    ("{% for x in y %}{{ loop }}{% endfor %}", "`loop` needs one of its fields"),
    ("{% for x in y %}{{ loop._iterator }}{% endfor %}", "_iterator"),
    ("{% for x in y %}{{ loop['_iterator'] }}{% endfor %}", "`loop` needs one of its fields"),
    ("{% for loop in y %}{% endfor %}", "loop"),
    ("{% for _x in y %}{% endfor %}", "_x"),
    ("{{ x | attr('y') }}", "no filter `attr`"),
    ("{{ x | format(1) }}", "no filter `format`"),
    ("{{ x | lenght }}", "did you mean `length`?"),
    ("{{ x | center(1000000000) }}", "no filter `center`"),
    ("{{ x | _each(1) }}", "no filter `_each`"),
    ("{{ x | join(*y) }}", "unpack"),
    ("{{ x | join(**y) }}", "unpack"),
    ("{{ x | join(budget=1) }}", "takes d, attribute"),
    ("{{ x | first(1, 2) }}", "takes no arguments"),
    ("{{ x is callable }}", "no test `callable`"),
    ("{{ x is filter }}", "no test `filter`"),
    ("{{ range(1, 2, 3, 4) }}", "range"),
    ("{{ range(*x) }}", "range"),
    ("{{ 'a' if x }}", "else"),
    ("{{ x", "end of print statement"),
    ("{% if x %}", "endif"),
    ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "nested too deeply"),
    ("{{ 1" + " + 1" * 300 + " }}", "too deeply"),
    ("{{ x" + " | upper" * 100 + " }}", "too deeply"),
    ("{% if x %}" * 70 + "{% endif %}" * 70, "too deeply"),
    ("{% if x %}" + "{% elif y %}" * 70 + "{% endif %}", "too deeply"),
    ("{% for a in x %}" * 9 + "{% endfor %}" * 9, "nested loops"),
    ("{{ " + "9" * 5000 + " }}", "too many digits"),
    ("{{ x }}" * 300_000, "more expressions"),
    ("{{ x" + "~x" * 300_000 + " }}", "more expressions"),
]


@pytest.mark.parametrize(("template", "words"), REFUSED, ids=[t[:40] for t, _ in REFUSED])
def test_refused_when_parsed(template: str, words: str) -> None:
    def parse() -> TemplateError:
        with pytest.raises(TemplateError) as caught:
            Template.parse("first line\n" + template)
        return caught.value

    error = within(2, parse)
    assert words in error.message
    assert error.line == 2


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{{ gone }}", "'gone' is undefined"),
        ("{{ counts.Spain }}", "no field `Spain`"),
        ("{{ numbers[9] }}", "no element 9: it has 2"),
        ("{{ text.upper }}", "a str has no `upper`"),
        ("{{ numbers.append }}", "a list has no `append`"),
        ("{{ text['__class__'] }}", "a str has no `__class__`"),
        ("{{ counts['__class__'] }}", "no field `__class__`"),
        ("{{ states | map(attribute='__class__') }}", "no `__class__`"),
        ("{{ states | join(attribute='left.__class__') }}", "no `__class__`"),
        ("{{ counts[numbers] }}", "no field `a list`"),
        ("{{ range }}", "cannot print"),
        ("{{ 'a' * 3 }}", "`*` between a str and an int"),
        ("{{ [1] * 1000000000 }}", "`*` between a list and an int"),
        ("{{ '%999999999d' % 1 }}", "`%` between a str and an int"),
        ("{{ '%999999999d' is odd }}", "expects a number"),
        ("{{ '%999999999d' is divisibleby(3) }}", "expects a number"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ 1 // 0 }}", "division by zero"),
        ("{{ 1 is divisibleby(0) }}", "division by zero"),
        ("{{ -numbers }}", "cannot be rendered"),
        ("{{ 1 < 'a' }}", "cannot be rendered"),
        ("{% for a, b in numbers %}{% endfor %}", "cannot be rendered"),
        ("{% for a in 3 %}{% endfor %}", "a loop iterates over a list, not over an int"),
        ("{{ empty | first }}", "`first` of an empty list"),
        ("{{ empty | max }}", "`max` of an empty list"),
        ("{{ 'x' | int }}", "cannot read a str as an int"),
        ("{{ 3 | length }}", "an int has no length"),
        ("{{ names | sum }}", "`sum` expects numbers"),
        ("{{ text | items }}", "expects a record"),
        ("{{ numbers['a':] }}", "whole numbers"),
        ("{{ numbers[::0] }}", "step of 0"),
        ("{{ range('a') }}", "whole numbers"),
        ("{{ range(1, 2, 0) }}", "step of 0"),
        ("{{ 'a' | indent(1000000000) }}", "indentation"),
        ("{{ [1] | tojson(indent=1000000000) }}", "0 to 8"),
        ("{{ [1] | batch(0) }}", "above 0"),
        ("{{ 1 | round(1000000) }}", "precision"),
        ("{{ " + " * ".join(["9" * 900] * 5) + " }}", "too many digits"),
    ],
)  # fmt: skip
def test_fails_at_its_line(template: str, words: str) -> None:
    with pytest.raises(TemplateError) as caught:
        Template.parse("one\ntwo\n" + template + "\n").render(VALUES)
    assert words in caught.value.message
    assert caught.value.line == 3


def shared(levels: int) -> list[Any]:
    """A value that is small in memory and 2 ** levels large when printed."""
    value: list[Any] = ["a" * 10]
    for _ in range(levels):
        value = [value, value]
    return value


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


MANY = list(range(100_000))
LONG = "a" * 1_000_000


@pytest.mark.parametrize(
    ("template", "values"),
    [
        ("{{ range(10 ** 9) }}".replace("10 ** 9", "1000000000"), {}),
        ("{{ range(" + "9" * 40 + ") }}", {}),
        ("{% for i in range(100001) %}{% endfor %}", {}),
        ("{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}", {}),
        ("{% for a in x %}" * 5 + "{% endfor %}" * 5, {"x": MANY[:100]}),
        ("{% for i in range(100000) %}" + "x" * 10_000 + "{% endfor %}", {}),
        ("{% for i in range(100000) %}" + "{% if y %}{% endif %}" * 2000 + "{% endfor %}", {"y": ""}),
        ("{% for i in range(100000) %}{{ x | sort | length }}{% endfor %}", {"x": MANY}),
        ("{% for i in range(100000) %}{{ x == y }}{% endfor %}", {"x": MANY, "y": list(MANY)}),
        ("{% for i in range(100000) %}{{ -1 in x }}{% endfor %}", {"x": MANY}),
        ("{% for i in range(100000) %}{% if x[1:] %}{% endif %}{% endfor %}", {"x": MANY}),
        ("{% for i in range(100000) %}{% if x + x %}{% endif %}{% endfor %}", {"x": MANY}),
        ("{{ x }}" * 200, {"x": LONG}),
        ("{{ [" + "x, " * 5000 + "] }}", {"x": LONG}),
        ("{{ x" + " ~ x" * 5000 + " }}", {"x": LONG}),
        ("{{ x" + " + x" * 50 + " }}", {"x": LONG}),
        ("{{ xs | join(x) }}", {"xs": MANY, "x": LONG}),
        ("{{ x | replace('a', x) }}", {"x": LONG}),
        ("{{ x | replace('', x) }}", {"x": LONG}),
        ("{{ x | indent(99) }}", {"x": "\n" * 1_000_000}),
        ("{{ x }}", {"x": shared(60)}),
        ("{{ x == y }}", {"x": shared(60), "y": shared(60)}),
        ("{{ x | tojson(indent=8) }}", {"x": shared(60)}),
        ("{{ x }}", {"x": deep(100_000)}),
        ("{{ [x, y] | max }}", {"x": deep(100_000), "y": deep(100_000)}),
        ("{{ x == y }}", {"x": deep(100_000), "y": deep(100_000)}),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else "",
)
def test_what_would_take_for_ever_is_refused_soon(template: str, values: dict[str, Any]) -> None:
    def render() -> None:
        with pytest.raises(TemplateError):
            Template.parse(template).render(values)

    within(3, render)


def test_ordinary_sizes_pass() -> None:
    text = "{% for n in numbers %}{{ loop.index }}. {{ n }}\n{% endfor %}{{ document }}"
    rendered = Template.parse(text).render({"numbers": MANY[:20_000], "document": LONG})
    assert rendered.endswith("20000. 19999\n" + LONG)


WORDS = [
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "x",
    "numbers",
    "|",
    "sort",
    "join",
    "(",
    ")",
    "[",
    "]",
    ".",
    ",",
    "'a'",
    "3",
    "for",
    "in",
    "if",
    "else",
    "endfor",
    "endif",
    "loop",
    "range",
    "-",
    "*",
    "~",
    "==",
    "is",
    "odd",
    "text",
    "%",
]
FRAGMENTS = st.lists(st.sampled_from([*WORDS, "\n"]), max_size=14).map(" ".join)


@tried(400)
@given(FRAGMENTS | st.text(max_size=30))
def test_whatever_is_written_gives_a_text_or_a_template_error(text: str) -> None:
    try:
        rendered = Template.parse(text).render({**VALUES, "x": 2})
    except TemplateError:
        return
    assert isinstance(rendered, str)


@given(st.text(alphabet=st.characters(exclude_characters="{}\r\n", exclude_categories=["Cs"])))
def test_a_text_without_braces_is_itself(text: str) -> None:
    assert Template.parse(text).render({}) == text


@pytest.mark.parametrize("call", [lambda: Template.parse("{{ x }} {{ y }}").render({"x": 1})])
def test_an_error_shows_nothing_of_jinja(call: Callable[[], str]) -> None:
    with pytest.raises(TemplateError) as caught:
        call()
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


PRINTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@tried(200)
@given(
    st.lists(st.sampled_from(["{{ a }}", "{{ b }}", "{{c}}", "{{ range }}", "text\n", " <&> "])),
    st.dictionaries(st.sampled_from("abc"), PRINTED),
)
def test_a_template_that_only_puts_in_values_is_what_jinja_would_make_of_it(
    parts: list[str], values: dict[str, Any]
) -> None:
    text = "".join(parts)
    plain = runnable(tree(text))
    assert isinstance(plain, PlainTemplate) == ("range" not in text)
    outcomes = []
    for template in (plain, SandboxedTemplate(tree(text))):
        try:
            outcomes.append((template.render(values), None))
        except TemplateError as error:
            outcomes.append((error.message, error.line))
    assert outcomes[0] == outcomes[1]


PIECES = ["{{ a }}", "{{b}}", "{{\n a\t}}", "{{ None }}", "{{ a | upper }}", "{{ a", "{{", "}}", "{", "}"]
PIECES += [
    "{#",
    "text",
    " ",
    "\n",
    "\r\n",
    "{% if a %}",
    "{%",
    "%}",
    "{{ _a }}",
    "{{ a.b }}",
    "{{- a }}",
    "é",
]


@tried(500)
@given(st.lists(st.sampled_from(PIECES), max_size=6))
def test_what_is_read_without_jinja_is_what_jinja_reads(pieces: list[str]) -> None:
    text = "".join(pieces)
    read = read_plain(text)
    try:
        root = tree(text)
        names, whole = check(root), runnable(root)
    except TemplateError:
        assert read is None
        return
    in_doubt = any(mark in text for mark in ("{%", "{#", "{{{", "{{-", "\r"))
    assert (read is not None) == (isinstance(whole, PlainTemplate) and not in_doubt)
    if read is not None:
        values = dict.fromkeys(names, "a text")
        assert read.render(values) == whole.render(values)
        places = [[(line, place_of(line)) for line in found.values()] for found in (read.names, names)]
        assert read.names.keys() == names.keys() and places[0] == places[1]


def place_of(line: int) -> int:
    """The number of the token."""
    assert isinstance(line, Place)
    return line.index


def test_a_prompt_that_only_shows_inputs_needs_no_jinja() -> None:
    code = (
        "import sys; from gotlang.templates import Template\n"
        "found = Template.parse('Sort {{ numbers }}: {{ how }}')\n"
        "print(found.render({'numbers': [2, 1], 'how': 'up'}), *found.names, 'jinja2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Sort [2, 1]: up numbers how False\n"
