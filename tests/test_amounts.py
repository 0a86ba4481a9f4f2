"""Amounts: their bounds contain the values of their formulas, and of numbers they are exact."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from support.laws import tried

from gotlang.amounts import MOST, Amount, Atom, Polynomial


class Case(NamedTuple):
    """An amount, and a value of it: that of the same formula, with each atom at some place in its range."""

    amount: Amount
    value: float
    words: str


def number(value: int) -> Case:
    return Case(Amount.of(value), value, str(value))


def atom(name: str, low: int, width: int, part: int) -> Case:
    value = low + min(part, width)
    return Case(Amount.of(Atom(name, low, low + width, 0)), value, f"{name}={value}")


class Operation(NamedTuple):
    """An operation on amounts, and the same on numbers."""

    word: str
    amounts: Callable[[Amount, Amount], Amount]
    values: Callable[[float, float], float]


OPERATIONS = st.sampled_from(
    [
        Operation("+", Amount.__add__, operator.add),
        Operation("*", Amount.__mul__, operator.mul),
        Operation("up to", Amount.up_to, max),
        Operation("at most", Amount.at_most, min),
    ]
)
NUMBERS = st.integers(0, 9).map(number)
LARGE = st.sampled_from([0, 1, 10**30, 10**90, 10**200, 10**400]).map(number)
# Equal names are equal atoms, whose place in the range is the same.
ATOMS = st.sampled_from([atom("a", 0, 5, 3), atom("b", 2, 4, 0), atom("c", 1, 6, 6)])


def combined(leaves: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    def both(a: Case, b: Case, how: Operation) -> Case:
        words = f"({a.words} {how.word} {b.words})"
        return Case(how.amounts(a.amount, b.amount), how.values(a.value, b.value), words)

    return st.recursive(leaves, lambda inner: st.builds(both, inner, inner, OPERATIONS), max_leaves=8)


@tried(200)
@given(combined(NUMBERS))
def test_amounts_of_numbers_are_numbers(case: Case) -> None:
    assert case.amount.bounds == (case.value, case.value)
    assert case.amount.number == case.value
    assert case.amount == Amount.of(case.value)
    assert str(case.amount.exact) == str(case.value)
    assert case.amount.count == case.amount


@tried(200)
@given(combined(st.one_of(NUMBERS, ATOMS)))
def test_bounds_contain_the_values_of_formulas(case: Case) -> None:
    low, high = case.amount.bounds
    assert low <= case.value <= high
    assert case.amount.low.least <= case.value <= (case.amount.high or Polynomial.of(math.inf)).most


@tried(200)
@given(combined(st.one_of(LARGE, ATOMS)), st.sampled_from([0.5, 3.0, math.inf]))
def test_large_numbers_are_unbounded(case: Case, price: float) -> None:
    least = (1 - 1e-9) * min(case.value, MOST)  # but for rounding
    low, high = (case.amount * Amount.between(0.0, price)).bounds
    assert low == 0 and high >= least * min(price, 1.0)
    low, high = (case.amount + Amount.between(price, price)).bounds
    assert low <= MOST and high >= least


@tried(200)
@given(st.integers(-9, 9), st.integers(-9, 9))
def test_a_count_is_not_negative(a: int, b: int) -> None:
    assert Amount.of(a).count == Amount.of(max(0, a))
    assert (Amount.of(a) - Amount.of(b)).count == Amount.of(max(0, a - b))
    unbounded = Amount(Polynomial.of(a), None)
    assert unbounded.count == Amount(Polynomial.of(max(0, a)), None)
    assert unbounded.bounds == (a, math.inf)
    assert unbounded.is_zero is False
