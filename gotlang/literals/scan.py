"""One pass over a text that finds every list and object in it, whatever stands around them.

No character is looked at twice and the stack is our own, so a megabyte of brackets costs a second or two, and
no crash. Where brackets turn out to hold no value they are given up at once, never tried again from inside.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, final

from gotlang.literals.numbers import numeral
from gotlang.literals.strings import STRINGS, unescape

DEEPEST: Final = 100
"""Brackets inside each other that are still read; no type of the language is near it."""


class Quality(IntEnum):
    """How sure it is that some brackets were meant as a value; lower is better."""

    CLEAN = 0
    WORDS = 1  # holds words without quotes: `[see below]`
    TUPLE = 2  # `(3, 4)`, which is also how people write asides
    PIECE = 3  # inside of something that turned out to be no value


@final
@dataclass(frozen=True, slots=True)
class Found:
    """A list or object found in a text, from `start` up to `end`. `whole` is False where the text stopped
    before its closing bracket; it then holds what came whole."""

    value: list[Any] | dict[str, Any]
    start: int
    end: int
    quality: Quality = Quality.CLEAN
    whole: bool = True


class Word(str):
    """A text that stood without quotes."""

    __slots__ = ()


_CONSTANTS: Final[dict[str, bool | None]] = {
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    "null": None, "None": None,
}  # fmt: skip


def scan(text: str) -> list[Found]:
    """All outermost lists and objects of a text, in order. Abbreviations (`[1, 2, ..., 9]`) hold Python's
    `...` where they were cut, which is of no type."""
    return _Scanner(text).run()


_OPENER = re.compile(r"[\[{(]")
_CLOSERS: Final = {"[": "]", "{": "}", "(": ")"}
_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<fence>```|~~~)
      | (?P<comment>//[^\n]*|\#[^\n]*|/\*)
      | (?P<open>[\[{(])
      | (?P<close>[\]})])
      | (?P<comma>,)
      | (?P<colon>:)
      | (?P<word>(?:[^\s,\[\]{}()"'“”‘`:\#/]|[ \t](?![ \t\#]|//)|(?<=\w)['’](?=\w)|(?<=\S)\#|/(?![/*]))+)
      | (?P<quote>["'“‘`])""",
    re.VERBOSE,
)


