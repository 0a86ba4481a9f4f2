"""Estimates of token counts: what is known exactly comes out exact, and nothing gets lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gotlang.models.base import Message, Request, token_bound
from gotlang.models.tokens import estimate_tokens, split_tokens


@given(st.text())
def test_tokens_joined_are_the_text(text: str) -> None:
    tokens = split_tokens(text)
    assert "".join(tokens) == text
    assert all(tokens)


@given(st.text())
def test_the_estimate_is_within_the_bound_that_budgets_reserve(text: str) -> None:
    assert estimate_tokens(text) <= token_bound(Request("m", (Message("user", text),)))


@pytest.mark.parametrize("digits", [1, 16, 128])
def test_a_list_of_digits_has_three_tokens_an_element(digits: int) -> None:
    assert estimate_tokens(str([7] * digits)) == 3 * digits


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("Sort the list.", ["Sort", " the", " list", "."]),
        ("it's 12345", ["it", "'s", " ", "123", "45"]),
        ("a\n\n  b", ["a", "\n\n", " ", " b"]),
        ('{"path": 1}', ['{"', "path", '":', " ", "1", "}"]),
    ],
)
def test_text_is_cut_as_gpt_models_cut_it(text: str, tokens: list[str]) -> None:
    assert split_tokens(text) == tokens


def test_long_and_foreign_words_take_more() -> None:
    assert estimate_tokens("responsibilities") > estimate_tokens("duties")
    assert estimate_tokens("ответственность") > estimate_tokens("responsibility")
