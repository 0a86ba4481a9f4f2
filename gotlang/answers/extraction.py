"""The default reader: extracts the value of a type from a response, however the model wrote it.

Lists and objects are looked for first, as strict JSON (alone or in a code fence) and then with the lenient
scanner; of several that fit the type the last one counts, since models reason first and answer last. Without
any, numbers, fixed words and lines are extracted from the prose.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, groupby
from typing import Any, Final, final

from msgspec import Struct

from gotlang.answers.conversion import YES, clean, convert, from_text, is_none, record_from, same_name
from gotlang.answers.literals import Found, number, scan, strict
from gotlang.errors import ReadError
from gotlang.patterns import lazy_pattern
from gotlang.types import (
    BOOL,
    FLOAT,
    INT,
    STR,
    DictType,
    DynamicType,
    ListType,
    LiteralType,
    OptionalType,
    PairType,
    RecordType,
    Type,
    UnionType,
    recursive,
)

_DIGITS = lazy_pattern(r"[1-9][0-9]{0,17}|0")


def one(text: str, type_: Type) -> Any:
    """The value of `type_` in a response. Raises ReadError."""
    if type_ is INT and _DIGITS.fullmatch(text):  # as in most responses
        return int(text)
    if isinstance(type_, OptionalType):
        return None if is_none(text) or any(map(is_none, _json(text))) else one(text, type_.inner)
    if type_ == STR:
        return plain(text)
    for written in _json(text):
        try:
            return convert(written, type_)
        except ReadError:
            # A text in JSON quotes may contain anything; a number or bool must be the whole response.
            if not isinstance(written, str | list | dict):
                raise
    failure: ReadError | None = None
    scalar = isinstance(type_, LiteralType) or type_ in (INT, FLOAT, BOOL)
    for found in sorted(_scanned(text, type_), key=lambda found: -found.quality)[::-1]:
        if scalar and not isinstance(found.value, dict):
            continue  # `[1]` in a sentence is a reference, not the number that was asked for
        try:
            return convert(found.value, type_)
        except ReadError as error:
            failure = failure or error
    if scalar:
        with suppress(ReadError):
            return convert(text, type_)
        if isinstance(type_, LiteralType):
            return word_in(text, [value for value in type_.values if value])
        return bool_in(text) if type_ == BOOL else convert(number_in(text), type_)
    if isinstance(type_, DynamicType):
        return plain(text)
    try:
        return _from_lines(text, type_)
    except ReadError as error:
        raise failure or error from None


def several(text: str, type_: Type) -> list[Any]:
    """The values of `type_` in a response, in order: a list of them, an object with one under each name, or
    several in sequence. Raises ReadError."""
    for written in _json(text):
        values = _together(written, type_)
        if values is not None:
            return values
        if not isinstance(written, list | dict):
            with suppress(ReadError):
                return [convert(written, type_)]
    failure: ReadError | None = None
    scanned = sorted(_scanned(text, type_), key=lambda found: found.quality)
    for _, group in groupby(scanned, key=lambda found: found.quality):
        candidates = [found.value for found in group]
        for candidate in reversed(candidates):
            values = _together(candidate, type_)
            if values is not None:
                return values
        values = []
        for candidate in candidates:
            try:
                values.append(convert(candidate, type_))
            except ReadError as error:
                failure = error
        if values:
            return values
    try:
        single = isinstance(type_, RecordType | DictType | UnionType | DynamicType)
        return [one(text, type_)] if single else _elements(text, type_)
    except ReadError as error:
        raise failure or error from None


def plain(text: str) -> str:
    """A text without white space around it, and without its quotes if it is one JSON string."""
    text = text.strip()
    if text.startswith('"') and text.endswith('"'):
        with suppress(ValueError):
            text = strict(text)
    return clean(text)


_FENCED = lazy_pattern(r"^[ \t]*(```|~~~)[^\n]*((?:\n(?![ \t]*\1)[^\n]*)*+)(?:\n[^\n]*)?", re.MULTILINE)


def fenced(text: str) -> Iterator[str]:
    """The insides of a text's code fences, the last first; one that is not closed extends to the end."""
    yield from (match[2] for match in reversed(list(_FENCED.finditer(text))))


