"""The forms of responses: the schema for structured output, and the forms that a prompt declares after
`parse`.

A line pattern (`"{left} + {right} = {result} (left: {rest})"`) is a text with named placeholders, not a
regular expression: each piece of text is searched once, from left to right, and a placeholder is what is
between two of them. Matching takes time in proportion to the line, for any pattern.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, final

from msgspec import Struct

from gotlang.patterns import lazy_pattern
from gotlang.types import (
    DictType,
    ListType,
    LiteralType,
    OptionalType,
    PairType,
    Part,
    RecordType,
    Recursive,
    Simple,
    Type,
    UnionType,
)


@final
class Json(Struct, frozen=True):
    """`parse json`: JSON only, in a fence or not."""


@final
class Tag(Struct, frozen=True):
    """`parse tag("Merged")`: the text between `<Merged>` and `</Merged>`."""

    name: str


@final
class Lines(Struct, frozen=True):
    """`parse lines`, `parse lines matching "{left} + {right}"`: one value per line, placeholders in
    braces."""

    pattern: str | None = None


@final
class After(Struct, frozen=True):
    """`parse after "So the answer is:"`: the text after the last occurrence."""

    text: str


Form = Json | Tag | Lines | After


# ---------------------------------------------------------------- schemas


ANSWER = "answer"
"""The only field of the object that `structured true` requests if the result is neither a record nor a
dict."""


def is_wrapped(type_: Type, many: bool) -> bool:
    """Whether responses of a type are the field `ANSWER` of an object, because providers require an object at
    the top."""
    return many or not isinstance(type_, RecordType | DictType)


@lru_cache(maxsize=256)
def response_format(type_: Type, many: bool = False, count: int | None = None) -> str:
    """The `response_format` of a request for responses of a type (`structured true`), as JSON text; with
    `many` a list of such values, of `count` elements if given.

    Strict if providers accept it as a strict schema: every object has a fixed set of required fields, and all
    elements of a list have the same schema.
    """
    schema = Schema()
    whole = schema.of(ListType(type_) if many else type_)
    if count is not None:
        whole |= {"minItems": count, "maxItems": count}
    if is_wrapped(type_, many):
        whole = schema.object({ANSWER: whole})
    if schema.defined:
        whole["$defs"] = schema.defined
    described = {"name": "answer", "strict": schema.strict, "schema": whole}
    return json.dumps({"type": "json_schema", "json_schema": described}, ensure_ascii=False)


_SIMPLE = {"int": "integer", "float": "number", "str": "string", "bool": "boolean"}


@final
class Schema:
    """A JSON schema under construction: the types `defined` so far, by name, and whether all its objects are
    closed."""

    def __init__(self) -> None:
        self.defined: dict[str, Any] = {}
        self.strict = True

    def object(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The schema of an object with exactly these fields."""
        closed = {"required": list(fields), "additionalProperties": False}
        return {"type": "object", "properties": fields, **closed}

    def of(self, part: Part) -> dict[str, Any]:
        """The schema of a type. A recursive type is defined once and referenced where it occurs again."""
        match part:
            case Recursive(name=name):
                if name not in self.defined:
                    self.defined[name] = {}
                    self.defined[name] = self.of(part.type)
                return {"$ref": f"#/$defs/{name}"}
            case RecordType():
                return self.object({name: self.of(field) for name, field in part.parts})
            case UnionType():
                return {"anyOf": [self.of(case) for case in part.cases]}
            case OptionalType():
                return {"anyOf": [self.of(part.item), {"type": "null"}]}
            case DictType():
                self.strict = False
                return {"type": "object", "additionalProperties": self.of(part.item)}
            case ListType():
                return {"type": "array", "items": self.of(part.item)}
            case PairType():
                first, second = (self.of(one) for one in part.parts)
                if first == second:
                    return {"type": "array", "items": first, "minItems": 2, "maxItems": 2}
                self.strict = False
                return {"type": "array", "prefixItems": [first, second], "items": False, "minItems": 2}
            case LiteralType(values):
                return {"type": "string", "enum": list(values)}
            case Simple(name) if name in _SIMPLE:
                return {"type": _SIMPLE[name]}
            case _:
                self.strict = False
                return {}


