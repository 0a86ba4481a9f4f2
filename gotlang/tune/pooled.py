"""What each trial is worth when all trials are believed together: the mean of a Gaussian process.

The best of many noisy means is mostly a lucky one. Points that lie near each other are worth about the same,
so the rows of all trials, also of those that were stopped, say what each is worth; a trial that alone stands
out is drawn towards its neighbours. How smooth the space is along each dimension and how noisy the rows are:
what makes the trials likeliest, of a few candidates each.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from gotlang.tune.records import Record
from gotlang.tune.space import Point, Space

FEWEST = 8
"""Trials below which each is believed by itself."""
MOST = 150
"""Trials that are fitted; of more, those that saw the most rows."""
_SCALES = (0.15, 0.3, 0.6, 1.2, 2.5, 10.0)
_NOISES = (0.25, 0.5, 1.0)
_SIGNALS = (0.3, 1.0, 3.0)
_PASSES = 2


def pooled(space: Space, records: Mapping[int, Record], place: int = 0) -> dict[int, float]:
    """The mean of an objective by the number of the trial, for trials that have a value.

    With fewer trials than `FEWEST`, or where no row differs from any other, these are the trials' own means.
    """
    known = {n: r for n, r in records.items() if r.told.values is not None and r.rows}
    own = {n: r.told.values[place] for n, r in known.items() if r.told.values is not None}
    # Trials of one point share their answers: together they say no more than the one that saw the most rows.
    firsts: dict[str, int] = {}
    for number in sorted(known, key=lambda n: (-len(known[n].rows), n)):
        firsts.setdefault(_key(known[number]), number)
    if len(firsts) < FEWEST:
        return own
    most = list(firsts.values())[:MOST]
    row = noise({n: records[n] for n in (0, *most) if n in records}, place)
    if row == 0:
        return own
    import numpy as np

    values = np.array([own[n] for n in most])
    errors = np.array([row / len(known[n].rows) for n in most])
    gaps = _gaps(space, [known[n].point for n in most])
    center, spread = float(np.average(values, weights=1 / errors)), float(values.var()) or row
    fitted = _fitted(gaps, values - center, errors, spread)
    worth = {n: center + float(value) for n, value in zip(most, fitted, strict=True)}
    return {n: worth.get(firsts[_key(r)], own[n]) for n, r in known.items()}


def _key(record: Record) -> str:
    return json.dumps(dict(record.point), sort_keys=True)


def noise(records: Mapping[int, Record], place: int = 0) -> float:
    """The variance of one row of one trial, from how its lead over the untuned program differs by row."""
    base = records.get(0)
    if base is None:
        return 0.0
    squares, count = 0.0, 0
    for number, record in records.items():
        leads = [
            a.objectives[place] - b.objectives[place]  # type: ignore[operator]
            for a, b in zip(record.rows, base.rows, strict=False)
            if number != 0 and a.objectives[place] is not None and b.objectives[place] is not None
        ]
        if len(leads) > 1:
            middle = math.fsum(leads) / len(leads)
            squares += math.fsum((lead - middle) ** 2 for lead in leads)
            count += len(leads) - 1
    return squares / count if count else 0.0


def _gaps(space: Space, points: Sequence[Point]) -> list[Any]:
    """For each dimension how far points lie apart in it, squared: 0 to 1, and 1 for other choices."""
    import numpy as np

    out = []
    for dimension in space.dimensions:
        values = [point.get(dimension.name) for point in points]
        if dimension.choices or dimension.low is None or dimension.high is None:
            out.append(np.array([[float(a != b) for b in values] for a in values]))
            continue
        width = (dimension.high - dimension.low) or 1
        places = [0.0 if v is None else (v - dimension.low) / width for v in values]  # type: ignore[operator]
        absent = np.array([v is None for v in values])
        apart = np.subtract.outer(np.array(places), np.array(places)) ** 2
        out.append(np.where(absent[:, None] != absent[None, :], 1.0, apart))
    return out


def _fitted(gaps: list[Any], values: Any, errors: Any, spread: float) -> Any:
    """The posterior means at the points, with the likeliest scales."""
    import numpy as np

    scales, noise, signal = [0.6] * len(gaps), 0.5, 1.0

    def solved(scales: list[float], noise: float, signal: float) -> tuple[float, Any]:
        far = sum((gap / scale**2 for gap, scale in zip(gaps, scales, strict=True)), np.zeros((1, 1)))
        near = signal * spread * np.exp(-0.5 * far) * np.ones((len(values), len(values)))
        whole = near + np.diag(noise * errors + 1e-9 * spread)
        lower = np.linalg.cholesky(whole)
        half = np.linalg.solve(lower, values)
        weights = np.linalg.solve(lower.T, half)
        return -0.5 * float(half @ half) - float(np.log(np.diag(lower)).sum()), near @ weights

    best = solved(scales, noise, signal)
    for _ in range(_PASSES):
        for place in range(len(gaps)):
            for scale in _SCALES:
                tried = [*scales[:place], scale, *scales[place + 1 :]]
                if (found := solved(tried, noise, signal))[0] > best[0]:
                    best, scales = found, tried
        for more in _NOISES:
            for most in _SIGNALS:
                if (found := solved(scales, more, most))[0] > best[0]:
                    best, noise, signal = found, more, most
    return best[1]
