"""The values of a program's inputs, from the columns of a row or from an option of the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gotlang.answers.conversion import convert, from_text
from gotlang.diagnostics import nearest, suggestion
from gotlang.disk import read_bounded
from gotlang.errors import ReadError, UsageError
from gotlang.files import not_found
from gotlang.models.media import moved
from gotlang.turns import holds_media
from gotlang.types import STR, DictType, ListType, OptionalType, RecordType, Type, UnionType

if TYPE_CHECKING:
    from gotlang.data.table import Table


def choose_one(name: str, column: str) -> str:
    """The help for an input without a column: how a command and a study name it."""
    return f'choose one: `--map {name}={column}`, or in a study `data "..." ({name} = {column})`'


def inputs(
    table: Table,
    row_number: int,
    mapping: Mapping[str, str],
    wanted: Mapping[str, Type],
    optional: Mapping[str, Type] | None = None,
) -> dict[str, Any]:
    """The values of one row for a program's inputs, as `input_reader` reads them."""
    return input_reader(table, mapping, wanted, optional)(row_number)


def input_reader(
    table: Table, mapping: Mapping[str, str], wanted: Mapping[str, Type], optional: Mapping[str, Type] | None
) -> Callable[[int], dict[str, Any]]:
    """A function that reads a row's values for a program's inputs, each converted to its type.

    `mapping` gives the column of an input (`--map INPUT=COLUMN`). Other inputs take the column of their name,
    in the same case or else in any; a list may take several, numbered from 1: `documents` takes `document1`,
    `document2` and so on, or those that its mapping names, `answer,aliases`. Every input of `wanted` must
    have a column; those of `optional` (such as `truth`) are left out without one. Raises UsageError with the
    place.
    """
    types = {**wanted, **(optional or {})}
    for name in mapping:
        if name not in types:
            help = suggestion(name, types) or f"the inputs are: {', '.join(types) or 'none'}"
            raise UsageError(f"no input `{name}` to map a column to", help=help)
    columns = named_columns(table, types, mapping)
    parts: dict[str, tuple[str, ...]] = {}
    for name, type_ in types.items():
        if name in columns:
            parts[name] = split_columns(table, columns[name])
        elif isinstance(type_, ListType):
            parts[name] = numbered(table, name)

    def read(row_number: int) -> dict[str, Any]:
        row = table.row(row_number)
        values: dict[str, Any] = {}
        for name, type_ in types.items():
            of = parts.get(name, ())
            if name not in columns and of and isinstance(type_, ListType):
                values[name] = [_value(table, row, row_number, part, type_.element, name) for part in of]
            elif len(of) > 1:
                if not isinstance(type_, ListType):
                    raise UsageError(
                        f"`{name}` is {type_}, and only a list accepts several columns: {columns[name]}"
                    )
                values[name] = []
                for part in of:
                    several = isinstance(row.get(part), list) or (table.as_text and row[part].startswith("["))
                    found = _value(table, row, row_number, part, type_ if several else type_.element, name)
                    values[name] += found if several else [found]
            elif name in columns and columns[name] in row:
                values[name] = _value(table, row, row_number, columns[name], type_, name)
            elif name in wanted and isinstance(type_, OptionalType):
                values[name] = None
            elif name in wanted and name in columns:
                raise UsageError(
                    f"{table.path}, row {row_number} has no `{columns[name]}`, required by input `{name}`"
                )
            elif name in wanted:
                near = nearest(name, table.columns) or "COLUMN"
                raise UsageError(
                    f"{table.path} has no column `{name}`, required by the input of that name",
                    help=f"{choose_one(name, near)}; it has: {', '.join(table.columns)}",
                )
        return values

    return read


def _value(table: Table, row: Mapping[str, Any], row_number: int, column: str, type_: Type, name: str) -> Any:
    place = f"{table.path}, row {row_number}, column `{column}`"
    if column not in row:
        raise UsageError(f"{place}: no value for input `{name}`")
    try:
        value = from_text(row[column], type_) if table.as_text else from_json(row[column], type_)
        return moved(type_, value, Path(table.path).parent) if holds_media(type_) else value
    except UsageError as error:
        raise UsageError(f"{place}: {error.message}", help=error.help) from None
    except ReadError as error:
        raise UsageError(f"{place}: {error.message}, for input `{name}`") from None


def from_json(value: Any, type_: Type) -> Any:
    """A value of JSON as one of a type: other values are not converted to texts, but paragraphs in the forms
    of the question sets are converted to documents. Raises ReadError."""
    value = documents(value, type_)
    if why := not_a_text(value, type_):
        raise ReadError(why)
    return convert(value, type_)


