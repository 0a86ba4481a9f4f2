"""The types inside a template: errors that occur for every value of the inputs' types are found before a run.

Other errors depend on data: a missing element or entry, a text that is not a number, the end of an empty
list, a division by a value that is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from operator import add, mul, sub
from typing import Any, Final, final

from msgspec import Struct

from gotlang.diagnostics import nearest, suggestion
from gotlang.templates import nodes
from gotlang.templates.filters import FILTERS, METHODS, WIDEST, parameters
from gotlang.types import (
    ANY,
    BOOL,
    DYNAMIC,
    FILE,
    FLOAT,
    IMAGE,
    INT,
    NEVER,
    NONE,
    STR,
    DictType,
    ListType,
    LiteralType,
    PairType,
    RecordType,
    Type,
    UnionType,
    accepts,
    is_text,
    join,
    narrowed,
    present,
    widen,
)

_ENDS: Final[Mapping[str, str]] = {"loop.previtem": "first", "loop.nextitem": "last"}
"""The paths that have no value at one end of a loop."""


@final
class Problem(Struct, frozen=True):
    """An error of every rendering; the `place` is one of `gotlang.templates.nodes`."""

    message: str
    place: int
    help: str | None = None


Facts = dict[str, Type]
"""Facts from enclosing conditions: the types of names and of their fields, by path."""


@final
class TypedTemplate:
    """A type checker of a tree, with the types of the names that it shows."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def check(self, body: Iterable[nodes.TemplateNode], names: Mapping[str, Type]) -> list[Problem]:
        """The problems of a template whose names have these types; a name without one is skipped."""
        self._all(body, dict(names))
        return self.problems

    def _wrong(self, node: nodes.TemplateNode, message: str, help: str | None = None) -> Type:
        self.problems.append(Problem(message, node.place, help))
        return ANY

    # ---------------------------------------------------------------- statements

    def _all(self, found: Iterable[nodes.TemplateNode], names: Facts) -> None:
        for node in found:
            match node:
                case nodes.Data():
                    pass
                case nodes.Shown():
                    self.infer(node.expression, names)
                case nodes.If():
                    self._if(node, names)
                case nodes.For():
                    self._for(node, names)
                case _:
                    raise AssertionError(f"`{type(node).__name__}` is allowed and has no rule")

    def _if(self, node: nodes.If, names: Facts) -> None:
        for branch in node.branches:
            self.infer(branch.test, names)
            self._all(branch.body, names | _facts(branch.test, True, names, self))
            names = names | _facts(branch.test, False, names, self)
        self._all(node.otherwise, names)

    def _for(self, node: nodes.For, names: Facts) -> None:
        element = self._elements(
            node.iterable, self.infer(node.iterable, names), "a loop iterates over a list"
        )
        bound: dict[str, Type] = {}
        self._bind(node.target, element, bound)
        hidden = tuple(bound)
        inside = {path: t for path, t in names.items() if not _is_part(path, hidden)} | bound
        if node.test is not None:
            self.infer(node.test, inside)
            inside |= _facts(node.test, True, inside, self)
        loop = {"loop.previtem": NONE, "loop.nextitem": NONE, "loop.item": element}
        self._all(node.body, inside | loop)
        self._all(node.otherwise, names)

    def _bind(self, target: nodes.Name | nodes.Names, element: Type, bound: dict[str, Type]) -> None:
        match target:
            case nodes.Name():
                bound[target.name] = element
            case nodes.Names():
                parts = self._parts(target, element)
                for item, part in zip(target.items, parts, strict=True):
                    self._bind(item, part, bound)

    def _parts(self, target: nodes.Names, element: Type) -> list[Type]:
        count = len(target.items)
        if element == ANY:
            return [ANY] * count
        if isinstance(element, PairType):
            if count == 2:
                return list(element.types)
            self._wrong(target, f"a pair has 2 parts, but there are {count} names")
        elif isinstance(element, ListType):
            return [element.element] * count
        else:
            help = "write `for name, value in ... | items`" if _is_mapping(element) else None
            self._wrong(target, f"{_named(element)} cannot be unpacked into {count} names", help=help)
        return [ANY] * count

    # ---------------------------------------------------------------- expressions

    def infer(self, node: nodes.TemplateNode, names: Facts) -> Type:
        """The type of an expression; problems are recorded."""
        if (path := _path(node)) is not None and path in names:
            return self._of_loop(node, names, path) if path in _ENDS else names[path]
        match node:
            case nodes.Const(constant=value):
                return LiteralType((value,)) if isinstance(value, str) else _CONSTANTS[type(value)]
            case nodes.Name():
                return ANY  # reported as unknown
            case nodes.Getattr(node=nodes.Name(name="loop")) if "loop.item" in names:
                return BOOL if node.attr in ("first", "last") else INT
            case nodes.Getattr():
                return self._field(node, self.infer(node.node, names), node.attr)
            case nodes.Getitem():
                return self._getitem(node, names)
            case nodes.Slice():
                return self._slice(node, names)
            case nodes.List():
                return ListType(_common([self.infer(item, names) for item in node.items]))
            case nodes.Dict():
                return self._dict(node, names)
            case nodes.Concat():
                for part in node.items:
                    self.infer(part, names)
                return STR
            case nodes.And() | nodes.Or():
                return self._either(node, names)
            case nodes.Not():
                self.infer(node.node, names)
                return BOOL
            case nodes.Compare():
                return self._compare(node, names)
            case nodes.Conditional():
                self.infer(node.test, names)
                then = self.infer(node.then, names | _facts(node.test, True, names, self))
                return _join(then, self.infer(node.otherwise, names | _facts(node.test, False, names, self)))
            case nodes.Signed():
                found = self.infer(node.node, names)
                return found if self._is(node, found, FLOAT, f"`{node.sign}` needs a number") else ANY
            case nodes.Binary():
                return self._binary(node, names)
            case nodes.RangeCall():
                return self._range(node, names)
            case nodes.Filter():
                return self._filter(node, names)
            case nodes.IsTest():
                return self._test(node, names)
        raise AssertionError(f"`{type(node).__name__}` is allowed and has no rule")

    def _of_loop(self, node: nodes.TemplateNode, names: Facts, path: str) -> Type:
        if (found := names[path]) != NONE:
            return found
        name, end = path.removeprefix("loop."), _ENDS[path]
        help = f"show it inside `{{% if not loop.{end} %}}`, or give it a `default`"
        return self._wrong(node, f"`loop.{name}` has no value in the {end} iteration", help)

    def _field(self, node: nodes.TemplateNode, value: Type, name: str) -> Type:
        if value == ANY:
            return ANY
        match value:
            case RecordType() | UnionType():
                if (found := value.field(name)) is not None:
                    return found
                cases = value.cases if isinstance(value, UnionType) else (value,)
                if some := [case for case in cases if case.field(name) is not None and len(cases) > 1]:
                    help = (
                        f'show it inside `{{% if {_path(_owner(node)) or "..."}.type == "{some[0].case}" %}}`'
                    )
                    return self._wrong(node, f"only {_listed(some)} has a field `{name}`", help)
                known = [field for case in cases for field, _ in case.fields]
                help = suggestion(name, known) or f"it has: {', '.join(dict.fromkeys(known))}"
                return self._wrong(node, f"{_named(value)} has no field `{name}`", help)
            case DictType():
                return value.value
            case _:
                return self._lacks(node, value, f"field `{name}`")

    def _getitem(self, node: nodes.Getitem, names: Facts) -> Type:
        value = self.infer(node.node, names)
        constant = _constant(node.arg)
        index = self.infer(node.arg, names)
        if value == ANY or index == ANY:
            return ANY
        if _is_mapping(value):
            if isinstance(constant, str):
                return self._field(node, value, constant)
            if not self._is(node.arg, index, STR, "the name of a field is a text"):
                return ANY
            return value.value if isinstance(value, DictType) else _common(_types(value))
        if not self._is(node.arg, index, INT, "a position is a whole number"):
            return ANY
        if isinstance(value, PairType):
            return value.types[constant] if constant in (0, 1, -1, -2) else _join(*value.types)
        if not isinstance(value, ListType) and not is_text(value):
            return self._lacks(node.node, value, "elements")
        items = node.node.items if isinstance(node.node, nodes.List) else None
        if items is not None and isinstance(constant, int) and not -len(items) <= constant < len(items):
            return self._wrong(node, f"position {constant} of {len(items)} elements")
        return value.element if isinstance(value, ListType) else STR

    def _slice(self, node: nodes.Slice, names: Facts) -> Type:
        value = self.infer(node.node, names)
        for end in (node.start, node.stop, node.step):
            if end is not None:
                self._is(end, self.infer(end, names), INT, "a slice takes whole numbers")
        if node.step is not None and _constant(node.step) == 0:
            self._wrong(node.step, "a slice cannot have a step of 0")
        if isinstance(value, PairType):
            return ListType(_join(*value.types))
        if value == ANY or isinstance(value, ListType):
            return value
        return STR if is_text(value) else self._unfit(node, value, "a slice needs a list or a text")

    def _dict(self, node: nodes.Dict, names: Facts) -> Type:
        fields: list[tuple[str, Type]] = []
        for key, value in node.items:
            self._is(key, self.infer(key, names), STR, "the name of a field is a text")
            fields.append((str(_constant(key)), self.infer(value, names)))
        if all(isinstance(_constant(key), str) for key, _ in node.items):
            return RecordType(tuple(dict(fields).items()))
        return DictType(_common([type_ for _, type_ in fields]))

    def _either(self, node: nodes.And | nodes.Or, names: Facts) -> Type:
        holds = isinstance(node, nodes.And)
        left = self.infer(node.left, names)
        right = self.infer(node.right, names | _facts(node.left, holds, names, self))
        return _join(left if holds else _present(left), right)

    def _compare(self, node: nodes.Compare, names: Facts) -> Type:
        left_node, left = node.left, self.infer(node.left, names)
        for sign, operand in node.operands:
            right = self.infer(operand, names)
            if left != ANY and right != ANY:
                self._compared(sign, left_node, left, operand, right)
            left_node, left = operand, right
        return BOOL

    def _compared(
        self, sign: str, node: nodes.TemplateNode, left: Type, operand: nodes.TemplateNode, right: Type
    ) -> None:
        one, other = _named(left), _named(right)
        match sign:
            case "==" | "!=":
                if NONE not in (left, right) and not _alike(left, right):
                    self._wrong(node, f"{one} and {other} are never equal")
                elif isinstance(left, LiteralType) and isinstance(right, LiteralType):
                    self._one_of(node, left, right)
            case "in" | "not in":
                if is_text(right) or _is_mapping(right):
                    self._is(node, left, STR, f"`in` {other} looks for a text")
                elif isinstance(right, ListType):
                    if not _alike(left, right.element):
                        self._wrong(node, f"{other} never contains {one}")
                else:
                    self._unfit(operand, right, "`in` needs a list, a text or a record")
            case _:
                if not _ordered(left, right):
                    self._wrong(node, f"{one} and {other} cannot be ordered")

    def _one_of(self, node: nodes.TemplateNode, left: LiteralType, right: LiteralType) -> None:
        if not set(left.values) & set(right.values):
            wide, narrow = (left, right) if len(left.values) > len(right.values) else (right, left)
            guess = nearest(narrow.values[0], wide.values)
            self._wrong(node, f"{left} is never {right}", help=f'did you mean "{guess}"?' if guess else None)

    def _binary(self, node: nodes.Binary, names: Facts) -> Type:
        left, right = self.infer(node.left, names), self.infer(node.right, names)
        if left == ANY or right == ANY:
            return ANY
        sign = node.sign
        numbers = _is_number(left) and _is_number(right)
        if sign == "+" and _texts(left, right):
            return STR
        if sign == "+" and isinstance(left, ListType) and isinstance(right, ListType):
            return ListType(_join(left.element, right.element))
        if not numbers:
            help = "write `~` to join texts" if sign == "+" and (is_text(left) or is_text(right)) else None
            between = f"`{sign}` between {_named(left)} and {_named(right)}"
            return self._wrong(node, between, help)
        if sign in ("/", "//", "%") and _constant(node.right) == 0:
            return self._wrong(node.right, "a division by zero")
        return FLOAT if sign == "/" or FLOAT in (left, right) else INT

    def _range(self, node: nodes.RangeCall, names: Facts) -> Type:
        for bound in node.args:
            self._is(bound, self.infer(bound, names), INT, "`range` needs whole numbers")
        if len(node.args) == 3 and _constant(node.args[2]) == 0:
            return self._wrong(node, "`range` cannot have a step of 0")
        return ListType(INT)

    def _test(self, node: nodes.IsTest, names: Facts) -> Type:
        path = _path(node.node)
        value = (
            ANY if path in _ENDS and node.name in ("defined", "undefined") else self.infer(node.node, names)
        )
        if node.name in ("divisibleby", "even", "odd"):
            self._is(node, value, FLOAT, f"`is {node.name}` needs a number")
        for argument in [*node.args, *(value for _, value in node.kwargs)]:
            self._is(argument, self.infer(argument, names), FLOAT, f"`{node.name}` needs a number")
            if _constant(argument) == 0:
                self._wrong(argument, "a division by zero")
        return BOOL

    # ---------------------------------------------------------------- expected types

    def _is(self, node: nodes.TemplateNode, found: Type, wanted: Type, why: str) -> bool:
        """Whether a value is of a type (True is also a number); a problem if not."""
        if found == ANY:
            return False
        if accepts(wanted, found) or (wanted == FLOAT and found == BOOL):
            return True
        self._unfit(node, found, why)
        return False

    def _unfit(self, node: nodes.TemplateNode, found: Type, why: str) -> Type:
        if found == ANY:
            return ANY
        help = None
        if found == DYNAMIC:
            why += ": its type is not known"
            help = f"test it first, such as `{{% if {_path(_owner(node)) or '...'} is string %}}`"
        elif found == NONE or _present(found) != found:
            why += ", and this may be none" if found != NONE else ", and this is none"
            help = f"put it inside `{{% if {_path(_owner(node)) or '...'} is not none %}}`"
        else:
            why += f", and this is {_named(found)}"
        return self._wrong(node, why, help)

    def _lacks(self, node: nodes.TemplateNode, found: Type, what: str) -> Type:
        if found in (ANY, DYNAMIC, NONE) or _present(found) != found:
            return self._unfit(node, found, f"this needs {what}")
        return self._wrong(node, f"{_named(found)} has no {what}")

    def _elements(self, node: nodes.TemplateNode, value: Type, why: str) -> Type:
        """The type of the elements of a list, the names of a record or the characters of a text."""
        if value == ANY:
            return ANY
        if isinstance(value, ListType):
            return value.element
        if isinstance(value, PairType):
            return _join(*value.types)
        if _is_mapping(value) or is_text(value):
            return STR
        return self._unfit(node, value, why)

    # ---------------------------------------------------------------- filters

    def _filter(self, node: nodes.Filter, names: Facts) -> Type:
        given = dict(zip(_PARAMETERS.get(node.name, ()), node.args, strict=False))
        given |= dict(node.kwargs)
        if node.name == "default" and (_path(node.node) or "") in _ENDS:
            value = names.get("loop.item", ANY)
        else:
            value = self.infer(node.node, names)
        for name, argument in given.items():
            found = self.infer(argument, names)
            if (wanted := _ARGUMENTS.get((node.name, name))) is not None:
                type_, allowed, what = wanted
                constant = _constant(argument)
                if self._is(argument, found, type_, f"`{name}` of `{node.name}` is {what}") and (
                    constant is not None and not allowed(constant)
                ):
                    self._wrong(argument, f"`{name}` of `{node.name}` is {what}, not {constant!r}")
        if value in (IMAGE, FILE):
            return self._unfit(node, value, f"`{node.name}` needs a text")
        if value == ANY:
            return ANY
        if isinstance(value, PairType):
            value = ListType(_join(*value.types))
        return self._filtered(node, value, given, names)

    def _filtered(
        self, node: nodes.Filter, value: Type, given: Mapping[str, nodes.Expression], names: Facts
    ) -> Type:
        name = node.name
        match name:
            case "length" | "count":
                if (
                    not isinstance(value, ListType | PairType)
                    and not _is_mapping(value)
                    and not is_text(value)
                ):
                    self._unfit(node, value, f"`{name}` needs a list or a text")
                return INT
            case "wordcount":
                return INT
            case "list" | "batch" | "join" | "unique":
                element = self._elements(node, value, f"`{name}` needs a list")
                self._attribute(node, element, given)
                listed = ListType(element)
                return STR if name == "join" else ListType(listed) if name == "batch" else listed
            case "first" | "last":
                if isinstance(value, ListType):
                    return value.element
                return STR if is_text(value) else self._unfit(node, value, f"`{name}` needs a list")
            case "min" | "max" | "sort":
                element = self._elements(node, value, f"`{name}` needs a list")
                by = self._attribute(node, element, given)
                if by != ANY and not _ordered(by, by):
                    return self._unfit(node, by, f"`{name}` needs values that can be ordered")
                return ListType(element) if name == "sort" else element
            case "map":
                return ListType(
                    self._attribute(node, self._elements(node, value, "`map` needs a list"), given)
                )
            case "sum":
                by = self._attribute(node, self._elements(node, value, "`sum` needs a list"), given)
                self._is(node, by, FLOAT, "`sum` needs numbers")
                return FLOAT if by == FLOAT else INT
            case "reverse":
                return (
                    STR if is_text(value) else ListType(self._elements(node, value, "`reverse` needs a list"))
                )
            case "items":
                match value:
                    case DictType(value=inner):
                        return ListType(PairType((STR, inner)))
                    case RecordType() | UnionType():
                        return ListType(PairType((STR, _common(_types(value)))))
                    case _:
                        return self._unfit(node, value, "`items` needs a record")
            case "int" | "float":
                made: Type = INT if name == "int" else FLOAT
                if "default" in given:
                    return _join(made, self.infer(given["default"], names))
                if not _is_number(value) and not is_text(value):
                    self._unfit(node, value, f"`{name}` needs a number or a text")
                return made
            case "round" | "abs":
                self._is(node, value, FLOAT, f"`{name}` needs a number")
                return FLOAT if name == "round" else value
            case "default":
                default = self.infer(given["default_value"], names) if "default_value" in given else STR
                return _join(_present(value) if "boolean" in given else value, default)
        return STR  # every other filter shows any value as a text, and changes that

    def _attribute(self, node: nodes.Filter, element: Type, given: Mapping[str, nodes.Expression]) -> Type:
        """The type of the part of an element that a filter's `attribute` names; the element's without one."""
        if "attribute" not in given or element == ANY:
            return element
        attribute = _constant(given["attribute"])
        if isinstance(attribute, str):
            for name in attribute.split("."):
                if not _is_mapping(element):
                    return self._lacks(node, element, f"field `{name}`")
                element = self._field(node, element, name)
            return element
        if isinstance(attribute, int) and isinstance(element, ListType):
            return element.element
        if isinstance(element, PairType) and attribute in (0, 1, -1, -2):
            return element.types[attribute]
        return self._wrong(node, f"`attribute` of `{node.name}` names a field or a position")