# ---------------------------------------------------------------- line patterns

_MOST_HOLES: Final = 50
_SPACES = lazy_pattern(r"\s+")
_SIGN = lazy_pattern(r"\{\{|\}\}|\{([^}]*)\}|[{}\r\n]|[^{}\r\n]+")


class PatternError(ValueError):
    """An ambiguous or malformed pattern; `offset` is the place in it, in characters from 0."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@final
class Pattern(Struct, frozen=True):
    """A parsed pattern: `texts[0]`, the placeholder `names[0]`, `texts[1]`, and so on; one text more than
    names.

    `{name}` is a placeholder, `{}` and `{_}` are placeholders whose content is ignored, `{{` and `}}` are
    braces. Spaces in the pattern match white space of any length, or none if the line has none there; case is
    ignored. A placeholder matches at least one character and ends at the first occurrence of the next text.
    Text before the first piece or after the last one is ignored.
    """

    text: str
    texts: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def holes(self) -> tuple[str, ...]:
        """The names of the named placeholders, in order."""
        return tuple(name for name in self.names if name)

    @staticmethod
    def parse(text: str) -> Pattern:
        """Parse a pattern. Raises PatternError, with the place."""
        text = text.strip(" \t")
        texts = [""]
        names: list[str] = []
        for token in _SIGN.finditer(text):
            sign, at = token[0], token.start()
            if token[1] is not None:
                name = token[1].strip()
                if name and not name.isidentifier():
                    raise PatternError(f"`{name}` is not a valid name of a placeholder", at)
                if name and name != "_" and name in names:
                    raise PatternError(f"duplicate placeholder `{name}`", at)
                if names and not texts[-1]:
                    raise PatternError("two placeholders need a text between them", at)
                if len(names) >= _MOST_HOLES:
                    raise PatternError(f"more than {_MOST_HOLES} holes", at)
                names.append("" if name == "_" else name)
                texts.append("")
            elif sign in ("{", "}"):
                other = "}" if sign == "{" else "{"
                raise PatternError(f"`{sign}` without its `{other}`; write `{sign * 2}` for a brace", at)
            elif sign in ("\r", "\n"):
                raise PatternError("a pattern is one line", at)
            else:
                texts[-1] += sign[0] if sign in ("{{", "}}") else sign
        if not any(names):
            raise PatternError("a pattern needs a named placeholder, like `{answer}`", 0)
        return Pattern(text, tuple(texts), tuple(names))

    def match(self, line: str) -> dict[str, str] | None:
        """The content of the placeholders by name, without surrounding white space; None if the line does not
        match."""
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
        """The line with the placeholders filled; one without a name gets `...`."""
        parts = [self.texts[0]]
        for name, text in zip(self.names, self.texts[1:], strict=True):
            parts += [contents[name] if name else "...", text]
        return "".join(parts)


def _search(text: str, line: str, at: int) -> re.Match[str] | None:
    """The first occurrence of a piece of text with its spaces or, if there is none, without them."""
    spaced, close = _searched(text)
    return spaced.search(line, at) or (close.search(line, at) if close else None)


@lru_cache(maxsize=256)
def _searched(text: str) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    words = [re.escape(word) for word in text.split()]
    if not words:
        return _SPACES, None
    # A run of spaces is tried at its start only, or a long one would be searched again and again.
    before = r"(?<!\s)\s+" if text[0].isspace() else ""
    after = r"\s+" if text[-1].isspace() else ""
    spaced = re.compile(before + r"\s+".join(words) + after, re.IGNORECASE)
    # Without its spaces, `is` must not be found in `this`.
    before, after = (
        boundary if re.match(r"\w", edge) else ""
        for boundary, edge in ((r"(?<!\w)", text.split()[0]), (r"(?!\w)", text.split()[-1][-1]))
    )
    return spaced, re.compile(before + r"\s*".join(words) + after, re.IGNORECASE)
