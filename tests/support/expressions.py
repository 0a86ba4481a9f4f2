"""Expressions over names of every kind of type."""

from __future__ import annotations

import re
from random import Random
from typing import Any

from hypothesis import strategies as st

from gotlang.types import (
    BOOL,
    FLOAT,
    INT,
    NEVER,
    STR,
    DictType,
    DynamicType,
    ListType,
    LiteralType,
    OptionalType,
    PairType,
    RecordType,
    Simple,
    Type,
    optional,
)

NAMES: dict[str, Type] = {
    "i": INT,
    "x": FLOAT,
    "t": STR,
    "b": BOOL,
    "v": LiteralType(("sure", "likely")),
    "mi": optional(INT),
    "mt": optional(STR),
    "xs": ListType(INT),
    "ts": ListType(STR),
    "ms": ListType(optional(INT)),
    "ls": ListType(ListType(FLOAT)),
    "d": DictType(INT),
    "r": RecordType((("n", INT), ("t", STR), ("best", optional(STR)))),
    "rs": ListType(RecordType((("n", INT), ("t", STR)))),
    "p": PairType((INT, STR)),
}


def values(type_: Type) -> st.SearchStrategy[Any]:
    """Values of a type."""
    match type_:
        case Simple("int"):
            return st.integers(-4, 9)
        case Simple("float"):
            return st.integers(-4, 9) | st.floats(-4, 9)
        case Simple("str"):
            return st.sampled_from(["", "a", "b c", "1", "n", "<1>"])
        case Simple("bool"):
            return st.booleans()
        case LiteralType(values=texts):
            return st.sampled_from(texts)
        case OptionalType(inner=inner):
            return st.none() | values(inner)
        case ListType(element=element):
            return st.just([]) if element == NEVER else st.lists(values(element), max_size=3)
        case PairType(types=types):
            return st.tuples(*map(values, types)).map(list)
        case DictType(value=value):
            return st.dictionaries(st.sampled_from(["n", "t", "a"]), values(value), max_size=3)
        case RecordType(fields=fields):
            return st.fixed_dictionaries({name: values(inner) for name, inner in fields})
        case DynamicType():
            return st.none() | st.integers() | st.text(max_size=2)
    raise AssertionError(type_)


_ATOMS = {
    "int": ["i", "0", "1", "3", "r.n", "len(xs)"],
    "float": ["x", "2.5", "pi", "i"],
    "str": ["t", '"a"', "v", "r.t", "p[1]"],
    "bool": ["b", "true", 'v == "sure"'],
    "int?": ["mi", "none", "i", "ms[0]"],
    "str?": ["mt", "none", "r.best", "t"],
    "list[int]": ["xs", "[]", "[1, 2]", "keys(d)"],
    "list[str]": ["ts", "[]", "keys(r)", '["b", t]'],
    "list[int?]": ["ms", "[none, 1]", "xs"],
    "records": ["rs", "[]", "[{n: 1, t: t}]"],
    "record": ["r", "{...r, n: 2}", "{n: 1, t: t, best: none}"],
}
_PARTS = {
    "int": [
        "({int} + {int})",
        "({int} - {int})",
        "({int} * {int})",
        "({int} // {int})",
        "({int} % {int})",
        "round({float})",
        "len({any})",
        "sum({list[int]})",
        "max({list[int]})",
        "min({int}, {int})",
        "({int?} if {int?} != none else {int})",
        "(mi + {int} if mi != none else {int})",
        "descents({any})",
        "count({any}, {any})",
        "{list[int]}[{int}]",
        "get(d, {str}, {int})",
        "{record}.n",
        "count_difference({any}, {any})",
        "(ms[0] if ms[0] != none else {int})",
    ],
    "float": [
        "({int} / {float})",
        "mean({any})",
        "max({float}, {int})",
        "({float} ** {int})",
        "abs({float})",
        "sum(ls[0])",
    ],
    "str": [
        "({str} + {str})",
        "upper({str})",
        "join({list[str]}, {str})",
        "str({any})",
        "(mt if mt != none else {str})",
        "(r.best if r.best != none and len(r.best) > {int} else {str})",
        "{str}[{int}:]",
        "fill({str}, {any})",
        "max({any})",
    ],
    "bool": [
        "({any} < {any})",
        "({any} == {any})",
        "({any} in {any})",
        "(not {bool})",
        "({bool} and {bool})",
        "({any} <= {any})",
        "(mt == none or len(mt) > {int})",
        "(mi != none and mi > {int})",
        "any([{bool}])",
        "({int} < {int} <= {float})",
    ],
    "int?": ["({int} if {bool} else none)", "get(d, {str}, none)", "{list[int?]}[{int}]"],
    "str?": ["({str} if {bool} else none)", "{record}.best"],
    "list[int]": [
        "sorted({any})",
        "[y + 1 for y in {list[int?]} if y != none]",
        "({list[int]} + {list[int]})",
        "set({any})",
        "[i * y for i, y in enumerate({list[int]})]",
        "range({int})",
        "unique({any})",
        "values(d)",
        "[a + len(c) for a, c in zip({list[int]}, {list[str]})]",
        "{list[int]}[{int}:]",
        "difference({any}, {any})",
        "[y.n for y in {records}]",
        "flatten(chunks({list[int]}, {int}))",
        "reversed({any})",
    ],
    "list[str]": [
        "split({str})",
        "sorted({any})",
        "concat({list[str]}, [{str}])",
        "[upper(y) for y in {list[str]}]",
        "values(r)",
        "chunks({str}, {int})",
    ],
    "list[int?]": ["[{int?}, {int}]", "[get(d, y, none) for y in {list[str]}]"],
    "records": [
        "[y for y in {records} if y.n > {int}]",
        "[{{...y, n: {int}}} for y in {records}]",
        "sorted({any})",
        "[{any}, {any}]",
    ],
    "record": [
        "{{...{record}, n: {int}}}",
        "{{...{record}, t: {str}, best: {str?}}}",
        "({record} if {bool} else r)",
    ],
}


def expression(rng: Random, kind: str, depth: int) -> str:
    """An expression of a kind, which most likely has a type; its parts of kind `any` are of one kind."""
    if depth <= 0 or rng.random() < 0.1:
        return rng.choice(_ATOMS[kind])
    pattern, one = rng.choice(_PARTS[kind]), rng.choice(sorted(_ATOMS))

    def part(match: re.Match[str]) -> str:
        wanted = one if match[1] == "any" else match[1]
        return expression(rng, rng.choice(sorted(_ATOMS)) if rng.random() < 0.03 else wanted, depth - 1)

    return re.sub(r"\{([a-z]+(?:\[[a-z?]+\])?\??)\}", part, pattern).replace("{{", "{").replace("}}", "}")


texts = st.builds(
    expression, st.randoms(use_true_random=False), st.sampled_from(sorted(_ATOMS)), st.integers(2, 5)
)
"""Texts of expressions, most of which have a type."""
