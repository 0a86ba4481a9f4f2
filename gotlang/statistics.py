"""Intervals of means and of paired differences, seeded or valid at every look, and tests of them.

`confidence_sequence` is for looking after each row and stopping at any time; all else is for a number of
rows that was chosen before. An interval of `mean_interval` is the percentile bootstrap's: the means of many
resamples of the rows, with replacement. Such means vary less than those of new rows would, by the factor
(n-1)/n in variance; the interval is widened by as much, which matters below 20 rows.

Of many rows numpy makes the same resamples, where it is there, with the same digits: its generator continues
from the state of Python's, and values are added as whole numbers of their common part, which is exact.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, final

RESAMPLES = 1000
LEVEL = 0.95
FEWEST_ROWS = 6
"""With fewer rows nothing is significant: five rows that all point the same way do so by chance 1 time in 16,
six 1 time in 32, which is less than the 5% that an interval of 95% allows."""

MANY_ROWS = 500
"""From so many rows on intervals are made by numpy."""
_LIMB, _MOST_LIMBS = 30, 4
"""Bits of the parts in which whole numbers are added, of which millions fit into 64 bits, and the most."""

Verdict = Literal["better", "worse", "not significant"]


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over `rows` rows, with the bounds between which the true mean lies with probability `level`.

    The bounds of fewer than two rows are infinite, the mean of none is not a number.
    """

    mean: float
    low: float
    high: float
    rows: int
    level: float = LEVEL

    def texts(self) -> tuple[str, str]:
        """The mean and the bounds in four digits."""
        return f"{self.mean:.4g}", f"{self.low:.4g} to {self.high:.4g}"

    def __str__(self) -> str:
        return "{} (95% CI {})".format(*self.texts())


def within(found: Interval, least: float, most: float) -> Interval:
    """An interval cut to bounds; infinite bounds, of which nothing is known, stay."""
    low = max(found.low, least) if math.isfinite(found.low) else found.low
    high = min(found.high, most) if math.isfinite(found.high) else found.high
    return replace(found, low=low, high=high)


