"""Calls of tools that a model writes as text: the protocol that every model can follow.

    Call: search {"query": "Bern"}

One line is one call: the name of a tool and its arguments as JSON. Read leniently: `Action:` and `Tool:` for
`Call:`, arguments as `(query="Bern")`, `("Bern")`, `["Bern"]` or bare for a tool of one parameter, code
fences, `<tool_call>` tags, and an object with the name and the arguments. What a model writes after its
calls, such as results that it makes up, is left out.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, final

from gotlang.answers.conversion import convert, from_text
from gotlang.answers.forms import Schema
from gotlang.answers.literals import literal, scan
from gotlang.errors import ReadError
from gotlang.patterns import lazy_pattern
from gotlang.types import (
    LiteralType,
    OptionalType,
    Part,
    RecordType,
    Recursive,
    Type,
    UnionType,
    optional,
    parts_as,
    parts_of,
)


@final
class ToolSchema(NamedTuple):
    """The description of a tool for a model: its parameters with their types, and which of them are required.
    `schema` is the JSON schema of its arguments, if it comes from elsewhere."""

    name: str
    description: str
    parameters: tuple[tuple[str, Type], ...]
    needed: frozenset[str]
    schema: str | None = None

    def arguments_schema(self) -> str:
        """The JSON schema of its arguments, as JSON text."""
        if self.schema is not None:
            return self.schema
        schema = Schema()
        whole = schema.object({name: schema.of(type_) for name, type_ in self.parameters})
        whole["required"] = [name for name, _ in self.parameters if name in self.needed]
        if schema.defined:
            whole["$defs"] = schema.defined
        return json.dumps(whole, ensure_ascii=False)

    def shown(self) -> str:
        """One line about it: `search {"query": str, "k": int?}: Finds pages.`"""
        if self.schema is not None or any(_by_schema(type_) for _, type_ in self.parameters):
            arguments = self.arguments_schema()
        else:
            types = ((n, t if n in self.needed else optional(t)) for n, t in self.parameters)
            arguments = "{" + ", ".join(f'"{name}": {_spelled(type_)}' for name, type_ in types) + "}"
        return f"{self.name} {arguments}{f': {self.description}' if self.description else ''}"

    def arguments(self, text: str) -> dict[str, Any]:
        """The arguments that a model gave, as JSON or as it wrote them. Raises ReadError, with a reason that
        the model can use."""
        given = _object(text.strip(), self)
        if self.schema is not None:
            return given
        types = dict(self.parameters)
        if unknown := [name for name in given if name not in types]:
            raise ReadError(f"`{self.name}` has no argument `{unknown[0]}`; write {self.shown()}")
        if missing := [name for name in types if name in self.needed and name not in given]:
            raise ReadError(f"the argument `{missing[0]}` is missing; write {self.shown()}")
        found = {}
        for name, value in given.items():
            if value is None and name not in self.needed and not isinstance(types[name], OptionalType):
                continue
            try:
                found[name] = convert(value, types[name])
            except ReadError as error:
                raise ReadError(f"the argument `{name}`: {error.message}") from None
        return found


def _spelled(type_: Type) -> Type:
    """A type without the names of declarations, which are unknown to a model."""
    return LiteralType(type_.values) if isinstance(type_, LiteralType) else parts_as(type_, _spelled)


def _by_schema(type_: Type) -> bool:
    """Whether a type is described by a JSON schema: unions, whose `type` field it shows, and recursive
    types."""
    waiting: list[Part] = [type_]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Recursive | UnionType) or (isinstance(part, RecordType) and part.case):
            return True
        waiting += parts_of(part)
    return False


@final
class Written(NamedTuple):
    """A call in a text: the name, the arguments as written, and where it begins and ends."""

    name: str
    arguments: str
    start: int
    end: int


_HEAD = lazy_pattern(
    r"^[ \t>*`_#-]*(call|action|tool|function|tool[ _]call)\b[ \t*`_]*(?:\d+[ \t]*)?:"
    r"[ \t*`_]*([A-Za-z_]\w*)[ \t*`_]*:?[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = lazy_pattern(r"<(tool_?call|function_?call)>(.*?)(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_RESULT = lazy_pattern(
    r"^[ \t>*`_#-]*(?:results?(?: of \S+)?|observation)[ \t*`_]*\d*[ \t*`_]*:", re.IGNORECASE | re.MULTILINE
)
_INPUT = lazy_pattern(r"\s*(?:action[ _]input|arguments|input)[ \t*`_]*:[ \t]*", re.IGNORECASE)
_NAMES: Final = ("name", "tool", "action", "function")
_ARGUMENTS: Final = ("arguments", "args", "parameters", "input", "action_input")


def written_calls(text: str, names: Sequence[str]) -> list[Written]:
    """The calls in a response, in order; `names` are the available tools."""
    found: list[Written] = []
    for tag in _TAG.finditer(text):
        if (call := _described(tag[2], names, *tag.span())) is not None:
            found.append(call)
    if found:
        return found
    until = len(text)
    for head in _HEAD.finditer(text):
        if found and (result := _RESULT.search(text, found[-1].end, head.start())) is not None:
            until = result.start()
        if head.start() >= until or (found and head.start() < found[-1].end):
            continue
        word, name, start = head[1].lower(), head[2], head.end()
        start += len(again[0]) if (again := _INPUT.match(text, start)) is not None else 0
        known = name in names
        if not known and (word != "call" or text[start : start + 1] not in ("{", "(")):
            continue
        end = _end(text, start)
        found.append(Written(name, text[start:end].strip(), head.start(), end))
    if not found:
        bare = _FENCE.sub("", text).strip()
        call = _described(bare, names, 0, len(text)) if bare.startswith("{") else None
        found = [call] if call is not None else []
    return found


_FENCE = lazy_pattern(r"^```\w*[ \t]*$", re.MULTILINE)


def _described(text: str, names: Sequence[str], start: int, end: int) -> Written | None:
    """A call as an object with the name of a tool and its arguments."""
    for one in scan(text):
        if isinstance(one.value, dict):
            name = next((one.value[key] for key in _NAMES if isinstance(one.value.get(key), str)), None)
            given: Any = next((one.value[key] for key in _ARGUMENTS if key in one.value), {})
            if isinstance(name, str) and name in names:
                return Written(name, given if isinstance(given, str) else json.dumps(given), start, end)
    return None


def _end(text: str, start: int) -> int:
    """The end of the arguments that start here: their closing bracket, or the end of the line."""
    line = text.find("\n", start)
    line = len(text) if line < 0 else line
    if text[start : start + 1] == "{":
        with suppress(ValueError):
            return json.JSONDecoder().raw_decode(text, start)[1]
        if (first := next(iter(scan(text[start:])), None)) is not None and first.start == 0 and first.whole:
            return start + first.end
    return line


def _object(text: str, tool: ToolSchema) -> dict[str, Any]:
    """Arguments by name, in any notation."""
    text = text.strip("`").strip()
    if text in ("", "()", "{}", "[]", "none", "null"):
        return {}
    names = [name for name, _ in tool.parameters]
    value: Any
    try:
        value = literal(text)
    except ValueError:
        value = None
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return value
    with suppress(SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        call = ast.parse(f"f{text if text.startswith('(') else f'({text})'}", mode="eval").body
        if isinstance(call, ast.Call) and len(call.args) <= len(names):
            found: dict[str, Any] = dict(zip(names, map(ast.literal_eval, call.args), strict=False))
            found |= {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
            plain: dict[str, Any] = json.loads(json.dumps(found))
            return plain
    if len(names) == 1:
        inner = text[1:-1] if text[:1] + text[-1:] in ("()", "[]", '""', "''") else text
        type_ = dict(tool.parameters)[names[0]]
        return {names[0]: from_text(inner.strip().strip("\"'"), type_)}
    raise ReadError(f"its arguments cannot be read; write {tool.shown()}")


def described(tools: Mapping[str, ToolSchema]) -> str:
    """The prompt text about tools, and how to call them."""
    shown = "\n".join(f"- {tool.shown()}" for tool in tools.values())
    return (
        "You can use these tools:\n"
        f"{shown}\n"
        "To use one, respond with a line like this, and nothing after it:\n"
        'Call: name {"argument": value}\n'
        "You are told its result. When you know the answer, respond with it, without a line like that."
    )
