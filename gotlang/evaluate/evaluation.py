"""What many runs of a scheme gave: row by row, and in sum."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Literal, final

from gotlang.evaluate.measure import ScoreKind
from gotlang.evaluate.rows import Row
from gotlang.statistics import Interval, bounded, mean_interval, share_interval, within

METRICS = ("score", "correct", "cost", "calls", "seconds")
"""What is measured of a run: its result's score, whether that is right (1 or 0), US dollars, answers asked
for, and seconds along the longest path. The last three are those of a run with an empty cache, so that they
do not depend on what ran before."""

SPENDINGS = ("cost", "calls", "seconds")
"""Those of them that are never less than nothing. A failed run has the first two."""

State = Literal["done", "partial", "failed"]


@final
@dataclass(frozen=True, slots=True)
class RowRun:
    """One run of one row. `reason` says why it failed or is partial; `failed_thoughts` counts thoughts of it
    that failed. A run that failed is not correct, and has no score and no time, but a price."""

    row: Row
    repeat: int
    state: State
    value: Any = None
    score: float | None = None
    truth: bool | None = None
    usd: float | None = None
    calls: int | None = None
    seconds: float | None = None
    reason: str | None = None
    failed_thoughts: int = 0

    def metric(self, name: str) -> float | None:
        """A metric of this run; None where it is not known."""
        match name:
            case "score":
                return _finite(self.score)
            case "correct":
                return None if self.truth is None else float(self.truth)
            case "cost":
                return self.usd
            case "calls":
                return None if self.calls is None else float(self.calls)
        return self.seconds


@final
@dataclass(frozen=True, slots=True)
class Evaluation:
    """A scheme over rows, `repeat` runs each (with seeds that follow one another).

    `not_run` counts runs that a limit, an interruption or too many failures kept from starting, and `stopped`
    says which.
    """

    scheme: str
    kind: ScoreKind
    runs: Sequence[RowRun]
    repeat: int = 1
    not_run: int = 0
    stopped: str | None = None
    _values: dict[str, dict[int, float]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def rows(self) -> int:
        """Rows of which a run ended, whether well or not."""
        return len({run.row.number for run in self.runs})

    def failures(self) -> Counter[str]:
        """How many runs failed, by reason. What an answer said is left out of a reason, so that equal
        reasons count together; `reason` of a run has it."""
        failed = (run.reason or "unknown" for run in self.runs if run.state == "failed")
        return Counter(_QUOTED.sub("", reason) for reason in failed)

    def values(self, metric: str) -> Mapping[int, float]:
        """A metric by row: the mean over its runs of those where it is known.

        Partial runs count for nothing. A failed run has no score, and is a wrong answer where the others say
        whether they are right; what it spent counts like theirs, or else what fails would look cheap.
        """
        if metric not in self._values:
            judged = any(run.truth is not None for run in self.runs)
            found: dict[int, list[float]] = {}
            for run in self.runs:
                counts = run.state == "done" or (run.state == "failed" and metric in SPENDINGS)
                value = run.metric(metric) if counts else None
                if run.state == "failed" and metric == "correct" and judged:
                    value = 0.0
                if value is not None:
                    found.setdefault(run.row.number, []).append(value)
            self._values[metric] = {number: fmean(values) for number, values in sorted(found.items())}
        return self._values[metric]

    def interval(self, metric: str, *, seed: int = 0) -> Interval | None:
        """The mean of a metric over the rows; None where no row has it. No bound lies where no mean can be:
        below nothing spent, or beyond the best score."""
        values = list(self.values(metric).values())
        if not values:
            return None
        if metric == "correct":
            return share_interval(values)
        least, most = (0.0, math.inf) if metric in SPENDINGS else self._possible()
        return within(mean_interval(values, seed=seed), least, most)

    def _possible(self) -> tuple[float, float]:
        """Between what a score can lie."""
        best = self.kind.best
        if best is None:
            return -math.inf, math.inf
        return (best, math.inf) if self.kind.lower else (-math.inf, best)

    def sum(self, metric: str) -> float | None:
        """A metric added up over every run that ended; None where one of them does not have it."""
        values = [run.metric(metric) for run in self.runs if run.state != "failed" or run.calls is not None]
        known = [value for value in values if value is not None]
        return math.fsum(known) if len(known) == len(values) else None


_QUOTED = re.compile(r""": (['"]).*\1\Z""", re.DOTALL)
"""An answer, or a part of one, at the end of a reason."""


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else bounded(value)