def mean_interval(
    values: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval:
    """The mean of values and its bootstrap interval; the same for the same seed.

    Raises ValueError for a value that is not finite, a level outside 0 to 1, and fewer than one resample.
    """
    if not 0 < level < 1 or resamples < 1:
        raise ValueError("the level lies between 0 and 1, and there is at least one resample")
    if not all(math.isfinite(value) for value in values):
        raise ValueError("every value must be finite")
    rows = len(values)
    mean = math.fsum(values) / len(values) if values else math.nan
    if rows < 2:
        return Interval(mean, -math.inf, math.inf, rows, level)
    if min(values) == max(values):
        return Interval(values[0], values[0], values[0], rows, level)
    chance = random.Random(seed)
    sums = exact_sums(values, chance, resamples) if rows >= MANY_ROWS else None
    if sums is None:
        sums = [math.fsum(chance.choices(values, k=rows)) for _ in range(resamples)]
    means = sorted(total / rows for total in sums)
    widened = math.sqrt(rows / (rows - 1))
    tail = (1 - level) / 2
    low = mean + (quantile(means, tail) - mean) * widened
    high = mean + (quantile(means, 1 - tail) - mean) * widened
    return Interval(mean, low, high, rows, level)


def exact_sums(values: Sequence[float], chance: random.Random, resamples: int) -> list[float] | None:
    """What `math.fsum(chance.choices(values, k=len(values)))` gives each time, by numpy; None without it, and
    for values of which the smallest and the largest lie too far apart."""
    try:
        import numpy
    except ImportError:
        return None
    ratios = [value.as_integer_ratio() for value in map(float, values)]
    denominator = max(below for _, below in ratios)  # all are powers of 2
    whole = [above * (denominator // below) for above, below in ratios]
    part = math.gcd(*whole) or 1
    if max(map(abs, whole)) // part >> _LIMB * _MOST_LIMBS:
        return None
    whole = [number // part for number in whole]
    limbs = []
    while any(number not in (0, -1) for number in whole):
        limbs.append(numpy.array([number & (1 << _LIMB) - 1 for number in whole], numpy.int64))
        whole = [number >> _LIMB for number in whole]
    limbs.append(numpy.array(whole, numpy.int64))  # -1 for a negative number
    _, state, _ = chance.getstate()
    generator = numpy.random.RandomState()
    generator.set_state(("MT19937", numpy.array(state[:-1], numpy.uint32), int(state[-1]), 0, 0.0))
    sums = []
    for _ in range(resamples):
        places = (generator.random_sample(len(values)) * len(values)).astype(numpy.int64)
        total = sum(int(limb[places].sum()) << _LIMB * n for n, limb in enumerate(limbs))
        sums.append(total * part / denominator)
    return sums


def share_interval(values: Sequence[float], *, level: float = LEVEL) -> Interval:
    """The mean of values from 0 to 1, most of them one or the other, and Wilson's interval for it.

    A bootstrap of "0 of 30 rows" has no width; this has. Raises ValueError for values outside 0 to 1.
    """
    if not all(0 <= value <= 1 for value in values):
        raise ValueError("every value must lie between 0 and 1")
    rows = len(values)
    if rows == 0:
        return Interval(math.nan, -math.inf, math.inf, 0, level)
    mean = math.fsum(values) / len(values)
    from statistics import NormalDist

    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = (mean + z * z / (2 * rows)) / (1 + z * z / rows)
    reach = z / (1 + z * z / rows) * math.sqrt(mean * (1 - mean) / rows + z * z / (4 * rows * rows))
    return Interval(mean, max(0.0, middle - reach), min(1.0, middle + reach), rows, level)


def difference_interval(values: Sequence[float], others: Sequence[float], *, seed: int = 0) -> Interval:
    """The mean of `values` minus `others`, row by row, and its interval: paired, so that what makes a row
    hard for both cancels out. Raises ValueError as `mean_interval` does, and for unequal lengths."""
    return mean_interval([a - b for a, b in zip(values, others, strict=True)], seed=seed)


def paired_difference(values: Sequence[float | None], others: Sequence[float | None]) -> Interval:
    """The difference over the rows where both are known."""
    pairs = [(a, b) for a, b in zip(values, others, strict=True) if a is not None and b is not None]
    return difference_interval([a for a, _ in pairs], [b for _, b in pairs])


PLANNED = 60
FEWEST_PLANNED = 30
"""Rows at which a confidence sequence is tightest by default, and at least."""
MOST_ROWS = 10_000
"""More rows than these are not within reason: `rows_to_decide` does not count on them."""
_LINES = ((1, 0.85), (8, 0.15))
"""Its lines: at how many times the planned rows each is tightest, and its share of the errors."""
_MOST_SKEW = 2.0
_EQUAL = 1e-12
"""The share of their size by which values differ that are equal but for rounding."""


def confidence_sequence(
    values: Sequence[float], *, level: float = LEVEL, planned: int | None = None, unit: float = 0.0
) -> Interval:
    """The mean of values with bounds that hold at all numbers of rows at once, with probability `level`:
    one may look after each row, and stop or go on as one likes.

    `planned` is the number of rows at which the interval is tightest (PLANNED if None), to be chosen before
    the first look. `unit` is how far a row may lie from the others while all are equal, such as 1 where rows
    are right or wrong; by default twice their size, so that rows that are all 0 leave no doubt.

    Source: straight lines as boundaries of sums (Robbins and Siegmund 1970; Howard et al., "Time-uniform
    Chernoff bounds via nonnegative supermartingales", 2020), one for the planned rows and one for eight times
    as many, with an estimated variance: valid as rows become many (Waudby-Smith et al., "Time-uniform central
    limit theory and asymptotic confidence sequences", 2024). For few rows it is widened as Student's
    distribution is wider than the normal one (by Wallace's approximation, 1959), and by one imagined row on
    the bound's side, as far from the mean as the furthest row there, up to twice as far if that side has the
    longer tail. Assumed: rows are independent draws, and both tails show in the rows seen; a rare row that
    outweighs all others refutes it. `benchmarks/peeking.py` says how often the mean is within.

    Raises ValueError as `mean_interval` does, and for a negative unit.
    """
    if not 0 < level < 1 or unit < 0:
        raise ValueError("the level lies between 0 and 1, and the unit is not negative")
    rows = len(values)
    mean, variance, below, above = _shape(values, unit)
    low = mean - _reach(rows, variance, below, above, level, planned)
    high = mean + _reach(rows, variance, above, below, level, planned)
    return Interval(mean, low, high, rows, level)


def rows_to_decide(
    values: Sequence[float], *, level: float = LEVEL, planned: int | None = None, unit: float = 0.0
) -> int | None:
    """How many more rows would let `confidence_sequence` exclude 0 if mean and spread stay as they are; 0 if
    it does already. None if more than MOST_ROWS would be needed, and if fewer than two rows are known."""
    rows = len(values)
    mean, variance, below, above = _shape(values, unit)
    if rows < 2 or mean == 0:
        return None
    tails = (below, above) if mean > 0 else (above, below)

    def decides(number: int) -> bool:
        return _reach(number, variance, *tails, level, planned) < abs(mean)

    needed = bisect_left(range(MOST_ROWS), True, lo=max(rows, FEWEST_ROWS), key=decides)
    return needed - rows if needed < MOST_ROWS else None


def _shape(values: Sequence[float], unit: float) -> tuple[float, float, float, float]:
    """The mean, the variance around it, and the distances of the least and the greatest value from it."""
    if not all(math.isfinite(value) for value in values):
        raise ValueError("every value must be finite")
    if not values:
        return math.nan, 0.0, 0.0, 0.0
    least, most = min(values), max(values)
    if most - least <= _EQUAL * max(abs(least), abs(most)):
        away = max(unit, 2 * abs(least))
        return least, 0.0, away, away
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((value - mean) ** 2 for value in values) / len(values), mean - least, most - mean


def _reach(rows: int, variance: float, far: float, other: float, level: float, planned: int | None) -> float:
    """How far a bound is from the mean; the furthest row on its side is `far` away, on the other `other`."""
    if rows < 2 or far == 0:
        return math.inf if rows < 2 else 0.0
    extra, all_rows = far * min(_MOST_SKEW, max(1.0, far / other)), rows + 1
    line = math.inf
    for times, share in _LINES:
        ratio = math.sqrt(times * max(planned or PLANNED, FEWEST_PLANNED) / all_rows)
        line = min(line, math.sqrt(math.log(2 / (share * (1 - level))) / 2) * (ratio + 1 / ratio))
    exponent = (line * (8 * rows + 3) / (8 * rows + 1)) ** 2 / rows
    errors = math.sqrt(rows * math.expm1(exponent)) if exponent < 700 else math.inf
    return extra / all_rows + errors * math.sqrt((variance + extra**2 / all_rows) / all_rows)


def verdict(difference: Interval, *, lower_is_better: bool) -> Verdict:
    """The verdict on a difference to a baseline: not significant if its interval contains 0 or has too few
    rows."""
    if difference.rows < FEWEST_ROWS or difference.low <= 0 <= difference.high:
        return "not significant"
    return "better" if (difference.mean < 0) == lower_is_better else "worse"


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which a share of sorted values lies, interpolated between neighbours."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
