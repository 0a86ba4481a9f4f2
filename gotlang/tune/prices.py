"""The price of a measurement: the cost of its samples that are not in the cache.

A sample is identified by its request and its number, so points share most of their samples: the first five of
ten are the five of another point. The samples that a point requested on its first rows are recorded. On the
same rows of the record the price of further rows, on which other points have been, can be computed: the
samples that none of them requested.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Mapping, Sequence
from typing import Any, final

from gotlang.tune.surrogate import Surrogate

LEAST = 0.01
"""The minimum price of a cell, as a share of the untuned program's: cells that cost no money take time."""
_FEW = 6
"""Minimum number of measured points from which the prices of others can be estimated."""


def packed(samples: Collection[int]) -> bytes:
    """Samples by their numbers, four bytes each, as a trial stores them."""
    return struct.pack(f"<{len(samples)}I", *sorted(samples))


@final
class Prices:
    """Prices of cells (a point on a row), in US dollars, or in calls if no price is known.

    `asked` are the samples that each measured point requested on the first rows, `costs` the mean cost of its
    cells without a cache, `cells` their number; all by the point's place in the list of candidates.
    """

    def __init__(
        self,
        gaps: Sequence[Any],
        asked: Mapping[int, bytes],
        costs: Mapping[int, float],
        cells: Mapping[int, int],
        base: float,
        surrogates: tuple[Surrogate, Surrogate],
    ) -> None:
        import numpy as np

        self._cells, self._base = dict(cells), base
        found = [np.frombuffer(ids, "<u4") for ids in asked.values()]
        distinct, columns = np.unique(np.concatenate(found), return_inverse=True)
        self._samples = len(distinct)
        parts = np.split(columns, np.cumsum([len(ids) for ids in found])[:-1])
        self._ids: dict[int, Any] = dict(zip(asked, parts, strict=True))
        self._unions: dict[int, Any] = {}
        places = [place for place, ids in self._ids.items() if len(ids) and costs.get(place, 0) > 0]
        size = len(gaps[0]) if gaps else 1
        self._costs, self._fresh = np.full(size, base), np.ones(size)
        if len(places) >= _FEW:
            times = np.bincount(columns)
            shares = [float((times[self._ids[p]] == 1).mean()) for p in places]
            logs = [math.log(costs[place]) for place in places]
            for_costs, for_shares = surrogates
            wrong = [1e-4] * len(places), [1e-3] * len(places)
            self._costs = np.exp(for_costs.posterior(gaps, places, logs, wrong[0], spreads=False)[0])
            self._fresh = for_shares.posterior(gaps, places, shares, wrong[1], spreads=False)[0].clip(0, 1)
        for place in places:
            self._costs[place] = costs[place]

    def price(self, place: int, first: int, last: int) -> float:
        """The cells of a candidate from `first` up to `last`, without it."""
        known, total, at = place in self._ids, 0.0, first
        while at < last:
            later = (cells for other, cells in self._cells.items() if other != place and at < cells < last)
            stop = min(later, default=last)
            if known:
                share = 1.0 - float(self._union(at, place).mean()) if len(self._ids[place]) else 1.0
            else:
                share = float(self._fresh[place]) if any(cells > at for cells in self._cells.values()) else 1
            total += (stop - at) * max(share * float(self._costs[place]), LEAST * self._base)
            at = stop
        return total

    def _union(self, cell: int, place: int) -> Any:
        """The samples of a point that the points measured on a cell have requested."""
        import numpy as np

        if cell not in self._unions:
            seen = np.zeros(self._samples, bool)
            for other, cells in self._cells.items():
                if cells > cell and other in self._ids:
                    seen[self._ids[other]] = True
            self._unions[cell] = seen
        return self._unions[cell][self._ids[place]]
