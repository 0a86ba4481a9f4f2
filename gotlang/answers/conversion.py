"""Lenient coercion of plain values to a declared type.

A number in quotes is a number, `{"Sorted": [1, 2]}` is the one list it contains, a field may be spelled
`Left_Over` or `left over`. A mismatch is a ReadError with the place and the reason; nothing is guessed: a
fraction is not an int, `...` is not an element, NaN is not a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from math import isfinite
from sys import float_info
from typing import Any, Final

from gotlang.answers.literals import Word, literal, number, strict
from gotlang.errors import ReadError
from gotlang.patterns import lazy_pattern
from gotlang.types import (
    BOOL,
    FILE,
    FLOAT,
    IMAGE,
    INT,
    STR,
    DictType,
    DynamicType,
    ListType,
    LiteralType,
    OptionalType,
    PairType,
    RecordType,
    Simple,
    Type,
    UnionType,
    shown,
)

YES: Final = {"yes": True, "true": True, "no": False, "false": False}
"""The words that are read as a bool."""

_USUAL: Final = ("answer", "finalanswer", "result", "output", "score", "value")
"""Names that models give to the answer, beside their reasons."""

_SURROGATE = lazy_pattern("[\ud800-\udfff]")


NOTHING: Final = ("", "none", "null")
"""The words that are read as none."""


def is_none(value: Any) -> bool:
    """Whether a value, or a complete text, means none."""
    return value is None or (isinstance(value, str) and _bare(value) in NOTHING)


def convert(value: Any, type_: Type) -> Any:
    """A value of JSON's kinds as a value of `type_`. Raises ReadError with the place inside and the reason.

    A number, text or bool may be the only such value in a list or an object: `{"reason": "...", "score": 7}`.
    """
    if isinstance(type_, OptionalType):
        return None if is_none(value) else convert(value, type_.inner)
    if isinstance(value, list | dict) and isinstance(type_, Simple | LiteralType):
        return _inside(value, type_)
    return _fit(value, type_)


def from_text(text: str, type_: Type) -> Any:
    """A text that is one value and nothing else: a cell of a table, an `--input`, a hole of a pattern.

    A `str` is the text itself. Lists are `[1, 2]`, `1, 2` or, of numbers, `1 2`. Records and dicts are JSON
    or Python. Raises ReadError.
    """
    if isinstance(type_, OptionalType):
        return None if is_none(text) else from_text(text, type_.inner)
    if type_ in (STR, IMAGE, FILE):
        return text
    text = text.strip()
    if isinstance(type_, DynamicType):
        for read in (strict, literal):
            with suppress(ValueError):
                return _plain(read(text))
        return clean(text)
    if not text:
        raise ReadError(f"expected {type_}, found nothing")
    if isinstance(type_, Simple | LiteralType | UnionType):
        return convert(text, type_)
    try:
        value = literal(text)
    except ValueError:
        if isinstance(type_, ListType) and not text.startswith(("[", "{", "(")):
            parts = separated(text, type_.element)
            if parts is not None:
                return _elements(parts, type_)
        raise _expected(type_, text) from None
    return convert(value, type_)


def separated(text: str, element: Type) -> list[str] | None:
    """The parts of a list without brackets; None if the elements need brackets of their own."""
    if isinstance(element, ListType | DictType | RecordType | UnionType | DynamicType):
        return None
    spaced = element in (INT, FLOAT, BOOL) and "," not in text and ";" not in text
    return [part.strip() for part in (text.split() if spaced else re.split(r"[,;]", text)) if part.strip()]


def record_from(parts: Mapping[str, Any], type_: RecordType, read: Callable[[Any, Type], Any]) -> Any:
    """A record whose fields are `read` from parts by name, which may be spelled differently."""
    alike: Mapping[str, Any] = {}
    found: dict[str, Any] = {}
    for name, field in type_.fields:
        known, key = parts, name
        if name not in parts:
            known = alike = alike or {same_name(other): part for other, part in parts.items()}
            key = same_name(name)
        if key not in known and isinstance(field, OptionalType):
            found[name] = None
            continue
        if key not in known:
            raise ReadError(f"field `{name}` is missing")
        try:
            found[name] = read(known[key], field)
        except ReadError as error:
            raise ReadError(f"field `{name}`: {error.message}") from None
    return found


def clean(text: str) -> str:
    """A text without lone surrogates, which files cannot contain."""
    return text if text.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def same_name(name: str) -> str:
    """A name without case, spaces, `_` and `-`."""
    return re.sub(r"[\W_]+", "", name).casefold()


def _expected(type_: Type, value: Any) -> ReadError:
    return ReadError(f"expected {type_}, found {shown(value)}")


def _inside(value: list[Any] | dict[str, Any], type_: Type) -> Any:
    """The only value of a simple type inside a list or an object; of several, the one with a usual name."""
    if isinstance(value, list):
        if len(value) == 1:
            return convert(value[0], type_)
        raise _expected(type_, value)
    for read in (_fit, convert):  # the object's own values before deeper ones
        found: dict[str, Any] = {}
        for name, part in value.items():
            with suppress(ReadError):
                found[same_name(str(name))] = read(part, type_)
        if len(found) == 1 and (len(value) == 1 or type_ != STR):
            return next(iter(found.values()))
        for name in _USUAL:
            if name in found:
                return found[name]
    raise _expected(type_, value)


def _fit(value: Any, type_: Type) -> Any:
    match type_:
        case DynamicType():
            return _plain(value)
        case OptionalType(inner=inner):
            return None if is_none(value) else _fit(value, inner)
        case Simple():
            return _simple(value, type_)
        case LiteralType():
            return _literal(value, type_)
        case ListType():
            return _list(_decoded(value), type_)
        case PairType():
            return _pair(_decoded(value), type_)
        case DictType():
            return _dict(_decoded(value), type_)
        case RecordType():
            return _record(_decoded(value), type_)
        case UnionType():
            return _alternative(_decoded(value), type_)


def _plain(value: Any) -> Any:
    match value:
        case str():
            return clean(str(value))
        case list() | tuple():
            return [_plain(part) for part in value]
        case dict():
            return {clean(str(name)): _plain(part) for name, part in value.items()}
        case float() if not isfinite(value):
            raise ReadError(f"{value} is not a number")
        case bool() | int() | float() | None:
            return value
    raise ReadError("it is abbreviated with `...`" if value is ... else f"unsupported {type(value).__name__}")


def _simple(value: Any, type_: Simple) -> Any:
    match type_.name, value:
        case "image" | "file", str():
            return value
        case "str", str():
            return clean(str(value))
        case "str", bool():
            return "true" if value else "false"
        case "str", int() | float():
            return str(value)
        case "bool", bool():
            return value
        case "bool", str() if _bare(value) in YES:
            return YES[_bare(value)]
        case "bool", 0 | 1 | "0" | "1":
            return bool(int(value))
        case "int" | "float", str() | int() | float() if not isinstance(value, bool):
            found = number(value.strip(" \t\r\n*").rstrip(".,;")) if isinstance(value, str) else value
            whole = type_.name == "int"
            if whole and isinstance(found, float) and found.is_integer():
                found = int(found)
            if isinstance(found, int) if whole else found is not None and abs(found) <= float_info.max:
                return found
        case "none", None:
            return None
    raise _expected(type_, value)


def _bare(word: str) -> str:
    return word.strip(" \t\r\n.,;:!*`\"'()[]").casefold()


def _literal(value: Any, type_: LiteralType) -> str:
    if value in type_.values:
        return str(value)
    if isinstance(value, str | bool | int | float):
        wanted = _bare(value if isinstance(value, str) else str(value).lower())
        alike = [known for known in type_.values if _bare(known) == wanted]
        if len(alike) == 1:
            return alike[0]
    raise _expected(type_, value)


def _decoded(value: Any) -> Any:
    """A list or object that was written into a text: `{"output": "[1, 2]"}`."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{", "(")):
        with suppress(ValueError):
            return literal(value)
    return value


