"""Values inside free text, written as JSON, as Python, or nearly so.

Models write lists and objects with single quotes, comments, trailing commas, tuples, words without quotes,
and lose the last bracket; data files contain Python's `repr`. One lenient scanner finds them all, with their
places and how certain each is. It looks at no character twice and its stack is explicit, so a megabyte of
brackets takes a second or two and never crashes.

The json-repair library is not used because it always returns something (measured with 0.64): it reads
`[1, 2, ..., 9]` as `[1, 2, 9]`, `{Peru: 2, Costa Rica: 1}` as `{"Peru": 2, "Rica": 1}`, `['it's', 'b']` as
three texts, and the cut-off `["a", "b is tr` as two whole ones; 37,000 open quotes take more than 8 seconds.
"""

from __future__ import annotations

import json
import re
from enum import IntEnum
from math import isfinite
from typing import Any, Final, final

from msgspec import Struct

from gotlang.patterns import lazy_pattern
from gotlang.types import DEEPEST


class Quality(IntEnum):
    """How likely it is that brackets were meant as a value; lower is better."""

    CLEAN = 0
    WORDS = 1  # contains words without quotes: `[see below]`
    TUPLE = 2  # `(3, 4)`, which is also how people write asides
    PIECE = 3  # inside something that turned out not to be a value


@final
class Found(Struct, frozen=True):
    """A list or object found in a text, from `start` to `end`. `whole` is False if its closing bracket is
    missing; the value then has the elements that were complete. `inside`: it is a part of brackets that are
    not a value, such as those nested too deeply."""

    value: list[Any] | dict[str, Any]
    start: int
    end: int
    quality: Quality = Quality.CLEAN
    whole: bool = True
    inside: bool = False


class Word(str):
    """A text without quotes."""

    __slots__ = ()


# ---------------------------------------------------------------- numbers

_NUMERAL = lazy_pattern(r"[+-]?(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_AMOUNT = lazy_pattern(
    r"([+-]?)\$?((?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9][0-9_]*)?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)\s*%?"
)


def number(text: str) -> int | float | None:
    """The number that a text is, with the signs that people write around one (`1,234`, `$5`, `85%`), or
    None."""
    match = _AMOUNT.fullmatch(text.strip().replace("\N{MINUS SIGN}", "-"))
    return _numeral(match[1] + match[2].replace(",", "")) if match else None


def _numeral(text: str) -> int | float | None:
    """The number that a text is in a program's notation, or None; infinity and NaN are not numbers."""
    if not _NUMERAL.fullmatch(text):
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


# ---------------------------------------------------------------- quoted texts


def _quoted(closer: str) -> re.Pattern[str]:
    # A quote ends a string if what follows it can follow a string; elsewhere the model forgot to escape it:
    # 'it's', "the "old" house".
    ends = r"(?=\s*(?:[,\]}):]|//|\#|/\*|```|\Z))"
    return lazy_pattern(rf"((?:[^{closer}\\]|\\.|{closer}(?!{ends}))*+){closer}", re.DOTALL)


_QUOTED: Final = {opener: _quoted(closer) for opener, closer in zip("\"'“‘`", "\"'”’`", strict=True)}
"""By the opening quote: what follows it, including the closing one."""

_ESCAPE = lazy_pattern(
    r"\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}"
    r"|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)",
    re.DOTALL,
)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 1:
        # An undefined escape keeps its backslash: models write LaTeX into JSON.
        return _ESCAPED.get(code, code if code in "\"'\\/`" else "\\" + code)
    if len(code) > 9:
        return (bytes.fromhex(code[1:5]) + bytes.fromhex(code[7:])).decode("utf-16-be")
    return chr(int(code[1:], 16))


# ---------------------------------------------------------------- whole texts


