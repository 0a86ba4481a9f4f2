"""IR as bytes and back, for a folder that only its user can write to: in a twentieth of the time of
compiling, without the parser and the checker.

Untrusted IR is JSON (`gotlang.ir.json`), every field of which is validated. The format here is a table of
values, each with the indices of its parts in the table, so that shared parts stay shared. It can contain only
texts, numbers, collections and records of this package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, final

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from gotlang.ir.declarations import Program
from gotlang.templates import Template
from gotlang.types import Recursive

Programs = Mapping[int, Program]
"""The same program at several levels of optimization."""

_Packed = tuple[dict[int, int], list[str], list[list[Any]]]
"""The index of each program in the table, the kinds of values, and the table: kinds with parts."""
_DIGEST = 32


def pack(programs: Programs, key: bytes) -> bytes | None:
    """Programs as bytes, under a key; None if a text cannot be encoded as UTF-8."""
    table = _ValueTable()
    try:
        roots = {level: table.place(program) for level, program in programs.items()}
        packed = msgspec.msgpack.encode((roots, list(table.kinds), table.rows))
    except (UnicodeEncodeError, RecursionError):
        return None
    return sha256(key + packed).digest() + packed


def unpack(data: bytes, key: bytes) -> Programs | None:
    """The programs that were packed under this key; None for anything else."""
    packed = data[_DIGEST:]
    if sha256(key + packed).digest() != data[:_DIGEST]:
        return None
    roots, names, rows = msgspec.msgpack.decode(packed, type=_Packed)
    kinds = [_MAKE.get(name) or _record(name) for name in names]
    made: list[Any] = []
    for kind, *parts in rows:
        made.append(kinds[kind]([made[part[0]] if type(part) is list else part for part in parts]))
    return {level: made[root] for level, root in roots.items()}


_MAKE: Mapping[str, Any] = {
    "list": lambda parts: parts,
    "tuple": tuple,
    "dict": lambda parts: dict(zip(parts[::2], parts[1::2], strict=True)),
    "int": lambda parts: int(parts[0]),
    "Template": lambda parts: Template.parse(parts[0]),
    "Recursive": lambda parts: Recursive(*parts),
    "complete": lambda parts: parts[0].complete(parts[1]),
}


def _record(name: str) -> Any:
    """The constructor of a class."""
    module, _, name = name.partition(":")
    if not module.startswith("gotlang."):
        raise ValueError(f"{module} is not of this package")
    kind = getattr(__import__(module, fromlist=[name]), name)
    if not issubclass(kind, Struct):
        return kind._make
    fields = kind.__struct_fields__
    return lambda parts: kind(**dict(zip(fields, parts, strict=True)))


@final
class _ValueTable:
    """Values with the indices of their parts, each value once."""

    def __init__(self) -> None:
        self.kinds: dict[str, int] = {}
        self.rows: list[list[Any]] = []
        self._places: dict[int, int] = {}

    def place(self, value: Any) -> int:
        """The index of a value that has parts."""
        if (known := self._places.get(id(value))) is not None:
            return known
        self._places[id(value)] = place = self._row(*_parts(value))
        if isinstance(value, Recursive):  # it is a part of its own type
            self._row("complete", (value, value.type))
        return place

    def _row(self, kind: str, parts: Iterable[Any]) -> int:
        row = [self.kinds.setdefault(kind, len(self.kinds)), *map(self._part, parts)]
        self.rows.append(row)
        return len(self.rows) - 1

    def _part(self, value: Any) -> Any:
        small = type(value) is not int or -(2**63) <= value < 2**63
        simple = value is None or type(value) in (bool, int, float, str)
        return value if simple and small else [self.place(value)]


def _parts(value: Any) -> tuple[str, Any]:
    """The kind of a value, and its parts."""
    kind = type(value)
    match value:
        case Template():
            return "Template", [value.text]
        case Recursive():
            return "Recursive", [value.name, value.definition]
        case Struct():
            return f"{kind.__module__}:{kind.__name__}", astuple(value)
        case dict():
            return "dict", [part for entry in value.items() for part in entry]
        case int() if kind is int:
            return "int", [str(value)]
        case tuple() if kind is not tuple:
            return f"{kind.__module__}:{kind.__name__}", value
    return kind.__name__, value
