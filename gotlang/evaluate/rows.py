"""Rows of a table as inputs of a scheme; infers which column feeds which input.

Three rules, the first that applies:

1. an input takes the column that is mapped to it (`--map INPUT=COLUMN`), or that has its name, in any case; a
   list takes columns that are numbered from 1, `documents` those from `document1` on;
2. columns with usual names of answers (`truth`, `expected`, `Sorted`, ...) or of row numbers (`id`, ...) are
   inputs only if they are mapped;
3. an input takes the only remaining column of which every cell can be read as its type. If there are several,
   or another input could take the same one, that is an error that says how to map it.

The known answer takes a column in the same way among those with names of answers, and only if the scheme uses
it: the only one that can be read as it, or the only one with such a name, so that a cell that cannot be read
is reported with its row. If several are possible, that is an error. If no column has such a name, an answer
of several parts (a list, a record, a dict) takes the only remaining column that can be read as it. Columns
found by rule 3 are reported as inferred.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, final, overload

from gotlang.answers.conversion import convert, from_text, same_name
from gotlang.data import load
from gotlang.data.inputs import choose_one, documents, input_reader, named_columns, numbered, split_columns
from gotlang.data.selection import ALL, RowSelection
from gotlang.data.table import Table
from gotlang.errors import ReadError, UsageError
from gotlang.ir import program as ir
from gotlang.ir.program import Program, Scheme
from gotlang.metric import looks_at_truth as needs_truth
from gotlang.metric import metrics_of, steps
from gotlang.syntax.expressions import Reference
from gotlang.syntax.walk import walk
from gotlang.types import STR, DictType, DynamicType, ListType, RecordType, Type, UnionType

TRUTH = "truth"
"""The name by which the known answer is mapped."""

ANSWERS = frozenset(
    """
    answer answers correct expected goal gold groundtruth intersection label output reference result solution
    sorted target targets truth
    """.split()  # noqa: SIM905 (a list would take one line per word)
)
"""Usual names of columns of known answers, without case, spaces and underscores."""
NUMBERS = frozenset(("id", "ids", "idx", "index", "key", "line", "no", "nr", "num", "number", "row", "rowid"))
"""Usual names of columns that number the rows."""
_MOST_KEPT = 1000
"""Number of rows above which they are read when they run, and not kept in memory."""
_NUMBER = re.compile(r"[+-]?[0-9.]+")


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A row: its number in the table, counted from 0, the inputs, and the known answer (None: none)."""

    number: int
    inputs: Mapping[str, Any]
    truth: Any = None


@final
class _Rows(Sequence[Row]):
    """Rows that are read on access."""

    def __init__(self, row: Callable[[int], Row], numbers: Sequence[int]) -> None:
        self._row = row
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | Sequence[Row]:
        if isinstance(place, slice):
            return _Rows(self._row, self.numbers[place])
        return self._row(self.numbers[place])


@final
@dataclass(frozen=True, slots=True)
class ColumnMatch:
    """Columns by input (`truth` among them); `inferred` are the inputs whose column rule 3 found."""

    columns: dict[str, str]
    inferred: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Dataset:
    """The rows of a table for a scheme; `name` is the table's path, `matching` the column of each input, and
    `selection` says which rows of the table they are."""

    name: str
    rows: Sequence[Row]
    matching: ColumnMatch
    selection: RowSelection = ALL

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, number: int) -> Row:
        """The row with this number, of rows in the order of the table."""
        rows = self.rows
        numbers = rows.numbers if isinstance(rows, _Rows) else [row.number for row in rows]
        return self.rows[bisect_left(numbers, number)]


def as_table(data: str | Path | Table | Sequence[Mapping[str, Any]]) -> Table:
    """Data as a table: the path of a file, or rows in memory. Raises UsageError if it cannot be read."""
    if isinstance(data, Table):
        return data
    if isinstance(data, str | Path):
        return load(data)
    rows = tuple(dict(row) for row in data)
    if not rows:
        raise UsageError("the data has no rows")
    return Table("<rows>", tuple(dict.fromkeys(chain.from_iterable(rows))), rows)