def strict(text: str, *, data: bool = False) -> Any:
    """The value of a JSON text. Raises ValueError, also for NaN, endless digits and deep nesting; with `data`
    for a key that an object has twice, and for half of a character (`"\\ud83d"`) too."""
    try:
        value = (_DATA_DECODER if data else _DECODER).decode(text)
        if data and "\\ud" in text.lower():
            try:
                json.dumps(value, ensure_ascii=False).encode()
            except UnicodeEncodeError as error:
                half = ascii(error.object[error.start])[1:-1]
                raise ValueError(f"`{half}` is half of a character; write both halves") from None
        brackets = text.count("[") + text.count("{")
        if brackets > DEEPEST and isinstance(value, list | dict) and _deeper(value):
            raise RecursionError
    except RecursionError:
        raise ValueError("brackets nested too deeply") from None
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"duplicate key `{key}`")
        found[key] = value
    return found


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_DATA_DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_unique)


def _deeper(value: Any) -> bool:
    """Whether a value has more than the allowed levels, checked level by level."""
    level = [value]
    for _ in range(DEEPEST):
        parts = [part for outer in level for part in (outer.values() if isinstance(outer, dict) else outer)]
        level = [part for part in parts if isinstance(part, list | dict)]
    return bool(level)


def literal(text: str) -> Any:
    """The list or object that a whole text is, as JSON or Python wrote it: `[1, 2]`, `{'a': 1}`,
    `Counter({'a': 1})`. Raises ValueError for anything else."""
    text = text.strip()
    try:
        value = strict(text)
    except ValueError:
        found = scan(text)
        whole = len(found) == 1 and found[0].whole and found[0].quality is not Quality.PIECE
        called = text[: found[0].start] if found else ""
        if not whole or found[0].end != len(text) or (called and not called.isidentifier()):
            raise ValueError("not a list or an object") from None
        value = found[0].value
    if not isinstance(value, list | dict):
        raise ValueError("not a list or an object")
    return value


# ---------------------------------------------------------------- the scanner

