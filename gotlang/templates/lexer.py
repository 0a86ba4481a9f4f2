"""The text of a template as tokens, in Jinja's notation: a tag removes the line break after it, and the
blanks before it if nothing else is on its line; `-` removes all white space on its side, `+` none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, final

from msgspec import Struct

from gotlang.errors import TemplateError
from gotlang.patterns import lazy_pattern
from gotlang.templates.nodes import TemplatePlace

_MOST = 20_000
"""Maximum number of tokens of a template; parsing that many takes a tenth of a second."""

_TAG = lazy_pattern(r"(\{%)([-+]?)\s*raw\s*(?:-%\}\s*|%\})|(\{#|\{%|\{\{)([-+]?)")
_ENDS: Final = {
    "{{": lazy_pattern(r"-\}\}\s*|\}\}"),
    "{%": lazy_pattern(r"\+%\}|-%\}\s*|%\}\n?"),
    "{#": lazy_pattern(r"\+#\}|-#\}\s*|#\}\n?"),
}
_RAW_END = lazy_pattern(r"\{%([-+]?)\s*endraw\s*(?:\+%\}|-%\}\s*|%\}\n?)")
_KINDS: Final = {
    "float": lazy_pattern(r"(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?[eE][-+]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)"),
    "int": lazy_pattern(
        r"0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[\da-fA-F])+|[1-9](?:_?\d)*|0(?:_?0)*"
    ),
    "str": lazy_pattern(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL),
    "name": lazy_pattern(r"(?:\w|[^\x00-\x7f\s])+"),
}
_SIGNS: Final = {*("//", "**", "==", "!=", "<=", ">="), *"-+/*%~[](){}<>=.:|,;"}
_CLOSED: Final = {"(": ")", "[": "]", "{": "}"}


@final
class Token(Struct, frozen=True):
    """A part of the text. Its kind is `data`, `name`, `int`, `float` or `str`, with its value, `end`, or for
    signs and the ends of tags the text itself."""

    kind: str
    value: Any
    place: int


def tokens(text: str) -> Iterator[Token]:
    """The tokens, ending with an `end`. Raises TemplateError with the place of an invalid one."""
    exact = "\r" not in text  # otherwise places are only lines, since each line break becomes one character
    text = text if exact else text.replace("\r\n", "\n").replace("\r", "\n")
    for number, token in enumerate(_Lexer(text.removesuffix("\n"), exact).tokens()):
        if number > _MOST:
            raise TemplateError("more expressions and blocks than a prompt needs", line=token.place)
        yield token


@final
class _Lexer:
    def __init__(self, text: str, exact: bool) -> None:
        self.text = text
        self.exact = exact
        self.at = 0
        self.line, self.counted = 1, 0

    def place(self, start: int, end: int) -> int:
        """A place; they are requested in the order of the text."""
        self.line += self.text.count("\n", self.counted, start)
        self.counted = start
        if not self.exact:
            return self.line
        place = TemplatePlace(self.line)
        place.start, place.end = start, end
        return place

    def tokens(self) -> Iterator[Token]:
        while tag := _TAG.search(self.text, self.at):
            yield from self.data(tag.start(), tag[2] or tag[4] or "", tag[3] != "{{")
            self.at = tag.end()
            if tag[1]:
                yield from self.raw(tag.start())
            elif tag[3] == "{#":
                self.at = self.find(_ENDS["{#"], tag.start(), "`#}`").end()
            else:
                yield Token(tag[3], tag[3], self.place(tag.start(), tag.end()))
                yield from self.inside(tag[3])
        yield from self.data(len(self.text), "+", False)
        yield Token("end", None, self.place(len(self.text), len(self.text)))

    def data(self, end: int, sign: str, whole_lines: bool) -> Iterator[Token]:
        """The text before a tag; `sign` is the tag's white space control."""
        found, start = self.text[self.at : end], self.at
        if sign == "-":
            found = found.rstrip()
        elif whole_lines and not sign:
            line = found.rfind("\n") + 1
            if line or start == 0 or self.text[start - 1] == "\n":
                found = found[:line] + found[line:].lstrip() if found[line:].isspace() else found
        if found:
            yield Token("data", found, self.place(start, end))

    def raw(self, start: int) -> Iterator[Token]:
        """The text up to `{% endraw %}`."""
        end = self.find(_RAW_END, start, "`{% endraw %}`")
        yield from self.data(end.start(), end[1], True)
        self.at = end.end()

    def find(self, pattern: Any, start: int, wanted: str) -> Any:
        found = pattern.search(self.text, self.at)
        if found is None:
            raise TemplateError(f"no {wanted} ends this", line=self.place(start, start + 2))
        return found

    def inside(self, tag: str) -> Iterator[Token]:
        """The tokens of a tag, with its end."""
        brackets: list[str] = []
        text, length = self.text, len(self.text)
        while True:
            while self.at < length and text[self.at].isspace():
                self.at += 1
            start = self.at
            if start == length:
                return
            if not brackets and (found := _ENDS[tag].match(text, start)):
                self.at = found.end()
                end = "}}" if tag == "{{" else "%}"
                yield Token(end, end, self.place(start, start + len(found[0].rstrip())))
                return
            kind, written = self.token(start)
            place = self.place(start, start + len(written))
            self.at = start + len(written)
            if kind == "unknown":
                raise TemplateError(f"unexpected character `{written}`", line=place)
            if written in _CLOSED:
                brackets.append(_CLOSED[written])
            elif written in _CLOSED.values():
                wanted = brackets.pop() if brackets else None
                if written != wanted:
                    message = f"expected `{wanted}`, not `{written}`" if wanted else f"unexpected `{written}`"
                    raise TemplateError(message, line=place)
            yield Token(kind, _value(kind, written, place), place)

    def token(self, start: int) -> tuple[str, str]:
        """The kind and the text of the token at a place."""
        first, two = self.text[start], self.text[start : start + 2]
        kinds = ("float", "int") if first in "0123456789" else ("str",) if first in "'\"" else ("name",)
        for kind in kinds:
            if found := _KINDS[kind].match(self.text, start):
                return kind, found[0]
        sign = two if two in _SIGNS else first
        return (sign, sign) if sign in _SIGNS else ("unknown", sign)


def _value(kind: str, written: str, place: int) -> Any:
    """The value of a token."""
    try:
        match kind:
            case "int":
                return int(written.replace("_", ""), 0)
            case "float":
                return float(written.replace("_", ""))
            case "str" if "\\" in written:
                return written[1:-1].encode("ascii", "backslashreplace").decode("unicode-escape")
            case "str":
                return written[1:-1]
            case "name" if not written.isidentifier():
                raise TemplateError(f"`{written}` is not a name", line=place)
    except UnicodeError as error:
        raise TemplateError(str(error).rpartition(":")[2].strip(), line=place) from None
    except ValueError:  # Python parses no int of more than 4,300 digits
        raise TemplateError("a number with too many digits", line=place) from None
    return written
