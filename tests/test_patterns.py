"""Line patterns: what they match, what they refuse, and that they take no more than linear time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.timing import within

from gotlang.answers.forms import Pattern, PatternError

STEP = "{left} + {right} = {result} (left: {rest})"


@pytest.mark.parametrize(
    ("pattern", "line", "found"),
    [
        (STEP, "2 + 8 = 10 (left: 8 10 14)", {"left": "2", "right": "8", "result": "10", "rest": "8 10 14"}),
        (STEP, "2+8=10(left: 8)", {"left": "2", "right": "8", "result": "10", "rest": "8"}),
        (STEP, "2 +  8\t= 10 (LEFT: 8), good", {"left": "2", "right": "8", "result": "10", "rest": "8"}),
        (STEP, "2 - 8 = -6 (left: 8)", None),
        (STEP, "2 + 8 = 10 (left: )", None),
        (STEP, "2 + 8 = 10 (left: 8", None),
        ("{a} - {b}", "-3 - 5", {"a": "-3", "b": "5"}),
        ("{a} - {b}", "well-known - thing", {"a": "well-known", "b": "thing"}),
        ("{a} is {b}", "this thing is red", {"a": "this thing", "b": "red"}),
        ("{a} is {b}", "this thing", None),
        ("Answer: {x}", "So the answer:42", {"x": "42"}),
        ("{a} {b}", " x  y z ", {"a": "x", "b": "y z"}),
        ("{_}: {x} {}", "a: b c", {"x": "b"}),
        ("{{{a}}}", "set {1}", {"a": "1"}),
        ("{a}", "  all of it ", {"a": "all of it"}),
        ("{a}", "   ", None),
        ("{a}.*{b}", "x.*y", {"a": "x", "b": "y"}),
    ],
)
def test_match(pattern: str, line: str, found: dict[str, str] | None) -> None:
    assert Pattern.parse(pattern).match(line) == found


def test_holes_are_named_in_order() -> None:
    assert Pattern.parse(STEP).holes == ("left", "right", "result", "rest")
    assert Pattern.parse("{b} {_} {a} {}").holes == ("b", "a")


def test_fill() -> None:
    assert Pattern.parse("{{{a}}} of {_}: {b}").fill({"a": "1", "b": "2"}) == "{1} of ...: 2"


@pytest.mark.parametrize(
    ("pattern", "message", "offset"),
    [
        ("a {b", "`{` without its `}`", 2),
        ("a} {b}", "`}` without its `{`", 1),
        ("{a}{b}", "two placeholders need a text between them", 3),
        ("{a} {a}", "duplicate placeholder `a`", 4),
        ("{1a}", "`1a` is not a valid name of a placeholder", 0),
        ("{a b}", "`a b` is not a valid name of a placeholder", 0),
        ("text", "a pattern needs a named placeholder", 0),
        ("", "a pattern needs a named placeholder", 0),
        ("{_} {}", "a pattern needs a named placeholder", 0),
        ("{a}\n{b}", "a pattern is one line", 3),
        (" ".join(f"{{a{i}}}" for i in range(60)), "more than 50 holes", 290),
    ],
)
def test_refused(pattern: str, message: str, offset: int) -> None:
    with pytest.raises(PatternError) as caught:
        Pattern.parse(pattern)
    assert message in str(caught.value)
    assert caught.value.offset == offset


@given(st.lists(st.integers(), min_size=4, max_size=4))
def test_what_is_filled_is_matched(numbers: list[int]) -> None:
    pattern = Pattern.parse(STEP)
    contents = dict(zip(pattern.holes, map(str, numbers), strict=True))
    assert pattern.match(pattern.fill(contents)) == contents


@given(st.text(alphabet="{}ab_ +=", max_size=20), st.text(alphabet="ab_ +=\t", max_size=40))
def test_any_pattern_matches_or_is_refused(text: str, line: str) -> None:
    try:
        pattern = Pattern.parse(text)
    except PatternError as error:
        assert 0 <= error.offset <= len(text)
        return
    found = pattern.match(line)
    assert found is None or set(found) == set(pattern.holes)


LONG = {
    "letters": "a" * 100_000,
    "spaces": " " * 100_000,
    "a run of spaces": "a" + " " * 100_000,
    "words": "a " * 50_000,
    "signs": "+ " * 50_000,
    "both": "a+" * 50_000,
}


@pytest.mark.parametrize("line", LONG.values(), ids=LONG)
def test_long_lines_take_linear_time(line: str) -> None:
    pattern = Pattern.parse(" + ".join(f"{{h{i}}}" for i in range(10)) + " = {end}")
    within(2, lambda: (pattern.match(line), pattern.match(line + " = x")))
