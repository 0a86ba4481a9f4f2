"""The rows of a study: those it may learn from, and those that nobody sees before the end.

A search is given its train rows and nothing else. The test rows are read from the file again when the
search is over, so that no object of the search ever refers to one. Equal rows count once: none can be on
both sides.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any, final

from gotlang import data
from gotlang.errors import UsageError
from gotlang.ir.program import Scheme
from gotlang.tune.plan import TRAIN_SHARE, Plan


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One row: its number in the file, the scheme's inputs, and the known answer where there is one."""

    number: int
    inputs: dict[str, Any]
    truth: Any = None


@final
@dataclass(frozen=True, slots=True)
class Split:
    """Numbers of rows, in the order they are taken, and the fingerprint of the whole file."""

    train: tuple[int, ...]
    test: tuple[int, ...]
    fingerprint: str


def split(plan: Plan) -> Split:
    """Which rows are for what: drawn by the study's split seed. Raises UsageError where there are too few."""
    table = data.load(plan.data)
    scheme = plan.program.ir(0).scheme(plan.scheme)
    distinct = {_content(_row(plan, scheme, table, number)): number for number in reversed(range(len(table)))}
    numbers = sorted(distinct.values())
    random.Random(f"split {plan.split_seed}").shuffle(numbers)
    train = plan.train
    if train is None:
        train = len(numbers) - plan.test if plan.test is not None else int(len(numbers) * TRAIN_SHARE)
    test = plan.test if plan.test is not None else len(numbers) - train
    if train < 1 or test < 1 or train + test > len(numbers):
        raise UsageError(
            f"{plan.data} has {len(numbers)} different rows, too few for {train} to train and {test} to test",
            help="both need at least one, and none can be both",
        )
    return Split(tuple(numbers[:train]), tuple(numbers[train : train + test]), data.fingerprint(table))


def read_rows(plan: Plan, numbers: tuple[int, ...]) -> tuple[Row, ...]:
    """These rows of the study's file, in this order."""
    table = data.load(plan.data)
    scheme = plan.program.ir(0).scheme(plan.scheme)
    return tuple(_row(plan, scheme, table, number) for number in numbers)


def _row(plan: Plan, scheme: Scheme, table: data.Table, number: int) -> Row:
    values = data.inputs(table, number, plan.columns, dict(scheme.parameters), {"truth": scheme.truth})
    truth = values.pop("truth", None)
    return Row(number, values, truth)


def _content(row: Row) -> str:
    return json.dumps(row.inputs, sort_keys=True, default=str)