def _list(value: Any, type_: ListType) -> Any:
    if isinstance(value, dict):
        return _list_of_entries(value, type_)
    if isinstance(value, str) and not isinstance(value, Word) and type_.element in (INT, FLOAT):
        value = separated(value, type_.element) or value
    if not isinstance(value, list | tuple):
        raise _expected(type_, value)
    try:
        return _elements(value, type_)
    except ReadError:
        if len(value) == 1 and isinstance(value[0], list):
            return _fit(value[0], type_)  # `[[1, 2]]`
        if len(value) == 1 and isinstance(value[0], dict):
            with suppress(ReadError):
                return _fit(value[0], type_)  # `{{"a": [1, 2]}}`
        raise


def _elements(value: list[Any] | tuple[Any, ...], type_: ListType) -> list[Any]:
    if type_.element == INT and all(type(part) is int for part in value):
        return list(value)
    found = []
    for place, part in enumerate(value):
        try:
            found.append(_fit(part, type_.element))
        except ReadError as error:
            raise ReadError(f"element {place}: {error.message}") from None
    return found


def _pair(value: Any, type_: PairType) -> list[Any]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise _expected(type_, value)
    return [_fit(part, type_) for part, type_ in zip(value, type_.types, strict=True)]


def _list_of_entries(value: dict[str, Any], type_: ListType) -> Any:
    """An object for a list: the last list in it, else its entries if they are numbered."""
    if isinstance(type_.element, RecordType | DictType):
        with suppress(ReadError):
            return [_fit(value, type_.element)]
    failure = None
    for part in map(_decoded, reversed(value.values())):
        if isinstance(part, list | dict):
            try:
                return _fit(part, type_)
            except ReadError as error:
                failure = failure or error
    numbered = all(re.search(r"[0-9]\s*$", str(name)) for name in value)
    if value and (numbered or all(isinstance(part, list | dict) for part in value.values())):
        return _elements(list(value.values()), type_)
    raise failure or _expected(type_, value)