def _json(text: str) -> Iterator[Any]:
    """The value of a response that is JSON alone, or of its last fence that is; at most one."""
    for part in chain((text,), fenced(text)):
        try:
            value = strict(part)
        except ValueError:
            continue
        yield value
        return


_ECHO = lazy_pattern(r"\W{0,9}(?:input|incorrectly)\b", re.IGNORECASE)


def _scanned(text: str, type_: Type) -> list[Found]:
    """The values that the scanner finds, without those that the model only repeats (`Input: [...]`) if there
    are more; for a recursive type, where a part could be mistaken for the whole, without parts of invalid
    values."""
    found = scan(text)
    if recursive(type_):
        found = [candidate for candidate in found if not candidate.inside]
    own = []
    line = seen = 0
    for candidate in found:
        line = max(line, text.rfind("\n", seen, candidate.start) + 1)
        seen = max(seen, candidate.start)
        if not _ECHO.match(text, line, candidate.start):
            own.append(candidate)
    return own or found


def _together(value: Any, type_: Type) -> list[Any] | None:
    """Several values given as one list or object; None for anything else."""
    if not isinstance(value, list | dict) or (isinstance(value, dict) and isinstance(type_, DynamicType)):
        return None
    parts = list(value.values()) if isinstance(value, dict) else value
    values = _all(parts, type_)
    if values is not None:
        return values
    # There may be words beside the values: `{"Thought": "...", "List 1": [...]}`.
    inner = [part for part in parts if isinstance(part, list | dict)]
    if isinstance(value, dict) and isinstance(type_, ListType | DictType | RecordType | UnionType):
        values = _all(inner, type_) or None
    if values is None and inner and (isinstance(value, dict) or len(value) == 1):
        return _together(inner[-1], type_)
    return values


def _all(parts: list[Any], type_: Type) -> list[Any] | None:
    """Every part as a value, or None; a list must be a list and not an object that contains one."""
    match type_:
        case ListType() | PairType():
            right = all(isinstance(part, list) for part in parts)
        case DictType() | RecordType() | UnionType():
            right = all(isinstance(part, dict) for part in parts)
        case _:
            right = isinstance(type_, DynamicType) or not any(isinstance(part, list | dict) for part in parts)
    with suppress(ReadError):
        return [convert(part, type_) for part in parts] if right else None
    return None


def _from_lines(text: str, type_: Type) -> Any:
    """A list, dict or record that is written without brackets."""
    match type_:
        case _ if recursive(type_):
            pass
        case ListType():
            return _elements(text, type_.element)
        case DictType():
            pairs = [line.rpartition(":") for line in lines_of(text)]
            if all(colon for _, colon, _ in pairs):
                quotes = " *_`\"'"
                entries = {name.strip(quotes): part.strip(quotes) for name, _, part in pairs if part.strip()}
                if entries:
                    return convert(entries, type_)
        case RecordType():
            fields = {same_name(name): part for name, part in _labelled(text)}
            if fields:
                return record_from(fields, type_, one)
        case UnionType():
            fields = {same_name(name): part for name, part in _labelled(text)}
            return convert(fields or text, type_)
    raise ReadError(f"no {type_} found")


