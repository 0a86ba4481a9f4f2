"""From a model's answer to values, by the prompt's type and `parse` form; and back, for examples in prompts.

An answer that does not fit is a ReadError with the reason in words: the thought fails, the scheme goes on.
Nothing here raises anything else or takes more than time in proportion to the answer.
"""

from __future__ import annotations

import json
import re
from typing import Any

from gotlang.answers.conversion import convert, from_text, shown
from gotlang.answers.extraction import fenced, lines_of, one, plain, several, unmarked
from gotlang.answers.forms import After, Form, Json, Lines, Pattern, Tag
from gotlang.answers.literals import strict
from gotlang.errors import EvaluationError, ReadError
from gotlang.types import STR, ListType, RecordType, Type, fits


def read(text: str, type_: Type, form: Form | None, many: bool) -> list[Any]:
    """The values of `type_` that an answer gives: one, or any number where the prompt says `many`.

    `form` narrows where to look; None takes whatever models write. Raises ReadError.
    """
    if not text.strip():
        raise ReadError("the answer is empty")
    match form:
        case None:
            return _values(text, type_, many)
        case Json():
            return _json(text, type_, many)
        case Tag():
            return _tag(text, form, type_, many)
        case After():
            return _after(text, form, type_, many)
        case Lines():
            return _lines(text, form, type_, many)


def _values(text: str, type_: Type, many: bool) -> list[Any]:
    return several(text, type_) if many else [one(text, type_)]


def _json(text: str, type_: Type, many: bool) -> list[Any]:
    """JSON alone, or alone in its code fence; of several fences the last one that is JSON."""
    reason = ""
    for part in (text, *fenced(text)):
        try:
            value = strict(part)
        except ValueError as error:
            reason = reason or str(error)
            continue
        if not many:
            return [convert(value, type_)]
        values = list(value.values()) if isinstance(value, dict) else value
        return list(convert(values, ListType(type_)))
    raise ReadError(f"it is not JSON: {reason}")


def _tag(text: str, form: Tag, type_: Type, many: bool) -> list[Any]:
    """What stands between the tags: the last pair's, or of `many` every pair's. An end may be missing at the
    end of the text, and the start where the prompt itself wrote it."""
    name = re.escape(form.name)
    pairs: list[str] = []
    start: int | None = None
    for match in re.finditer(rf"<(/?)\s*{name}(?:\s[^<>]*)?>", text, re.IGNORECASE):
        if not match[1]:
            start = match.end()
        elif start is not None or not pairs:
            pairs.append(text[start or 0 : match.start()])
            start = None
    if start is not None:
        pairs.append(text[start:])
    pairs = [inside for inside in pairs if inside.strip()]
    if not pairs:
        raise ReadError(f"there is nothing between <{form.name}> and </{form.name}>")
    if many and len(pairs) > 1:
        return [one(inside, type_) for inside in pairs]
    return _values(pairs[-1], type_, many)


def _after(text: str, form: After, type_: Type, many: bool) -> list[Any]:
    """What follows the last time the text stands there; its colon may be missing, case does not count."""
    words = form.text.split()
    if not words:
        raise ReadError("`parse after` has no text to look for")
    colon = ":?" if words[-1].endswith(":") and words[-1] != ":" else ""
    words[-1] = words[-1].removesuffix(":") if colon else words[-1]
    found = None
    for found in re.finditer(r"\s+".join(map(re.escape, words)) + colon, text, re.IGNORECASE):  # noqa: B007
        pass
    if found is None:
        raise ReadError(f"it does not say `{form.text}`")
    rest = text[found.end() :].strip()
    if not rest:
        raise ReadError(f"nothing follows `{form.text}`")
    if type_ == STR and not many:
        # The full stop ends the sentence around the answer; `U.S.` and `...` keep theirs.
        if rest.endswith(".") and not re.search(r"(?:\.|\b\w\.\w)\.\Z", rest):
            rest = rest[:-1].rstrip()
        return [plain(rest)]
    return _values(rest, type_, many)


def _lines(text: str, form: Lines, type_: Type, many: bool) -> list[Any]:
    """One value a line: all of them for a list or `many`, else the last one."""
    listed = isinstance(type_, ListType) and not many
    element = type_.element if isinstance(type_, ListType) and not many else type_
    if form.pattern is not None:
        values = _matching(text, form.pattern, element)
    else:
        lines = lines_of(text)
        values = _each_line(lines if listed or many else lines[-1:], element)
    if many:
        return values
    return [values] if listed else values[-1:]


