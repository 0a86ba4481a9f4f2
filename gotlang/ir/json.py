"""The IR as JSON, which other engines can run (docs/ir.md): `gotc ir --json` writes it, `gotc run x.ir.json`
reads it.

Every declaration, step and expression is an object of its fields, without those that have their default.
Values of union types have their class under `is`. A type and a template are their texts, and a span is the
number of its source, and its start and end there.

An untrusted document is validated as strictly as an untrusted program: every field must have the type of the
IR, types and templates are parsed, and the verifier checks the whole before anything runs.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Mapping
from functools import cache
from pathlib import PurePosixPath
from typing import Any, Final, Literal, Union, final, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Struct, structs
from msgspec.structs import replace

from gotlang.answers.forms import Form
from gotlang.diagnostics import Report
from gotlang.errors import GotError, UsageError
from gotlang.ir import program as ir
from gotlang.ir.parse import INNER
from gotlang.ir.verify import verify
from gotlang.operations import BLOCKS, OPERATIONS
from gotlang.records import InvalidRecord, escaped, from_json, to_json
from gotlang.semantics.declarations import declare_types, resolve_type
from gotlang.semantics.symbols import Symbols
from gotlang.span import NOWHERE, Source, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.parse import parse
from gotlang.templates import Template
from gotlang.types import Type, as_declared

VERSION: Final = 1
"""The version of the format: a later gotc reads this one, or refuses it with a message."""
MAX_DEPTH: Final = 2000
_DIGITS = re.compile("-?[0-9]{1,1300}")
_KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(record.step for record in OPERATIONS.values()),
        *(record.step for record in BLOCKS.values()),
        *get_args(e.Expression),
        *get_args(Form),
    )
}
"""The unions whose class is under `is`."""


def to_document(program: ir.Program, sources: Mapping[str, Source], level: int) -> str:
    """A program at an optimization level, with its sources, as one line of JSON."""
    encoder = _Encoder([*sources])
    document = {
        "ir_version": VERSION,
        "level": level,
        "sources": [{"name": source.name, "text": source.text} for source in sources.values()],
        "program": {
            **encoder.fields(program),
            "types": [[name, as_declared(t)] for name, t in program.types],
            "main": program.main,
        },
    }
    return to_json(document) + "\n"


@final
class _Encoder:
    def __init__(self, sources: list[str]) -> None:
        self._sources = sources
        self._folder = PurePosixPath(sources[0]).parent if sources else PurePosixPath()

    def fields(self, value: Any) -> dict[str, Any]:
        """The fields of a declaration, a step or an expression that differ from their defaults."""
        kind: Any = type(value)
        found: dict[str, Any] = {"is": kind.__name__} if kind.__name__ in _KINDS else {}
        for name, _, usual in _shape(kind):
            part = getattr(value, name)
            if name == "folder":
                part = PurePosixPath(part)
                part = str(part.relative_to(self._folder)) if part.is_relative_to(self._folder) else "."
            if part != usual or type(part) is not type(usual):
                found[name] = self.value(part)
        return found

    def value(self, value: Any) -> Any:
        match value:
            case None | bool() | str():
                return value
            case int():
                return value if abs(value) < 2**63 else {"int": str(value)}
            case float():
                return value
            case Span():
                return self._span(value)
            case Template():
                return value.text
            case tuple() if hasattr(value, "_fields"):
                return [self.value(part) for part in value]
            case tuple() | list():
                return [self.value(part) for part in value]
            case dict():
                return {"record": [[key, self.value(part)] for key, part in value.items()]}
        if isinstance(value, Type):
            return str(value)
        return self.fields(value)

    def _span(self, span: Span) -> list[Any] | None:
        if span.source not in self._sources:
            return None
        place: list[Any] = [self._sources.index(span.source), span.start, span.end]
        return place if span.use is None else [*place, self._span(span.use)]


@cache
def _shape(kind: Any) -> tuple[tuple[str, Any, Any], ...]:
    """The fields of a class: name, type, and default (NODEFAULT: none)."""
    hints = get_type_hints(kind)
    return tuple(
        (f.name, hints[f.name], NOWHERE if f.name == "span" else f.default) for f in structs.fields(kind)
    )


def from_document(text: str, path: str) -> tuple[ir.Program, dict[str, Source], int]:
    """The program in a document that was read from `path`, its sources by name, and its optimization level.
    Raises UsageError for a document that is not the IR of a program."""
    try:
        data = from_json(text, dict)
        if data.get("ir_version") != VERSION:
            raise _Wrong(f"its version is {data.get('ir_version')!r}, and this gotc reads {VERSION}")
        level = data.get("level")
        if level not in (0, 1, 2):
            raise _Wrong("`level` is not 0, 1 or 2")
        given = _field(data, "sources", list)
        names = [str(_field(source, "name", str)) for source in given]
        texts = [_field(source, "text", str) for source in given]
        sources = {name: Source.of(name, text) for name, text in zip(names, texts, strict=True)}
        program = _Decoder(names, path).program(_field(data, "program", dict))
        verify(program)
    except (InvalidRecord, _Wrong, GotError) as error:
        reason = error.message if isinstance(error, GotError) else str(error)
        raise UsageError(
            f"{path} is not the IR of a program: {escaped(reason)}", help="`gotc ir --json` writes it"
        ) from None
    except RecursionError:
        raise UsageError(f"{path} is not the IR of a program: it is nested too deeply") from None
    return program, sources, level


class _Wrong(ValueError):
    """An error in a document, and its place."""


def _field(data: Any, name: str, kind: type) -> Any:
    if not isinstance(data, dict) or not isinstance(data.get(name), kind):
        raise _Wrong(f"`{name}` is missing, or is not a {kind.__name__}")
    return data[name]


@final
class _Decoder:
    def __init__(self, sources: list[str], path: str) -> None:
        self._sources = sources
        self._folder = PurePosixPath(path).parent
        self._symbols = Symbols(dict(INNER))
        self._types: dict[str, Type] = {}
        self._place: list[str] = []

    def program(self, data: dict[str, Any]) -> ir.Program:
        """The program of an object; types are declared first, since everything else refers to them."""
        declared = self._checked(data.get("types", []), tuple[tuple[str, str], ...])
        aliases = [self._alias(name, text) for name, text in declared]
        report = Report()
        declare_types(aliases, self._symbols, report)
        if report.diagnostics:
            raise _Wrong(report.diagnostics[0].message)
        resolved = {name: self._symbols.types[name] for name, _ in declared}
        inside = {key: value for key, value in data.items() if key != "types"}
        found: ir.Program = self._object(ir.Program, inside)
        return replace(found, types=tuple(resolved.items()))

    def _checked(self, data: Any, hint: Any) -> Any:
        try:
            return msgspec.convert(data, hint)
        except msgspec.ValidationError as error:
            raise _Wrong(str(error)) from None

    def _alias(self, name: str, text: str) -> n.TypeAlias:
        module, problems = parse(Source.of("types", f"type {name} = {text}\n"))
        match module.declarations:
            case (n.TypeAlias() as alias,) if not problems and alias.name.text == name:
                return alias
        raise self._wrong(f"`{text}` is not a type")

    def _wrong(self, reason: str) -> _Wrong:
        return _Wrong(f"{'/'.join(self._place)}: {reason}")

    # ---------------------------------------------------------------- values by their types

    def decode(self, hint: Any, data: Any) -> Any:
        """The value of a type from plain data."""
        if hint is Any:
            return self._plain(data)
        if hint == Type:
            return self._type(data)
        if hint is Span:
            return self._span(data)
        if hint is Template:
            if not isinstance(data, str):
                raise self._wrong("a template is a text")
            return Template.parse(data)
        origin = get_origin(hint)
        if origin in (Union, types.UnionType):
            return self._one_of(get_args(hint), data)
        if origin is Literal:
            if data not in get_args(hint):
                raise self._wrong(f"{data!r} is none of {get_args(hint)}")
            return data
        if origin is tuple:
            return self._tuple(get_args(hint), data)
        if isinstance(hint, type) and hint in (int, float, str, bool, types.NoneType):
            return self._simple(hint, data)
        if isinstance(hint, type) and issubclass(hint, tuple):  # a Line
            values = self._tuple(tuple(get_type_hints(hint).values()), data)
            return hint(*values)
        return self._object(hint, data)

    def _simple(self, hint: Any, data: Any) -> Any:
        if isinstance(data, dict) and data.keys() == {"int"}:
            data = self._plain(data)
        if hint is float and type(data) is int:
            return data
        if type(data) is not hint or (hint is float and not math.isfinite(data)):
            raise self._wrong(f"this is not a {hint.__name__}")
        return data

    def _plain(self, data: Any) -> Any:
        match data:
            case {"int": str() as digits} if len(data) == 1 and _DIGITS.fullmatch(digits):
                return int(digits)
            case {"record": list() as entries} if len(data) == 1:
                return {str(key): self._plain(value) for key, value in entries}
            case list():
                return [self._plain(item) for item in data]
            case dict():
                raise self._wrong("this is not a value")
        return data

    def _tuple(self, parts: tuple[Any, ...], data: Any) -> tuple[Any, ...]:
        if not isinstance(data, list):
            raise self._wrong("this is not an array")
        if len(parts) == 2 and parts[1] is ...:
            parts = (parts[0],) * len(data)
        if len(parts) != len(data):
            raise self._wrong(f"this has {len(data)} elements, not {len(parts)}")
        found = []
        for number, (part, item) in enumerate(zip(parts, data, strict=True)):
            self._place.append(str(number))
            found.append(self.decode(part, item))
            self._place.pop()
        return tuple(found)

    def _one_of(self, hints: tuple[Any, ...], data: Any) -> Any:
        if data is None and types.NoneType in hints:
            return None
        if isinstance(data, str) and Template in hints:
            return Template.parse(data)
        if isinstance(data, dict) and data.keys() != {"int"}:
            return self._object(hints, data)
        for hint in hints:
            if hint in (bool, int, float, str) and (type(data) is hint or (hint, type(data)) == (int, dict)):
                return self._simple(hint, data)
        named = (hint for hint in hints if isinstance(hint, type) and issubclass(hint, tuple))
        rest = [*named, *(hint for hint in hints if get_origin(hint) is tuple or hint is float)]
        if len(rest) == 1:
            return self.decode(rest[0], data)
        raise self._wrong("this has none of the possible types")

    def _object(self, hint: Any, data: Any) -> Any:
        """A declaration, a step or an expression; `hint` is its class, a base of it, or several classes."""
        allowed: tuple[Any, ...] = tuple(
            h for h in (hint if isinstance(hint, tuple) else (hint,)) if isinstance(h, type)
        )
        if not isinstance(data, dict):
            raise self._wrong("this is not an object")
        name = data.get("is")
        kind: Any = _KINDS.get(name) if isinstance(name, str) else None
        if kind is None:
            plain = [h for h in allowed if h is not types.NoneType and h not in _KINDS.values()]
            if name is not None or len(plain) != 1 or not issubclass(plain[0], Struct):
                raise self._wrong(f"unknown kind {name!r}")
            kind = plain[0]
        elif not issubclass(kind, allowed):
            raise self._wrong(f"`{name}` cannot be here")
        shape = _shape(kind)
        if unknown := data.keys() - {"is", *(field for field, _, _ in shape)}:
            raise self._wrong(f"unknown field `{min(unknown)}`")
        values: dict[str, Any] = {}
        for field, hint_, usual in shape:
            self._place.append(field)
            if len(self._place) > MAX_DEPTH:
                raise RecursionError
            if field == "folder":
                values[field] = self._inside(data.get(field, "."))
            elif field in data:
                values[field] = self.decode(hint_, data[field])
            elif usual is NODEFAULT:
                raise self._wrong("this is missing")
            elif field == "span":
                values[field] = NOWHERE
            self._place.pop()
        return kind(**values)

    def _inside(self, folder: Any) -> str:
        """A folder next to the document, or inside that."""
        path = PurePosixPath(folder if isinstance(folder, str) else "..")
        if path.is_absolute() or ".." in path.parts or ":" in str(path):
            raise self._wrong("this is not a folder next to the document")
        return str(self._folder / path)

    def _type(self, text: Any) -> Type:
        if not isinstance(text, str):
            raise self._wrong("a type is a text")
        if text not in self._types:
            report = Report()
            found = resolve_type(self._alias("x", text).type, self._symbols, report)
            if report.diagnostics:
                raise self._wrong(report.diagnostics[0].message)
            self._types[text] = found
        return self._types[text]

    def _span(self, data: Any) -> Span:
        match data:
            case None:
                return NOWHERE
            case [int() as source, int() as start, int() as end, *use] if (
                0 <= source < len(self._sources) and 0 <= start <= end and len(use) < 2
            ):
                return Span(self._sources[source], start, end, self._span(use[0]) if use else None)
        raise self._wrong("this is not a place in a source")
