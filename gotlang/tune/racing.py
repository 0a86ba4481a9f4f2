"""Racing: rows are run in waves, and a trial that is worse than the best so far stops.

All trials see the same rows in the same order, and equal requests get the same draws, so two trials are
compared pair by pair: the one-sided signed-rank test of Wilcoxon, ties and equal pairs included; exact where
there are few enough pairs to count every way in which they could fall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

DEFAULT_P = 0.1
DEFAULT_FIRST = 8
MOST_EXACT = 100
"""Pairs that are counted exactly, which takes time with their cube; of more the normal distribution tells as
much (at 150 to within 0.002)."""


@final
@dataclass(frozen=True, slots=True)
class Race:
    """Stop where the test says worse with at most `p`; the first look is after `first` rows, and each wave
    after it makes the rows seen half as many again."""

    p: float = DEFAULT_P
    first: int = DEFAULT_FIRST

    def waves(self, rows: int) -> list[int]:
        """After how many rows to look, the last time after all of them."""
        looks: list[int] = []
        seen = self.first
        while seen < rows:
            looks.append(seen)
            seen += max(1, seen // 2)
        return [*looks, rows]

    def worse(self, differences: Sequence[float]) -> bool:
        """Whether a trial is worse, by its differences to the best so far (above 0 is worse)."""
        return sum(differences) > 0 and signed_rank(differences) <= self.p


def signed_rank(differences: Sequence[float]) -> float:
    """The probability of differences at least as much above 0 as these, if they fell to both sides alike.

    Pairs without a difference count half to either side, so that many of them speak for no difference.
    """
    if not differences:
        return 1.0
    ordered = sorted(abs(d) for d in differences)
    # Twice the rank, so that ties have whole numbers: the first and the last place of the tie together.
    twice: dict[float, tuple[int, int]] = {}
    for place, size in enumerate(ordered, 1):
        first, _ = twice.get(size, (place, place))
        twice[size] = (first, place)
    ranks = [sum(twice[abs(d)]) for d in differences]
    above = sum(rank for rank, d in zip(ranks, differences, strict=True) if d > 0)
    above += sum(rank for rank, d in zip(ranks, differences, strict=True) if d == 0) // 2
    tossed = [rank for rank, d in zip(ranks, differences, strict=True) if d != 0]
    fixed = sum(rank for rank, d in zip(ranks, differences, strict=True) if d == 0) // 2
    if len(tossed) > MOST_EXACT:
        beyond = above - fixed - sum(tossed) / 2 - 1  # sums of ranks, doubled here, lie 2 apart
        return 0.5 * math.erfc(beyond / math.sqrt(sum(rank * rank for rank in tossed) / 2))
    ways = [1] + [0] * sum(tossed)
    for rank in tossed:
        for total in range(len(ways) - 1, rank - 1, -1):
            ways[total] += ways[total - rank]
    return float(sum(ways[max(0, above - fixed) :]) / 2 ** len(tossed))