_CONSTANTS: Final[Mapping[type, Type]] = {bool: BOOL, int: INT, float: FLOAT, type(None): NONE}

_ARGUMENTS: Final[Mapping[tuple[str, str], tuple[Type, Callable[[Any], bool], str]]] = {
    ("trim", "chars"): (STR, lambda value: True, "a text"),
    ("replace", "count"): (INT, lambda value: True, "a whole number"),
    ("indent", "width"): (INT, lambda value: 0 <= value <= WIDEST, f"a whole number from 0 to {WIDEST}"),
    ("tojson", "indent"): (INT, lambda value: 0 <= value <= 8, "a whole number from 0 to 8"),
    ("batch", "linecount"): (INT, lambda value: value >= 1, "a whole number above 0"),
    ("round", "precision"): (INT, lambda value: -15 <= value <= 15, "a whole number from -15 to 15"),
    ("round", "method"): (STR, lambda value: value in METHODS, f"one of {', '.join(METHODS)}"),
    ("sum", "start"): (FLOAT, lambda value: True, "a number"),
}
"""The expected types of filters' arguments, and further conditions on constants."""

_PARAMETERS: Final = {name: parameters(filter_, 2) for name, filter_ in FILTERS.items()}


def _owner(node: nodes.TemplateNode) -> nodes.TemplateNode:
    """The operand of a filter, a test or a field; the expression itself if it is something else."""
    return node.node if isinstance(node, nodes.Applied | nodes.Getattr | nodes.Getitem) else node