_OPENER = lazy_pattern(r"[\[{(]")
_CLOSERS: Final = {"[": "]", "{": "}", "(": ")"}
_TOKEN = lazy_pattern(
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
_INTEGERS = lazy_pattern(r"\[([ \t\r\n]*-?[0-9]{1,18}[ \t\r\n]*(?:,[ \t\r\n]*-?[0-9]{1,18}[ \t\r\n]*)*+)\]")
_CONSTANTS: Final[dict[str, bool | None]] = {
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    "null": None, "None": None,
}  # fmt: skip


def scan(text: str) -> list[Found]:
    """All outermost lists and objects of a text, in order. Abbreviations (`[1, 2, ..., 9]`) contain Python's
    `...`, which fits no type."""
    return _LiteralScanner(text).run()


class _Open:
    """A bracket that is not closed yet."""

    __slots__ = ("after", "bracket", "comma", "items", "key", "pairs", "start", "words")

    def __init__(self, bracket: str, start: int) -> None:
        self.bracket = bracket
        self.start = start
        self.items: list[Any] = []
        self.pairs: dict[str, Any] | None = None
        self.key: str | None = None
        self.after = False  # a value has just ended: a comma, a colon or the end may follow
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
        """At a colon: take the last value as a name. False if it cannot be one."""
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


class _LiteralScanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.stack: list[_Open] = []
        self.found: list[Found] = []
        self.unclosed: set[str] = set()
        self.line_ended = False
        self.lost = 0  # open brackets that are not a value

    def run(self) -> list[Found]:
        while self.at < len(self.text):
            if not self.stack:
                opener = _OPENER.search(self.text, self.at)
                if opener is None:
                    break
                self.lost -= min(self.lost, sum(map(self.text[self.at : opener.start()].count, "]}")))
                if (plain := _INTEGERS.match(self.text, opener.start())) is not None:  # as most lists are
                    self.integers(plain)
                else:
                    self.open(opener[0], opener.start())
                continue
            token = _TOKEN.match(self.text, self.at)
            if token is None:
                self.abandon()
                self.at += 1
                continue
            self.at = token.end()
            kind = token.lastgroup or ""
            if kind == "space":
                self.line_ended = self.line_ended or "\n" in token[0]
            else:
                self.take(kind, token[0], token.start())
                self.line_ended = False
        self.stop()
        return self.found

    def integers(self, plain: re.Match[str]) -> None:
        """Take a whole list, as its tokens one by one would give it."""
        self.at, self.line_ended = plain.end(), False
        found = list(map(int, plain[1].split(",")))
        self.found.append(Found(found, plain.start(), self.at, Quality.CLEAN, inside=self.lost > 0))

    def take(self, kind: str, sign: str, start: int) -> None:
        """Consume one token inside brackets, which ends at `at`."""
        top = self.stack[-1]
        if kind == "comment":
            if sign == "/*":
                end = self.text.find("*/", self.at)
                self.at = len(self.text) if end < 0 else end + 2
        elif kind == "fence":
            self.stop()
        elif kind == "close":
            self.close(sign)
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
            self.open(sign, start)
        elif kind == "word":
            self.word(top, sign.strip())
        elif top.after and not (self.line_ended and top.pairs is not None):
            self.abandon()
        else:
            self.string(top, sign)

    def open(self, bracket: str, start: int) -> None:
        if len(self.stack) >= DEEPEST:
            self.abandon()
        self.stack.append(_Open(bracket, start))
        self.at = start + 1

    def word(self, top: _Open, word: str) -> None:
        numbers = [_numeral(part) for part in word.split()]
        if None not in numbers and (top.pairs is None or (len(numbers) == 1 and not top.after)):
            for value in numbers:
                top.add(value)
        elif top.after:
            self.abandon()
        elif word in _CONSTANTS:
            top.add(_CONSTANTS[word])
        elif word.startswith(("...", "…")):
            top.add(...)
        elif self.at < len(self.text):  # a word at the very end may be cut off
            top.add(Word(word))
            top.words += 1

    def string(self, top: _Open, quote: str) -> None:
        match = None if quote in self.unclosed else _QUOTED[quote].match(self.text, self.at)
        if match is not None:
            content = match[1]
            top.add(_ESCAPE.sub(_unescaped, content) if "\\" in content else content)
            self.at = match.end()
        elif any(open_.items or open_.pairs for open_ in self.stack):
            self.at = len(self.text)  # cut off inside a string: the elements before it stay
        else:
            self.unclosed.add(quote)
            self.abandon()

    def close(self, bracket: str) -> None:
        """A closing bracket also closes open ones inside its own; one without a match is not in a value."""
        if not any(_CLOSERS[open_.bracket] == bracket for open_ in self.stack):
            self.abandon()
            self.lost -= min(self.lost, 1)
            return
        closed = ""
        while closed != bracket:
            top = self.stack.pop()
            closed = _CLOSERS[top.bracket]
            value: Any = top.value()
            aside = top.bracket == "(" and not top.comma and len(top.items) == 1
            if aside:
                value = value[0]
            if self.stack:
                self.stack[-1].add(value)
                self.stack[-1].words += top.words
            elif isinstance(value, list | dict) and (value or top.bracket != "("):
                quality = Quality.WORDS if top.words else Quality.CLEAN
                quality = Quality.TUPLE if top.bracket == "(" and not aside else quality
                self.found.append(Found(value, top.start, self.at, quality, inside=self.lost > 0))

    def abandon(self) -> None:
        """The open brackets are not a value; complete ones inside may be, and so may a list without its
        closing bracket before a new line."""
        cut, self.stack = self.stack, []
        self.lost += sum(open_.bracket != "(" for open_ in cut)
        for open_ in cut:
            if self.line_ended and open_ is cut[-1] and open_.after and not open_.words:
                self.found.append(
                    Found(open_.value(), open_.start, self.at, whole=False, inside=self.lost > 1)
                )
                continue
            inside = [*open_.items, *(open_.pairs or {}).values()]
            values = [value for value in inside if isinstance(value, list | dict)]
            self.found += [Found(value, open_.start, self.at, Quality.PIECE, True, True) for value in values]

    def stop(self) -> None:
        """The text (or its fence) ends: keep the complete values, the outermost last, because the last
        counts."""
        cut, self.stack = self.stack, []
        for open_ in reversed(cut):
            value = open_.value()
            if value and not open_.words and open_.bracket != "(":
                inside = open_ is not cut[0] or self.lost > 0
                self.found.append(Found(value, open_.start, self.at, whole=False, inside=inside))
        self.lost = 0