def _dict(value: Any, type_: DictType) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if isinstance(value, list):  # pairs, as in Python's Counter, or one object after the other
        for place, part in enumerate(value):
            if isinstance(part, dict):
                found |= _dict(part, type_)
            elif isinstance(part, list) and len(part) == 2 and isinstance(part[0], str):
                found[clean(str(part[0]))] = _fit(part[1], type_.value)
            else:
                raise ReadError(f"element {place}: expected a pair, found {shown(part)}")
        return found
    if not isinstance(value, dict):
        raise _expected(type_, value)
    for name, part in value.items():
        try:
            found[clean(str(name))] = _fit(part, type_.value)
        except ReadError as error:
            if len(value) == 1 and isinstance(part, list | dict):
                return dict(_fit(part, type_))  # `{"Frequencies": {"Peru": 1}}`
            raise ReadError(f"entry `{name}`: {error.message}") from None
    return found


def _alternative(value: Any, type_: UnionType) -> Any:
    """The case that an object names, `{"type": "Act", "tool": ...}` or `{"Act": {"tool": ...}}`; if it names
    none, the only one all of whose fields are present. A case without fields may be its name alone."""
    if isinstance(value, list) and len(value) == 1:
        return _fit(value[0], type_)
    if isinstance(value, str):
        case = _case_named(value, type_)
        if case is not None and len(case.fields) == 1:
            return {"type": case.tag}
    if not isinstance(value, dict):
        raise _expected(type_, value)
    named = next((part for name, part in value.items() if same_name(str(name)) == "type"), None)
    if named is not None:
        case = _case_named(named, type_)
        if case is None:
            raise ReadError(f"field `type`: expected {type_.tags}, found {shown(named)}")
        return record_from(value, case, _fit)
    if len(value) == 1:
        name, inner = next(iter(value.items()))
        case = _case_named(name, type_)
        if isinstance(inner, dict) and case is not None:
            return record_from({"type": case.tag, **inner}, case, _fit)
        if isinstance(inner, dict | list):
            return _fit(inner, type_)  # `{"Step": {...}}`
    found = []
    for case in type_.cases:
        if len(case.fields) > 1:
            with suppress(ReadError):
                found.append(record_from({"type": case.tag, **value}, case, _fit))
    if len(found) == 1:
        return found[0]
    raise ReadError(f"field `type` is missing: expected {type_.tags}")


def _case_named(name: Any, type_: UnionType) -> RecordType | None:
    wanted = same_name(name) if isinstance(name, str) else ""
    alike = [case for case in type_.cases if same_name(case.tag) == wanted]
    return alike[0] if len(alike) == 1 else None


def _record(value: Any, type_: RecordType) -> Any:
    if isinstance(value, list) and len(value) == 1:
        return _fit(value[0], type_)
    if not isinstance(value, dict):
        raise _expected(type_, value)
    if len(value) == 1 and isinstance(inner := next(iter(value.values())), dict):
        known = same_name(next(iter(value)))
        if any(same_name(name) != known for name, _ in type_.fields):
            return _fit(inner, type_)  # `{"State": {...}}`
    return record_from(value, type_, _fit)
