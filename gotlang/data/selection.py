"""Selections of rows of a table: ranges and single rows, a random sample of these, the first ones."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self, final

from gotlang.data.table import Table
from gotlang.errors import UsageError
from gotlang.patterns import lazy_pattern

_RANGE = lazy_pattern(r"\s*(-?\d+)?\s*:\s*(-?\d+)?\s*")
_NUMBER = lazy_pattern(r"\s*-?\d+\s*")
_SAMPLE = lazy_pattern(r"\s*(\d+)\s*(?::\s*(\d+)\s*)?")


Rows = slice | tuple[slice | int, ...]
"""A range of rows, or several ranges and single rows."""


def rows_of(text: str) -> Rows:
    """`900:1000`, `:100`, `-50:` or `:` as a slice; `3`, `3,7` and `0:10,-1` as a tuple of rows and slices.

    Raises ValueError for anything else.
    """
    parts = tuple(_part(part) for part in text.split(","))
    first = parts[0]
    return first if len(parts) == 1 and isinstance(first, slice) else parts


def _part(text: str) -> slice | int:
    if _NUMBER.fullmatch(text):
        return int(text)
    if (found := _RANGE.fullmatch(text)) is None:
        raise ValueError(text)
    first, last = (None if end is None else int(end) for end in found.groups())
    return slice(first, last)


def sample_of(text: str) -> tuple[int, int]:
    """`100` or `100:7`, a number of rows and a seed (default: 0). Raises ValueError for anything else."""
    if (found := _SAMPLE.fullmatch(text)) is None or int(found[1]) < 1:
        raise ValueError(text)
    return int(found[1]), int(found[2] or 0)


@final
@dataclass(frozen=True, slots=True)
class RowSelection:
    """Rows, then a sample of these (the number, and the seed), then the first `limit` of these, in the
    table's order and without duplicates; None: all."""

    rows: Rows | None = None
    sample: tuple[int, int] | None = None
    limit: int | None = None

    @classmethod
    def of(cls, rows: Rows | str | None, sample: tuple[int, int] | int | None, limit: int | None) -> Self:
        """A selection from Python arguments. Raises UsageError for an invalid one."""
        try:
            rows = rows_of(rows) if isinstance(rows, str) else rows
        except ValueError:
            raise UsageError(f"`{rows}` is not a range of rows", help='such as "900:1000" or "3,7"') from None
        drawn = (sample, 0) if isinstance(sample, int) else sample
        for name, number in (("sample", drawn and drawn[0]), ("limit", limit)):
            if number is not None and number < 1:
                raise UsageError(f"`{name}` must be at least 1, not {number}")
        return cls(rows, drawn, limit)

    def numbers(self, table: Table) -> Sequence[int]:
        """The rows of a table, in its order. Raises UsageError if there are none, or too few."""
        numbers: Sequence[int] = range(len(table))
        has = f"it has {len(table)} row{'s' if len(table) != 1 else ''}, counted from 0 to {len(table) - 1}"
        if isinstance(self.rows, slice):
            numbers = numbers[self.rows]
        elif self.rows is not None:
            for row in self.rows:
                if isinstance(row, int) and not -len(table) <= row < len(table):
                    raise UsageError(f"{table.path} has no row {row}", help=has)
            parts = (numbers[row] if isinstance(row, slice) else (numbers[row],) for row in self.rows)
            numbers = sorted(set(chain.from_iterable(parts)))
        if not numbers:
            raise UsageError(f"{table.path} has no rows {self._range()}", help=has)
        if self.sample is not None:
            size, seed = self.sample
            if size > len(numbers):
                of = f" in {self._range()}" if self.rows is not None else ""
                raise UsageError(
                    f"{table.path} has {len(numbers)} rows{of}, too few for a sample of {size}", help=has
                )
            numbers = sorted(random.Random(f"sample {seed}").sample(numbers, size))
        return numbers[: self.limit]

    def _range(self) -> str:
        assert self.rows is not None  # without a range a table has rows
        rows = self.rows if isinstance(self.rows, tuple) else (self.rows,)
        return ",".join(map(_written, rows))

    def __str__(self) -> str:
        """A description for outputs; empty for all and for the first ones."""
        parts = [f"rows {self._range()}"] if self.rows is not None else []
        if self.sample is not None:
            parts.append("a sample of {} by seed {}".format(*self.sample))
        return ", ".join(parts)


def _written(rows: slice | int) -> str:
    if isinstance(rows, int):
        return str(rows)
    parts = (rows.start, rows.stop, *([rows.step] if rows.step is not None else []))
    return ":".join("" if part is None else str(part) for part in parts)


ALL = RowSelection()
