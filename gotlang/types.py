"""The types of the language and the lattice they form.

`int` is a `float`, a literal is its base type, `Any` fits everywhere (it marks what an error made
unknown, and what Python hands in). There are no implicit conversions beyond these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Simple:
    """`int`, `float`, `str`, `bool`, and `none`, the type of the empty thought that starts a pipeline."""

    name: str

    def __str__(self) -> str:
        return self.name


@final
@dataclass(frozen=True, slots=True)
class AnyType:
    """Unknown: fits every type, and every type fits it."""

    def __str__(self) -> str:
        return "any"


@final
@dataclass(frozen=True, slots=True)
class ListType:
    """`list[T]`."""

    element: Type

    def __str__(self) -> str:
        return f"list[{self.element}]"


@final
@dataclass(frozen=True, slots=True)
class DictType:
    """`dict[str, T]`: a mapping from names to values, such as counts by keyword."""

    value: Type

    def __str__(self) -> str:
        return f"dict[str, {self.value}]"


@final
@dataclass(frozen=True, slots=True)
class RecordType:
    """`{path: list[str], left: list[float]}`."""

    fields: tuple[tuple[str, Type], ...]

    def field(self, name: str) -> Type | None:
        """The type of a field, or None where the record has no such field."""
        return dict(self.fields).get(name)

    def __str__(self) -> str:
        return "{" + ", ".join(f"{name}: {type_}" for name, type_ in self.fields) + "}"


@final
@dataclass(frozen=True, slots=True)
class LiteralType:
    """`"sure" | "likely" | "impossible"`: one of a few texts."""

    values: tuple[str, ...]

    def __str__(self) -> str:
        return " | ".join(
            '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in self.values
        )


Type = Simple | AnyType | ListType | DictType | RecordType | LiteralType

INT = Simple("int")
FLOAT = Simple("float")
STR = Simple("str")
BOOL = Simple("bool")
NONE = Simple("none")
ANY = AnyType()
SIMPLE = {t.name: t for t in (INT, FLOAT, STR, BOOL)}


def accepts(wanted: Type, given: Type) -> bool:
    """Whether a value of type `given` may stand where `wanted` is asked for."""
    if wanted == given or isinstance(wanted, AnyType) or isinstance(given, AnyType):
        return True
    match wanted, given:
        case Simple("float"), Simple("int"):
            return True
        case Simple("str"), LiteralType():
            return True
        case LiteralType(), LiteralType():
            return set(given.values) <= set(wanted.values)
        case ListType(), ListType():
            return accepts(wanted.element, given.element)
        case DictType(), DictType():
            return accepts(wanted.value, given.value)
        case DictType(), RecordType():
            return all(accepts(wanted.value, t) for _, t in given.fields)
        case RecordType(), RecordType():
            return {n for n, _ in wanted.fields} == {n for n, _ in given.fields} and all(
                accepts(t, given.field(n) or ANY) for n, t in wanted.fields
            )
    return False


def join(left: Type, right: Type) -> Type | None:
    """The smallest type that both fit, or None where there is none."""
    if isinstance(left, AnyType) or isinstance(right, AnyType):
        return ANY
    if accepts(left, right):
        return left
    if accepts(right, left):
        return right
    match left, right:
        case LiteralType(), LiteralType():
            return LiteralType(tuple(dict.fromkeys(left.values + right.values)))
        case ListType(), ListType():
            element = join(left.element, right.element)
            return ListType(element) if element else None
        case DictType(), DictType():
            value = join(left.value, right.value)
            return DictType(value) if value else None
        case RecordType(), RecordType() if {n for n, _ in left.fields} == {n for n, _ in right.fields}:
            fields = [(n, join(t, right.field(n) or ANY)) for n, t in left.fields]
            return RecordType(tuple((n, t) for n, t in fields if t)) if all(t for _, t in fields) else None
    return None


def within(type_: Type, parts: int, levels: int) -> bool:
    """Whether a type is made of so many types at most, itself among them, at most so deep in each other."""
    found, waiting = 0, [(type_, 1)]
    while waiting:
        part, level = waiting.pop()
        found += 1
        if found > parts or level > levels:
            return False
        match part:
            case ListType(inner) | DictType(inner):
                waiting.append((inner, level + 1))
            case RecordType(fields):
                waiting += [(inner, level + 1) for _, inner in fields]
    return True


def of_value(value: object) -> Type:
    """The type of a plain Python value (JSON's kinds); `ANY` for what the language does not know."""
    match value:
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case str():
            return STR
        case None:
            return NONE
        case list() | tuple():
            element: Type | None = None
            for item in value:
                found = of_value(item)
                element = found if element is None else join(element, found)
                if element is None:
                    return ListType(ANY)
            return ListType(element or ANY)
        case dict():
            return RecordType(tuple((str(k), of_value(v)) for k, v in value.items()))
    return ANY


_PYTHON = {"bool": bool, "int": int, "float": int | float, "str": str, "none": type(None)}


def fits(type_: Type, value: object) -> str | None:
    """Why a plain value is not of a type, with the place inside it; None if it is."""
    match type_:
        case AnyType():
            return None
        case Simple(name):
            if isinstance(value, _PYTHON[name]) and (name == "bool" or not isinstance(value, bool)):
                return None
        case LiteralType(values):
            if value in values:
                return None
        case ListType(element):
            if isinstance(value, list | tuple):
                for i, item in enumerate(value):
                    if why := fits(element, item):
                        return f"element {i}: {why}"
                return None
        case DictType(item_type):
            if isinstance(value, dict):
                for key, item in value.items():
                    if why := fits(item_type, item):
                        return f"entry `{key}`: {why}"
                return None
        case RecordType(fields):
            if isinstance(value, dict):
                for name, field_type in fields:
                    if name not in value:
                        return f"field `{name}` is missing"
                    if why := fits(field_type, value[name]):
                        return f"field `{name}`: {why}"
                return None
    return f"expected {type_}, found {shown(value)}"


def shown(value: object) -> str:
    """A value in a few words for messages, whatever its size."""
    match value:
        case None:
            return "nothing"
        case list():
            return f"a list of {len(value)}"
        case dict():
            names = ", ".join(f"`{str(name)[:20]}`" for name in list(value)[:3])
            names = names.encode(errors="replace").decode() + (", ..." if len(value) > 3 else "")
            return f"an object with {names}" if value else "an empty object"
        case str():
            return repr(value if len(value) <= 40 else value[:37] + "...")
    text = "..." if value is ... else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def general(type_: Type) -> Type:
    """The type of a new thought with a value: a constant text may later be replaced by any other."""
    return STR if isinstance(type_, LiteralType) and len(type_.values) == 1 else type_


def widen(type_: Type) -> str:
    """A type as messages name it: a constant text is a `str`."""
    if isinstance(type_, ListType):
        return f"list[{widen(type_.element)}]"
    return str(general(type_))
