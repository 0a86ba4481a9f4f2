"""Reads responses as values of a prompt's type, by its `parse` form, and writes the responses of examples.

A response that cannot be parsed is a ReadError with its reason: the thought fails, the scheme continues.
Nothing here raises any other error or takes more than linear time.
"""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import Any

from gotlang.answers.conversion import convert, from_text, record_from
from gotlang.answers.extraction import fenced, lines_of, one, plain, several, unmarked
from gotlang.answers.forms import ANSWER, After, Form, Json, Lines, Pattern, Tag, is_wrapped
from gotlang.answers.literals import strict
from gotlang.errors import EvaluationError, ReadError
from gotlang.types import (
    FLOAT,
    INT,
    STR,
    DynamicType,
    ListType,
    LiteralType,
    RecordType,
    Simple,
    Type,
    fits,
    shown,
)


def read(text: str, type_: Type, form: Form | None, many: bool, held: bool = False) -> list[Any]:
    """The values of `type_` in a response: one, or any number if the prompt says `many`.

    `form` narrows where to look; None accepts whatever models write. `held`: the endpoint was asked for JSON
    of the type's schema, and may have obeyed. Raises ReadError.
    """
    if not text.strip():
        raise ReadError("empty response")
    if held and (found := _held(text, type_, many)) is not None:
        return found
    match form:
        case None:
            return _values(text, type_, many)
        case Json():
            return _json(text, type_, many)
        case Tag(name):
            return _tag(text, name, type_, many)
        case After(words):
            return _after(text, words, type_, many)
        case Lines(pattern):
            listed = isinstance(type_, ListType) and not many
            element = type_.element if isinstance(type_, ListType) and listed else type_
            if pattern is not None:
                values = _matching(text, Pattern.parse(pattern), element)
            else:
                lines = lines_of(text)
                values = _each(lines if listed or many else lines[-1:], element)
            return [values] if listed else values if many else values[-1:]


def _held(text: str, type_: Type, many: bool) -> list[Any] | None:
    """The values of a response that is JSON of the schema; None for any other, which is read as usual."""
    try:
        value = strict(text)
        json.dumps(value, allow_nan=False)
    except ValueError:  # not JSON, or a number too large, such as 1e999
        return None
    if is_wrapped(type_, many):
        if not isinstance(value, dict) or list(value) != [ANSWER]:
            return None
        value = value[ANSWER]
    return (value if many else [value]) if fits(ListType(type_) if many else type_, value) is None else None


def certain(text: str, type_: Type, form: Form | None, many: bool, held: bool = False) -> bool:
    """Whether it is certain where the value in a response ends, although the response was cut off there.

    JSON alone is complete, and so is text before a closing tag; a list or a record ends with its bracket, at
    the end of the response; one of several fixed words, or a yes or no, is certain if it is the whole
    response. A number, a text and lines might continue.
    """
    compound = not isinstance(type_, Simple | LiteralType | DynamicType)
    if held and _held(text, type_, many) is not None:
        return True
    match form:
        case Tag(name):
            tags = re.findall(rf"<(/?)\s*{re.escape(name)}\b", text, re.IGNORECASE)
            return bool(tags) and tags[-1] == "/"
        case Json():
            return compound or many
        case Lines():
            return False
    if compound and not many:
        return text.rstrip("` \t\r\n").endswith(("]", "}"))
    return not many and type_ not in (STR, INT, FLOAT) and len(text.split()) == 1


def _values(text: str, type_: Type, many: bool) -> list[Any]:
    return several(text, type_) if many else [one(text, type_)]


def _json(text: str, type_: Type, many: bool) -> list[Any]:
    """JSON alone, or alone in its code fence; of several fences the last one that is JSON."""
    reason = ""
    for part in chain((text,), fenced(text)):
        try:
            value = strict(part)
        except ValueError as error:
            reason = reason or str(error)
            continue
        if not many:
            return [convert(value, type_)]
        values = list(value.values()) if isinstance(value, dict) else value
        return list(convert(values, ListType(type_)))
    raise ReadError(f"not JSON: {reason}")


def _tag(text: str, name: str, type_: Type, many: bool) -> list[Any]:
    """The text between the tags: the last pair's, or with `many` every pair's. The closing tag may be missing
    at the end of the text, and the opening one if the prompt itself wrote it."""
    pairs: list[str] = []
    start: int | None = None
    for match in re.finditer(rf"<(/?)\s*{re.escape(name)}(?:\s[^<>]*)?>", text, re.IGNORECASE):
        if not match[1]:
            start = match.end()
        elif start is not None or not pairs:
            pairs.append(text[start or 0 : match.start()])
            start = None
    if start is not None:
        pairs.append(text[start:])
    pairs = [inside for inside in pairs if inside.strip()]
    if not pairs:
        raise ReadError(f"nothing between <{name}> and </{name}>")
    if many and len(pairs) > 1:
        return [one(inside, type_) for inside in pairs]
    return _values(pairs[-1], type_, many)