def read_dataset(
    data: str | Path | Table | Sequence[Mapping[str, Any]],
    program: Program,
    scheme: Scheme,
    columns: Mapping[str, str] | None = None,
    selection: RowSelection = ALL,
    *,
    numbers: Sequence[int] | None = None,
    metrics: Sequence[str] = (),
    truth: bool = False,
) -> Dataset:
    """The selected rows for a scheme, each cell parsed by the type of its input.

    `columns` maps inputs to columns, `numbers` are the rows to use instead of a selection. The known answer
    is read if the scheme uses it, or a metric that is measured (one of `metrics`, or of the program's own),
    or if `truth` is set. All rows are read before anything runs. Raises UsageError for an empty selection, an
    unknown metric, and with the place of a cell that cannot be parsed.
    """
    table, mapping = as_table(data), columns or {}
    wanted = dict(scheme.parameters)
    looked_at = truth or TRUTH in mapping or reads_truth(program, scheme, metrics)
    compared = TRUTH not in wanted and looked_at
    if unknown := [name for name in mapping if name not in {*wanted, TRUTH}]:
        raise UsageError(
            f"there is no input `{unknown[0]}` to map a column to",
            help=f"the inputs of scheme `{scheme.name}` are: {', '.join(wanted) or 'none'}",
        )
    found = match(table, wanted, scheme.truth if compared else None, mapping)
    optional = {TRUTH: scheme.truth} if TRUTH in found.columns and TRUTH not in wanted else {}

    read = input_reader(table, found.columns, wanted, optional)

    def row(number: int) -> Row:
        values = read(number)
        return Row(number, values, values.pop(TRUTH, None) if optional else None)

    rows: Sequence[Row] = _Rows(row, selection.numbers(table) if numbers is None else numbers)
    if len(rows) <= _MOST_KEPT:
        rows = tuple(rows)
    else:
        for _ in rows:  # a cell that cannot be read is reported before anything runs
            pass
    return Dataset(table.path, rows, found, selection)


def match(
    table: Table, inputs: Mapping[str, Type], truth: Type | None, mapping: Mapping[str, str]
) -> ColumnMatch:
    """The columns for a scheme's inputs, and for the known answer if `truth` is its type.

    Raises UsageError if an input has no column, or if several are possible.
    """
    wanted = {**inputs, **({TRUTH: truth} if truth is not None else {})}
    columns = named_columns(table, wanted, mapping)
    parts = {
        name: numbered(table, name) if isinstance(type_, ListType) else ()
        for name, type_ in inputs.items()
        if name not in columns
    }
    used = chain.from_iterable(split_columns(table, written) for written in columns.values())
    taken = {*used, *chain.from_iterable(parts.values())}
    free = [column for column in table.columns if column not in taken]
    open_inputs = [name for name, of_several in parts.items() if not of_several]
    plain = [column for column in free if same_name(column) not in ANSWERS | NUMBERS]
    fitting = {name: [c for c in plain if readable(table, c, inputs[name])] for name in open_inputs}
    for name, candidates in fitting.items():
        others = {c for other in open_inputs if other != name for c in fitting[other]}
        if len(candidates) != 1 or candidates[0] in others:
            raise _unclear(table, name, inputs[name], candidates or free)
        columns[name] = candidates[0]
    inferred = list(open_inputs)
    if truth is not None and TRUTH not in columns:
        named = [column for column in free if same_name(column) in ANSWERS]
        answers = [column for column in named if readable(table, column, truth)]
        if not named and isinstance(truth, ListType | DictType | RecordType | UnionType):
            rest = [column for column in plain if column not in columns.values()]
            answers = [column for column in rest if readable(table, column, truth)]
        if len(answers) == 1 or len(named) == 1:
            # The only column named like an answer is meant, even if a cell cannot be parsed: reading it
            # reports that.
            columns[TRUTH] = (answers or named)[0]
            inferred.append(TRUTH)
        elif named:
            several = answers or named
            raise UsageError(
                f"{table.path} has several columns that may be the known answer: {', '.join(several)}",
                help=choose_one(TRUTH, several[0]),
            )
    return ColumnMatch(columns, tuple(inferred))


def readable(table: Table, column: str, type_: Type) -> bool:
    """Whether every cell of a column can be parsed as a type more specific than text. Cells of one number
    each are not lists, though one of them could be parsed so."""
    if isinstance(type_, DynamicType):
        return False
    if isinstance(type_, ListType) and all(_is_number(row.get(column)) for row in table.rows):
        return False
    for row in table.rows:
        if column not in row or (type_ == STR and not isinstance(row[column], str)):
            return False
        try:
            if type_ != STR:
                from_text(row[column], type_) if table.as_text else convert(
                    documents(row[column], type_), type_
                )
        except ReadError:
            return False
    return True


def _is_number(cell: object) -> bool:
    return not isinstance(cell, list) and _NUMBER.fullmatch(str(cell).strip()) is not None


def _unclear(table: Table, name: str, type_: Type, candidates: Iterable[str]) -> UsageError:
    near = next(iter(candidates), "COLUMN")
    return UsageError(
        f"{table.path} has no column `{name}`, which the scheme's input `{name}: {type_}` needs",
        help=f"{choose_one(name, near)}; it has: {', '.join(table.columns)}",
    )


def reads_truth(program: Program, scheme: Scheme, metrics: Sequence[str] = ()) -> bool:
    """Whether a scheme uses the known answer, or a metric does: one of these, or of the program's own. Raises
    UsageError for an unknown metric."""
    return any(map(needs_truth, metrics_of(program, scheme, metrics))) or looks_at_truth(program, scheme)


def looks_at_truth(program: Program, scheme: Scheme) -> bool:
    """Whether a scheme, or one that it calls, compares with the known answer."""
    return any(
        isinstance(node, Reference) and node.name == TRUTH
        for step in steps(program, scheme)
        if isinstance(step, ir.GroundTruth)
        for node in walk(step.condition)
    )
