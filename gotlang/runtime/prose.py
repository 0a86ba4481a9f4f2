"""What a model answers in words: the number, the word or the lines asked for, among its sentences."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, final

from gotlang.convert import YES
from gotlang.errors import ReadError
from gotlang.literals import number

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
