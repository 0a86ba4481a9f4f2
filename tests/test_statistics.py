"""Intervals: laws, coverage, also if one looks after each row, and verdicts that do not claim too much."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.timing import within

from gotlang.metric import LARGEST, bounded
from gotlang.statistics import (
    FEWEST_ROWS,
    Interval,
    chance_of_lead,
    confidence_sequence,
    difference_interval,
    exact_sums,
    mean_interval,
    quantile,
    rows_to_decide,
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


SPREAD = st.floats(allow_nan=False, allow_infinity=False, min_value=-LARGEST, max_value=LARGEST)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)
    | st.lists(SPREAD, min_size=1, max_size=5)
    | st.lists(st.sampled_from([0.0, -0.5, 3.0, 0.0000295, 1e-7, -(2.0**70)]), min_size=1, max_size=700),
    st.integers(0, 2**32),
)
def test_numpy_gives_the_same_digits(values: list[float], seed: int) -> None:
    pytest.importorskip("numpy")
    chance = random.Random(seed)
    chance.random()
    found = exact_sums(values, chance, 20)
    if found is None:
        least = min(abs(value) for value in values if value)
        assert max(map(abs, values)) / least > 2.0**60
    else:
        assert found == [math.fsum(chance.choices(values, k=len(values))) for _ in range(20)]


@pytest.mark.parametrize("rows", [40, 2000])
def test_an_interval_is_the_same_without_numpy(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numpy")
    chance = random.Random(5)
    values = [chance.lognormvariate(0, 2) for _ in range(rows)]
    with_numpy = mean_interval(values, seed=3, resamples=100)
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert mean_interval(values, seed=3, resamples=100) == with_numpy


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


@pytest.mark.parametrize(("rows", "level", "missed"), [(6, 0.97, 0.05), (12, 0.97, 0.05), (10, 0.997, 0.012)])
def test_intervals_of_few_rows_hold_as_often_as_they_say(rows: int, level: float, missed: float) -> None:
    source, misses, draws = random.Random(9), 0, 500
    for seed in range(draws):
        drawn = [source.gauss(0, 1) for _ in range(rows)]
        found = mean_interval(drawn, seed=seed, resamples=400, level=level)
        misses += not found.low <= 0 <= found.high
    assert misses / draws <= missed


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


# ---------------------------------------------------------------- looking after each row

DRAWS: dict[str, tuple[Callable[[random.Random], float], float, float]] = {
    "normal": (lambda source: source.gauss(0, 1), 0.0, 0.0),
    "heavy tails": (lambda source: source.gauss(0, 1) / math.sqrt(source.gammavariate(1.5, 2) / 3), 0.0, 0.0),
    "skewed": (lambda source: source.expovariate(1) - 1, 0.0, 0.0),
    "skewed the other way": (lambda source: 1 - source.expovariate(1), 0.0, 0.0),
    "mostly ties": (lambda source: source.choices([1, -1, 0], [10, 5, 85])[0], 0.05, 1.0),
    "ties or better": (lambda source: source.choices([1, 0], [10, 90])[0], 0.1, 1.0),
    "no ties": (lambda source: source.choice([1, -1]), 0.0, 0.0),
}


@pytest.mark.parametrize("kind", DRAWS)
def test_the_mean_is_within_however_often_one_looks(kind: str) -> None:
    draw, mean, unit = DRAWS[kind]
    source = random.Random(kind)
    above = below = 0
    for _ in range(300):
        values = [draw(source) for _ in range(60)]
        looks = [confidence_sequence(values[:rows], planned=40, unit=unit) for rows in range(FEWEST_ROWS, 61)]
        above += any(look.low > mean for look in looks)
        below += any(look.high < mean for look in looks)
    # At most 7% of all, and 7% for the chance of 300 draws: at 5% each, 1 in 3,000 such tests would fail.
    assert above + below <= 0.10 * 300


def test_what_a_bootstrap_claims_under_peeking_is_not_claimed() -> None:
    source, early = random.Random(3), 0
    for _ in range(60):
        values = [source.gauss(0, 1) for _ in range(60)]
        looks = [mean_interval(values[:rows], resamples=100) for rows in range(FEWEST_ROWS, 61)]
        early += any(verdict(look, lower_is_better=True) != "not significant" for look in looks)
    assert early > 0.2 * 60  # so this is what the intervals above are for


@given(NUMBERS, st.floats(0.1, 10), st.sampled_from([30, 200]))
def test_bounds_scale_and_reverse_with_the_values(values: list[float], factor: float, planned: int) -> None:
    one = confidence_sequence(values, planned=planned)
    slack = 1e-6 * (1 + max(map(abs, values))) * factor
    assert one.low <= one.mean <= one.high
    other = confidence_sequence([-factor * value for value in values], planned=planned)
    for bound, reversed_one in ((one.low, other.high), (one.high, other.low)):
        assert reversed_one == pytest.approx(-factor * bound, rel=1e-6, abs=slack * 100)


def test_rows_shrink_the_bounds_and_a_higher_level_widens_them() -> None:
    source = random.Random(2)
    values = [source.gauss(1, 1) for _ in range(2000)]
    widths = [(x := confidence_sequence(values[:n])).high - x.low for n in (10, 30, 100, 400, 2000)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.3
    wider = confidence_sequence(values[:100], level=0.99)
    assert wider.low < confidence_sequence(values[:100]).low


def test_equal_rows_are_some_evidence_and_equal_zeros_are_what_the_unit_says() -> None:
    assert confidence_sequence([-2.0] * 6).high > 0
    assert confidence_sequence([-2.0] * 20).high < 0
    assert confidence_sequence([0.0] * 9) == Interval(0.0, 0.0, 0.0, 9)
    rounded = confidence_sequence([0.1 + 0.2] * 8 + [0.3])  # their mean is the greatest of them
    assert rounded.low < 0 < 0.3 < rounded.high
    half = confidence_sequence([0.0] * 30, unit=1.0)
    assert 0.1 < half.high == -half.low < 0.3
    assert confidence_sequence([1.0]).high == math.inf
    with pytest.raises(ValueError, match="unit"):
        confidence_sequence([1.0, 2.0], unit=-1.0)
    with pytest.raises(ValueError, match="finite"):
        confidence_sequence([1.0, math.inf])


def test_as_many_rows_as_told_decide() -> None:
    pattern = [1.3, -0.7] * 10
    more = rows_to_decide(pattern, planned=100)
    assert more is not None
    assert 60 < more < 200
    enough, too_few = (
        confidence_sequence([1.3, -0.7] * ((20 + more + n) // 2), planned=100) for n in (2, -2)
    )
    assert too_few.low < 0 < enough.low
    assert rows_to_decide([5.0, 6.0] * 20) == 0
    assert rows_to_decide([1.0, -1.0] * 20) is None
    assert rows_to_decide([1.0, -1.0] * 20 + [0.0001]) is None
    assert rows_to_decide([1.0]) is None


def test_the_chance_of_a_lead_is_even_where_the_mean_is_at_the_bound() -> None:
    pattern = [-1.3, 0.7] * 10
    more = rows_to_decide(pattern, planned=100)
    assert more is not None
    assert chance_of_lead(pattern, 20 + more - 2, planned=100) < 0.5
    assert 0.5 <= chance_of_lead(pattern, 20 + more, planned=100) < 0.53
    worse = [-value for value in pattern]
    assert chance_of_lead(worse, 20 + more, planned=100) < 0.1
    for unknown in ([], [1.0] * 5, [1.0] * 20):
        assert chance_of_lead(unknown, 40) == 0.5
    assert chance_of_lead(worse, 20) == 0.5  # no further rows


def test_chances_of_a_lead_come_true_as_often_as_they_say() -> None:
    chance, told, true = random.Random(3), 0.0, 0
    for _ in range(2000):
        middle = chance.uniform(-1.5, 1.5)
        values = [chance.gauss(middle, 1) for _ in range(40)]
        told += chance_of_lead(values[:12], 40)
        true += mean_interval(values, resamples=100).high < 0
    assert told / 2000 == pytest.approx(true / 2000, abs=0.03)
