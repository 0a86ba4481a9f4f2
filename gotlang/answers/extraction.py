"""The default reader: the value that an answer gives, however the model chose to write it.

Lists and objects are looked for first, as strict JSON (alone or in a code fence) and then with the tolerant
scanner; of several that fit the type the last one counts, since models reason first and answer last. Without
any, numbers, fixed words and lines are taken out of the prose.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any, Final, final

from gotlang.answers.conversion import YES, clean, convert, from_text, same_name
from gotlang.answers.literals import Found, number, scan, strict
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
        return word_in(text, {value: value for value in type_.values if value})
    if type_ == BOOL:
        return bool_in(text)
    return convert(number_in(text), type_)


def _from_lines(text: str, type_: Type) -> Any:
    """A list, dict or record that is written without brackets."""
    match type_:
        case ListType():
            return _elements(text, type_.element)
        case DictType():
            entries = {}
            for line in lines_of(text):
                name, colon, rest = line.rpartition(":")
                if colon and rest.strip():
                    entries[name.strip(" *_`\"'")] = rest.strip(" *_`\"'")
                elif not colon:
                    raise ReadError(f"there is no {type_} in it")
            if entries:
                return convert(entries, type_)
        case RecordType():
            fields = {same_name(name): part for name, part in labelled(text)}
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
        if not is_marked(text):
            raise ReadError(f"there is no {ListType(type_)} in it")
        return [plain(line) for line in lines_of(text)]
    lines = [line for line in lines_of(text) if not line.endswith(":")]
    if len(lines) > 1 or is_marked(text):
        with suppress(ReadError):
            return [from_text(_unlabelled(line), type_) for line in lines]
    row = _unlabelled(lines[-1]) if lines else "["
    if not re.search(r"[\[{(]", row) and not isinstance(type_, RecordType | DictType | AnyType):
        with suppress(ReadError):
            return [from_text(row, type_)] if isinstance(type_, ListType) else from_text(row, ListType(type_))
    raise ReadError(f"there is no {ListType(type_)} in it")


def _unlabelled(line: str) -> str:
    return line.rpartition(":")[2].strip(" \t*_`$.")


# What goes on after a comma or a second point (`3,14`, `1.234,5`, `1.2.3`) is no number that could be told.
_NUMBER = re.compile(
    r"(?:(?<![\w.)\]])[-+\N{MINUS SIGN}])?(?<![\w.])(?<![0-9],)\$?"
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?!\w|[.,][0-9])"
)
_OUT_OF = re.compile(r"\s*(?:/|out of)\s*([0-9]{1,9})(?!\w)")
_ANSWER = re.compile(r"\b(?:answer|result|output|solution|verdict|conclusion)\b", re.IGNORECASE)
_RATING = re.compile(r"\b(?:score|rating|grade|value|total|count|evaluation|likelihood)\b", re.IGNORECASE)
_NEAR: Final = 40
"""Characters that may stand between `the answer is` and the answer."""

_SCALES: Final = (5, 10, 100)
"""`8/10` is the rating 8; `3/4` is three quarters."""


@final
@dataclass(frozen=True, slots=True)
class _Mention:
    said: str
    start: int
    rating: bool = False


def number_in(text: str) -> int | float:
    """The number that a text gives as its answer. Raises ReadError where it has none.

    In this order: the only number, a last line that is nothing else, what follows `answer` or `score`, a
    rating (`8/10`), what follows the last `=`, the last number.
    """
    found = list(_numbers(text))
    if not found:
        raise ReadError("there is no number in it")
    if len({value for value, _ in found}) == 1:
        return found[0][0]
    lone = number(_bare(_last_line(text)))
    if lone is not None:
        return lone
    mentions = [mention for _, mention in found]
    after = _said(text, _ANSWER, mentions) or _said(text, _RATING, mentions)
    if after is not None:  # `the answer is 3 + 4 = 7`
        start, end = after.start, text.find("\n", after.start)
        result = text.rfind("=", start, end if end >= 0 else len(text))
        after = (_following(text, mentions, [result]) or after) if result >= 0 else after
    after = after or next((mention for mention in reversed(mentions) if mention.rating), None)
    after = after or _following(text, mentions, [match.end() for match in re.finditer("=", text)])
    return found[mentions.index(after)][0] if after else found[-1][0]


def _numbers(text: str) -> Iterator[tuple[int | float, _Mention]]:
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
        yield value, _Mention(match[0], match.start(), rating)


def word_in(text: str, words: Mapping[str, str]) -> str:
    """Which of some words a text gives as its answer; `words` maps what may stand there to what it means.

    In this order: the only one that is mentioned, what follows `answer` or `verdict`, the last one mentioned.
    Raises ReadError where none is.
    """
    if not words:
        raise ReadError("there is nothing to choose from")
    longest_first = sorted(words, key=len, reverse=True)
    # A single letter counts in its own case only, or each `a` would be an answer.
    alternatives = [
        re.escape(word) if len(word) == 1 else f"(?i:{re.escape(word)})" for word in longest_first
    ]
    known = {(word if len(word) == 1 else word.casefold()): meaning for word, meaning in words.items()}
    found = []
    for match in re.finditer(rf"(?<!\w)(?:{'|'.join(alternatives)})(?!\w)", text):
        meaning = words.get(match[0]) or known.get(match[0].casefold())
        if meaning is not None:
            found.append(_Mention(meaning, match.start()))
    if not found:
        raise ReadError(f"it names none of {', '.join(dict.fromkeys(words.values()))}")
    return str((_said(text, _ANSWER, found) or _said(text, _RATING, found) or found[-1]).said)


_YES_OR_NO = re.compile(r"(?<!\w)(?:yes|true|false|no)(?!\w)", re.IGNORECASE)
_SENTENCE_ENDS = re.compile(r"\s*(?:[.,;:!*\"')\n]|\Z)")


def bool_in(text: str) -> bool:
    """Whether a text says yes or no, true or false. Raises ReadError where it says neither.

    In this order: a last line that is nothing else, what follows `answer` or `verdict`, the first word, the
    last mention.
    """
    begins = len(text) - len(text.lstrip(" \t\r\n*_#>\"'"))
    found = [
        _Mention(match[0].casefold(), match.start())
        for match in _YES_OR_NO.finditer(text)
        # `no` is an answer where a sentence begins or ends with it: not in `there are no mistakes`.
        if match[0].casefold() != "no" or match.start() == begins or _SENTENCE_ENDS.match(text, match.end())
    ]
    if not found:
        raise ReadError("it says neither yes nor no")
    said = _bare(_last_line(text)).casefold()
    if said not in YES:
        first = found[0] if found[0].start == begins else None
        said = str((_said(text, _ANSWER, found) or first or found[-1]).said)
    return YES[said]


def _said(text: str, marker: re.Pattern[str], found: list[_Mention]) -> _Mention | None:
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


_BULLET = re.compile(r"\s*(?:[-*+•]|\(?[0-9]{1,4}[.):]|[A-Za-z][.)])\s+")


def lines_of(text: str) -> list[str]:
    """The elements that a text lists, one a line, without their numbers and bullets.

    Where some lines have one, lines without are what was said around the list; a fence is never an element.
    """
    lines = [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("```", "~~~"))
    ]
    marked = [match for line in lines if (match := _BULLET.match(line))]
    if marked:
        return [match.string[match.end() :].strip() for match in marked]
    return [line.strip() for line in lines]


def is_marked(text: str) -> bool:
    """Whether some line starts with a number or a bullet."""
    return any(_BULLET.match(line) for line in text.splitlines())


def unmarked(line: str) -> str:
    """A line without its number or bullet."""
    match = _BULLET.match(line)
    return (line[match.end() :] if match else line).strip()


_LABEL = re.compile(
    r"\s*(?:[-*+•]\s+|[0-9]{1,4}[.)]\s+)?[*_\"'`]{0,3}"
    r"([A-Za-z][\w -]{0,60}?)[*_\"'`]{0,3}[ \t]{0,3}:[*_\"'`]{0,3}\s*(.*)"
)


def labelled(text: str) -> list[tuple[str, str]]:
    """The `name: value` lines of a text, each with the lines that follow it."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        match = _LABEL.match(line)
        if match:
            found.append((match[1], [match[2]]))
        elif found:
            found[-1][1].append(line)
    return [(name, "\n".join(lines).strip()) for name, lines in found]


def _last_line(text: str) -> str:
    return text.rstrip().rpartition("\n")[2]


def _bare(line: str) -> str:
    return line.strip(" \t*_`$.#>\"'")