class _Open:
    """A bracket that waits for its end."""

    __slots__ = ("after", "bracket", "comma", "items", "key", "pairs", "start", "words")

    def __init__(self, bracket: str, start: int) -> None:
        self.bracket = bracket
        self.start = start
        self.items: list[Any] = []
        self.pairs: dict[str, Any] | None = None
        self.key: str | None = None
        self.after = False  # a value has just come: a comma, a colon or the end may follow
        self.comma = False
        self.words = 0

    def add(self, value: Any) -> None:
        if self.key is not None and self.pairs is not None:
            self.pairs[self.key] = value
            self.key = None
        else:
            self.items.append(value)
        self.after = True

    def name(self) -> bool:
        """A colon: the last value was a name. False where it cannot be."""
        if self.bracket != "{" or not self.after or len(self.items) != 1:
            return False
        name = self.items.pop()
        if isinstance(name, list | dict) or name is ...:
            return False
        self.words -= isinstance(name, Word)
        self.key = str(name)
        self.pairs = {} if self.pairs is None else self.pairs
        self.after = False
        return True

    def value(self) -> list[Any] | dict[str, Any]:
        if self.pairs is not None:
            return self.pairs
        return self.items if self.items or self.bracket != "{" else {}


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.stack: list[_Open] = []
        self.found: list[Found] = []
        self.unclosed: set[str] = set()
        self.line_ended = False

    def run(self) -> list[Found]:
        text = self.text
        while self.at < len(text):
            if not self.stack:
                opener = _OPENER.search(text, self.at)
                if opener is None:
                    break
                self.open(opener[0], opener.start())
                continue
            token = _TOKEN.match(text, self.at)
            if token is None:
                self.abandon()
                self.at += 1
                continue
            kind = token.lastgroup or ""
            if kind == "space":
                self.line_ended = self.line_ended or "\n" in token[0]
                self.at = token.end()
            else:
                self.take(kind, token)
                self.line_ended = False
        self.stop()
        return self.found

    def take(self, kind: str, token: re.Match[str]) -> None:
        """One token inside brackets; moves past it."""
        top = self.stack[-1]
        self.at = token.end()
        if kind == "comment":
            if token[0] == "/*":
                end = self.text.find("*/", self.at)
                self.at = len(self.text) if end < 0 else end + 2
        elif kind == "fence":
            self.stop()
        elif kind == "close":
            self.close(token[0])
        elif kind == "comma":
            if top.pairs is not None and top.items:
                self.abandon()
            else:
                top.after, top.comma, top.key = False, True, None
        elif kind == "colon":
            if not top.name():
                self.abandon()
        elif kind == "open":
            # A value right after a value: a comma was forgotten between two lists, or this is prose.
            if top.after and (top.bracket == "(" or top.pairs is not None):
                self.abandon()
            self.open(token[0], token.start())
        elif kind == "word":
            self.word(top, token[0].strip())
        elif top.after and not (self.line_ended and top.pairs is not None):
            self.abandon()
        else:
            self.string(top, token[0])

    def open(self, bracket: str, start: int) -> None:
        if len(self.stack) >= DEEPEST:
            self.abandon()
        self.stack.append(_Open(bracket, start))
        self.at = start + 1

    def word(self, top: _Open, word: str) -> None:
        numbers = [numeral(part) for part in word.split()]
        in_list = top.pairs is None
        if None not in numbers and (in_list or (len(numbers) == 1 and not top.after)):
            for value in numbers:
                top.add(value)
        elif top.after:
            self.abandon()
        elif word in _CONSTANTS:
            top.add(_CONSTANTS[word])
        elif word.startswith(("...", "…")):
            top.add(...)
        elif self.at < len(self.text):  # else the text stops in the middle of it, perhaps
            top.add(Word(word))
            top.words += 1

    def string(self, top: _Open, quote: str) -> None:
        match = None if quote in self.unclosed else STRINGS[quote].match(self.text, self.at)
        if match is not None:
            top.add(unescape(match[1]))
            self.at = match.end()
        elif any(open_.items or open_.pairs for open_ in self.stack):
            self.at = len(self.text)  # cut off inside a string: what came before it stays
        else:
            self.unclosed.add(quote)
            self.abandon()

    def close(self, bracket: str) -> None:
        """A closing bracket closes what is open inside its own too; without an own one, there is no value."""
        if not any(_CLOSERS[open_.bracket] == bracket for open_ in self.stack):
            self.abandon()
            return
        while True:
            top = self.stack.pop()
            mine = _CLOSERS[top.bracket] == bracket
            self.closed(top)
            if mine:
                return

    def closed(self, top: _Open) -> None:
        value: Any = top.value()
        aside = top.bracket == "(" and not top.comma and len(top.items) == 1
        if aside:
            value = value[0]
        if self.stack:
            self.stack[-1].add(value)
            self.stack[-1].words += top.words
        elif isinstance(value, list | dict) and (value or top.bracket != "("):
            quality = Quality.WORDS if top.words else Quality.CLEAN
            if top.bracket == "(" and not aside:
                quality = Quality.TUPLE
            self.found.append(Found(value, top.start, self.at, quality))

    def abandon(self) -> None:
        """What is open is no value; what was complete inside it may be one, and so may a list whose end is
        missing before a new line."""
        cut, self.stack = self.stack, []
        for open_ in cut:
            if self.line_ended and open_ is cut[-1] and open_.after and not open_.words:
                self.found.append(Found(open_.value(), open_.start, self.at, whole=False))
                continue
            inside = [*open_.items, *(open_.pairs or {}).values()]
            values = [value for value in inside if isinstance(value, list | dict)]
            self.found += [Found(value, open_.start, self.at, Quality.PIECE) for value in values]

    def stop(self) -> None:
        """The text is over (or its fence): what came whole stays, the outermost last, for the last counts."""
        cut, self.stack = self.stack, []
        for open_ in reversed(cut):
            value = open_.value()
            if value and not open_.words and open_.bracket != "(":
                self.found.append(Found(value, open_.start, self.at, Quality.CLEAN, whole=False))
