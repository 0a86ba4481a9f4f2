"""A surrogate model of the points of a space: a Gaussian process.

Points that are close to each other have nearly the same mean, so measurements of some are evidence about all,
and the best of many noisy means is not taken for the truth (the winner's curse).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any, final

from gotlang.tune.space import Dimension, Point, Space

_SCALES = (0.2, 0.4, 0.8, 1.6, 3.2)
_SIGNALS = (0.3, 1.0, 3.0)
Mix = tuple[float, float, float]
_ALONE: tuple[Mix, ...] = ((1.0, 0.0, 0.0), (0.1, 0.9, 0.0), (0.03, 0.97, 0.0))
_BESIDE: tuple[Mix, ...] = ((1.0, 0.0, 0.0), (0.3, 0.0, 0.7), (0.1, 0.0, 0.9), (0.03, 0.0, 0.97))
"""The shares of the signal for all dimensions together, for each dimension separately, and for features:
without features, and with them, which show how each dimension acts separately."""
_PASSES = 2
_NUGGET = 1e-6
"""A share of the spread, so that matrices can be inverted if points are alike."""
_JITTER = 1e-8
"""The share of the mean variance that is added to samples, for the same reason."""
_USUAL = 0.6
"""Length scales that are tried, as shares of a dimension's range; the usual one has the largest prior
probability, so that a few points do not suggest that nothing matters."""
_GROWTH = 1.15
"""Scales are fitted again once this many times as many points are known."""


@final
class Surrogate:
    """A model of one quantity over points; `scales` are kept between fits, and fitted again as points are
    added."""

    def __init__(self) -> None:
        self._scales: tuple[float, ...] = ()
        self._signal, self._mix = 1.0, _ALONE[0]
        self._known = 0

    def posterior(
        self,
        gaps: Sequence[Any],
        places: Sequence[int],
        values: Sequence[float],
        errors: Any,
        features: Any = None,
        *,
        spreads: bool = True,
    ) -> tuple[Any, Any]:
        """The means and the covariance of all points, by the values of those at `places`; without `spreads`
        the means only, and None.

        `gaps` are the squared distances of all points in each dimension (see `gaps_of`), `errors` the
        variances of the values, or their covariance. `features` are columns that are expected to correlate
        with the value, each with mean 0 and spread 1. For a single point, or if all values are equal, all
        have the mean of the values.
        """
        import numpy as np

        found, at = np.array(values), list(places)
        wrong = np.diag(errors) if np.ndim(errors) == 1 else errors
        weights = 1 / (np.diag(wrong) + (found.var() or 1.0))
        center = float(np.average(found, weights=weights))
        spread = float(found.var())
        size = len(gaps[0]) if gaps else 1
        if spread <= 1e-18 * max(1.0, center * center) or not gaps:
            return np.full(size, center), np.zeros((size, size)) if spreads else None
        centered = found - center
        along = None if features is None else features @ features.T / features.shape[1]
        if len(self._scales) != len(gaps) or len(at) > _GROWTH * self._known:
            near = [gap[np.ix_(at, at)] for gap in gaps]
            self._fit(near, centered, wrong, spread, None if along is None else along[np.ix_(at, at)])
            self._known = len(at)
        if not spreads:
            gaps, along = [gap[:, at] for gap in gaps], None if along is None else along[:, at]
        whole = spread * self._signal * _Kernels(gaps, along).mixed(self._scales, self._mix)
        covariance = whole[:, at] if spreads else whole
        inner = covariance[at] + wrong + np.diag(np.full(len(at), _NUGGET * spread))
        mean = center + covariance @ np.linalg.solve(inner, centered)
        if not spreads:
            return mean, None
        half = np.linalg.solve(np.linalg.cholesky(inner), covariance.T)
        return mean, whole - half.T @ half

    def draws(
        self,
        gaps: Sequence[Any],
        places: Sequence[int],
        values: Sequence[float],
        errors: Any,
        rng: Any,
        count: int,
        features: Any = None,
    ) -> tuple[Any, Any]:
        """The means of all points, as in `posterior`, and joint samples, one per row. They are made with the
        Cholesky factor, since the signs of eigenvectors depend on rounding, and so on the processor."""
        import numpy as np

        mean, covariance = self.posterior(gaps, places, values, errors, features)
        size = len(mean)
        covariance[np.diag_indices(size)] += _JITTER * (float(np.trace(covariance)) / size + 1e-12)
        try:
            half = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:  # of points that are all known nearly exactly
            shares, vectors = np.linalg.eigh(covariance)
            half = vectors * np.sqrt(shares.clip(0.0)) @ vectors.T
        return mean, mean + rng.standard_normal((count, size)) @ half.T

    def _fit(self, gaps: Sequence[Any], values: Any, errors: Any, spread: float, along: Any) -> None:
        """Find the most likely scales, signal and mix among a few candidates each."""
        import numpy as np

        size, kernels = len(values), _Kernels(gaps, along)
        noise = np.zeros((size + 1, size + 1))  # the values are a last row: its factor solves for them
        noise[:size, :size] = errors + np.diag(np.full(size, _NUGGET * spread))
        noise[size, :size] = values
        noise[size, size] = 1 + float(values @ values) / (_NUGGET * spread)  # so large that there is a factor

        @cache
        def likelihood(scales: tuple[float, ...], signal: float, mix: Mix) -> float:
            inner = noise.copy()
            inner[:size, :size] += signal * spread * kernels.mixed(scales, mix)
            lower = np.linalg.cholesky(inner)
            half, whole = lower[size, :size], np.diag(lower)[:size]
            usual = 0.5 * float((np.log(np.array(scales) / _USUAL) ** 2).sum())
            return -0.5 * float(half @ half) - float(np.log(whole).sum()) - usual

        scales = self._scales if len(self._scales) == len(gaps) else (0.8,) * len(gaps)
        chosen = (self._signal, self._mix)
        others = [*product(_SIGNALS, _ALONE if along is None else _BESIDE)]
        best = likelihood(scales, *chosen)
        for _ in range(_PASSES):
            for place in range(len(gaps)):
                for scale in _SCALES:
                    tried = (*scales[:place], scale, *scales[place + 1 :])
                    if (found := likelihood(tried, *chosen)) > best:
                        best, scales = found, tried
            for other in others:
                if (found := likelihood(scales, *other)) > best:
                    best, chosen = found, other
        self._scales, (self._signal, self._mix) = scales, chosen


@final
class _Kernels:
    """The covariances of points, by scales and mix: of all dimensions together, of each apart, and of the
    features. The kernels of the last scales are kept: of most that a fit tries, only one scale is new, or
    none."""

    def __init__(self, gaps: Sequence[Any], along: Any) -> None:
        self._gaps, self._along = gaps, along
        self._whole: tuple[tuple[float, ...], Any] = (), None
        self._apart: list[tuple[float, Any]] = [(0.0, None)] * len(gaps)

    def mixed(self, scales: tuple[float, ...], mix: Mix) -> Any:
        """The covariance of all points, for a signal of 1."""
        together, apart, features = mix
        if self._whole[0] != scales:
            far = (gap / scale**2 for gap, scale in zip(self._gaps, scales, strict=True))
            self._whole = scales, _matern(sum(far))
        out = together * self._whole[1]
        if apart:
            for place, (gap, scale) in enumerate(zip(self._gaps, scales, strict=True)):
                if self._apart[place][0] != scale:
                    self._apart[place] = scale, _matern(gap / scale**2)
            out = out + apart / len(scales) * sum(kernel for _, kernel in self._apart)
        return out if self._along is None else out + features * self._along


def _matern(far: Any) -> Any:
    """The Matérn kernel of order 5/2, by squared distances: smooth, but not so smooth that an unseen
    neighbour is certain."""
    import numpy as np

    root = np.sqrt(5 * far)
    return (1 + root + root * root / 3) * np.exp(-root)


def gaps_of(space: Space, points: Sequence[Point]) -> list[Any]:
    """For each dimension, or for those of one role together, the squared distances of points: 0 to 1, and 1
    for other choices; of composed ones, the share of all parts that they do not have in common. A point
    without the dimension is next to the middle of its range, 1 away: such distances always yield a
    covariance."""
    import numpy as np

    roles: dict[str, list[Dimension]] = {}
    for dimension in space.dimensions:
        roles.setdefault(dimension.role or dimension.name, []).append(dimension)
    out = []
    for alike in roles.values():
        own = [next((d for d in alike if d.name in point), None) for point in points]
        values = [None if d is None else point[d.name] for d, point in zip(own, points, strict=True)]
        first = alike[0]
        if first.parts:
            names = sorted(set[str]().union(*first.parts.values()))
            has = np.array([[name in first.parts[value] for name in names] for value in values], float)
            out.append(np.abs(has[:, None] - has[None, :]).mean(axis=2))
            continue
        if first.choices:
            known = first.recorded.choices
            codes = np.array([-1 if v is None else known.index(v) for v in values])
            out.append((codes[:, None] != codes[None, :]).astype(float))
            continue
        places = np.array([0.5 if d is None else d.scaled(v) for d, v in zip(own, values, strict=True)])
        absent = np.array([d is None for d in own])
        apart = np.subtract.outer(places, places) ** 2
        out.append(apart + (absent[:, None] != absent[None, :]))
    return out
