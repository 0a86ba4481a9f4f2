"""Values found inside free text, and plain values made to fit a type."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gotlang.answers import literals
from gotlang.answers.conversion import convert, from_text
from gotlang.answers.literals import Quality, literal, number, scan, strict
from gotlang.errors import ReadError
from gotlang.turns import MESSAGE
from gotlang.types import (
    BOOL,
    DEEPEST,
    DYNAMIC,
    FLOAT,
    INT,
    STR,
    DictType,
    ListType,
    LiteralType,
    RecordType,
    Type,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42), ("-7", -7), ("+7", 7),
        ("\N{MINUS SIGN}7", -7), ("1,234,567", 1234567), ("$1,234.5", 1234.5),
        ("85 %", 85), ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0), ("1_000", 1000), (" 3 ", 3),
        ("12,34", None), ("", None), ("-", None), ("$", None), ("x", None), ("1.2.3", None), ("nan", None),
        ("inf", None), ("1e999", None), ("9" * 5000, None), ("0x10", None), ("٣", None),
    ],
)  # fmt: skip
def test_number(text: str, value: float | None) -> None:
    found = number(text)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("no brackets", []),
        ("[1] and {'a': 2}", [[1], {"a": 2}]),
        ("[1, [2, (3, 4)]]", [[1, [2, [3, 4]]]]),
        ("a (see below) f() g(x)", []),
        ("(1, 2)", [[1, 2]]),
        ("([1], [2])", [[[1], [2]]]),
        ("{}", [{}]),
        ("{1, 2}", [[1, 2]]),
        ('{"a": 1,, "b": 2,}', [{"a": 1, "b": 2}]),
        ('{"a": , "b": 1}', [{"b": 1}]),
        ('{"a": {"b": [1, 2}', [{"a": {"b": [1, 2]}}]),
        ("[1, 2) [3]", [[3]]),
        ("[1: 2]", []),
        ("[[1, 2] and more", [[1, 2]]),
        ("[http://x.org, 2]", []),
        ("{url: 'http://x.org'} // [1]", [{"url": "http://x.org"}, [1]]),
        ("[1, /* never ends", [[1]]),
        ("[1,\n2\nthat is all", [[1, 2]]),
        ("[1, 2", [[1, 2]]),
        ("[1, [2, 3", [[2, 3], [1]]),
        ('["a", "b', [["a"]]),
        ('["never ends] [1]', [[1]]),
        ("[a, b", []),
    ],
)  # fmt: skip
def test_scan(text: str, values: list[Any]) -> None:
    assert [found.value for found in scan(text)] == values


@pytest.mark.parametrize(
    ("text", "quality", "whole"),
    [
        ("[1]", Quality.CLEAN, True),
        ("[word]", Quality.WORDS, True),
        ("{name: 1}", Quality.CLEAN, True),
        ("(1, 2)", Quality.TUPLE, True),
        ("([1])", Quality.CLEAN, True),
        ("[[1] is", Quality.PIECE, True),
        ("[1", Quality.CLEAN, False),
    ],
)
def test_quality(text: str, quality: Quality, whole: bool) -> None:
    (found,) = scan(text)
    assert (found.quality, found.whole) == (quality, whole)


def test_nesting_ends_somewhere() -> None:
    inside = "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1)
    assert strict(f"[{inside}]") and literal(f"[{inside}]")
    for text in (f"[[{inside}]]", f"[[{inside},]]"):
        with pytest.raises(ValueError, match=r"deep|not a list"):
            literal(text)
    with pytest.raises(ValueError, match="deep"):
        strict(f"[[{inside}]]")


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "9" * 5000, "[1,]", "'a'", "", "[" * 100_000])
def test_strict_is_json_only(text: str) -> None:
    with pytest.raises(ValueError):
        strict(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 2]", [1, 2]),
        ("['a', 'b']", ["a", "b"]),
        ("[Peru, Costa Rica]", ["Peru", "Costa Rica"]),
        ("Counter({'a': 1})", {"a": 1}),
        ("(1, 2)", [1, 2]),
        (" {'a': None} ", {"a": None}),
    ],
)
def test_literal(text: str, value: Any) -> None:
    assert literal(text) == value


@pytest.mark.parametrize("text", ["", "1", "word", "[1] [2]", "[1", "see [1]", "[1] x", "f(1)", "[[1] x]"])
def test_what_is_no_literal(text: str) -> None:
    with pytest.raises(ValueError):
        literal(text)


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("7", INT, 7), ("7.0", INT, 7), ("1,234", INT, 1234), ("0.5", FLOAT, 0.5), ("yes", BOOL, True),
        ("False", BOOL, False), ("0", BOOL, False), (" as it is ", STR, " as it is "), ("", STR, ""),
        ("[1, 2]", ListType(INT), [1, 2]), ("1, 2", ListType(INT), [1, 2]),
        ("1 1 4 6", ListType(INT), [1, 1, 4, 6]), ("1;2", ListType(FLOAT), [1, 2]),
        ("a b, c", ListType(STR), ["a b", "c"]), ("['a, b']", ListType(STR), ["a, b"]),
        ("sure, likely", ListType(LiteralType(("sure", "likely"))), ["sure", "likely"]),
        ("[[1], [2]]", ListType(ListType(INT)), [[1], [2]]), ("{'a': 1}", DictType(INT), {"a": 1}),
        ('{"Left": 1}', RecordType((("left", INT),)), {"left": 1}),
        ("[1]", DYNAMIC, [1]), ("7", DYNAMIC, 7), ("true", DYNAMIC, True), ("None", DYNAMIC, "None"),
        ("['a']", DYNAMIC, ["a"]),
        ("x y", DYNAMIC, "x y"),
    ],
)  # fmt: skip
def test_from_text(text: str, type_: Type, value: Any) -> None:
    found = from_text(text, type_)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "type_", "reason"),
    [
        ("", INT, "expected int, found nothing"),
        ("", ListType(INT), "found nothing"),
        ("seven", INT, "expected int, found 'seven'"),
        ("7.5", INT, "expected int, found '7.5'"),
        ("maybe", BOOL, "expected bool"),
        ("1, x", ListType(INT), "element 1: expected int, found 'x'"),
        ("[1, 2", ListType(INT), "expected list[int], found '[1, 2'"),
        ("[1] [2]", ListType(INT), "expected list[int]"),
        ("1, 2", ListType(ListType(INT)), "expected list[list[int]]"),
        ("a: 1", DictType(INT), "expected dict[str, int]"),
    ],
)
def test_from_text_refuses(text: str, type_: Type, reason: str) -> None:
    with pytest.raises(ReadError) as caught:
        from_text(text, type_)
    assert reason in caught.value.message


@pytest.mark.parametrize(
    ("value", "type_", "reason"),
    [
        ({"a": {"b": 1}, "c": 2}, DictType(INT), "entry `a`: expected int, found an object with `b`"),
        ([1, 2], INT, "expected int, found a list of 2"),
        ([[1, "x"]], ListType(INT), "element 1: expected int, found 'x'"),
        (
            [{"role": "tool", "content": ""}],
            ListType(MESSAGE),
            """element 0: field `role`: expected "system" | "user" | "assistant", found 'tool'""",
        ),
        ({}, INT, "expected int, found an empty object"),
        (True, INT, "expected int, found True"),
        (float("nan"), FLOAT, "expected float, found nan"),
        (10**400, FLOAT, "expected float"),
        (None, STR, "expected str, found nothing"),
        ([float("inf")], DYNAMIC, "inf is not a number"),
        ([object()], DYNAMIC, "unsupported object"),
        ("x" * 1000, INT, "..."),
        ({f"field {i}": 0 for i in range(9)}, RecordType((("left", INT),)), "field `left` is missing"),
    ],
)
def test_convert_refuses(value: Any, type_: Type, reason: str) -> None:
    with pytest.raises(ReadError) as caught:
        convert(value, type_)
    assert reason in caught.value.message
    assert len(caught.value.message) < 150


PIECES = [
    *"[](){},:'\" \n1x",
    *("[1, 2, 3]", "[-4,5]", "[ 007 ]", "[1\n,2]", "[]", '"a"', "-3", "...", "```", "//", "# c", "/* */"),
    *("[10,\n 20]", "[1,\xa02]", "[1,\x1c2]", "Sorted: ", '["k", [1, 2]]', '{"a": [1,2]}', "\r"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
def test_a_list_of_integers_is_read_at_once_as_token_by_token(text: str) -> None:
    at_once = literals.scan(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(literals, "_INTEGERS", re.compile(r"(?!)"))
        assert repr(literals.scan(text)) == repr(at_once)
