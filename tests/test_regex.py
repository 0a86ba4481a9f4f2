"""Regular expressions: matching in linear time, their form for llama.cpp, and what is sent."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.laws import tried
from support.openai_server import OpenAIServer
from support.timing import within

from gotlang.answers.regex import Regex, RegexError, escaped, wrong_in_grammar
from gotlang.api import Options, check, compile
from gotlang.errors import GotError, LimitExceeded

ATOMS = st.sampled_from(
    ["a", "b", "1", "_", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", ".", "[ab]", "[^a1]", r"[\d\s-]", r"\.",
     r"[^\w]", "[]a]", "[a-]", r"\x41", r"\n", "é", "{", "-"]
)  # fmt: skip
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}"])).map(
            lambda p: f"(?:{p[0]}){p[1]}"
        ),
    ),
    max_leaves=8,
)
TEXTS = st.text("ab1_ .-A\né{]", max_size=6)


@tried(200)
@given(PATTERNS, TEXTS, st.data())
def test_it_matches_what_python_s_own_matches(pattern: str, text: str, data: st.DataObject) -> None:
    try:
        found = Regex.parse(pattern)
    except RegexError as error:
        assume("may be empty" not in error.message)
        raise
    theirs = re.compile(pattern, re.ASCII)
    for one in (text, data.draw(st.from_regex(theirs, fullmatch=True))):
        assert found.matches(one) is (theirs.fullmatch(one) is not None)
    assert wrong_in_grammar(found.gbnf()) is None


@given(st.text(max_size=20))
def test_an_escaped_text_matches_itself_alone(text: str) -> None:
    found = Regex.parse(escaped(text))
    assert found.matches(text)
    assert not found.matches(text + "a")


@pytest.mark.parametrize(
    ("pattern", "offset"),
    [
        ("a(", 1), ("a)", 1), ("ab**", 3), ("(?=x)", 0), ("a\\b", 1), ("a[b", 1), ("[z-a]", 2), ("|*", 1),
        ("a{3,2}", 1), ("x$y", 1), ("\\1", 0), ("(a*)*", 4), ("(a{1000}){1000}", 9), ("a+?", 2),
        ("(?P<n>a)", 0), ("\\x4", 0), ("(" * 60, 50),
    ],
)  # fmt: skip
def test_what_is_wrong_has_its_place(pattern: str, offset: int) -> None:
    with pytest.raises(RegexError) as caught:
        Regex.parse(pattern)
    assert caught.value.offset == offset


def test_no_expression_takes_long() -> None:
    long = Regex.parse("(a|a|aa)+(a?){20}b")
    assert not within(10, lambda: long.matches("a" * 5_000))
    several, chance = Regex.parse("(?:.*[^x]){300}"), random.Random(1)
    text = "".join(chr(chance.randrange(200, 5_000)) for _ in range(100_000))

    def refused() -> None:
        with pytest.raises(LimitExceeded):
            several.matches(text)

    within(10, refused)


@pytest.mark.parametrize(
    ("text", "words", "offset"),
    [
        ('root ::= "a" | b\nb ::= [0-9]+ # digits', None, 0),
        ('root ::= ("a" "b"', "`(` without", 9),
        ('root ::= "a")', "`)` without", 12),
        ("root ::= name", "no rule `name`", 9),
        ('answer ::= "a"', "no rule `root`", 0),
        ('"a"', "begins with a rule", 0),
        ('root ::= "a', "not valid in a grammar", 9),
        ('root ::= "a"\nroot ::= "b"', "second rule", 13),
    ],
)
def test_a_grammar_is_looked_through(text: str, words: str | None, offset: int) -> None:
    found = wrong_in_grammar(text)
    assert found is None if words is None else found is not None and words in found[0] and found[1] == offset


PROGRAM = """\
prompt rate(text: str) -> int:
    SETTING
    "{{ text }}"

scheme rated(text: str) -> int:
    Generate() rate(text)
"""


def run(server: OpenAIServer, setting: str, folder: Path, **more: Any) -> Any:
    options = Options(model="openai:small", base_url=server.url, cache=folder / "c.sqlite", **more)
    return compile(PROGRAM.replace("SETTING", setting)).run(text="?", options=options)


def test_local_servers_get_it_in_their_forms_and_the_answer_is_checked(tmp_path: Path) -> None:
    with OpenAIServer(lambda body, index: "7\n") as server:
        assert run(server, 'regex "^10|[0-9]$"', tmp_path).value == 7
        with pytest.raises(GotError, match=r"does not match `\[0-6\]`"):
            _ = run(server, 'regex "[0-6]"', tmp_path).value
        assert run(server, 'grammar "root ::= [0-9]"', tmp_path).value == 7
    regex, _, grammar = (seen.body for seen in server.requests)
    assert regex["structured_outputs"] == {"regex": "10|[0-9]"}
    assert regex["guided_regex"] == "10|[0-9]"
    assert regex["grammar"] == "root ::= (([1] [0]) | [0-9])"
    assert grammar["grammar"] == grammar["guided_grammar"] == "root ::= [0-9]"
    assert grammar["structured_outputs"] == {"grammar": "root ::= [0-9]"}


def test_an_endpoint_that_refuses_is_asked_without_and_its_answer_checked(tmp_path: Path) -> None:
    with OpenAIServer(lambda body, index: "7", refuses={"guided_regex"}) as server:
        done = run(server, 'regex "[0-9]"', tmp_path)
        with pytest.raises(GotError, match="does not match"):
            _ = run(server, 'regex "[0-6]"', tmp_path).value
    assert done.value == 7
    assert done.to_dict()["notes"] == ["the endpoint refuses `regex`: it was left out"]
    assert ["grammar" in seen.body for seen in server.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("setting", "code", "at"),
    [
        ('regex "[0-9"', "GOT0731", "["),
        ('grammar "root ::= x"', "GOT0731", "x"),
        ('regex ""', "GOT0312", '""'),
        ("regex 3", "GOT0201", "3"),
    ],
)
def test_what_is_wrong_is_told_where_it_is(setting: str, code: str, at: str) -> None:
    text = PROGRAM.replace("SETTING", setting)
    (found,) = check(text).diagnostics
    assert (found.code, text[found.span.start : found.span.end]) == (code, at)


def test_a_response_has_one_form() -> None:
    text = PROGRAM.replace("SETTING", 'regex "[0-9]"\n    grammar "root ::= [0-9]"')
    assert [found.code for found in check(text).diagnostics] == ["GOT0402"]


def test_a_pattern_in_an_expression_is_read_by_the_check() -> None:
    text = (
        'scheme s(x: str) -> bool:\n    return matches(x, "a(") or is_json(x) or similarity(x, "b") > 0.5\n'
    )
    (found,) = check(text).diagnostics
    assert (found.code, text[found.span.start]) == ("GOT0731", "(")