def _each_line(lines: list[str], element: Type) -> list[Any]:
    values = []
    for number, line in enumerate(lines, 1):
        try:
            values.append(one(line, element))
        except ReadError as error:
            raise ReadError(f"line {number}: {error.message}") from None
    if not values:
        raise ReadError("it has no lines")
    return values


def _matching(text: str, pattern_text: str, element: Type) -> list[Any]:
    pattern = Pattern.parse(pattern_text)
    values = []
    failure: ReadError | None = None
    for line in text.splitlines():
        # A number or bullet is seldom part of the first hole, but it may be: `- 3 + 5 = 2`.
        for candidate in dict.fromkeys((unmarked(line), line)):
            holes = pattern.match(candidate)
            if holes is None:
                continue
            try:
                values.append(_from_holes(holes, element))
                break
            except ReadError as error:
                failure = failure or error
    if not values:
        raise failure or ReadError(f"no line of it reads like `{pattern_text}`")
    return values


def _from_holes(holes: dict[str, str], element: Type) -> Any:
    if not isinstance(element, RecordType):
        return _in_hole(next(iter(holes.values())), element)
    values = {}
    for name, type_ in element.fields:
        if name not in holes:
            raise ReadError(f"field `{name}` has no hole in the pattern")
        try:
            values[name] = _in_hole(holes[name], type_)
        except ReadError as error:
            raise ReadError(f"field `{name}`: {error.message}") from None
    return values


def _in_hole(content: str, type_: Type) -> Any:
    return from_text(content, type_) if type_ != STR else plain(content)


def write(value: Any, type_: Type, form: Form | None) -> str:
    """A response that reads as `value`, as an example shows it to a model; for a prompt with `many`, pass the
    list of its values and their list type.

    Raises EvaluationError for a value of another type, and for one that the form cannot express, such as a
    text that contains the closing tag.
    """
    if (why := fits(type_, value)) is not None:
        raise EvaluationError(why)
    for answer in _answers(value, type_, form):
        try:
            if read(answer, type_, form, False) == [value]:
                return answer
        except ReadError:
            continue
    raise EvaluationError(f"this {type_} cannot be written so that `parse` reads it back: {shown(value)}")


def _answers(value: Any, type_: Type, form: Form | None) -> list[str]:
    """Ways to write a value, the plainest first."""
    written = json.dumps(value, ensure_ascii=False)
    plainest = [value, written] if isinstance(value, str) else [written]
    match form:
        case None:
            return plainest
        case Json():
            return [written]
        case Tag(name):
            escaped = written.replace("<", "\\u003c")
            inside = [f"\n{part}\n" if "\n" in part else part for part in (*plainest, escaped)]
            return [f"<{name}>{part}</{name}>" for part in inside]
        case After(text):
            return [f"{text} {part}" for part in plainest]
        case Lines(pattern_text):
            elements = value if isinstance(type_, ListType) and isinstance(value, list) else [value]
            element = type_.element if isinstance(type_, ListType) else type_
            if pattern_text is None:
                plain_lines = [
                    part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
                    for part in elements
                ]
                numbered = [f"{number}. {line}" for number, line in enumerate(plain_lines, 1)]
                quoted = [json.dumps(part, ensure_ascii=False) for part in elements]
                return ["\n".join(lines) for lines in (plain_lines, numbered, quoted)]
            pattern = Pattern.parse(pattern_text)
            return [
                "\n".join(_filled(pattern, part, element, style) for part in elements)
                for style in (True, False)
            ]


def _filled(pattern: Pattern, value: Any, element: Type, plainly: bool) -> str:
    fields = value if isinstance(element, RecordType) else dict.fromkeys(pattern.holes, value)
    return pattern.fill({name: _hole(fields.get(name), plainly) for name in pattern.holes})


def _hole(value: Any, plainly: bool) -> str:
    """A value in a hole: `8 10 14` and bare texts, or else JSON."""
    if plainly and isinstance(value, str):
        return value
    numbers = isinstance(value, list) and all(isinstance(part, int | float) for part in value)
    if plainly and numbers and not any(isinstance(part, bool) for part in value):
        return " ".join(map(str, value))
    return json.dumps(value, ensure_ascii=False)
