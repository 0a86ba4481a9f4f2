"""Intervals of means and of paired differences, seeded or valid at every look, and tests of them.

`confidence_sequence` allows looking after each row and stopping at any time; everything else is for a number
of rows that was fixed in advance. An interval of `mean_interval` is a percentile bootstrap: the means of many
resamples of the rows, with replacement. Such means vary less than those of new rows would, by the factor
(n-1)/n in variance, and how much rows vary is itself an estimate: the interval is widened by that, and as
Student's distribution is wider than the normal one, which matters below 30 rows.

For many rows numpy, if installed, makes the same resamples with the same digits, and for few ones if it was
imported anyway: its generator continues from the state of Python's, and values are added as integer multiples
of a common unit, which is exact.
"""

from __future__ import annotations

import math
import random
import sys
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, final

RESAMPLES = 1000
LEVEL = 0.95

MANY_ROWS = 500
"""Number of rows from which numpy is imported for intervals."""
_AT_ONCE = 1_000_000
"""The number of values that are resampled at once."""
_EXACT = 53
"""The bits of an integer that is exact as a float."""
_MOST_BITS = 120
"""The maximum size of values as multiples of their common unit."""

Verdict = Literal["better", "worse", "not significant"]


def fewest_rows(level: float = LEVEL) -> int:
    """The number of rows below which no difference is significant: 6 at a level of 95%. Five rows that all
    point the same way occur by chance 1 time in 16, six 1 time in 32, which is less than the 5% allowed."""
    return math.ceil(1 - math.log2(1 - level))


FEWEST_ROWS = fewest_rows()


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
    """The interval clipped to bounds; infinite bounds, of which nothing is known, stay."""
    low = max(found.low, least) if math.isfinite(found.low) else found.low
    high = min(found.high, most) if math.isfinite(found.high) else found.high
    return replace(found, low=low, high=high)


def mean_interval(
    values: Sequence[float],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    unit: float = 0.0,
) -> Interval:
    """The mean of values and its bootstrap interval; the same for the same seed.

    `unit` is how far another row may deviate if all rows are equal, such as 1 if rows are right or wrong:
    then the interval has as much of that as the share of deviating rows may be. By default it has no width.

    Raises ValueError for a value that is not finite, a level outside 0 to 1, and fewer than one resample.
    """
    if not 0 < level < 1 or resamples < 1:
        raise ValueError("the level must be between 0 and 1, and there must be at least one resample")
    if not all(math.isfinite(value) for value in values):
        raise ValueError("every value must be finite")
    rows = len(values)
    mean = math.fsum(values) / len(values) if values else math.nan
    if rows < 2:
        return Interval(mean, -math.inf, math.inf, rows, level)
    if min(values) == max(values):
        away = unit * (1 - ((1 - level) / 2) ** (1 / rows))
        return Interval(values[0], values[0] - away, values[0] + away, rows, level)
    chance = random.Random(seed)
    by_numpy = rows >= MANY_ROWS or "numpy" in sys.modules
    sums = exact_sums(values, chance, resamples) if by_numpy else None
    if sums is None:
        sums = [math.fsum(chance.choices(values, k=rows)) for _ in range(resamples)]
    means = sorted(total / rows for total in sums)
    normal = _normal(level)
    widened = math.sqrt(rows / (rows - 1)) * _student(normal, rows - 1) / normal
    tail = (1 - level) / 2
    low = mean + (quantile(means, tail) - mean) * widened
    high = mean + (quantile(means, 1 - tail) - mean) * widened
    return Interval(mean, low, high, rows, level)


