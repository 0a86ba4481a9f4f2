"""Bootstrap intervals: laws, coverage, and verdicts that do not claim too much."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.timing import within

from gotlang.statistics import (
    FEWEST_ROWS,
    LARGEST,
    Interval,
    bounded,
    difference_interval,
    mean_interval,
    quantile,
    share_interval,
    verdict,
)

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


@given(NUMBERS, st.integers(0, 3))
def test_same_seed_same_interval_around_the_mean(values: list[float], seed: int) -> None:
    one = mean_interval(values, seed=seed, resamples=200)
    assert one == mean_interval(values, seed=seed, resamples=200)
    slack = 1e-9 * (1 + max(map(abs, values)))
    assert one.low - slack <= one.mean <= one.high + slack
    assert one.rows == len(values)


def test_nothing_is_known_of_no_row_and_little_of_one() -> None:
    assert math.isnan(mean_interval([]).mean)
    alone = mean_interval([3.0])
    assert (alone.mean, alone.low, alone.high) == (3.0, -math.inf, math.inf)


def test_rows_that_are_all_equal_leave_no_doubt() -> None:
    assert mean_interval([0.1] * 7) == Interval(0.1, 0.1, 0.1, 7)


def test_the_interval_of_95_percent_holds_the_true_mean_about_as_often() -> None:
    source = random.Random(5)
    held = 0
    for seed in range(300):
        drawn = [source.gauss(10, 3) for _ in range(15)]
        interval = mean_interval(drawn, seed=seed, resamples=300)
        held += interval.low <= 10 <= interval.high
    assert 0.90 <= held / 300 <= 0.98


def test_a_share_of_none_is_not_known_to_be_never() -> None:
    none = share_interval([0.0] * 30)
    assert (none.mean, none.low) == (0.0, 0.0)
    assert 0.10 < none.high < 0.13  # about three in thirty, as the rule of three has it
    some = share_interval([1.0] * 5 + [0.0] * 25)
    assert some.low < some.mean < some.high
    assert some.low == pytest.approx(0.0734, abs=1e-3)
    assert some.high == pytest.approx(0.3356, abs=1e-3)
    with pytest.raises(ValueError, match="between 0 and 1"):
        share_interval([2.0])


def test_pairing_takes_out_what_is_hard_for_both() -> None:
    source = random.Random(1)
    hard = [source.uniform(0, 100) for _ in range(40)]
    first = [h + source.gauss(0, 1) for h in hard]
    second = [h + 2 + source.gauss(0, 1) for h in hard]
    paired = difference_interval(first, second)
    assert verdict(paired, lower_is_better=True) == "better"
    assert verdict(paired, lower_is_better=False) == "worse"
    assert mean_interval(first).high > mean_interval(second).low  # apart, nothing could be said


def test_no_difference_is_claimed_where_none_is_shown() -> None:
    assert verdict(difference_interval([1.0] * 9, [1.0] * 9), lower_is_better=True) == "not significant"
    few = difference_interval([1.0] * (FEWEST_ROWS - 1), [2.0] * (FEWEST_ROWS - 1))
    assert verdict(few, lower_is_better=True) == "not significant"
    enough = difference_interval([1.0] * FEWEST_ROWS, [2.0] * FEWEST_ROWS)
    assert verdict(enough, lower_is_better=True) == "better"


def test_wrong_use_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        mean_interval([1.0, math.nan])
    with pytest.raises(ValueError, match="level"):
        mean_interval([1.0], level=1.0)
    with pytest.raises(ValueError, match="zip"):
        difference_interval([1.0], [1.0, 2.0])


def test_quantiles_lie_between_neighbours() -> None:
    assert quantile([1.0, 2.0, 4.0], 0.5) == 2.0
    assert quantile([1.0, 2.0, 4.0], 0.75) == 3.0
    assert quantile([7.0], 0.3) == 7.0


def test_it_is_fast() -> None:
    values = [random.Random(0).random() for _ in range(100)]
    within(0.5, lambda: mean_interval(values))


def test_what_runs_away_counts_as_very_much() -> None:
    values = [bounded(value) for value in (10**400, 1.5e308, -(10**5000), 3, -0.5, float("inf"))]
    assert values == [LARGEST, LARGEST, -LARGEST, 3.0, -0.5, LARGEST]
    assert math.isnan(bounded(math.nan))
    found = difference_interval([bounded(10**400)] * 5 + [1.0], [bounded(-(10**400))] * 3 + [0.0] * 3)
    assert 0 < found.low < found.mean < found.high < math.inf