def _elements(text: str, type_: Type) -> list[Any]:
    """The elements of a list without brackets: separated in the last line, or one per line."""
    lines, marked = lines_of(text), any(map(_BULLET.match, text.splitlines()))
    if type_ == STR and marked:  # unmarked lines are prose as likely as elements
        return [plain(line) for line in lines]
    values = [line.rpartition(":")[2].strip(" \t*_`$.") for line in lines if not line.endswith(":")]
    if type_ != STR and values:
        if len(values) > 1 or marked:
            with suppress(ReadError):
                return [from_text(value, type_) for value in values]
        if not re.search(r"[\[{(]", values[-1]) and not isinstance(
            type_, RecordType | DictType | UnionType | DynamicType
        ):
            with suppress(ReadError):
                if isinstance(type_, ListType):
                    return [from_text(values[-1], type_)]
                return list(from_text(values[-1], ListType(type_)))
    hint = " (`parse lines` reads plain lines)" if type_ == STR and len(lines) > 1 else ""
    raise ReadError(f"no {ListType(type_)} found{hint}")


# ---------------------------------------------------------------- lines

_BULLET = lazy_pattern(r"\s*(?:[-*+•]|\(?[0-9]{1,4}[.):]|[A-Za-z][.)])\s+")

_LABEL = lazy_pattern(
    r"\s*(?:[-*+•]\s+|[0-9]{1,4}[.)]\s+)?[*_\"'`]{0,3}"
    r"([A-Za-z][\w -]{0,60}?)[*_\"'`]{0,3}[ \t]{0,3}:[*_\"'`]{0,3}\s*(.*)"
)


def lines_of(text: str) -> list[str]:
    """The elements that a text lists, one per line, without their numbers and bullets.

    If some lines have one, lines without are text around the list; a fence is never an element.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.lstrip().startswith(("```", "~~~"))]
    marked = [match for line in lines if (match := _BULLET.match(line))]
    return [match.string[match.end() :].strip() for match in marked] or [line.strip() for line in lines]


def unmarked(line: str) -> str:
    """A line without its number or bullet."""
    match = _BULLET.match(line)
    return (line[match.end() :] if match else line).strip()


def _labelled(text: str) -> list[tuple[str, str]]:
    """The `name: value` lines of a text, each with the lines that follow it."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if match := _LABEL.match(line):
            found.append((match[1], [match[2]]))
        elif found:
            found[-1][1].append(line)
    return [(name, "\n".join(lines).strip()) for name, lines in found]


def _bare(words: str) -> str:
    return words.strip(" \t*_`$.#>\"'")


# ---------------------------------------------------------------- prose


@final
class _Mention(Struct, frozen=True):
    """A value that a text mentions; `rating`: on a scale, as in `8/10`."""

    value: Any
    start: int
    rating: bool = False


# What continues after a comma or a second point (`3,14`, `1.234,5`, `1.2.3`) is ambiguous, so not a number.
_NUMBER = lazy_pattern(
    r"(?:(?<![\w.)\]])[-+\N{MINUS SIGN}])?(?<![\w.])(?<![0-9],)\$?"
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?!\w|[.,][0-9])"
)
_OUT_OF = lazy_pattern(r"\s*(?:/|out of)\s*([0-9]{1,9})(?!\w)")
_SCALES: Final = (5, 10, 100)
"""`8/10` is the rating 8; `3/4` is three quarters."""

_YES_OR_NO = lazy_pattern(r"(?<!\w)(?:yes|true|false|no)(?!\w)", re.IGNORECASE)
_SENTENCE_END = lazy_pattern(r"\s*(?:[.,;:!*\"')\n]|\Z)")

_ANSWER = lazy_pattern(r"\b(?:answer|result|output|solution|verdict|conclusion)\b", re.IGNORECASE)
_RATING = lazy_pattern(r"\b(?:score|rating|grade|value|total|count|evaluation|likelihood)\b", re.IGNORECASE)
_NEAR: Final = 40
"""Characters that may be between `the answer is` and the answer."""