def _listed(cases: Iterable[RecordType]) -> str:
    return " or ".join(f"`{case.case}`" for case in cases)


def _named(type_: Type) -> str:
    return widen(type_) if type_ != DYNAMIC else "a value of any type"


def _constant(node: nodes.TemplateNode) -> Any:
    """The value of a constant or of arithmetic with constants; None for anything else."""
    match node:
        case nodes.Const(constant=constant):
            return constant
        case nodes.Signed():
            value = _constant(node.node)
            number = isinstance(value, int | float)
            return (-value if node.sign == "-" else value) if number else None
        case nodes.Binary(sign="+" | "-" | "*"):
            left, right = _constant(node.left), _constant(node.right)
            if isinstance(left, int | float) and isinstance(right, int | float):
                return _FOLDED[node.sign](left, right)
    return None


_FOLDED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {"+": add, "-": sub, "*": mul}


def _texts(left: Type, right: Type) -> bool:
    return is_text(left) and is_text(right)


def _is_number(type_: Type) -> bool:
    return type_ in (INT, FLOAT, BOOL)


def _is_mapping(type_: Type) -> bool:
    return isinstance(type_, DictType | RecordType | UnionType)


def _ordered(left: Type, right: Type) -> bool:
    """Whether any two values of these types can be ordered."""
    if ANY in (left, right) or (_is_number(left) and _is_number(right)) or _texts(left, right):
        return True
    if isinstance(left, ListType) and isinstance(right, ListType):
        return _ordered(left.element, right.element)
    return False


