"""The operations and blocks of the language: one file, and one record, each.

To add one, write its file, and name it in `_OPERATIONS` or `_BLOCKS` (CONTRIBUTING.md shows it).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache
from importlib import import_module
from typing import Any, TypeVar, final

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
_BLOCKS = {
    "foreach": "foreach",
    "reduce": "reduce",
    "repeat": "repeat",
    "Repeat": "repeated",
    "if": "if_",
    "match": "match",
    "try": "try_",
    "search": "search",
    "first": "first",
    "skip": "skip",
    "block": "labelled",
    "scheme": "scheme_call",
}

MODULES = {
    "".join(map(str.capitalize, module.split("_"))): module for module in (*_OPERATIONS, *_BLOCKS.values())
}
"""The modules by their names as steps, such as `KeepBestN`."""

RecordT = TypeVar("RecordT")


@final
class _Records(MutableMapping[str, RecordT]):
    """Records by name, each imported at first use: a program uses few of them."""

    def __init__(self, modules: Mapping[str, str], name: str) -> None:
        self._modules = modules
        self._name = name
        self._found: dict[str, RecordT] = {}

    def __getitem__(self, name: str) -> RecordT:
        if name not in self._found:
            module = import_module(f"gotlang.operations.{self._modules[name]}")
            self._found[name] = getattr(module, self._name)
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __setitem__(self, name: str, record: RecordT) -> None:
        self._found[name] = record

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


OPERATIONS: _Records[OperationRecord[Any]] = _Records(
    {name: module for name, module in MODULES.items() if module in _OPERATIONS}, "OPERATION"
)
"""Every operation by its name, in the order of the reference."""

BLOCKS: _Records[BlockRecord[Any]] = _Records(_BLOCKS, "BLOCK")
"""Every step that contains or calls others, by its name."""


@cache
def _name_of(kind: type[Step]) -> str:
    module = sys.modules[kind.__module__]
    record: OperationRecord[Any] | BlockRecord[Any] = getattr(module, "OPERATION", None) or module.BLOCK
    return record.name


def record_named(name: str) -> OperationRecord[Any] | BlockRecord[Any]:
    """The record with a name. Raises KeyError if there is none."""
    return OPERATIONS.get(name) or BLOCKS[name]


def record_of(step: Step) -> OperationRecord[Any] | BlockRecord[Any]:
    """The record of a step."""
    return record_named(_name_of(type(step)))


def title(step: Step) -> str:
    """A step as messages name it: `Generate sort`, `KeepBestN`, `foreach part`, `merge step 1`."""
    record = record_of(step)
    label = record.label(step)
    return label.name if label.alone else f"{record.name} {label.name}".strip()


def block_title(step: Step) -> str:
    """A block as pictures name it: `foreach part`, `reduce left, right`, `repeat 3`."""
    detail = record_of(step).label(step).detail
    return title(step) if isinstance(record_of(step), OperationRecord) else f"{title(step)} {detail}".strip()