def _after(text: str, marker: str, type_: Type, many: bool) -> list[Any]:
    """The text after the last occurrence of the marker; case is ignored, and its colon may be missing."""
    words = marker.split()
    if not words:
        raise ReadError("`parse after` has no text to look for")
    colon = ":?" if words[-1].endswith(":") and words[-1] != ":" else ""
    words[-1] = words[-1].removesuffix(":") if colon else words[-1]
    found = [match.end() for match in re.finditer(r"\s+".join(map(re.escape, words)) + colon, text, re.I)]
    if not found:
        raise ReadError(f"`{marker}` not found")
    rest = text[found[-1] :].strip()
    if not rest:
        raise ReadError(f"nothing follows `{marker}`")
    if type_ == STR and not many:
        # The full stop ends the sentence around the answer; `U.S.` and `...` keep theirs.
        if rest.endswith(".") and not re.search(r"(?:\.|\b\w\.\w)\.\Z", rest):
            rest = rest[:-1].rstrip()
        return [plain(rest)]
    return _values(rest, type_, many)


def _each(lines: list[str], element: Type) -> list[Any]:
    values = []
    for number, line in enumerate(lines, 1):
        try:
            values.append(one(line, element))
        except ReadError as error:
            raise ReadError(f"line {number}: {error.message}") from None
    if not values:
        raise ReadError("no lines found")
    return values


def _matching(text: str, pattern: Pattern, element: Type) -> list[Any]:
    values = []
    failure: ReadError | None = None
    for line in text.splitlines():
        # A number or bullet is seldom part of the first placeholder, but it may be: `- 3 + 5 = 2`.
        for candidate in dict.fromkeys((unmarked(line), line)):
            holes = pattern.match(candidate)
            if holes is None:
                continue
            try:
                if isinstance(element, RecordType):
                    values.append(record_from(holes, element, _hole))
                else:
                    values.append(_hole(next(iter(holes.values())), element))
                break
            except ReadError as error:
                failure = failure or error
    if not values:
        raise failure or ReadError(f"no line matches `{pattern.text}`")
    return values


def _hole(content: str, type_: Type) -> Any:
    return from_text(content, type_) if type_ != STR else plain(content)


def write(value: Any, type_: Type, form: Form | None) -> str:
    """A response that parses as `value`, as an example shows it to a model; for a prompt with `many`, pass
    the list of its values and their list type.

    Raises EvaluationError for a value of another type, and for one that the form cannot express, such as a
    text that contains the closing tag.
    """
    if (why := fits(type_, value)) is not None:
        raise EvaluationError(why)
    for text in _spellings(value, type_, form):
        try:
            if read(text, type_, form, False) == [value]:
                return text
        except ReadError:
            continue
    raise EvaluationError(f"this {type_} cannot be written so that `parse` reads it back: {shown(value)}")


def _spellings(value: Any, type_: Type, form: Form | None) -> list[str]:
    """Ways to write a value, the plainest first."""
    written = _dumped(value)
    plainest = [value, written] if isinstance(value, str) else [written]
    elements, element = (value, type_.element) if isinstance(type_, ListType) else ([value], type_)
    match form:
        case None:
            return plainest
        case Json():
            return [written]
        case Tag(name):
            parts = [*plainest, written.replace("<", "\\u003c")]
            return [
                f"<{name}>\n{part}\n</{name}>" if "\n" in part else f"<{name}>{part}</{name}>"
                for part in parts
            ]
        case After(words):
            return [f"{words} {part}" for part in plainest]
        case Lines(None):
            lines = [part if isinstance(part, str) else _dumped(part) for part in elements]
            numbered = [f"{number}. {line}" for number, line in enumerate(lines, 1)]
            return ["\n".join(found) for found in (lines, numbered, map(_dumped, elements))]
        case Lines(text):
            pattern = Pattern.parse(str(text))
            record = isinstance(element, RecordType)
            records = [part if record else dict.fromkeys(pattern.holes, part) for part in elements]
            return [
                "\n".join(
                    pattern.fill({hole: spell(part.get(hole)) for hole in pattern.holes}) for part in records
                )
                for spell in (_in_words, _dumped)
            ]


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _in_words(value: Any) -> str:
    """A value in a placeholder without quotes and brackets, `8 10 14`, or else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(type(part) in (int, float) for part in value):
        return " ".join(map(str, value))
    return _dumped(value)