def _alike(left: Type, right: Type) -> bool:
    """Whether values of these types may be equal."""
    return DYNAMIC in (left, right) or join(left, right) is not None or _texts(left, right)


def _types(type_: Type) -> list[Type]:
    cases = type_.cases if isinstance(type_, UnionType) else (type_,)
    return [inner for case in cases if isinstance(case, RecordType) for _, inner in case.fields]


def _join(left: Type, right: Type) -> Type:
    return STR if _texts(left, right) and left != right else join(left, right) or DYNAMIC


def _common(types: Sequence[Type]) -> Type:
    return reduce(_join, types) if types else ANY


def _present(type_: Type) -> Type:
    """A type without none."""
    found = present(type_)
    return found if found != NEVER else ANY


# ---------------------------------------------------------------- narrowing


def _path(node: nodes.TemplateNode) -> str | None:
    """`state.left` for a name or a field of one; None for any other expression."""
    match node:
        case nodes.Name(name=name):
            return name
        case nodes.Getattr(attr=name) | nodes.Getitem(arg=nodes.Const(constant=str() as name)):
            before = _path(node.node)
            return f"{before}.{name}" if before is not None else None
    return None


def _is_part(path: str, names: Sequence[str]) -> bool:
    return path.partition(".")[0] in names


_TESTED: Final[Mapping[str, Type]] = {
    "string": STR, "number": FLOAT, "integer": INT, "float": FLOAT, "boolean": BOOL, "true": BOOL,
    "false": BOOL, "none": NONE, "sequence": ListType(DYNAMIC), "mapping": DictType(DYNAMIC),
}  # fmt: skip