def number_in(text: str) -> int | float:
    """The number that a text gives as its answer. Raises ReadError if it contains none.

    In this order: the only number, a last line that is only a number, the number after `answer` or `score`, a
    rating (`8/10`), the number after the last `=`, the last number.
    """
    found = list(_numbers(text))
    if not found:
        raise ReadError("no number found")
    lone = found[0].value if len({mention.value for mention in found}) == 1 else number(_last_line(text))
    if lone is not None:
        return lone
    chosen = _after(text, found, _ANSWER) or _after(text, found, _RATING)
    if chosen is not None:  # `the answer is 3 + 4 = 7`
        end = text.find("\n", chosen.start)
        equals = text.rfind("=", chosen.start, end if end >= 0 else len(text))
        chosen = (_following(text, found, [equals]) if equals >= 0 else None) or chosen
    chosen = chosen or next((mention for mention in reversed(found) if mention.rating), None)
    chosen = chosen or _after(text, found, re.compile("=")) or found[-1]
    return chosen.value  # type: ignore[no-any-return]


def _numbers(text: str) -> Iterator[_Mention]:
    at = 0
    while match := _NUMBER.search(text, at):
        at = match.end()
        value = number(match[0])
        if value is None:
            continue
        rating = False
        if scale := _OUT_OF.match(text, at):
            at = scale.end()
            whole = int(scale[1])
            rating = "out" in scale[0] or whole in _SCALES
            if not rating and whole and abs(value) < 1e15:
                value = value / whole
        yield _Mention(value, match.start(), rating)


def word_in(text: str, words: Sequence[str]) -> str:
    """Which of some words a text gives as its answer. Raises ReadError if it contains none.

    In this order: the only one that is mentioned, the one after `answer` or `verdict`, the last one
    mentioned.
    """
    # A single letter must match in case, or each `a` would be an answer.
    spelled = {word.casefold(): word for word in words if len(word) > 1}
    patterns = [re.escape(word) if len(word) == 1 else f"(?i:{re.escape(word)})" for word in words]
    choices = "|".join(sorted(patterns, key=len, reverse=True))
    found = [
        _Mention(match[0] if match[0] in words else spelled[match[0].casefold()], match.start())
        for match in re.finditer(rf"(?<!\w)(?:{choices})(?!\w)", text)
        if match[0] in words or match[0].casefold() in spelled
    ]
    if not found:
        raise ReadError(f"none of {', '.join(words)} found" if words else "the type has no values")
    return str((_after(text, found, _ANSWER) or _after(text, found, _RATING) or found[-1]).value)


def bool_in(text: str) -> bool:
    """Whether a text says yes or no, true or false. Raises ReadError if it says neither.

    In this order: a last line that is only such a word, the one after `answer` or `verdict`, the first word,
    the last mention.
    """
    begin = len(text) - len(text.lstrip(" \t\r\n*_#>\"'"))
    found = [
        _Mention(match[0].casefold(), match.start())
        for match in _YES_OR_NO.finditer(text)
        # `no` is an answer if a sentence begins or ends with it: not in `there are no mistakes`.
        if match[0].casefold() != "no" or match.start() == begin or _SENTENCE_END.match(text, match.end())
    ]
    if not found:
        raise ReadError("neither yes nor no found")
    last = _last_line(text).casefold()
    if last in YES:
        return YES[last]
    first = found[0] if found[0].start == begin else None
    return YES[(_after(text, found, _ANSWER) or first or found[-1]).value]


def _last_line(text: str) -> str:
    return _bare(text.rstrip().rpartition("\n")[2])


def _after(text: str, found: list[_Mention], marker: re.Pattern[str]) -> _Mention | None:
    return _following(text, found, [match.end() for match in marker.finditer(text)])


def _following(text: str, found: list[_Mention], places: list[int]) -> _Mention | None:
    """The mention that closely follows the last of some places that has one."""
    starts = [mention.start for mention in found]
    for place in reversed(places):
        index = bisect_left(starts, place)
        if index < len(found):
            between = text[place : starts[index]] if starts[index] - place <= _NEAR else "\n"
            if "\n" not in between.rstrip(" \n\t:*"):
                return found[index]
    return None
