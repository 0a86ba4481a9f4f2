"""The operations and blocks of the language: one file, and one record, each.

To add one, write its file, and add its record to `OPERATIONS` (or `BLOCKS`).
"""

from __future__ import annotations

from typing import Any

from gotlang.operations import (
    aggregate,
    call,
    foreach,
    generate,
    ground_truth,
    if_,
    improve,
    keep_best_n,
    keep_valid,
    labelled,
    map,
    pool,
    reduce,
    repeat,
    retrieve,
    scheme_call,
    score,
    select,
    validate,
    validate_and_improve,
    vote,
)
from gotlang.operations.record import Block, Operation
from gotlang.operations.step import Step

OPERATIONS: dict[str, Operation[Any]] = {
    record.name: record
    for record in (
        generate.OPERATION,
        improve.OPERATION,
        aggregate.OPERATION,
        score.OPERATION,
        validate.OPERATION,
        keep_valid.OPERATION,
        validate_and_improve.OPERATION,
        keep_best_n.OPERATION,
        select.OPERATION,
        vote.OPERATION,
        map.OPERATION,
        pool.OPERATION,
        retrieve.OPERATION,
        call.OPERATION,
        ground_truth.OPERATION,
    )
}
"""Every operation by its name, in the order of the reference."""

BLOCKS: dict[str, Block[Any]] = {
    record.name: record
    for record in (
        foreach.BLOCK,
        reduce.BLOCK,
        repeat.BLOCK,
        if_.BLOCK,
        labelled.BLOCK,
        scheme_call.BLOCK,
    )
}
"""Every step that holds or calls others, by its name."""

_NAMES: dict[type[Step], str] = {
    **{record.step: record.name for record in OPERATIONS.values()},
    **{record.step: record.name for record in BLOCKS.values()},
}


def record_named(name: str) -> Operation[Any] | Block[Any]:
    """The record of a name. Raises KeyError for a name that no record has."""
    return OPERATIONS.get(name) or BLOCKS[name]


def record_of(step: Step) -> Operation[Any] | Block[Any]:
    """The record of a step."""
    return record_named(_NAMES[type(step)])


def title(step: Step) -> str:
    """A step as messages name it: `Generate sort`, `KeepBestN`, `foreach part`, `merge step 1`."""
    record = record_of(step)
    name, _, alone = record.label(step)
    return name if alone else f"{record.name} {name}".strip()


def block_title(step: Step) -> str:
    """A block as pictures name it: `foreach part`, `reduce left, right`, `repeat 3`."""
    _, detail, _ = record_of(step).label(step)
    return title(step) if isinstance(record_of(step), Operation) else f"{title(step)} {detail}".strip()
