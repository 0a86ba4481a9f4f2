"""Plain values made to fit a type: the kindness with which answers and data files are read.

A number in quotes is a number, `{"Sorted": [1, 2]}` holds the one list that was asked for, a field may be
spelt `Left_Over` or `left over`. What stays impossible is a ReadError that says where and why; nothing is
guessed: a fraction is no int, `...` is no element, NaN is no number.
"""

from __future__ import annotations

import re
from contextlib import suppress
from math import isfinite
from typing import Any, Final

from gotlang.answers.literals import Word, literal, number, strict
from gotlang.errors import ReadError
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
    Simple,
    Type,
)

YES: Final = {"yes": True, "true": True, "no": False, "false": False}
"""The words that are read as a bool."""

_USUAL = ("answer", "finalanswer", "result", "output", "score", "value")
"""Names under which models put what was asked for, beside their reasons."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def convert(value: Any, type_: Type) -> Any:
    """A value of JSON's kinds as a value of `type_`. Raises ReadError with the place inside and the reason.

    A number, text or bool may be the one value in a list or an object: `{"reason": "...", "score": 7}`.
    """
    if isinstance(value, list | dict) and isinstance(type_, Simple | LiteralType):
        return _inside(value, type_)
    return _fit(value, type_)


def _fit(value: Any, type_: Type) -> Any:
    match type_:
        case AnyType():
            return _plain(value)
        case Simple():
            return _simple(value, type_)
        case LiteralType():
            return _literal(value, type_)
        case ListType():
            return _list(value, type_)
        case DictType():
            return _dict(value, type_)
        case RecordType():
            return _record(value, type_)


def from_text(text: str, type_: Type) -> Any:
    """A text that holds a value and nothing else: a cell of a table, a `--input`, a hole of a pattern.

    A `str` is the text itself. Lists are `[1, 2]`, `1, 2` or, of numbers, `1 2`. Records and dicts are JSON
    or Python. Raises ReadError.
    """
    if type_ == STR:
        return text
    text = text.strip()
    if isinstance(type_, AnyType):
        return _any(text)
    if not text:
        raise ReadError(f"expected {type_}, found nothing")
    if not isinstance(type_, ListType | DictType | RecordType):
        return convert(text, type_)
    try:
        value = literal(text)
    except ValueError:
        if isinstance(type_, ListType) and not text.startswith(("[", "{", "(")):
            parts = separated(text, type_.element)
            if parts is not None:
                return _elements(parts, type_.element)
        raise ReadError(f"expected {type_}, found {shown(text)}") from None
    return convert(value, type_)


def separated(text: str, element: Type) -> list[str] | None:
    """The parts of a list without brackets; None where elements of such a type cannot stand so."""
    if isinstance(element, ListType | DictType | RecordType | AnyType):
        return None
    spaced = element in (INT, FLOAT, BOOL) and "," not in text and ";" not in text
    return [part.strip() for part in (text.split() if spaced else re.split(r"[,;]", text)) if part.strip()]


def clean(text: str) -> str:
    """A text without what no file can hold: halves of characters (lone surrogates)."""
    return text if text.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def same_name(name: str) -> str:
    """What is left of a name when case, spaces, `_` and `-` do not count."""
    return re.sub(r"[\W_]+", "", name).casefold()


def _any(text: str) -> Any:
    try:
        return _plain(strict(text))
    except ValueError:
        pass
    try:
        return _plain(literal(text))
    except ValueError:
        return clean(text)


def _plain(value: Any) -> Any:
    if value is ...:
        raise ReadError("it is cut short with `...`")
    match value:
        case str():
            return clean(str(value))
        case list() | tuple():
            return [_plain(part) for part in value]
        case dict():
            return {clean(str(name)): _plain(part) for name, part in value.items()}
        case float() if value != value or value in (float("inf"), float("-inf")):
            raise ReadError(f"{value} is no number")
        case bool() | int() | float() | None:
            return value
    raise ReadError(f"{type(value).__name__} is no plain value")


def _simple(value: Any, type_: Simple) -> Any:
    if type_ == STR:
        match value:
            case str():
                return clean(str(value))
            case bool():
                return "true" if value else "false"
            case int() | float():
                return str(value)
    elif type_ == BOOL:
        match value:
            case bool():
                return value
            case str() if _bare(value) in YES:
                return YES[_bare(value)]
            case 0 | 1 | "0" | "1":
                return bool(int(value))
    elif type_ in (INT, FLOAT):
        found = number(value.strip(" \t\r\n*").rstrip(".,;")) if isinstance(value, str) else value
        if isinstance(found, int | float) and not isinstance(found, bool):
            with suppress(OverflowError):  # an int that no float can hold is no float
                if isfinite(found) and type_ == FLOAT:
                    return found
            if isinstance(found, int) and type_ == INT:
                return found
            if isinstance(found, float) and isfinite(found) and found.is_integer() and type_ == INT:
                return int(found)
    elif value is None:
        return None
    raise _expected(type_, value)


def _bare(word: str) -> str:
    return word.strip(" \t\r\n.,;:!*`\"'()[]").casefold()


def _literal(value: Any, type_: LiteralType) -> str:
    if value in type_.values:
        return str(value)
    if isinstance(value, bool | int | float):
        value = str(value).lower()
    if isinstance(value, str):
        wanted = _bare(value)
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


def _list(value: Any, type_: ListType) -> list[Any]:
    element = type_.element
    value = _decoded(value)
    if isinstance(value, dict):
        return _list_of_entries(value, type_)
    if isinstance(value, str) and not isinstance(value, Word) and element in (INT, FLOAT):
        parts = separated(value, element)
        if parts:
            return _elements(parts, element)
    if not isinstance(value, list | tuple):
        raise _expected(type_, value)
    if len(value) == 1 and isinstance(value[0], list | dict):
        try:
            return _elements(value, element)
        except ReadError:
            return list(_fit(value[0], type_))  # `[[1, 2]]`, `{{"a": [1, 2]}}`
    return _elements(value, element)


def _elements(value: list[Any] | tuple[Any, ...], element: Type) -> list[Any]:
    if element == INT and all(type(part) is int for part in value):
        return list(value)
    found = []
    for place, part in enumerate(value):
        try:
            found.append(_fit(part, element))
        except ReadError as error:
            raise ReadError(f"element {place}: {error.message}") from None
    return found


def _list_of_entries(value: dict[str, Any], type_: ListType) -> list[Any]:
    """An object where a list is asked for: the last list in it, else its entries if they are numbered."""
    if isinstance(type_.element, RecordType | DictType):
        try:
            return [_fit(value, type_.element)]
        except ReadError:
            pass
    failure = None
    for part in map(_decoded, reversed(value.values())):
        if isinstance(part, list | dict):
            try:
                return list(_fit(part, type_))
            except ReadError as error:
                failure = failure or error
    numbered = all(re.search(r"[0-9]\s*$", str(name)) for name in value)
    if value and (numbered or all(isinstance(part, list | dict) for part in value.values())):
        return _elements(list(value.values()), type_.element)
    raise failure or _expected(type_, value)


def _dict(value: Any, type_: DictType) -> dict[str, Any]:
    value = _decoded(value)
    if isinstance(value, list):
        return _dict_of_list(value, type_)
    if not isinstance(value, dict):
        raise _expected(type_, value)
    found = {}
    for name, part in value.items():
        try:
            found[clean(str(name))] = _fit(part, type_.value)
        except ReadError as error:
            if len(value) == 1 and isinstance(part, list | dict):
                return dict(_fit(part, type_))  # `{"Frequencies": {"Peru": 1}}`
            raise ReadError(f"entry `{name}`: {error.message}") from None
    return found


def _dict_of_list(value: list[Any], type_: DictType) -> dict[str, Any]:
    """Pairs, as Python's Counter gives them, or objects one after the other."""
    found: dict[str, Any] = {}
    for place, part in enumerate(value):
        if isinstance(part, dict):
            found |= _dict(part, type_)
        elif isinstance(part, list) and len(part) == 2 and isinstance(part[0], str):
            found[clean(str(part[0]))] = _fit(part[1], type_.value)
        else:
            raise ReadError(f"element {place}: expected a pair, found {shown(part)}")
    return found


