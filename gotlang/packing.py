"""Sequences that mostly have one element, kept without a tuple: a run has some for each operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def packed(values: Sequence[T]) -> T | tuple[T, ...]:
    """Values that are no tuples themselves: one as it is, others as a tuple."""
    return values[0] if len(values) == 1 else tuple(values)


def several(kept: T | tuple[T, ...]) -> tuple[T, ...]:
    """What was `packed`."""
    return kept if isinstance(kept, tuple) else (kept,)
