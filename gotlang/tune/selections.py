"""The gain of each selection of a program by its number of candidates: a model of its single operations.

If `KeepBestN` chooses among ten samples, their scores also show what it would have gained with two of them or
with five. So one run provides data on all points with fewer candidates at that step, and the gains of all
steps, each times how often a run reaches it, explain most of the differences between points. The weight of a
step in the objective, and everything else, is left to the model of points (see `surrogate`).
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from itertools import accumulate
from typing import final

from msgspec import Struct

from gotlang.operations.keep_best_n import KeepBestN
from gotlang.runtime.sampler.events import Ended, Event


@final
class SelectionStatistics(Struct, frozen=True):
    """The selections at one step: their number, and the sum of the leads of the best of the first candidate,
    of the first two, and so on over the first."""

    times: int
    gains: tuple[float, ...]

    def __add__(self, other: SelectionStatistics) -> SelectionStatistics:
        # One with fewer candidates stopped early, at the best possible score.
        last = max(len(self.gains), len(other.gains)) - 1
        both = zip(self.up_to(last), other.up_to(last), strict=True)
        return SelectionStatistics(self.times + other.times, tuple(a + b for a, b in both))

    def up_to(self, last: int) -> tuple[float, ...]:
        """The gains up to this number of candidates."""
        return self.gains + self.gains[-1:] * (last + 1 - len(self.gains))


Selections = Mapping[str, SelectionStatistics]
"""By the step's place in the program."""


def note(selections: MutableMapping[str, SelectionStatistics], event: Event) -> None:
    """Record the candidates of an operation that selects."""
    if isinstance(event, Ended) and isinstance(step := event.operation.step, KeepBestN):
        found = [thought.goodness for thought in event.operation.pool if thought.score is not None]
        if found:
            one = SelectionStatistics(1, tuple(best - found[0] for best in accumulate(found, max)))
            add(selections, {str(step.span.start): one})


def add(selections: MutableMapping[str, SelectionStatistics], more: Selections) -> None:
    """Add selections to others, step by step."""
    for step, selection in more.items():
        selections[step] = selections[step] + selection if step in selections else selection


def gains_of(points: Sequence[tuple[int, Selections]]) -> dict[str, list[float]]:
    """The gain at each step in a run of each point, from all points with as many selections in a run. Points
    are given by their number of cells and the selections in all of them."""
    found: dict[str, list[float]] = {}
    for step in dict.fromkeys(step for _, selections in points for step in selections):
        often = [each[step].times / cells if step in each else 0.0 for cells, each in points]
        alike: dict[int, list[SelectionStatistics]] = {}
        for count, (_, each) in zip(often, points, strict=True):
            if step in each:
                alike.setdefault(max(1, round(count)), []).append(each[step])
        curves = {count: _curve(selections) for count, selections in alike.items()}
        found[step] = [
            count * curves[max(1, round(count))][len(each[step].gains) - 1] if step in each else 0.0
            for count, (_, each) in zip(often, points, strict=True)
        ]
    return found


def _curve(selections: Sequence[SelectionStatistics]) -> list[float]:
    """The mean gain of a selection with 1, 2, ... candidates: each further one adds its mean gain over all
    selections that have it."""
    steps = [0.0]
    for place in range(1, max(len(each.gains) for each in selections)):
        some = [each for each in selections if len(each.gains) > place]
        more = sum(each.gains[place] - each.gains[place - 1] for each in some)
        steps.append(more / sum(each.times for each in some))
    return list(accumulate(steps))
