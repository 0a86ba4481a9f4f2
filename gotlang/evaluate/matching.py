"""Which column of a table is which input, where nobody says.

Three rules, the first that applies:

1. an input takes the column that is named for it (`--map INPUT=COLUMN`), or that has its name, in any case; a
   list takes columns that are numbered from 1, `documents` those from `document1` on;
2. columns with names that answers go by (`truth`, `expected`, `Sorted`, ...) or that number rows (`id`, ...)
   are never taken for an input without being named;
3. an input takes the one column left of which every cell can be read as its type. Where there are several, or
   where another input could take the same one, that is an error that says how to name it.

The known answer takes a column in the same way among those that answers go by, and only where the scheme
looks at it. Where no column goes by such a name, an answer of several parts (a list, a record, a dict) takes
the one column left that can be read as it. What was taken by rule 3 is told to the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import final

from gotlang.answers.conversion import convert, from_text, same_name
from gotlang.data.inputs import numbered
from gotlang.data.table import Table
from gotlang.diagnostics import nearest
from gotlang.errors import ReadError, UsageError
from gotlang.types import STR, AnyType, DictType, ListType, RecordType, Type

TRUTH = "truth"
"""The name by which the known answer is mapped."""

ANSWERS = frozenset(
    """
    answer answers correct expected goal gold groundtruth intersection label output reference result solution
    sorted target targets truth
    """.split()  # noqa: SIM905 (a list of so many texts would stand one a line)
)
"""Names that columns of known answers go by, without case, spaces and underscores."""
NUMBERS = frozenset(("id", "ids", "idx", "index", "key", "line", "no", "nr", "num", "number", "row", "rowid"))
"""Names of columns that number the rows."""
_NUMBER = re.compile(r"[+-]?[0-9.]+")


@final
@dataclass(frozen=True, slots=True)
class Matching:
    """Columns by input (`truth` among them); `guessed` are the inputs that rule 3 gave their column."""

    columns: dict[str, str]
    guessed: tuple[str, ...]


def match(
    table: Table, inputs: Mapping[str, Type], truth: Type | None, mapping: Mapping[str, str]
) -> Matching:
    """The columns for a scheme's inputs, and for the known answer where `truth` is its type.

    Raises UsageError where an input has no column, or where several could be meant.
    """
    wanted = {**inputs, **({TRUTH: truth} if truth is not None else {})}
    columns = _named(table, wanted, mapping)
    parts = {name: _parts(table, name, type_) for name, type_ in inputs.items() if name not in columns}
    taken = {*columns.values(), *chain.from_iterable(parts.values())}
    free = [column for column in table.columns if column not in taken]
    open_inputs = [name for name, of_several in parts.items() if not of_several]
    plain = [column for column in free if same_name(column) not in ANSWERS | NUMBERS]
    fitting = {name: [c for c in plain if readable(table, c, inputs[name])] for name in open_inputs}
    for name, candidates in fitting.items():
        others = {c for other in open_inputs if other != name for c in fitting[other]}
        if len(candidates) != 1 or candidates[0] in others:
            raise _unclear(table, name, inputs[name], candidates or free)
        columns[name] = candidates[0]
    guessed = list(open_inputs)
    if truth is not None and TRUTH not in columns:
        answers = [column for column in free if same_name(column) in ANSWERS]
        if not answers and isinstance(truth, ListType | DictType | RecordType):
            answers = [column for column in plain if column not in columns.values()]
        answers = [column for column in answers if readable(table, column, truth)]
        if len(answers) == 1:
            columns[TRUTH] = answers[0]
            guessed.append(TRUTH)
    return Matching(columns, tuple(guessed))


def _named(table: Table, wanted: Mapping[str, Type], mapping: Mapping[str, str]) -> dict[str, str]:
    """The columns that rule 1 gives."""
    columns: dict[str, str] = {}
    for name, column in mapping.items():
        if column not in table.columns:
            near = nearest(column, table.columns)
            has = f"it has: {', '.join(table.columns)}"
            raise UsageError(
                f"{table.path} has no column `{column}`", help=f"did you mean `{near}`?" if near else has
            )
        if name in wanted:
            columns[name] = column
    for name in wanted:
        if name in columns:
            continue
        alike = [column for column in table.columns if column.casefold() == name.casefold()]
        if name in table.columns:
            columns[name] = name
        elif len(alike) == 1:
            columns[name] = alike[0]
    return columns


def _parts(table: Table, name: str, type_: Type) -> tuple[str, ...]:
    """The numbered columns of a list."""
    return numbered(table, name) if isinstance(type_, ListType) else ()


def readable(table: Table, column: str, type_: Type) -> bool:
    """Whether every cell of a column can be read as a type, beyond what any text can. Numbers that stand
    alone in their cells are no lists, though one of them could be read so."""
    if isinstance(type_, ListType) and all(_alone(row.get(column)) for row in table.rows):
        return False
    for row in table.rows:
        if column not in row:
            return False
        cell = row[column]
        if type_ == STR:
            if not isinstance(cell, str):
                return False
            continue
        try:
            from_text(cell, type_) if table.as_text else convert(cell, type_)
        except ReadError:
            return False
    return not isinstance(type_, AnyType)


def _alone(cell: object) -> bool:
    return not isinstance(cell, list) and _NUMBER.fullmatch(str(cell).strip()) is not None


def _unclear(table: Table, name: str, type_: Type, candidates: Iterable[str]) -> UsageError:
    near = next(iter(candidates), "COLUMN")
    return UsageError(
        f"{table.path} has no column `{name}`, which the scheme's input `{name}: {type_}` needs",
        help=f"say which it is: `--map {name}={near}`; it has: {', '.join(table.columns)}",
    )
