"""F1 and exact match: the values of HotpotQA's own evaluation, and properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gotlang.semantics.builtins import exact_match, f1, normal

CASES = [
    ("Scott Glenn", "scott glenn", True, 1.0),
    ("The Blue Lanterns.", "blue lanterns", True, 1.0),
    ("producer", "a producer!", True, 1.0),
    ("since 1977", "1977", False, 2 / 3),
    ("Mount Kell in the north", "Mount Kell", False, 2 / 3),
    ("red red blue", "red blue blue", False, 2 / 3),
    ("yes", "no", False, 0.0),
    ("yes, it is", "yes", False, 0.0),
    ("noanswer", "noanswer", True, 1.0),
    ("Paris", "London", False, 0.0),
    ("", "London", False, 0.0),
    ("U.S.", "US", True, 1.0),
    ("theory", "ory", False, 0.0),
]


@pytest.mark.parametrize(("found", "wanted", "same", "share"), CASES)
def test_answers_agree_as_hotpotqa_counts(found: str, wanted: str, same: bool, share: float) -> None:
    assert exact_match(found, wanted) is same
    assert f1(found, wanted) == pytest.approx(share)


@given(st.text(), st.text())
def test_agreement_is_mutual_and_a_share(left: str, right: str) -> None:
    assert f1(left, right) == f1(right, left)
    assert 0 <= f1(left, right) <= 1
    assert not (exact_match(left, right) and normal(left)) or f1(left, right) == 1
