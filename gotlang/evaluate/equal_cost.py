"""Adjusts contenders to equal cost: the number of repeats of each row, or of samples.

A level is a number of repeats, or of samples. All rows run at one level, and as many of them at the next one
as bring the mean cost to the target; the choice of rows depends on their order alone, never on their results.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Final, TypeVar

from gotlang.evaluate.evaluation import CostMetric, Evaluation
from gotlang.evaluate.runs import RowRun
from gotlang.metric import ScoreKind

T = TypeVar("T")

TOLERANCE: Final = 0.0125
"""The relative tolerance of a mean cost around the target: two of them differ by at most 2.5%."""
MOST_REPEATS: Final = 1000
"""A scheme that is cheaper by a larger factor does not reach equal cost; its cost in the table shows it."""
_STEP = 0.8
"""The part of the missing levels that is tried at once: costs vary, and spending cannot be undone."""

AtLevel = Callable[[int, Collection[int] | None], Awaitable[Evaluation]]
"""Runs a contender at a level, on the rows of these numbers or (None) on all."""


async def at_cost(
    at: AtLevel, found: Evaluation, level: int, target: float, metric: CostMetric
) -> tuple[Evaluation, float]:
    """An evaluation whose mean cost is the target within the tolerance, and its mean level.

    `found` is that of all rows at `level`. Its cost differs from the target if no level comes nearer, such as
    that of a scheme that costs more than the target at level 1, or one whose cost does not rise with the
    level.
    """
    levels = dict.fromkeys(found.values(metric), level)
    ceiling = MOST_REPEATS + 1  # a level known to cost too much for all rows
    raised = (
        False  # whether rows were raised one by one: then it is as near as possible once it costs too much
    )
    while levels and found.stopped is None:
        costs = found.values(metric)
        total = math.fsum(costs.values())
        short = target * len(costs) - total
        if abs(short) <= TOLERANCE * target * len(costs) or not total:
            break
        missing = round(short / (total / sum(levels.values())))  # levels of single rows
        behind = [row for row in levels if levels[row] == level]
        whole = len(behind) == len(levels)
        if short < 0:
            if raised or level == 1:
                break
            ceiling, level = level, max(1, math.floor(level * target * len(costs) / total))
            found, levels = await at(level, None), dict.fromkeys(levels, level)
        elif whole and missing >= len(levels) and level + 1 < ceiling:
            higher = min(level + max(1, math.floor(_STEP * missing / len(levels))), ceiling - 1)
            higher_found = await at(higher, None)
            if math.fsum(higher_found.values(metric).values()) <= total:
                break
            found, level, levels = higher_found, higher, dict.fromkeys(levels, higher)
        elif missing and behind and level < MOST_REPEATS:
            chosen = spread(behind, max(1, math.floor(_STEP * min(missing, len(behind)))))
            found = _replaced(found, await at(level + 1, chosen))
            levels |= dict.fromkeys(chosen, level + 1)
            raised = True
            if len(chosen) == len(behind):
                level += 1
        else:
            break
    mean = sum(levels.values()) / len(levels) if levels else level
    return found, mean


def spread(values: Sequence[T], count: int) -> list[T]:
    """This number of the values, evenly spread over their order."""
    return [values[(2 * place + 1) * len(values) // (2 * count)] for place in range(count)]


def _replaced(found: Evaluation, more: Evaluation) -> Evaluation:
    """An evaluation with some of its rows run again."""
    rows = {run.row.number for run in more.runs}
    runs = [*(run for run in found.runs if run.row.number not in rows), *more.runs]
    return dataclasses.replace(
        more,
        runs=sorted(runs, key=lambda run: (run.row.number, run.repeat)),
        stopped=found.stopped or more.stopped,
        not_run=found.not_run + more.not_run,
    )


def repeated(found: Evaluation, run: Callable[[int, int, Collection[int]], Awaitable[Evaluation]]) -> AtLevel:
    """A scheme at levels that are repeats: the best result of a row counts.

    `found` is its first run on all rows; `run(first, repeats, rows)` adds more.
    """
    by_row: dict[int, list[RowRun]] = {}
    for one in found.runs:
        by_row.setdefault(one.row.number, []).append(one)

    async def at(level: int, rows: Collection[int] | None) -> Evaluation:
        wanted = list(by_row) if rows is None else list(rows)
        last, stopped = found, found.stopped
        for have in sorted({len(by_row[row]) for row in wanted}):
            if have < level:
                last = await run(have, level - have, [row for row in wanted if len(by_row[row]) == have])
                stopped = stopped or last.stopped
                for one in last.runs:
                    by_row[one.row.number].append(one)
        runs = [combine(by_row[row][:level], found.kind) for row in wanted]
        return dataclasses.replace(last, kind=found.kind, runs=runs, repeat=1, stopped=stopped)

    return at


def combine(runs: Sequence[RowRun], kind: ScoreKind) -> RowRun:
    """Several runs of a row as one: the best result, at the cost of all, in the time of the slowest."""
    done = [run for run in runs if run.state == "done"]
    scored = [run for run in done if run.score is not None]
    chosen = runs[0]
    if scored:
        sign = 1 if kind.lower else -1
        chosen = min(scored, key=lambda run: sign * (run.score or 0.0))
    elif done:
        texts = [json.dumps(run.value, sort_keys=True, default=str) for run in done]
        chosen = done[texts.index(Counter(texts).most_common(1)[0][0])]  # the first of equals
    ended = [run for run in runs if run.state != "partial" and run.calls is not None]  # failed ones cost too
    if not ended:
        return chosen
    costs = [run.usd for run in ended]
    return dataclasses.replace(
        chosen,
        repeat=0,
        usd=None if None in costs else math.fsum(cost for cost in costs if cost is not None),
        tokens=sum(run.tokens or 0 for run in ended),
        calls=sum(run.calls or 0 for run in ended),
        seconds=max(run.seconds or 0.0 for run in ended),
    )
