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
from gotlang.statistics import Interval, mean_interval, share_interval

METRICS = ("score", "correct", "cost", "calls", "seconds")
"""What is measured of a run: its result's score, whether that is right (1 or 0), US dollars, answers asked
for, and seconds along the longest path. The last three are those of a run with an empty cache, so that they
do not depend on what ran before."""

State = Literal["done", "partial", "failed"]


@final
@dataclass(frozen=True, slots=True)
class RowRun:
    """One run of one row. `reason` says why it failed or is partial; `asked_for` counts thoughts of it that
    failed while the run went on. Where it failed, nothing is measured but that it is not correct."""

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

        Partial runs count for nothing. A failed run has no score and no cost; it is a wrong answer where the
        others say whether they are right.
        """
        if metric not in self._values:
            judged = any(run.truth is not None for run in self.runs)
            found: dict[int, list[float]] = {}
            for run in self.runs:
                value = run.metric(metric) if run.state == "done" else None
                if run.state == "failed" and metric == "correct" and judged:
                    value = 0.0
                if value is not None:
                    found.setdefault(run.row.number, []).append(value)
            self._values[metric] = {number: fmean(values) for number, values in sorted(found.items())}
        return self._values[metric]

    def interval(self, metric: str, *, seed: int = 0) -> Interval | None:
        """The mean of a metric over the rows; None where no row has it."""
        values = list(self.values(metric).values())
        if not values:
            return None
        return share_interval(values) if metric == "correct" else mean_interval(values, seed=seed)

    def sum(self, metric: str) -> float | None:
        """A metric added up over every run that ended; None where one of them does not have it."""
        values = [run.metric(metric) for run in self.runs if run.state != "failed"]
        known = [value for value in values if value is not None]
        return math.fsum(known) if len(known) == len(values) else None


_QUOTED = re.compile(r""": (['"]).*\1\Z""", re.DOTALL)
"""An answer, or a part of one, at the end of a reason."""


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