def exact_sums(values: Sequence[float], chance: random.Random, resamples: int) -> list[float] | None:
    """The results of repeated `math.fsum(chance.choices(values, k=len(values)))`, by numpy; None without
    numpy, and for values whose magnitudes differ too much."""
    try:
        import numpy
    except ImportError:
        return None
    ratios = [value.as_integer_ratio() for value in map(float, values)]
    denominator = max(below for _, below in ratios)  # all are powers of 2
    whole = [above * (denominator // below) for above, below in ratios]
    part = math.gcd(*whole)
    part = part & -part or 1  # a power of 2, too
    if max(map(abs, whole)) // part >> _MOST_BITS:
        return None
    whole = [number // part for number in whole]
    limbs, bits = [], min(_EXACT, 62 - len(values).bit_length())  # of integers whose sum fits into 64 bits
    while any(not -1 << bits <= number < 1 << bits for number in whole):
        limbs.append(numpy.array([number & (1 << bits) - 1 for number in whole], numpy.int64))
        whole = [number >> bits for number in whole]
    limbs.append(numpy.array(whole, numpy.int64))
    _, state, _ = chance.getstate()
    generator = numpy.random.RandomState()
    generator.set_state(("MT19937", numpy.array(state[:-1], numpy.uint32), int(state[-1]), 0, 0.0))
    rows, sums, unit = len(values), list[float](), part / denominator
    while len(sums) < resamples:
        some = min(resamples - len(sums), 1 + _AT_ONCE // rows)
        places = (generator.random_sample((some, rows)) * rows).astype(numpy.int64)
        parts = [limb[places].sum(axis=1) for limb in limbs]
        for lower, upper in pairwise(parts):
            upper += lower >> bits
            lower &= (1 << bits) - 1
        *_, highest = parts
        once = len(parts) == 1 or (len(parts) == 2 and abs(highest).max() < 1 << _EXACT)
        if once and unit >= sys.float_info.min:  # one rounding, as in `fsum`
            sums += (unit * sum(one * 2.0 ** (bits * n) for n, one in enumerate(parts))).tolist()
        else:
            numbers = zip(*(one.tolist() for one in parts), strict=True)
            exact = (sum(one << bits * n for n, one in enumerate(each)) for each in numbers)
            sums += [total * part / denominator for total in exact]
    return sums


def share_interval(values: Sequence[float], *, level: float = LEVEL) -> Interval:
    """The mean of values from 0 to 1, most of them 0 or 1, and Wilson's interval for it.

    A bootstrap of "0 of 30 rows" has no width; this interval has. Raises ValueError for values outside 0 to
    1.
    """
    if not all(0 <= value <= 1 for value in values):
        raise ValueError("every value must be between 0 and 1")
    rows = len(values)
    if rows == 0:
        return Interval(math.nan, -math.inf, math.inf, 0, level)
    mean = math.fsum(values) / len(values)
    z = _normal(level)
    middle = (mean + z * z / (2 * rows)) / (1 + z * z / rows)
    reach = z / (1 + z * z / rows) * math.sqrt(mean * (1 - mean) / rows + z * z / (4 * rows * rows))
    return Interval(mean, max(0.0, middle - reach), min(1.0, middle + reach), rows, level)


def difference_interval(values: Sequence[float], others: Sequence[float], *, seed: int = 0) -> Interval:
    """The mean of `values` minus `others`, row by row, and its paired interval, in which the difficulty of a
    row cancels out. Raises ValueError as `mean_interval` does, and for unequal lengths."""
    return mean_interval([a - b for a, b in zip(values, others, strict=True)], seed=seed)


def paired_difference(values: Sequence[float | None], others: Sequence[float | None]) -> Interval:
    """The difference over the rows where both are known."""
    pairs = [(a, b) for a, b in zip(values, others, strict=True) if a is not None and b is not None]
    return difference_interval([a for a, _ in pairs], [b for _, b in pairs])


PLANNED = 60
FEWEST_PLANNED = 30
"""Number of rows at which a confidence sequence is tightest: the default, and the minimum."""
MOST_ROWS = 10_000
"""The maximum number of rows that `rows_to_decide` returns."""
_LINES = ((1, 0.85), (8, 0.15))
"""Its lines: the multiple of the planned rows at which each is tightest, and its share of the error
probability."""
_MOST_SKEW = 2.0
_EQUAL = 1e-12
"""Values whose relative difference is below this are equal except for rounding."""


def confidence_sequence(
    values: Sequence[float], *, level: float = LEVEL, planned: int | None = None, unit: float = 0.0
) -> Interval:
    """The mean of values with bounds that are valid at all numbers of rows at once, with probability `level`:
    one may look after each row, and stop or go on at will.

    `planned` is the number of rows at which the interval is tightest (PLANNED if None), to be chosen before
    the first look. `unit` is how far a row may deviate from the others if all rows so far are equal, such as
    1 if rows are right or wrong; by default twice their magnitude, so that the interval of rows that are all
    0 is 0.

    Source: straight lines as boundaries of sums (Robbins and Siegmund 1970; Howard et al., "Time-uniform
    Chernoff bounds via nonnegative supermartingales", 2020), one for the planned rows and one for eight times
    as many, with an estimated variance: valid as rows become many (Waudby-Smith et al., "Time-uniform central
    limit theory and asymptotic confidence sequences", 2024). For few rows it is widened as Student's
    distribution is wider than the normal one, and by one imagined row on the bound's side, as far from the
    mean as the furthest observed row, up to twice as far if that side has the longer tail. Assumptions: rows
    are independent samples, and both tails appear in the rows seen; a rare row that outweighs all others
    violates the second. `benchmarks/peeking.py` measures the coverage.

    Raises ValueError as `mean_interval` does, and for a negative unit.
    """
    if not 0 < level < 1 or unit < 0:
        raise ValueError("the level must be between 0 and 1, and the unit must not be negative")
    rows = len(values)
    mean, variance, below, above = _shape(values, unit)
    low = mean - _reach(rows, variance, below, above, level, planned)
    high = mean + _reach(rows, variance, above, below, level, planned)
    return Interval(mean, low, high, rows, level)


def rows_to_decide(
    values: Sequence[float], *, level: float = LEVEL, planned: int | None = None, unit: float = 0.0
) -> int | None:
    """The number of further rows after which `confidence_sequence` would exclude 0 if mean and spread stay
    the same; 0 if it does already. None if more than MOST_ROWS would be needed, and if fewer than two rows
    are known."""
    rows = len(values)
    mean, variance, below, above = _shape(values, unit)
    if rows < 2 or mean == 0:
        return None
    tails = (below, above) if mean > 0 else (above, below)

    def decides(number: int) -> bool:
        return _reach(number, variance, *tails, level, planned) < abs(mean)

    needed = bisect_left(range(MOST_ROWS), True, lo=max(rows, FEWEST_ROWS), key=decides)
    return needed - rows if needed < MOST_ROWS else None


def chance_of_lead(
    values: Sequence[float], rows: int, *, level: float = LEVEL, planned: int | None = None
) -> float:
    """The predicted probability that the interval of `rows` rows, of which `values` are the first, lies
    entirely below 0; 0 to 1, and 0.5 if it cannot be known yet.

    The interval is that of `mean_interval` if `planned` is None, else `confidence_sequence`. Rows that follow
    are predicted to have the mean and the spread of those seen, with the uncertainty of that mean (predictive
    power: Spiegelhalter, Freedman and Blackburn, 1986).
    """
    from statistics import NormalDist

    seen = len(values)
    mean, variance, below, above = _shape(values, 0.0)
    if seen < FEWEST_ROWS or variance == 0 or rows <= seen:
        return 0.5
    spread = math.sqrt(variance * seen / (seen - 1))
    reach = _student(_normal(level), rows - 1) * spread / math.sqrt(rows)
    if planned is not None:
        reach = _reach(rows, variance, above, below, level, planned)
    return NormalDist(mean, spread * math.sqrt((rows - seen) / (seen * rows))).cdf(-reach)


def _shape(values: Sequence[float], unit: float) -> tuple[float, float, float, float]:
    """The mean, the variance, and the distances of the minimum and the maximum from the mean."""
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
    """The distance of a bound from the mean; the furthest row on its side is `far` away, on the other
    `other`."""
    if rows < 2 or far == 0:
        return math.inf if rows < 2 else 0.0
    extra, all_rows = far * min(_MOST_SKEW, max(1.0, far / other)), rows + 1
    line = math.inf
    for times, share in _LINES:
        ratio = math.sqrt(times * max(planned or PLANNED, FEWEST_PLANNED) / all_rows)
        line = min(line, math.sqrt(math.log(2 / (share * (1 - level))) / 2) * (ratio + 1 / ratio))
    spread = math.sqrt((variance + extra**2 / all_rows) / all_rows)
    return extra / all_rows + _student(line, rows) * spread


def _normal(level: float) -> float:
    """How many standard deviations contain a share `level` of the normal distribution."""
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2)


def _student(normal: float, freedom: int) -> float:
    """The quantile of Student's distribution with these degrees of freedom where the normal one has `normal`,
    by Wallace's approximation (1959): too large by less than 2% from 5 degrees of freedom."""
    exponent = (normal * (8 * freedom + 3) / (8 * freedom + 1)) ** 2 / freedom
    return math.sqrt(freedom * math.expm1(exponent)) if exponent < 700 else math.inf


def verdict(difference: Interval, *, lower_is_better: bool) -> Verdict:
    """The verdict on a difference to a baseline: not significant if its interval contains 0 or has too few
    rows."""
    if difference.rows < fewest_rows(difference.level) or difference.low <= 0 <= difference.high:
        return "not significant"
    return "better" if (difference.mean < 0) == lower_is_better else "worse"


def quantile(ordered: Sequence[float], share: float) -> float:
    """The quantile of sorted values for a share, interpolated between neighbours."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