def _facts(condition: nodes.TemplateNode, holds: bool, names: Facts, walk: TypedTemplate) -> dict[str, Type]:
    """The facts about names where a condition is true, or false."""
    match condition:
        case nodes.Not():
            return _facts(condition.node, not holds, names, walk)
        case nodes.And() | nodes.Or() if isinstance(condition, nodes.And) is holds:
            found = _facts(condition.left, holds, names, walk)
            return found | _facts(condition.right, holds, names | found, walk)
        case nodes.Compare(left=left, operands=((sign, other),)):
            if sign in ("==", "!=") and isinstance(other, nodes.Const):
                return _facts_of_equality(left, [other.constant], holds is (sign == "=="), names)
            if sign in ("in", "not in") and isinstance(other, nodes.List):
                values = [item.constant for item in other.items if isinstance(item, nodes.Const)]
                whole = len(values) == len(other.items)
                return _facts_of_equality(left, values, holds is (sign == "in"), names) if whole else {}
        case nodes.IsTest(name="none"):
            return _facts_of_equality(condition.node, [None], holds, names)
        case nodes.IsTest(name=name):
            path = _path(condition.node)
            if path is None:
                return {}
            if path in _ENDS and holds is (name == "defined") and name in ("defined", "undefined"):
                return {path: names.get("loop.item", ANY)}
            if holds and names.get(path) == DYNAMIC:
                return {path: _TESTED.get(name, DYNAMIC)}
        case nodes.Getattr(node=nodes.Name(name="loop"), attr="first" | "last" as end) if not holds:
            element = names.get("loop.item", ANY)
            return {path: element for path, place in _ENDS.items() if place == end}
        case nodes.Name() | nodes.Getattr() | nodes.Getitem() if holds:
            return _facts_of_equality(condition, [None], False, names)
    return {}


def _facts_of_equality(node: nodes.Expression, values: Sequence[Any], equal: bool, names: Facts) -> Facts:
    """The facts about an expression that equals one of some constants, or none of them."""
    path = _path(node)
    if path is None:
        return {}
    found: Facts = {}
    owner, _, field = path.rpartition(".")
    inner = node.node if isinstance(node, nodes.Getattr | nodes.Getitem) else None
    for of, name, part in ((node, path, ""), (inner, owner, field)):
        known = TypedTemplate().infer(of, names) if of is not None else ANY  # reported elsewhere
        if known not in (ANY, DYNAMIC):
            optional = not part and known != _present(known)
            if part or not (optional or None in values):
                found[name] = narrowed(known, values, equal, part) or known
            elif None not in values:
                found[name] = narrowed(_present(known), values, True) or known if equal else known
            elif equal:
                found[name] = NONE if len(values) == 1 else known
            else:
                found[name] = narrowed(_present(known), values, False) or known
    return found
