"""The forms of responses: what a prompt declares after `parse`, and the line patterns of `parse lines`.

A pattern (`"{left} + {right} = {result} (left: {rest})"`) is a text with named holes, not a regular
expression: each piece of text is searched once, from left to right, and a hole is what is between two of
them. Matching takes time in proportion to the line, whatever the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, final


@final
@dataclass(frozen=True, slots=True)
class Json:
    """`parse json`: JSON only, in a fence or not."""


@final
@dataclass(frozen=True, slots=True)
class Tag:
    """`parse tag("Merged")`: what stands between `<Merged>` and `</Merged>`."""

    name: str


@final
@dataclass(frozen=True, slots=True)
class Lines:
    """`parse lines`, `parse lines matching "{left} + {right}"`: one value a line, holes in braces."""

    pattern: str | None = None


@final
@dataclass(frozen=True, slots=True)
class After:
    """`parse after "So the answer is:"`: what follows the last time the text stands there."""

    text: str


Form = Json | Tag | Lines | After


_MOST_HOLES: Final = 50
_SPACES = re.compile(r"\s+")


class PatternError(ValueError):
    """A pattern that says nothing definite; `offset` is the place in it, in characters from 0."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@final
@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern: `texts[0]`, the hole `names[0]`, `texts[1]`, and so on; one text more than names.

    `{name}` is a hole, `{}` and `{_}` are holes whose content nobody wants, `{{` and `}}` are braces. Spaces
    in the pattern match white space of any length, or none where it stands nowhere; case does not count. A
    hole takes at least one character and ends where the next text first stands. What precedes the first text
    or follows the last one is passed over.
    """

    text: str
    texts: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def holes(self) -> tuple[str, ...]:
        """The names of the holes whose content is wanted, in order."""
        return tuple(name for name in self.names if name)

    @staticmethod
    def parse(text: str) -> Pattern:
        """Read a pattern. Raises PatternError, with the place."""
        text = text.strip(" \t")
        texts = [""]
        names: list[str] = []
        at = 0
        while at < len(text):
            sign = text[at]
            if text.startswith(("{{", "}}"), at):
                texts[-1] += sign
                at += 2
            elif sign == "{":
                end = text.find("}", at)
                name = text[at + 1 : end].strip()
                _check(text, at, end, name, names, texts[-1])
                names.append("" if name == "_" else name)
                texts.append("")
                at = end + 1
            elif sign == "}":
                raise PatternError("`}` without its `{`; write `}}` for a brace", at)
            elif sign in "\r\n":
                raise PatternError("a pattern is one line", at)
            else:
                texts[-1] += sign
                at += 1
        if not any(names):
            raise PatternError("a pattern needs a hole with a name, like `{answer}`", 0)
        return Pattern(text, tuple(texts), tuple(names))

    def match(self, line: str) -> dict[str, str] | None:
        """What stands in the holes, without white space around it, by name; None where the line differs."""
        found: dict[str, str] = {}
        at = 0
        if self.texts[0]:
            first = _search(self.texts[0], line, 0)
            if first is None:
                return None
            at = first.end()
        for name, text in zip(self.names, self.texts[1:], strict=True):
            while at < len(line) and line[at].isspace():
                at += 1
            if not text:
                content, at = line[at:], len(line)
            else:
                after = _search(text, line, at + 1)
                if after is None:
                    return None
                content, at = line[at : after.start()], after.end()
            if not content.strip():
                return None
            if name:
                found[name] = content.strip()
        return found

    def fill(self, contents: Mapping[str, str]) -> str:
        """The line with the holes filled; a hole without a name gets `...`."""
        parts = [self.texts[0]]
        for name, text in zip(self.names, self.texts[1:], strict=True):
            parts += [contents[name] if name else "...", text]
        return "".join(parts)


def _check(text: str, start: int, end: int, name: str, names: list[str], before: str) -> None:
    if end < 0:
        raise PatternError("`{` without its `}`; write `{{` for a brace", start)
    if name and not name.isidentifier():
        raise PatternError(f"`{name}` is no name for a hole", start)
    if name and name != "_" and name in names:
        raise PatternError(f"the hole `{name}` stands twice", start)
    if names and not before:
        raise PatternError("two holes need a text between them", start)
    if len(names) >= _MOST_HOLES:
        raise PatternError(f"more than {_MOST_HOLES} holes", start)


def _search(text: str, line: str, at: int) -> re.Match[str] | None:
    """Where a piece of text first stands with its spaces, or, where it never does, without them."""
    spaced, close = _searched(text)
    return spaced.search(line, at) or (close.search(line, at) if close else None)


@lru_cache(maxsize=256)
def _searched(text: str) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    words = [re.escape(word) for word in text.split()]
    if not words:
        return _SPACES, None
    # A run of spaces is entered at its start only, or a long one would be gone over again and again.
    before = r"(?<!\s)\s+" if text[0].isspace() else ""
    after = r"\s+" if text[-1].isspace() else ""
    spaced = re.compile(before + r"\s+".join(words) + after, re.IGNORECASE)
    # Without its spaces, `is` must not be found in `this`.
    before, after = (
        boundary if re.match(r"\w", edge) else ""
        for boundary, edge in ((r"(?<!\w)", text.split()[0]), (r"(?!\w)", text.split()[-1][-1]))
    )
    return spaced, re.compile(before + r"\s*".join(words) + after, re.IGNORECASE)
