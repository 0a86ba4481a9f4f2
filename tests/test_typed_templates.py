"""What a template does with its inputs is checked against their types: what passes renders for any values."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from support.laws import tried

from gotlang.errors import TemplateError
from gotlang.templates import Template
from gotlang.templates.filters import FILTERS, TESTS
from gotlang.types import (
    BOOL,
    DYNAMIC,
    FLOAT,
    INT,
    STR,
    DictType,
    DynamicType,
    ListType,
    LiteralType,
    OptionalType,
    PairType,
    RecordType,
    Type,
    UnionType,
    case_type,
    optional,
)

STEP = UnionType((case_type("Act", [("tool", STR), ("n", INT)]), case_type("Finish", [("answer", STR)])))
TYPES: dict[str, Type] = {
    "i": INT,
    "f": FLOAT,
    "s": STR,
    "b": BOOL,
    "xs": ListType(INT),
    "ss": ListType(STR),
    "xxs": ListType(ListType(INT)),
    "r": RecordType((("left", INT), ("task", STR), ("part", ListType(FLOAT)))),
    "rs": ListType(RecordType((("left", INT), ("task", STR)))),
    "d": DictType(INT),
    "mode": LiteralType(("plain", "json")),
    "step": STEP,
    "steps": ListType(STEP),
    "o": optional(INT),
    "os": ListType(optional(STR)),
    "om": optional(LiteralType(("plain", "json"))),
    "step2": optional(STEP),
    "deep": RecordType((("step", optional(STEP)), ("o", optional(INT)))),
    "any": DYNAMIC,
    "pair": PairType((INT, STR)),
}

BY_DATA = (
    "there is no element",
    "there is no field",
    "of an empty",
    "cannot read a str",
    "a division by zero",
    "a record has no",
    "a list has no",
    "too many",
    "too much work",
    "digits",
    "than its loop has names",
)
"""What may still fail, by the values alone."""


@st.composite
def values(draw: st.DrawFn, type_: Type) -> Any:
    """A value of a type."""
    match type_:
        case ListType(element=element):
            return [draw(values(element)) for _ in range(draw(st.integers(0, 3)))]
        case DictType(value=value):
            return {name: draw(values(value)) for name in draw(st.lists(st.sampled_from("abc"), max_size=3))}
        case RecordType(fields=fields):
            return {name: draw(values(inner)) for name, inner in fields}
        case UnionType(cases):
            return draw(values(draw(st.sampled_from(cases))))
        case LiteralType(values=texts):
            return draw(st.sampled_from(texts))
        case OptionalType(inner=inner):
            return draw(values(inner) | st.none())
        case PairType(types=types):
            return [draw(values(inner)) for inner in types]
        case DynamicType():
            return draw(
                values(draw(st.sampled_from([INT, STR, FLOAT, BOOL, STEP, ListType(INT)]))) | st.none()
            )
    simple: dict[Type, st.SearchStrategy[Any]] = {
        INT: st.integers(-9, 9),
        FLOAT: st.floats(-9, 9) | st.integers(-3, 3),
        STR: st.sampled_from(["", "a", "7", "a b", "left", "%s"]),
        BOOL: st.booleans(),
    }
    return draw(simple[type_])


NAMES = st.sampled_from([*TYPES, "x", "y", "loop.index", "loop.last", "loop.previtem", "loop.nextitem"])
ATOMS = NAMES | st.sampled_from(["0", "1", "-1", "2.5", "'a'", "'left'", "true", "none", "[]", "[1, 'a']"])
FIELDS = st.sampled_from(["step", "o", "left", "task", "part", "tool", "answer", "type", "a", "n"])


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    """An expression of a template, of any type or none."""
    if depth == 0:
        return draw(ATOMS)
    inner = expressions(depth - 1)
    a, b, c = draw(inner), draw(inner), draw(inner)
    field = draw(FIELDS)
    sign = draw(st.sampled_from(["+", "-", "*", "/", "//", "%", "~", "==", "<", "in", "and", "or", ">="]))
    name = draw(st.sampled_from([*sorted(FILTERS)]))
    test = draw(st.sampled_from([*sorted(TESTS)]))
    arguments = {
        "replace": f"({b}, {c})",
        "batch": f"({draw(st.integers(0, 2))})",
        "map": f"(attribute='{field}')",
        "sum": draw(st.sampled_from(["", f"(attribute='{field}')"])),
        "sort": draw(st.sampled_from(["", f"(attribute='{field}')", "(reverse=true)"])),
        "join": f"({b})",
        "default": f"({b})",
        "round": draw(st.sampled_from(["", "(2)", f"({b})"])),
        "int": draw(st.sampled_from(["", f"({b})"])),
        "trim": draw(st.sampled_from(["", f"({b})"])),
        "indent": draw(st.sampled_from(["", f"({b})"])),
        "tojson": draw(st.sampled_from(["", "(2)", f"({b})"])),
    }.get(name, "")
    return draw(
        st.sampled_from(
            [
                a,
                f"{a}.{field}",
                f"({a})['{field}']",
                f"({a})[{b}]",
                f"({a})[{b}:{c}]",
                f"({a}) {sign} ({b})",
                f"-({a})",
                f"not ({a})",
                f"[{a}, {b}]",
                f"({a}, {b})",
                f"{{'left': {a}, {b}: {c}}}",
                f"({a} if {b} else {c})",
                f"range({a})",
                f"range({a}, {b}, {c})",
                f"({a}) | {name}{arguments}",
                f"({a}) | {name}{arguments}",
                f"({a}) is {test}" + (f"({b})" if test == "divisibleby" else ""),
            ]
        )
    )


CONDITIONS = st.sampled_from(
    [
        "loop.first",
        "not loop.last",
        "loop.previtem is defined",
        "step.type == 'Act'",
        "o is not none",
        "o != none",
        "x",
        "om == 'json'",
        "om in ['json', 'plain']",
        "om not in ['json', none]",
        "step2 and step2.type == 'Act'",
        "not (step2 is none or step2.type != 'Act')",
        "deep.step",
        "deep.o is not none and deep.step and deep.step.type == 'Act'",
        "any is string",
        "any is number",
        "any is mapping",
        "any is sequence",
        "not (any is none)",
        "mode == 'json'",
        "x.type != 'Act'",
        "step.type in ['Finish']",
        "not (step.type == 'Act' and b)",
        "b or step.type == 'Finish'",
    ]
)


@st.composite
def templates(draw: st.DrawFn, depth: int = 2) -> str:
    """A template; most have a type error."""
    shown = "{{ " + draw(expressions(draw(st.integers(0, 2)))) + " }}"
    if depth == 0:
        return shown
    body = draw(templates(depth - 1))
    condition = draw(CONDITIONS | expressions(1))
    iterable = draw(
        st.sampled_from(["xs", "rs", "steps", "d", "d | items", "s", "os", "any", "pair"]) | expressions(1)
    )
    target = draw(st.sampled_from(["x", "x", "x, y", "i"]))
    return draw(
        st.sampled_from(
            [
                shown,
                shown + body,
                f"{{% for {target} in {iterable} %}}{body}{{% endfor %}}",
                f"{{% for {target} in {iterable} if {condition} %}}{body}{{% else %}}{shown}{{% endfor %}}",
                f"{{% if {condition} %}}{body}{{% else %}}{shown}{{% endif %}}",
                f"{{% if {condition} %}}{shown}{{% elif b %}}{shown}{{% else %}}{body}{{% endif %}}",
            ]
        )
    )


@given(templates(), st.data())
@tried(1000)
@example("{% for x, y in r | items %}{{ x }}{{ y }}{% endfor %}", None)
def test_what_passes_the_check_renders(text: str, data: st.DataObject | None) -> None:
    try:
        template = Template.parse(text)
    except TemplateError:
        return
    if template.names.keys() - TYPES.keys() or template.problems(TYPES):
        return
    given_values = {name: data.draw(values(TYPES[name])) for name in template.names} if data else {"r": {}}
    try:
        template.render(given_values)
    except TemplateError as error:
        assert any(reason in error.message for reason in BY_DATA), f"{text}: {error.message}"
