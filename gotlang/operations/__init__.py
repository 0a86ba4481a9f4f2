"""The operations and blocks of the language: one file, and one record, each.

To add one, write its file, and name it in `_OPERATIONS` or `_BLOCKS` (CONTRIBUTING.md shows it).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gotlang.operations.record import BlockRecord, OperationRecord
from gotlang.operations.step import Step

_OPERATIONS = (
    "generate",
    "improve",
    "aggregate",
    "ask",
    "score",
    "validate",
    "keep_valid",
    "validate_and_improve",
    "keep_best_n",
    "select",
    "vote",
    "map",
    "pool",
    "retrieve",
    "call",
    "ground_truth",
)
_BLOCKS = (
    "foreach",
    "reduce",
    "repeat",
    "repeated",
    "if_",
    "match",
    "try_",
    "search",
    "first",
    "skip",
    "labelled",
    "scheme_call",
)


def _records(modules: tuple[str, ...], name: str) -> dict[str, Any]:
    found = (getattr(import_module(f"gotlang.operations.{module}"), name) for module in modules)
    return {record.name: record for record in found}


OPERATIONS: dict[str, OperationRecord[Any]] = _records(_OPERATIONS, "OPERATION")
"""Every operation by its name, in the order of the reference."""

BLOCKS: dict[str, BlockRecord[Any]] = _records(_BLOCKS, "BLOCK")
"""Every step that holds or calls others, by its name."""

_NAMES: dict[type[Step], str] = {
    **{record.step: record.name for record in OPERATIONS.values()},
    **{record.step: record.name for record in BLOCKS.values()},
}


def record_named(name: str) -> OperationRecord[Any] | BlockRecord[Any]:
    """The record of a name. Raises KeyError for a name that no record has."""
    return OPERATIONS.get(name) or BLOCKS[name]


def record_of(step: Step) -> OperationRecord[Any] | BlockRecord[Any]:
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
    return title(step) if isinstance(record_of(step), OperationRecord) else f"{title(step)} {detail}".strip()
