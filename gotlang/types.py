"""The types of the language and the lattice they form.

`int` is a subtype of `float`, a literal of its base type, `none` and `T` of `T?`; `never` (which has no
values: the elements of `[]`) is a subtype of every type, and every type of `any`. There are no other implicit
conversions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from math import isfinite
from typing import Final, Union, final

from msgspec import Struct, field

from gotlang.frozen import Frozen

DEEPEST: Final = 100
"""Maximum nesting depth of lists and objects in a value."""


@final
class Simple(Struct, frozen=True):
    """`int`, `float`, `str`, `bool`, `none`, `never`, `empty` (the thought that a pipeline starts with)."""

    name: str

    def __str__(self) -> str:
        return self.name


@final
class AnyType(Struct, frozen=True):
    """The unknown type of an expression with an error: compatible with every type, so that one error is
    reported once."""

    def __str__(self) -> str:
        return "any"


@final
class DynamicType(Struct, frozen=True):
    """`any`: it accepts every type, and only `any` accepts it until a program gives it a type."""

    def __str__(self) -> str:
        return "any"


@final
class TypeVariable(Struct, frozen=True):
    """A type variable in a built-in's signature, bound by each call; `ordered` if its values must be
    ordered."""

    name: str
    ordered: bool = False

    def __str__(self) -> str:
        return self.name


class _Named(Frozen, frozen=True):
    """Base of the types that may have a `name`, which a program declared: the type is shown by it, and equal
    to the same type without."""

    incidental = frozenset({"name"})


@final
class Recursive(Frozen, frozen=True):
    """A reference from inside a declared type to itself. Two are equal if their names and their `definition`s
    are: the text of all declarations that belong to it."""

    incidental = frozenset({"_declared"})

    name: str
    definition: str
    _declared: list[Type] = field(default_factory=list)

    @property
    def type(self) -> Type:
        """The type that it refers to."""
        return self._declared[-1]

    def complete(self, type_: Type) -> None:
        """Set the type, once the declaration has been read."""
        self._declared.append(type_)

    def __str__(self) -> str:
        return self.name


Part = Union["Type", Recursive]
"""A type as a part of another. Accessors return types instead of references; those of a recursive type never
end."""


def recursive(type_: Type) -> bool:
    """Whether values of a type may contain others of it, or of a recursive type."""
    waiting: list[Part] = [type_]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Recursive):
            return True
        waiting += parts_of(part)
    return False


def opened(part: Part) -> Type:
    """The type that a part refers to."""
    return part.type if isinstance(part, Recursive) else part


@final
class ListType(_Named, frozen=True):
    """`list[T]`."""

    item: Part
    name: str = ""

    @property
    def element(self) -> Type:
        """The type of the elements."""
        return opened(self.item)

    def written(self) -> str:
        """The type as its declaration writes it."""
        return f"list[{self.item}]"

    def __str__(self) -> str:
        return self.name or self.written()


@final
class PairType(_Named, frozen=True):
    """`pair[int, str]`: a list of two, as `enumerate`, `zip` and `pairs` return them."""

    parts: tuple[Part, Part]
    name: str = ""

    @property
    def types(self) -> tuple[Type, Type]:
        """The types of both parts."""
        return opened(self.parts[0]), opened(self.parts[1])

    def written(self) -> str:
        """The type as its declaration writes it."""
        return f"pair[{self.parts[0]}, {self.parts[1]}]"

    def __str__(self) -> str:
        return self.name or self.written()


@final
class DictType(_Named, frozen=True):
    """`dict[str, T]`: a mapping from names to values, such as counts by keyword."""

    item: Part
    name: str = ""

    @property
    def value(self) -> Type:
        """The type of the values."""
        return opened(self.item)

    def written(self) -> str:
        """The type as its declaration writes it."""
        return f"dict[str, {self.item}]"

    def __str__(self) -> str:
        return self.name or self.written()


@final
class RecordType(_Named, frozen=True):
    """`{path: list[str], left: list[float]}`; with a `case`, one of several alternatives: `Act {tool: str}`,
    whose first field is `type`, a text with that name."""

    parts: tuple[tuple[str, Part], ...]
    case: str = ""
    name: str = ""

    @property
    def fields(self) -> tuple[tuple[str, Type], ...]:
        """The names and the types of the fields."""
        return tuple((name, opened(part)) for name, part in self.parts)

    def field(self, name: str) -> Type | None:
        """The type of a field, or None if the record has no such field."""
        return next((opened(part) for known, part in self.parts if known == name), None)

    @property
    def tag(self) -> str:
        """The only text that its field `type` may have; empty if it is not a case."""
        found = self.field("type")
        return found.values[0] if isinstance(found, LiteralType) and len(found.values) == 1 else ""

    def written(self) -> str:
        """The type as its declaration writes it."""
        own = self.parts[1:] if self.case else self.parts
        fields = ", ".join(f"{name}: {part}" for name, part in own)
        return f"{self.case} {{{fields}}}" if self.case and own else self.case or f"{{{fields}}}"

    def __str__(self) -> str:
        return self.name or self.case or self.written()


@final
class UnionType(_Named, frozen=True):
    """`Act {tool: str, arg: str} | Finish {answer: str}`: one of several records, told apart by `type`."""

    cases: tuple[RecordType, ...]
    name: str = ""

    def case(self, tag: str) -> RecordType | None:
        """The record of a case, or None if there is no such case."""
        return next((case for case in self.cases if case.tag == tag), None)

    @property
    def tags(self) -> LiteralType:
        """The type of the field `type`, which all cases have."""
        return LiteralType(tuple(case.tag for case in self.cases))

    def field(self, name: str) -> Type | None:
        """The type of a field that all cases have, or None."""
        found = [case.field(name) for case in self.cases]
        types = [type_ for type_ in found if type_ is not None]
        return common(types) if len(types) == len(found) else None

    def written(self) -> str:
        """The type as its declaration writes it."""
        return " | ".join(case.written() for case in self.cases)

    def __str__(self) -> str:
        return self.name or " | ".join(map(str, self.cases))


@final
class LiteralType(_Named, frozen=True):
    """`"sure" | "likely" | "impossible"`: one of a few texts."""

    values: tuple[str, ...]
    name: str = ""

    def written(self) -> str:
        """The type as its declaration writes it."""
        return " | ".join(
            '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in self.values
        )

    def __str__(self) -> str:
        return self.name or self.written()


@final
class OptionalType(_Named, frozen=True):
    """`T?`: a `T` or `none`. `optional` makes it."""

    item: Part
    name: str = ""

    @property
    def inner(self) -> Type:
        """The type without none."""
        return opened(self.item)

    def written(self) -> str:
        """The type as its declaration writes it."""
        union = isinstance(self.item, LiteralType | UnionType) and not self.item.name
        return f"({self.item})?" if union else f"{self.item}?"

    def __str__(self) -> str:
        return self.name or self.written()


Named = OptionalType | ListType | PairType | DictType | RecordType | UnionType | LiteralType
"""The types that keep the name of their declaration."""
Type = Simple | AnyType | DynamicType | TypeVariable | Named


def as_declared(type_: Type) -> str:
    """A type as its declaration writes it, not by its name."""
    return type_.written() if isinstance(type_, Named) else str(type_)


def case_type(name: str, fields: Iterable[tuple[str, Part]] = ()) -> RecordType:
    """The type of one alternative."""
    return RecordType((("type", LiteralType((name,))), *fields), name)


def alternatives(cases: Iterable[RecordType]) -> RecordType | UnionType:
    """The union of these cases."""
    first, *others = cases
    return UnionType((first, *others)) if others else first


def cases_of(type_: Type) -> tuple[RecordType, ...]:
    """The cases of a union; empty for other types."""
    match type_:
        case UnionType(cases):
            return cases
        case RecordType() if type_.tag:
            return (type_,)
    return ()


INT = Simple("int")
FLOAT = Simple("float")
STR = Simple("str")
BOOL = Simple("bool")
NONE = Simple("none")
EMPTY = Simple("empty")
NEVER = Simple("never")
ANY = AnyType()
DYNAMIC = DynamicType()
IMAGE = Simple("image")
FILE = Simple("file")
SIMPLE = {t.name: t for t in (INT, FLOAT, STR, BOOL, IMAGE, FILE)}


def optional(type_: Type) -> Type:
    """The optional type of a type."""
    if type_ in (NONE, NEVER):
        return NONE
    return type_ if isinstance(type_, OptionalType | AnyType | DynamicType) else OptionalType(type_)


def present(type_: Type) -> Type:
    """A type without none."""
    return type_.inner if isinstance(type_, OptionalType) else NEVER if type_ == NONE else type_


def accepts(wanted: Type, given: Type) -> bool:
    """Whether a value of type `given` may be used where `wanted` is expected."""
    return wanted == given or _accepts(wanted, given, set())


def _accepts(wanted: Type, given: Type, seen: set[tuple[Type, Type]]) -> bool:
    """`accepts`; questions in `seen` are assumed to be true, because recursive types repeat them."""
    if (
        wanted == given
        or isinstance(wanted, AnyType)
        or isinstance(given, AnyType)
        or given == NEVER
        or isinstance(wanted, DynamicType)
        or (wanted, given) in seen
    ):
        return True
    seen.add((wanted, given))
    match wanted, given:
        case Simple("float"), Simple("int"):
            return True
        case Simple("str"), LiteralType():
            return True
        case LiteralType(), LiteralType():
            return set(given.values) <= set(wanted.values)
        case OptionalType(), _:
            return given == NONE or _accepts(wanted.inner, present(given), seen)
        case ListType(), ListType():
            return _accepts(wanted.element, given.element, seen)
        case ListType(), PairType():
            return all(_accepts(wanted.element, part, seen) for part in given.types)
        case PairType(), PairType():
            return all(_accepts(w, g, seen) for w, g in zip(wanted.types, given.types, strict=True))
        case DictType(), DictType():
            return _accepts(wanted.value, given.value, seen)
        case DictType(), RecordType():
            return all(_accepts(wanted.value, t, seen) for _, t in given.fields)
        case RecordType(), RecordType():
            return {n for n, _ in wanted.parts} == {n for n, _ in given.parts} and all(
                _accepts(t, given.field(n) or ANY, seen) for n, t in wanted.fields
            )
        case _, UnionType():
            return all(_accepts(wanted, case, seen) for case in given.cases)
        case UnionType(), RecordType():
            case_ = wanted.case(given.tag)
            return case_ is not None and _accepts(case_, given, seen)
    return False


def join(left: Type, right: Type) -> Type | None:
    """The smallest type that accepts both, or None if there is none."""
    return _join(left, right, set())


def _join(left: Type, right: Type, seen: set[tuple[Type, Type]]) -> Type | None:
    if isinstance(left, AnyType) or isinstance(right, AnyType):
        return ANY
    if accepts(left, right):
        return left
    if accepts(right, left):
        return right
    if (left, right) in seen:
        return None  # two recursive types that differ somewhere
    seen = seen | {(left, right)}
    if present(left) != left or present(right) != right:
        inner = _join(present(left), present(right), seen)
        return optional(inner) if inner else None
    match left, right:
        case LiteralType(), LiteralType():
            return LiteralType(tuple(dict.fromkeys(left.values + right.values)))
        case ListType(), ListType():
            element = _join(left.element, right.element, seen)
            return ListType(element) if element else None
        case PairType(), PairType():
            first, second = (_join(a, b, seen) for a, b in zip(left.types, right.types, strict=True))
            return PairType((first, second)) if first and second else None
        case (PairType(), ListType()) | (ListType(), PairType()):
            one, other = listed(left), listed(right)
            return _join(one, other, seen) if one is not None and other is not None else None
        case DictType(), DictType():
            value = _join(left.value, right.value, seen)
            return DictType(value) if value else None
        case (RecordType() | UnionType(), RecordType() | UnionType()) if cases_of(left) and cases_of(right):
            found = {case.tag: case for case in cases_of(left)}
            for case in cases_of(right):
                joined = _join(found.get(case.tag, case), case, seen)
                if not isinstance(joined, RecordType):
                    return None
                found[case.tag] = joined
            return alternatives(found.values())
        case RecordType(), RecordType() if {n for n, _ in left.parts} == {n for n, _ in right.parts}:
            fields = [(n, _join(t, right.field(n) or ANY, seen)) for n, t in left.fields]
            found_all = all(t for _, t in fields)
            return RecordType(tuple((n, t) for n, t in fields if t), left.case) if found_all else None
    return None


def common(types: Iterable[Type]) -> Type | None:
    """The smallest type that accepts all of some types, or None if there is none."""
    found: Type | None = None
    for type_ in types:
        found = type_ if found is None else join(found, type_)
        if found is None:
            return None
    return found


def narrowed(type_: Type, values: Collection[str | None], holds: bool, field: str = "") -> Type | None:
    """A type where a value of it, or its `field`, is one of `values` (or, unless `holds`, none of them); None
    if that is impossible. Types without alternatives stay unchanged."""
    match type_:
        case LiteralType() if not field:
            left = tuple(value for value in type_.values if (value in values) is holds)
            return (LiteralType(left) if left else None) if len(left) < len(type_.values) else type_
        case RecordType() | UnionType() if field == "type" and (cases := cases_of(type_)):
            kept = [case for case in cases if (case.tag in values) is holds]
            return (alternatives(kept) if kept else None) if len(kept) < len(cases) else type_
    return type_


def listed(type_: Type) -> ListType | None:
    """A list, or a pair as a list; None for any other type, and for a pair of two different types."""
    if isinstance(type_, PairType):
        element = join(*type_.types)
        return ListType(element) if element is not None else None
    return type_ if isinstance(type_, ListType) else None


def within(type_: Type, parts: int, levels: int) -> bool:
    """Whether a type has at most this number of parts, including itself, nested at most this deep. References
    to enclosing types are not followed."""
    found = 0
    waiting: list[tuple[Part, int]] = [(type_, 1)]
    while waiting:
        part, level = waiting.pop()
        found += 1
        if found > parts or level > levels:
            return False
        waiting += [(inner, level + 1) for inner in parts_of(part)]
    return True


def parts_of(part: Part) -> tuple[Part, ...]:
    """The direct parts of a type, without references to enclosing types."""
    match part:
        case ListType() | DictType() | OptionalType():
            return (part.item,)
        case PairType():
            return part.parts
        case RecordType():
            return tuple(inner for _, inner in part.parts)
        case UnionType():
            return part.cases
    return ()


def of_value(value: object) -> Type:
    """The type of a plain Python value (JSON's kinds); `ANY` for values that the language does not have."""
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
            return ListType((common(map(of_value, value)) or ANY) if value else NEVER)
        case dict():
            return RecordType(tuple((str(k), of_value(v)) for k, v in value.items()))
    return ANY


_PYTHON: dict[str, tuple[type, ...]] = {
    "bool": (bool,), "int": (int,), "float": (int, float), "str": (str,), "never": (),
    "none": (type(None),), "empty": (type(None),), "image": (str,), "file": (str,),
}  # fmt: skip


def fits(type_: Type, value: object) -> str | None:
    """Why a plain value is not of a type, with the place inside it; None if it is."""
    return _misfit(type_, value, 0)


def _misfit(type_: Type, value: object, depth: int) -> str | None:
    if depth > DEEPEST:
        return f"nested more than {DEEPEST} levels deep"
    match type_:
        case AnyType() | DynamicType():
            return None
        case OptionalType(inner=inner):
            return fits(inner, value) if value is not None else None
        case Simple(name):
            right = isinstance(value, _PYTHON[name]) and (name == "bool" or not isinstance(value, bool))
            if right and (not isinstance(value, float) or isfinite(value)):
                return None
        case LiteralType(values):
            if value in values:
                return None
        case ListType(element=element):
            if isinstance(value, list | tuple):
                plain = {*_PYTHON[element.name]} - {float} if isinstance(element, Simple) else ()
                if plain and plain.issuperset(map(type, value)):
                    return None
                for i, item in enumerate(value):
                    if why := _misfit(element, item, depth + 1):
                        return f"element {i}: {why}"
                return None
        case PairType(types=types):
            if isinstance(value, list | tuple) and len(value) == 2:
                for i, (part, item) in enumerate(zip(types, value, strict=True)):
                    if why := fits(part, item):
                        return f"element {i}: {why}"
                return None
        case DictType(value=item_type):
            if isinstance(value, dict):
                for key, item in value.items():
                    if why := _misfit(item_type, item, depth + 1):
                        return f"entry `{key}`: {why}"
                return None
        case RecordType(fields=fields):
            if isinstance(value, dict):
                for name, field_type in fields:
                    if name not in value:
                        return f"field `{name}` is missing"
                    if why := _misfit(field_type, value[name], depth + 1):
                        return f"field `{name}`: {why}"
                other = next((name for name in value if type_.field(str(name)) is None), None)
                return None if other is None else f"unexpected field `{other}`"
        case UnionType():
            if isinstance(value, dict):
                case_ = type_.case(value["type"]) if isinstance(value.get("type"), str) else None
                if case_ is not None:
                    return _misfit(case_, value, depth)
                found = f"found {shown(value['type'])}" if "type" in value else "which is missing"
                return f"field `type`: expected {type_.tags.written()}, {found}"
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


def parts_as(type_: Type, change: Callable[[Type], Type]) -> Type:
    """A type with its direct parts transformed; the tag of an alternative stays."""
    match type_:
        case ListType(element=inner) | DictType(value=inner):
            return type(type_)(change(inner))
        case OptionalType(inner=inner):
            return optional(change(inner))
        case PairType(types=(first, second)):
            return PairType((change(first), change(second)))
        case RecordType(fields=fields):
            own = [(n, t if type_.case and n == "type" else change(t)) for n, t in fields]
            return RecordType(tuple(own), type_.case)
        case UnionType(cases):
            return alternatives(case for case in map(change, cases) if isinstance(case, RecordType))
    return type_


def general(type_: Type) -> Type:
    """A type in which every constant text may be any text; declared types with names stay."""
    if isinstance(type_, LiteralType):
        return type_ if type_.name else STR
    return type_ if getattr(type_, "name", "") else parts_as(type_, general)


def grown(old: Type, new: Type) -> Type | None:
    """The type of a record's field that gets a new value: the `old` one, but generalized for constant texts,
    empty lists and none, which say too little about later values. None if the value is incompatible."""
    if accepts(old, new) or old == NEVER:
        return join(old, new)
    if old == NONE:
        return optional(new)
    if getattr(old, "name", ""):
        return None
    if cases_of(old) and cases_of(new):
        return join(old, new)
    match old, new:
        case LiteralType(), LiteralType() | Simple("str") if not old.name:
            return join(old, new)
        case (ListType(element=one), ListType(element=other)) | (DictType(value=one), DictType(value=other)):
            inner = grown(one, other)
            return parts_as(old, lambda _: inner or ANY) if inner else None
        case OptionalType(inner=one), _:
            inner = grown(one, present(new))
            return optional(inner) if inner else None
        case RecordType(fields=fields), RecordType() if {n for n, _ in fields} == {n for n, _ in new.fields}:
            found = [(n, grown(t, new.field(n) or ANY)) for n, t in fields]
            made = tuple((n, t) for n, t in found if t)
            return RecordType(made, old.case) if len(made) == len(found) else None
    return None


def widened(entry: Type, left: Type) -> Type | None:
    """The type of the input of a block that is repeated on its own output; None if it is not compatible."""
    if accepts(entry, left):
        return None
    return join(entry, left) or join(general(entry), general(left))


def checked_later(type_: Type) -> Type:
    """A type in which every `any` may turn out to be of the right type in a run."""
    if isinstance(type_, DynamicType):
        return ANY
    return type_ if getattr(type_, "name", "") else parts_as(type_, checked_later)


def is_text(type_: Type) -> bool:
    """Whether values of a type are texts."""
    return type_ == STR or isinstance(type_, LiteralType)


def ordered(type_: Type) -> bool:
    """Whether any two values of a type are ordered: numbers, texts, and lists of such."""
    match type_:
        case ListType():
            return not isinstance(type_.item, Recursive) and ordered(type_.item)
        case PairType(types=types):
            return all(map(ordered, types))
        case AnyType() | LiteralType():
            return True
    return type_ in (INT, FLOAT, STR, NEVER)


def has_error(type_: Type) -> bool:
    """Whether a type, or a part of it, is unknown because of an error."""
    return isinstance(type_, AnyType) or any(
        has_error(p) for p in parts_of(type_) if not isinstance(p, Recursive)
    )


def widen(type_: Type) -> str:
    """A type for messages: a constant text is a `str`, the start of a pipeline is nothing."""
    if type_ == EMPTY:
        return "nothing"
    if getattr(type_, "name", ""):
        return str(type_)
    match type_:
        case LiteralType() if len(type_.values) == 1:
            return "str"
        case ListType(element=element):
            return "[]" if element == NEVER else f"list[{widen(element)}]"
        case PairType(types=types):
            return f"pair[{', '.join(map(widen, types))}]"
        case OptionalType(inner=LiteralType() as inner) if len(inner.values) > 1 and not inner.name:
            return str(type_)
        case OptionalType(inner=inner):
            return f"{widen(inner)}?"
        case RecordType(fields=fields) if not type_.case:
            return "{" + ", ".join(f"{name}: {widen(inner)}" for name, inner in fields) + "}"
    return str(type_)
