"""Errors of the means of points, given the samples that they share.

Points with the same samples have correlated errors: from row to row the difference of two varies with the
share of samples that they do not have in common, which is recorded. So the noise of all points is nearly one
number, and the means of points that ran on different rows are estimated together, by generalized least
squares: a row on which only some of them ran shows how these differ, and the difficulty of a row cancels out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_BELIEF = 6
"""The weight, in rows, of the usual noise against a point's own."""
_OWN = 0.1
"""The minimum share of the noise that points with the same samples do not share. Few samples make most of a
difference between points (one merge may repair a whole list), so on few rows their share of the samples says
less about it than on average; with 0.01, a search of `sort128` was sure of a family of points after four rows
and ended with the wrong one."""
_ROW = 1000.0
"""The variance of the common part of all points on a row, relative to that of the noise: so large that points
on different rows are compared only by what they have in common with others."""
_RANGE = 0.2, 5.0
"""The noise of a point relative to that of the others."""


def shared(asked: Sequence[bytes]) -> Any:
    """The similarity of the samples of points, from 0 to 1: the number of samples that two share, divided by
    the geometric mean of their numbers. `asked` are as `packed` makes them."""
    import numpy as np

    found = [np.frombuffer(ids, "<u4") for ids in asked]
    _, columns = np.unique(np.concatenate(found), return_inverse=True)
    rows = np.repeat(np.arange(len(found)), [len(ids) for ids in found])
    has = np.zeros((len(found), int(columns.max(initial=0)) + 1), np.float32)
    has[rows, columns] = 1.0
    both = (has @ has.T).astype(float)
    sizes = np.sqrt(np.maximum(np.diag(both), 1.0))
    alike = both / np.outer(sizes, sizes)
    np.fill_diagonal(alike, 1.0)
    return alike


def estimated(cells: Sequence[Sequence[float | None]], asked: Sequence[bytes]) -> tuple[Any, Any]:
    """The means of points, up to a constant, and the covariance of their errors. `cells` are the results of
    each point on the same rows in the same order, at least one of each; None is unknown."""
    import numpy as np

    size, width = len(cells), max(map(len, cells))
    values = np.full((size, width), np.nan)
    for place, results in enumerate(cells):
        values[place, : len(results)] = [np.nan if x is None else x for x in results]
    known = np.isfinite(values)
    values = np.where(known, values, 0.0)
    alike = (1 - _OWN) * shared(asked) + _OWN * np.eye(size)
    scales = _noise(values, known.astype(float), 1 - alike)
    if not scales.any():
        return values.sum(1) / known.sum(1), np.zeros((size, size))
    noise = alike * np.outer(scales, scales) + _ROW * float(np.median(scales**2))
    precision, sums = np.zeros((size, size)), np.zeros(size)
    patterns, inverse = np.unique(known.T, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        if (at := np.flatnonzero(pattern)).size:
            rows = np.flatnonzero(inverse.ravel() == number)
            block = np.linalg.inv(noise[np.ix_(at, at)])
            precision[np.ix_(at, at)] += len(rows) * block
            sums[at] += block @ values[np.ix_(at, rows)].sum(1)
    errors = np.linalg.inv(precision)
    return errors @ sums, (errors + errors.T) / 2


def _noise(values: Any, known: Any, apart: Any) -> Any:
    """The standard deviation of each point's noise, by how much its results differ from those of others from
    row to row, given the share of samples `apart`."""
    import numpy as np

    rows = known @ known.T
    squares, sums = values**2 @ known.T, values @ known.T
    squares = squares + squares.T - 2 * values @ values.T - (sums - sums.T) ** 2 / np.maximum(rows, 1)
    weights = np.maximum(rows - 1, 0)
    np.fill_diagonal(weights, 0)
    squares, expected = np.where(weights > 0, squares, 0.0).clip(0), weights * apart
    if expected.sum() <= 0 or squares.sum() <= 1e-18 * max(1.0, float((values**2).sum())):
        return np.zeros(len(values))
    usual = squares.sum() / expected.sum()  # of the variance of a difference of points without shared samples
    own = squares.sum(1) / np.maximum(expected.sum(1), 1e-12) / usual
    more = known.sum(1) - 1
    ratio = 1 + 2 * np.where(expected.sum(1) > 0, own - 1, 0.0) * more / (more + _BELIEF)
    return np.sqrt(usual / 2 * ratio.clip(*_RANGE))