def _record(value: Any, type_: RecordType) -> dict[str, Any]:
    value = _decoded(value)
    if isinstance(value, list) and len(value) == 1:
        return dict(_fit(value[0], type_))
    if not isinstance(value, dict):
        raise _expected(type_, value)
    alike = {same_name(str(name)): part for name, part in value.items()}
    found = {}
    for name, field in type_.fields:
        if name in value:
            part = value[name]
        elif same_name(name) in alike:
            part = alike[same_name(name)]
        elif len(value) == 1 and isinstance(inner := next(iter(value.values())), dict):
            return dict(_fit(inner, type_))  # `{"State": {...}}`
        else:
            raise ReadError(f"field `{name}` is missing")
        try:
            found[name] = _fit(part, field)
        except ReadError as error:
            raise ReadError(f"field `{name}`: {error.message}") from None
    return found


def _inside(value: list[Any] | dict[str, Any], type_: Type) -> Any:
    """The one value of a simple type inside a list or an object; of several, the one with a usual name."""
    if isinstance(value, list):
        if len(value) == 1:
            return convert(value[0], type_)
        raise _expected(type_, value)
    for fit in (_fit, convert):  # what stands in the object itself before what stands deeper
        found: dict[str, Any] = {}
        for name, part in value.items():
            with suppress(ReadError):
                found[same_name(str(name))] = fit(part, type_)
        if len(found) == 1 and (len(value) == 1 or type_ != STR):
            return next(iter(found.values()))
        for name in _USUAL:
            if name in found:
                return found[name]
    raise _expected(type_, value)


def _expected(type_: Type, value: Any) -> ReadError:
    return ReadError(f"expected {type_}, found {shown(value)}")


def shown(value: Any) -> str:
    """A value in a few words, whatever its size."""
    match value:
        case None:
            return "nothing"
        case list():
            return f"a list of {len(value)}"
        case dict():
            names = ", ".join(f"`{clean(str(name))[:20]}`" for name in list(value)[:3])
            return (
                f"an object with {names}{', ...' if len(value) > 3 else ''}" if value else "an empty object"
            )
        case str():
            return repr(clean(value) if len(value) <= 40 else clean(value[:37]) + "...")
    text = "..." if value is ... else str(value)
    return text if len(text) <= 40 else text[:37] + "..."
