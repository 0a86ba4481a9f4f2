"""Prompts' texts: what they render to, what they refuse, and what they cost at most."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jinja2
import jinja2.nodes
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from support.laws import tried
from support.timing import within

from gotlang.errors import TemplateError
from gotlang.templates import Template, nodes
from gotlang.templates.filters import FILTERS, TESTS
from gotlang.templates.nodes import TemplatePlace
from gotlang.templates.render_state import Rendering

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
    ("{% from 'a' import b %}", "from"),
    ("{% include '/etc/passwd' %}", "include"),
    ("{% extends 'a' %}", "extends"),
    ("{% block a %}{% endblock %}", "block"),
    ("{% call f() %}{% endcall %}", "call"),
    ("{% filter upper %}{% endfilter %}", "filter"),
    ("{% with a = 1 %}{% endwith %}", "with"),
    ("{% autoescape true %}{% endautoescape %}", "autoescape"),
    ("{% print x %}", "print"),
    ("{% do x %}", "no tag `do`"),
    ("{% fro x in y %}{% endfor %}", "did you mean `for`?"),
    ("{% endif %}", "belongs to no block"),
    ("{% if x %}{% endfor %}", "the block to end is `{% if %}`"),
    ("{% if x %}{% else %}{% else %}{% endif %}", "belongs to no block"),
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
    ("{{ range(*x) }}", "unpack"),
    ("{{ 'a' if x }}", "else"),
    ("{{ x", "expected `}}`, not the end of the template"),
    ("{{ x y }}", "expected `}}`, not `y`"),
    ("{{ }}", "expected an expression, not `}}`"),
    ("{{ x ]", "unexpected `]`"),
    ("{{ (x] }}", "expected `)`, not `]`"),
    ("{{ x ? 1 : 2 }}", "unexpected character `?`"),
    ("{{ x | join(d=1, 2) }}", "after a named one"),
    ("{{ x | join(d=1, d=2) }}", "with the name of another"),
    ("{{ x.'y' }}", "a name or a number after `.`"),
    ("{{ x is odd is even }}", "only one test"),
    ("{{ '\\x4' }}", "truncated"),
    ("{# x", "no `#}` ends this"),
    ("{% raw %}{{ x }}", "no `{% endraw %}` ends this"),
    ("{% if x %}", "`{% if %}` has no `{% endif %}`"),
    ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "nested too deeply"),
    ("{{ 1" + " + 1" * 300 + " }}", "too deeply"),
    ("{{ x" + " | upper" * 100 + " }}", "too deeply"),
    ("{% if x %}" * 70 + "{% endif %}" * 70, "too deeply"),
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
        ("{{ range }}", "'range' is undefined"),
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
def test_an_error_shows_nothing_of_its_cause(call: Callable[[], str]) -> None:
    with pytest.raises(TemplateError) as caught:
        call()
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


# ---------------------------------------------------------------- beside Jinja


@jinja2.pass_context
def shown(_: Any, value: Any) -> Any:
    """A value as templates show it; of the context, for Jinja not to work it out when it parses."""
    return value if isinstance(value, str | jinja2.Undefined) else json.dumps(value, ensure_ascii=False)


class Jinja(ImmutableSandboxedEnvironment):
    """Jinja's parser, compiler and scopes, over the values, filters and sums of templates."""

    intercepted_binops = frozenset(["+", "-", "*", "/", "//", "%"])

    def __init__(self) -> None:
        super().__init__(
            undefined=jinja2.StrictUndefined,
            finalize=shown,
            trim_blocks=True,
            lstrip_blocks=True,
            cache_size=0,
            optimized=False,
        )
        self.globals = {"range": lambda *bounds: Rendering({}).range(*bounds)}
        self.filters = {name: self.filter(function, name) for name, function in FILTERS.items()}
        self.tests = {
            name: self.filter(lambda _, *given, test=test: test(*given), "default")
            for name, test in TESTS.items()
        }

    def filter(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """A filter as Jinja calls it."""

        def call(value: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(value, jinja2.Undefined):
                value = nodes.Missing("?") if name == "default" else str(value)
            return function(Rendering({}), value, *args, **kwargs)

        return call

    def getattr(self, obj: Any, attribute: str) -> Any:
        return getattr(obj, attribute) if isinstance(obj, LoopContext) else self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        for part in (obj, argument):
            if isinstance(part, jinja2.Undefined):
                str(part)
        if isinstance(argument, slice):
            return Rendering({}).slice(obj, argument.start, argument.stop, argument.step)
        found = nodes.part_of(obj, argument)
        return self.undefined(hint=found.message) if isinstance(found, nodes.Missing) else found

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        for side in (left, right):
            if isinstance(side, jinja2.Undefined):
                str(side)
        return nodes.Binary(1, operator, nodes.Const(1, left), nodes.Const(1, right)).value(Rendering({}))


JINJA = Jinja()
ABSENT = (
    "cannot use",
    "has no filter",
    "has no test",
    "has no tag",
    "can only call",
    "takes",
    "unpack",
    "needs",
    "ends this",
)
"""What Jinja has and templates do not; it also takes a `{#` at the very end."""


def beside_jinja(text: str, values: dict[str, Any]) -> str:
    """Check that a template is what Jinja would make of it, of which it has a part."""
    try:
        template = Template.parse(text)
    except TemplateError as error:
        if any(words in error.message for words in ABSENT):
            return "absent"
        with pytest.raises((jinja2.TemplateSyntaxError, SyntaxError, ValueError)):
            JINJA.from_string(text)
        return "refused"
    assume("range" not in template.names)
    theirs = JINJA.from_string(text)
    names = {name.name for name in JINJA.parse(text).find_all(jinja2.nodes.Name) if name.ctx == "load"}
    assert names - {"a", "b", "loop", "range"} <= template.names.keys() <= names
    try:
        found = template.render(values)
    except TemplateError:
        with pytest.raises((TemplateError, jinja2.TemplateError, TypeError, ValueError, ArithmeticError)):
            theirs.render(values)
        return "failed"
    assert found == theirs.render(values)
    return "rendered"


BASIC = st.sampled_from(
    ["n", "text", "numbers", "record", "gone", "a", "1", "2.5", "'x'", '"a\\nb"', "true", "none"]
)
ATOMS = (
    BASIC
    | st.sampled_from(["1_0", "0x1F", "1e2", "'a' 'b'", "[]", "{}", "loop.index", "loop.last"])
    | st.sampled_from(["record.left[0]", "numbers[-1]", "text[1:]", "-n"])
)


def expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions made of others."""
    binary = st.sampled_from(
        ["+", "-", "*", "/", "//", "%", "and", "or", "<", "==", "!=", ">=", "in", "not in"]
    )
    tests = st.sampled_from(
        ["defined", "undefined", "string", "number", "none", "odd", "divisibleby 2", "mapping"]
    )
    filters = st.sampled_from(
        ["length", "upper", "title", "trim", "first", "last", "default('d')", "default('d', true)", "list"]
    ) | st.sampled_from(
        [
            "join(', ')",
            "join",
            "reverse",
            "abs",
            "wordcount",
            "indent(2)",
            "indent('> ', first=true)",
            "string",
        ]
    )
    return st.one_of(
        st.builds("({})".format, inner),
        st.builds("{} {} {}".format, inner, binary, inner),
        st.builds("{} {} {} {} {}".format, inner, binary, inner, binary, inner),
        st.builds("{}({})".format, st.sampled_from(["-", "+"]), inner),
        st.builds("(not {})".format, inner),
        st.builds("{} if {} else {}".format, inner, inner, inner),
        st.builds("{} is {}{}".format, inner, st.sampled_from(["", "not "]), tests),
        st.builds("{} | {}".format, inner, filters),
        st.builds("(({}) | default(1)).{}".format, inner, st.sampled_from(["left", "0", "1"])),
        st.builds(
            "(({}) | default(1))[{}]".format, inner, inner | st.sampled_from(["1:", ":-1", "::2", "-1"])
        ),
        st.builds("[({}) | default(1), ({}) | default(2)]".format, inner, inner),
        st.builds("(({}) | string) ~ (({}) | string)".format, inner, inner),
        st.builds("{{'left': ({}) | default(1), 'b': ({}) | default(2)}}".format, inner, inner),
        st.builds("range({})".format, inner),
    )


EXPRESSIONS = st.recursive(ATOMS, expressions, max_leaves=6)
LISTED = EXPRESSIONS | st.builds("({}) | default(1), ({}) | default(2)".format, EXPRESSIONS, EXPRESSIONS)
SPACES = st.sampled_from(["", " ", "\n", "\n  ", " x ", "é\r\n"])
SIGNS = st.sampled_from(["", "", "", "-", "+"])


def blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Texts with blocks made of others."""
    targets = st.sampled_from(["a", "a, b", "(a, b)", "(a,)"])
    return st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds(
            "{}{{%{} if {} %}}{}{{% else{}%}}{}{{% endif %}}".format,
            SPACES, SIGNS, EXPRESSIONS, inner, SIGNS, inner,
        ),
        st.builds(
            "{{% if {} %}}{}{{% elif {}: %}}{}{{%{} endif %}}".format,
            EXPRESSIONS, inner, EXPRESSIONS, inner, SIGNS,
        ),
        st.builds(
            "{}{{% for {} in {} %}}{}{{% endfor{}%}}".format, SPACES, targets, LISTED, inner, SIGNS
        ),
        st.builds(
            "{{% for a in {} if {} %}}{}{{% else %}}{}{{% endfor %}}{}".format,
            EXPRESSIONS, EXPRESSIONS, inner, inner, SPACES,
        ),
        st.builds("{{%{} raw %}}{}{{%{} endraw %}}".format, st.sampled_from(["", "-"]), inner, SIGNS),
    )  # fmt: skip


TEXTS = st.recursive(
    SPACES
    | st.builds("{}{{{{{}{}{}}}}}".format, SPACES, SIGNS, LISTED, st.sampled_from(["", "-", " "]))
    | st.builds("{{#{}{}#}}{}".format, SIGNS, SPACES, SPACES),
    blocks,
    max_leaves=6,
)
GIVEN = st.fixed_dictionaries(
    {
        "n": st.integers(-3, 5) | st.floats(-2, 3),
        "a": st.booleans() | st.just("a & <b>"),
        "text": st.text(alphabet="ab <\n-é", max_size=6),
        "numbers": st.lists(st.integers(-2, 3), max_size=3),
        "record": st.fixed_dictionaries({"left": st.lists(st.text("xy", max_size=2), max_size=2)}),
    }
)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # of Python, which compiles what Jinja makes
@tried(600)
@given(TEXTS, GIVEN)
def test_a_template_is_what_jinja_makes_of_it(text: str, values: dict[str, Any]) -> None:
    event(beside_jinja(text, values))


@tried(600)
@given(FRAGMENTS)
def test_what_is_refused_is_refused_by_jinja(text: str) -> None:
    event(beside_jinja(text, VALUES))


@given(
    st.lists(
        st.sampled_from(["{{ a }}", "{{b}}", "{{\n c.d\t}}", "{{ e | upper }}", "text\n", "{#\n#}", "é"])
    )
)
def test_a_place_is_where_the_name_stands(pieces: list[str]) -> None:
    text = "".join(pieces)
    for name, place in Template.parse(text).names.items():
        assert isinstance(place, TemplatePlace)
        assert text[place.start : place.end] == name
        assert place == text.count("\n", 0, place.start) + 1
        assert not set(re.findall(rf"[^a-z]{name}[^a-z]", text[: place.start]))


def test_a_place_of_a_text_with_other_line_breaks_is_its_line() -> None:
    place = Template.parse("one\r\ntwo\r{{ x }}").names["x"]
    assert place == 3 and not isinstance(place, TemplatePlace)


def test_templates_need_no_jinja() -> None:
    code = (
        "import sys; from gotlang.templates import Template\n"
        "found = Template.parse('Sort {% for n in numbers %}{{ n | abs }}{% endfor %}: {{ how }}')\n"
        "print(found.render({'numbers': [2, -1], 'how': 'up'}), *found.names, {'jinja2'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Sort 21: up numbers how set()\n"