def documents(value: Any, type_: Type) -> Any:
    """Paragraphs for a list of texts, or of records with a title and a text: `[title, [sentence, ...]]`, as
    in HotpotQA and 2WikiMultihopQA, or objects with a `paragraph_text`, as in MuSiQue. Any other value
    unchanged."""
    if not isinstance(type_, ListType) or not isinstance(value, list):
        return value
    texts = type_.element == STR
    if not texts and not (
        isinstance(type_.element, RecordType) and {"title", "text"} <= dict(type_.element.fields).keys()
    ):
        return value
    out = []
    for part in value:
        match part:
            case [str(title), [*sentences]] if all(isinstance(each, str) for each in sentences):
                found = {"title": title, "text": " ".join(each.strip() for each in sentences)}
            case {"title": str(title), "paragraph_text": str(text)}:
                found = {**part, "title": title, "text": text}
            case _:
                return value
        out.append(f"{found['title']}: {found['text']}" if texts else found)
    return out


def not_a_text(value: Any, type_: Type) -> str | None:
    """Why a JSON value is invalid where a text is expected: `convert`, which reads responses of models, would
    convert anything to a text."""
    parts: list[tuple[Any, Type]] = []
    if type_ == STR and not isinstance(value, str):
        shown = json.dumps(value, default=str, ensure_ascii=False)
        return f"expected str, found {shown[:40]} (a text is in quotes)"
    if isinstance(type_, ListType) and isinstance(value, list):
        parts = [(part, type_.element) for part in value]
    elif isinstance(type_, DictType) and isinstance(value, dict):
        parts = [(part, type_.value) for part in value.values()]
    elif isinstance(type_, RecordType) and isinstance(value, dict):
        parts = [(value[name], each) for name, each in type_.fields if name in value]
    return next((why for part, each in parts if (why := not_a_text(part, each))), None)


def named_columns(table: Table, inputs: Iterable[str], mapping: Mapping[str, str]) -> dict[str, str]:
    """The columns of inputs that are mapped or have the same name, in the same case or else in any.

    Raises UsageError for a mapped column that the table does not have.
    """
    columns: dict[str, str] = {}
    for name in inputs:
        alike = [column for column in table.columns if column.casefold() == name.casefold()]
        if name in mapping:
            columns[name] = mapping[name]
        elif name in table.columns:
            columns[name] = name
        elif len(alike) == 1:
            columns[name] = alike[0]
    for column in (part for written in mapping.values() for part in split_columns(table, written)):
        if column not in table.columns:
            help = suggestion(column, table.columns) or f"it has: {', '.join(table.columns)}"
            raise UsageError(f"{table.path} has no column `{column}`", help=help)
    return columns


def split_columns(table: Table, written: str) -> tuple[str, ...]:
    """The columns that a mapping names: one, or several with commas between them."""
    return (written,) if written in table.columns else tuple(part.strip() for part in written.split(","))


def numbered(table: Table, name: str) -> tuple[str, ...]:
    """The columns `document1`, `document2`, ... of a list `documents` without a column of its own."""
    known = {column.casefold(): column for column in table.columns}
    if name.casefold() in known:
        return ()
    stem = name.casefold().removesuffix("s")
    found: list[str] = []
    while (column := known.get(f"{stem}{len(found) + 1}")) is not None:
        found.append(column)
    return tuple(found)


def read_value(text: str, what: str) -> str:
    """The text of an option: `@FILE` is the text of a file (UTF-8), `@@` stands for one `@`.

    `what` names the option in the UsageError for a file that cannot be read, or a text that is not UTF-8.
    """
    if any("\udc80" <= character <= "\udcff" for character in text):  # an undecodable byte of an argument
        raise UsageError(f"{what}: the text is not UTF-8")
    if not text.startswith("@"):
        return text
    syntax = "`@FILE` is the text of a file; write `@@` for a text that starts with `@`"
    return text[1:] if text.startswith("@@") else read_file(text[1:], what, syntax)


def read_file(path: str | Path, what: str, help: str | None = None) -> str:
    """The text of a file (UTF-8) for an input. Raises UsageError if it cannot be read."""
    path = Path(path)
    try:
        return read_bounded(path).decode("utf-8-sig")
    except FileNotFoundError:
        error = not_found(path)
        raise UsageError(f"{what}: {error.message}", help=error.help or help) from None
    except OSError as error:
        raise UsageError(f"{what}: cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{what}: {path} is not UTF-8 (byte {error.start})") from None


def parse_value(text: str, type_: Type, what: str) -> Any:
    """The value of an option such as `--input NAME=VALUE` or `--set NAME=VALUE`.

    A `str` is the text as it is; lists are JSON, or numbers or texts separated by commas; records are JSON.
    `what` names the option in the UsageError for a value that cannot be converted.
    """
    try:
        return from_text(text, type_)
    except ReadError as error:
        help = None
        if not error.message.startswith(f"expected {type_}, "):
            pass  # it is of this form, and a part of it is wrong
        elif isinstance(type_, ListType):
            help = "write a list as JSON, such as `[1, 2]`, or separated by commas"
        elif isinstance(type_, DictType | RecordType | UnionType):
            help = 'write it as JSON, such as `{"name": 1}`'
        raise UsageError(f"{what}: {error.message}", help=help) from None
