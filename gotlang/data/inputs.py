"""From a row, or from an option of the command line, to the values of a program's inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gotlang.answers.conversion import convert, from_text
from gotlang.data.table import Table
from gotlang.diagnostics import nearest
from gotlang.errors import ReadError, UsageError
from gotlang.types import DictType, ListType, RecordType, Type


def inputs(
    table: Table,
    row_number: int,
    mapping: Mapping[str, str],
    wanted: Mapping[str, Type],
    optional: Mapping[str, Type] | None = None,
) -> dict[str, Any]:
    """The values of one row for a program's inputs, each read by its type.

    `mapping` says which column an input takes (`--map INPUT=COLUMN`); one that is not in it takes the column
    of its own name, in the same case or else in any; a list may take several, numbered from 1: `documents`
    takes `document1`, `document2` and so on. Every input of `wanted` must have one; those of `optional` (such
    as `truth`) are left out where they have none. Raises UsageError with the place.
    """
    row = table.row(row_number)
    types = {**wanted, **(optional or {})}
    for name in mapping:
        if name not in types:
            near = nearest(name, types)
            raise UsageError(
                f"there is no input `{name}` to map a column to",
                help=f"did you mean `{near}`?" if near else f"the inputs are: {', '.join(types) or 'none'}",
            )
    values: dict[str, Any] = {}
    for name, type_ in types.items():
        if isinstance(type_, ListType) and name not in mapping and (columns := numbered(table, name)):
            parts = [_value(table, row, row_number, column, type_.element, name) for column in columns]
            values[name] = parts
            continue
        column = _column(table, name, mapping, needed=name in wanted)
        if column is None:
            continue
        if column not in row:
            if name in wanted:
                raise UsageError(
                    f"{table.path}, row {row_number} has no `{column}`, which input `{name}` needs"
                )
            continue
        values[name] = _value(table, row, row_number, column, type_, name)
    return values


def _value(table: Table, row: Mapping[str, Any], row_number: int, column: str, type_: Type, name: str) -> Any:
    try:
        return from_text(row[column], type_) if table.as_text else convert(row[column], type_)
    except (KeyError, ReadError) as error:
        reason = error.message if isinstance(error, ReadError) else "there is nothing"
        place = f"{table.path}, row {row_number}, column `{column}`"
        raise UsageError(f"{place}: {reason}, for input `{name}`") from None


def numbered(table: Table, name: str) -> tuple[str, ...]:
    """The columns `document1`, `document2`, ... of a list `documents` that has no column of its own."""
    if any(column.casefold() == name.casefold() for column in table.columns):
        return ()
    stem = name.casefold().removesuffix("s")
    known = {column.casefold(): column for column in table.columns}
    found: list[str] = []
    while (column := known.get(f"{stem}{len(found) + 1}")) is not None:
        found.append(column)
    return tuple(found)


def parse_value(text: str, type_: Type, what: str) -> Any:
    """The value of a command line option such as `--input NAME=VALUE` or `--set NAME=VALUE`.

    A `str` is the text as it is; lists are JSON, or numbers or texts with commas between; records are JSON.
    `what` names the option in the UsageError for what cannot be read.
    """
    try:
        return from_text(text, type_)
    except ReadError as error:
        help: str | None
        match type_:
            case ListType():
                help = "a list is written as JSON, such as `[1, 2]`, or with commas between"
            case DictType() | RecordType():
                help = 'it is written as JSON, such as `{"name": 1}`'
            case _:
                help = None
        raise UsageError(f"{what}: {error.message}", help=help) from None


def _column(table: Table, name: str, mapping: Mapping[str, str], *, needed: bool) -> str | None:
    """The column for an input; None where it has none and needs none."""
    if name in mapping:
        column = mapping[name]
        if column in table.columns:
            return column
        near = nearest(column, table.columns)
        raise UsageError(
            f"{table.path} has no column `{column}`",
            help=f"did you mean `{near}`?" if near else f"it has: {', '.join(table.columns)}",
        )
    if name in table.columns:
        return name
    alike = [column for column in table.columns if column.casefold() == name.casefold()]
    if len(alike) == 1:
        return alike[0]
    if not needed:
        return None
    near = nearest(name, table.columns) or "COLUMN"
    raise UsageError(
        f"{table.path} has no column `{name}`, which the program's input needs",
        help=f"say which it is: `--map {name}={near}`; it has: {', '.join(table.columns)}",
    )
