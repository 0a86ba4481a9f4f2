"""Quoted texts: what is written between quotes is read back, whatever it is."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gotlang.syntax.texts import long_lines, quote, read_long, reindented, unescape

LONG = re.compile(r'"""[^"\\]*(?:(?:\\[\s\S]|"(?!""))[^"\\]*)*"""')
SHORT = re.compile(r'"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"')
texts = st.text(st.sampled_from([*' \t\n"\\nrtu0041ab\u2028\x00\r\x85\xa0é']), max_size=14)


def _long(lines: list[str], margin: int) -> str:
    pad = " " * margin
    return "\n".join(['"""', *(pad + line if line else "" for line in lines), pad + '"""'])


@given(texts)
def test_a_text_on_one_line(value: str) -> None:
    written = quote(value)
    assert SHORT.fullmatch(written)
    assert unescape(written[1:-1]) == value


@given(texts, st.integers(0, 8))
def test_a_text_on_lines(value: str, margin: int) -> None:
    written = _long(long_lines(value), margin)
    assert LONG.fullmatch(written)
    assert read_long(written[3:-3]) == value


@given(texts, st.integers(0, 8))
@example("\\\n\\\n", 0)
def test_lines_as_written_can_stand_at_any_margin(raw: str, margin: int) -> None:
    if not LONG.fullmatch(f'"""{raw}"""'):
        return
    value = read_long(raw)
    written = _long(reindented(raw, value), margin)
    assert LONG.fullmatch(written)
    assert read_long(written[3:-3]) == value
    assert _long(reindented(written[3:-3], value), margin) == written


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (r"a\tb\n", "a\tb\n"),
        (r"\d+ \frac{1}{2} \alpha", r"\d+ \frac{1}{2} \alpha"),
        (r"\u00e9 \u12", r"é \u12"),
        (r"\ud800", r"\ud800"),
        (r"\ud83c\udf89 \uDF89\uD83C", "🎉 " + r"\uDF89\uD83C"),
        (r"\\n", r"\n"),
        ('\\"', '"'),
    ],
)
def test_escapes(raw: str, value: str) -> None:
    assert unescape(raw) == value


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("\n    a\n      b\n    ", "a\n  b"),
        ("a\n    b", "a\nb"),
        ("\n\n    a\n\n\n", "\na"),
        ("\n    a \\\n    b\n", "a b"),
        ("\n    a\\\n    ", "a"),
        ("\n    a\\\\\n    ", "a\\"),
        ("\n    a\\n\n    ", "a\n"),
        ("\n    \\u0020 a\n    b  \\u0020\n", "  a\nb   "),
        ("\n\ta\n", "\ta"),
        ("  ", ""),
    ],
)
def test_what_a_long_text_loses(raw: str, value: str) -> None:
    assert read_long(raw) == value


def test_a_text_of_nothing_but_joined_lines_is_read_in_no_time() -> None:
    assert read_long("\\\n" * 200_000) == ""
