"""The default reader: the value that an answer gives, however the model chose to write it.

Lists and objects are looked for first, as strict JSON (alone or in a code fence) and then with the tolerant
scanner; of several that fit the type the last one counts, since models reason first and answer last. Without
any, numbers, fixed words and lines are taken out of the prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, groupby
from typing import Any, Final

from gotlang.convert import clean, convert, from_text, same_name
from gotlang.errors import ReadError
from gotlang.literals import Found, scan, strict
from gotlang.runtime import prose
from gotlang.types import (
    BOOL,
    FLOAT,
    INT,
    STR,
    AnyType,
    DictType,
    ListType,
    LiteralType,
    RecordType,
    Type,
)

_NOTHING: Final = object()


def one(text: str, type_: Type) -> Any:
    """The value of `type_` that an answer gives. Raises ReadError."""
    if type_ == STR:
        return plain(text)
    written = _written(text)
    if written is not _NOTHING:
        try:
            return convert(written, type_)
        except ReadError:
            # A text in JSON quotes may hold anything; of the rest nothing better will be found inside.
            if not isinstance(written, str | list | dict):
                raise
    failure: ReadError | None = None
    found = _found(text)
    scalar = isinstance(type_, LiteralType) or type_ in (INT, FLOAT, BOOL)
    for candidate in _best_first(found):
        if scalar and not isinstance(candidate.value, dict):
            continue  # `[1]` in a sentence is a reference, not the number that was asked for
        try:
            return convert(candidate.value, type_)
        except ReadError as error:
            failure = failure or error
    if scalar:
        return _scalar(text, type_)
    if isinstance(type_, AnyType):
        return plain(text)
    try:
        return _from_lines(text, type_)
    except ReadError as error:
        raise failure or error from None


def several(text: str, type_: Type) -> list[Any]:
    """The values of `type_` that an answer gives, in its order: one list of them, or an object with one under
    each name, or several one after the other. Raises ReadError."""
    written = _written(text)
    if written is not _NOTHING:
        values = _together(written, type_)
        if values is not None:
            return values
        if not isinstance(written, list | dict):
            with suppress(ReadError):
                return [convert(written, type_)]
    failure: ReadError | None = None
    for _, group in groupby(sorted(_found(text), key=lambda f: f.quality), key=lambda f: f.quality):
        found = list(group)
        for candidate in reversed(found):
            values = _together(candidate.value, type_)
            if values is not None:
                return values
        values = []
        for candidate in found:
            try:
                values.append(convert(candidate.value, type_))
            except ReadError as error:
                failure = error
        if values:
            return values
    if isinstance(type_, RecordType | DictType | AnyType):
        try:
            return [one(text, type_)]
        except ReadError as error:
            raise failure or error from None
    try:
        return _elements(text, type_)
    except ReadError as error:
        raise failure or error from None


def plain(text: str) -> str:
    """A text as an answer: without white space around it, and out of its quotes where it is one JSON text."""
    text = text.strip()
    if text.startswith('"') and text.endswith('"'):
        with suppress(ValueError):
            text = strict(text)
    return clean(text)


def _written(text: str) -> Any:
    """The value of an answer that is JSON alone, or of its last fence that is."""
    for part in chain((text,), fenced(text)):
        if part.strip():
            try:
                return strict(part)
            except ValueError:
                continue
    return _NOTHING


def fenced(text: str) -> Iterator[str]:
    """The insides of the code fences of a text, the last first; one that is not closed goes to the end."""
    marks = list(re.finditer(r"^[ \t]*(```|~~~)[^\n]*$", text, re.MULTILINE))
    blocks = []
    at = 0
    while at < len(marks):
        closing = at + 1
        while closing < len(marks) and marks[closing][1] != marks[at][1]:
            closing += 1
        end = marks[closing].start() if closing < len(marks) else len(text)
        blocks.append(text[marks[at].end() : end])
        at = closing + 1
    yield from reversed(blocks)


_ECHO = re.compile(r"\W{0,9}(?:input|incorrectly)\b", re.IGNORECASE)


def _found(text: str) -> list[Found]:
    """What the scanner finds, without what the model only repeats (`Input: [...]`), where there is more."""
    found = scan(text)
    said = []
    line, end = 0, text.find("\n")
    for candidate in found:
        while 0 <= end < candidate.start:
            line, end = end + 1, text.find("\n", end + 1)
        if not _ECHO.match(text, line, candidate.start):
            said.append(candidate)
    return said or found


def _best_first(found: list[Found]) -> list[Found]:
    """Cleanly written ones first; of equally clean ones the last first."""
    return sorted(found, key=lambda f: -f.quality)[::-1]


def _together(value: Any, type_: Type) -> list[Any] | None:
    """Several values given as one list or object; None where this is something else."""
    if isinstance(value, dict) and isinstance(type_, AnyType):
        return None
    if not isinstance(value, list | dict):
        return None
    parts = list(value.values()) if isinstance(value, dict) else value
    values = _all(parts, type_)
    if values is not None:
        return values
    # Beside the values there may be words: `{"Thought": "...", "List 1": [...]}`.
    inner = [part for part in parts if isinstance(part, list | dict)]
    if isinstance(value, dict) and isinstance(type_, ListType | DictType | RecordType):
        values = _all(inner, type_) or None
    if values is None and inner and (isinstance(value, dict) or len(value) == 1):
        return _together(inner[-1], type_)
    return values


def _all(parts: list[Any], type_: Type) -> list[Any] | None:
    """Every part as a value; a list is looked for in lists only and not in objects that hold one."""
    wanted = (
        list if isinstance(type_, ListType) else dict if isinstance(type_, DictType | RecordType) else None
    )
    try:
        if wanted is not None and not all(isinstance(part, wanted) for part in parts):
            return None
        if (
            wanted is None
            and not isinstance(type_, AnyType)
            and any(isinstance(p, list | dict) for p in parts)
        ):
            return None
        return [convert(part, type_) for part in parts]
    except ReadError:
        return None


def _scalar(text: str, type_: Type) -> Any:
    try:
        return convert(text, type_)
    except ReadError:
        pass
    if isinstance(type_, LiteralType):
        return prose.word_in(text, {value: value for value in type_.values if value})
    if type_ == BOOL:
        return prose.bool_in(text)
    return convert(prose.number_in(text), type_)


def _from_lines(text: str, type_: Type) -> Any:
    """A list, dict or record that is written without brackets."""
    match type_:
        case ListType():
            return _elements(text, type_.element)
        case DictType():
            entries = {}
            for line in prose.lines_of(text):
                name, colon, rest = line.rpartition(":")
                if colon and rest.strip():
                    entries[name.strip(" *_`\"'")] = rest.strip(" *_`\"'")
                elif not colon:
                    raise ReadError(f"there is no {type_} in it")
            if entries:
                return convert(entries, type_)
        case RecordType():
            fields = {same_name(name): part for name, part in prose.labelled(text)}
            if fields:
                return _record(fields, type_)
    raise ReadError(f"there is no {type_} in it")


def _record(parts: dict[str, str], type_: RecordType) -> dict[str, Any]:
    found = {}
    for name, field in type_.fields:
        part = parts.get(same_name(name))
        if part is None:
            raise ReadError(f"field `{name}` is missing")
        try:
            found[name] = one(part, field)
        except ReadError as error:
            raise ReadError(f"field `{name}`: {error.message}") from None
    return found


def _elements(text: str, type_: Type) -> list[Any]:
    """The elements of a list without brackets: a row of them in the last line, or one a line."""
    if type_ == STR:
        # Unmarked lines are prose as likely as elements, so texts need their bullets or numbers.
        if not prose.is_marked(text):
            raise ReadError(f"there is no {ListType(type_)} in it")
        return [plain(line) for line in prose.lines_of(text)]
    lines = [line for line in prose.lines_of(text) if not line.endswith(":")]
    if len(lines) > 1 or prose.is_marked(text):
        with suppress(ReadError):
            return [from_text(_unlabelled(line), type_) for line in lines]
    row = _unlabelled(lines[-1]) if lines else "["
    if not re.search(r"[\[{(]", row) and not isinstance(type_, RecordType | DictType | AnyType):
        with suppress(ReadError):
            return [from_text(row, type_)] if isinstance(type_, ListType) else from_text(row, ListType(type_))
    raise ReadError(f"there is no {ListType(type_)} in it")


def _unlabelled(line: str) -> str:
    return line.rpartition(":")[2].strip(" \t*_`$.")
