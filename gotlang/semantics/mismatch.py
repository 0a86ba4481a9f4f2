"""Advice about an expression of another type than the expected one."""

from __future__ import annotations

from collections.abc import Container

from gotlang.scope import PoolType
from gotlang.semantics.conditions import is_subject
from gotlang.span import NOWHERE
from gotlang.syntax import expressions as e
from gotlang.syntax.format import format_expression
from gotlang.types import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    STR,
    DictType,
    DynamicType,
    ListType,
    OptionalType,
    RecordType,
    Type,
    TypeVariable,
    accepts,
    is_text,
)


def _without_none(node: e.Expression, name: str | None) -> str:
    """How to write a list, with this name if it has one, without those of its elements that are none."""
    if isinstance(node, e.Comprehension) and node.condition is None and is_subject(node.element):
        return f"`{format_expression(node)[:-1]} if {format_expression(node.element)} != none]`"
    first = "" if name is not None else "bind it to a name (`xs = ...`), then "
    return f"{first}`[y for y in {name or 'xs'} if y != none]`"


def code_and_help(
    node: e.Expression, wanted: Type, found: Type, provided: Container[str] = ()
) -> tuple[str, str | None]:
    """The code of the error, and its advice. `provided` are the functions that Python passes."""
    text = format_expression(node)
    name = text if is_subject(node) and len(text) <= 40 else "x"
    if isinstance(found, DynamicType):
        known = not isinstance(wanted, DynamicType | TypeVariable)
        type_, otherwise = (str(wanted), "") if known else ("int", ", if it is an int")
        if isinstance(node, e.Call):
            function = node.function.text
            place, line = "imported", f'import python "...": {function} -> {type_}'
            if function in provided:
                place, line = "passed", f'functions=["{function} -> {type_}"]'
            return "GOT0212", f"say what `{function}` returns where it is {place}: `{line}`{otherwise}"
        return "GOT0212", f"give it a type, which the run checks: `y: {type_} = {name}`{otherwise}"
    if isinstance(node, e.Constant):
        return "GOT0201", None
    if isinstance(found, OptionalType) or found == NONE:
        first = "" if name == text else f"bind it to a name (`{name} = ...`), then "
        return (
            "GOT0213",
            f"{first}write `{name} if {name} != none else ...`, or use it in `if {name} != none:`",
        )
    if (
        isinstance(found, ListType)
        and isinstance(found.element, OptionalType)
        and isinstance(wanted, ListType)
    ):
        return "GOT0213", f"filter out `none`: {_without_none(node, name if name == text else None)}"
    if found == BOOL and accepts(FLOAT, wanted):
        return "GOT0201", f"write `{_as_number(node)}`"
    if is_text(found) and accepts(FLOAT, wanted):
        return "GOT0201", f"`{wanted}(...)` parses a number from a text"
    if wanted == BOOL and (is_text(found) or isinstance(found, ListType | DictType)):
        return "GOT0201", f"write `len({name}) > 0`"
    if wanted == BOOL and accepts(FLOAT, found):
        return "GOT0201", f"write `{name} != 0`"
    if (
        isinstance(found, ListType)
        and not isinstance(wanted, ListType | TypeVariable)
        and accepts(wanted, found.element)
    ):
        each = "foreach y:" if name == "thoughts" else f"foreach y in {name}:"
        joined = f", `join({name}, ...)` joins them into one text" if wanted == STR else ""
        return "GOT0201", f"it is a list: `{each}` takes its elements{joined}"
    if wanted == INT and found == FLOAT:
        return "GOT0201", "`round(...)` rounds it to a whole number"
    if isinstance(wanted, RecordType) and isinstance(found, RecordType):
        return "GOT0201", _of_fields(wanted, found)
    if wanted == STR and not is_text(found):
        return "GOT0201", "`str(...)` converts a value to a text"
    if isinstance(wanted, TypeVariable) and wanted.ordered:
        return "GOT0201", "numbers, texts and lists of them are ordered"
    return "GOT0201", None


def _of_fields(wanted: RecordType, found: RecordType) -> str | None:
    """Advice about missing fields, or an unexpected one."""
    there, needed = dict(found.fields), dict(wanted.fields)
    if missing := [name for name in needed if name not in there]:
        optional = all(isinstance(needed[name], OptionalType) for name in missing)
        return "add " + ", ".join(f"`{name}: {'none' if optional else '...'}`" for name in missing)
    if more := [f"`{name}`" for name in there if name not in needed]:
        return f"leave out {', '.join(more)}"
    return None


def of_result(wanted: Type, pool: PoolType, many: bool, returned: e.Expression | None) -> str | None:
    """Advice about the end of a scheme that returns another type, by a `return` of an expression if there is
    one."""
    if many and pool.single and isinstance(pool.type, ListType) and accepts(wanted, pool.type.element):
        return "a list is one thought: for its elements, end with `foreach x in it:` and `Pool() x`"
    if not pool.single:
        return None
    _, help = code_and_help(returned or e.Reference(NOWHERE, "it"), wanted, pool.type)
    return help if help is None or returned else help.replace("write `", "end with `Map() ", 1)


def of_sum(node: e.Binary, left: Type, right: Type) -> str | None:
    """Advice about `+` between values that have no sum."""
    sides = ((node.left, left, node.right, right), (node.right, right, node.left, left))
    for side, type_, element, other in sides:
        if type_ == BOOL and accepts(FLOAT, other):
            return of_operand(side, BOOL, "+", other)
        if isinstance(type_, ListType):
            texts = (format_expression(part) for part in (side, element))
            name, one = (text if len(text) <= 20 else "x" for text in texts)
            adding = f"[{one}] + {name}" if side is node.right else f"{name} + [{one}]"
            return f"an element of a list is `{name}[0]`; to add one to it, write `{adding}`"
    return "`str(...)` converts a value to a text" if is_text(left) or is_text(right) else None


def of_elements(node: e.Expression, found: Type) -> str | None:
    """Advice about a loop over a value that is not a list."""
    text = format_expression(node)
    if is_text(found):
        return f"write `lines({text})` or `split({text})`"
    if found == INT:
        return f"write `range({text})`"
    return f"write `keys({text})` or `values({text})`" if isinstance(found, DictType | RecordType) else None


def _as_number(node: e.Expression) -> str:
    text = format_expression(node)
    return f"1 if {text if len(text) <= 40 else '...'} else 0"


def of_operand(node: e.Expression, side: Type, operator: str, other: Type) -> str | None:
    """Advice about an operand that is not a number: a condition, or a text or a list that is to be
    repeated."""
    if side == BOOL:
        return f"write `({_as_number(node)})`"
    if operator != "*" or not accepts(FLOAT, other):
        return None
    if is_text(side):
        return 'to repeat a text, write `join(["..." for i in range(n)])`'
    return "to repeat a list, write `flatten([xs for i in range(n)])`" if isinstance(side, ListType) else None


def in_words(wanted: Type) -> str:
    """A description of the argument that a built-in expects."""
    match wanted:
        case ListType(element=TypeVariable(ordered=True)):
            return "a list of numbers, texts or lists of them"
        case ListType(element=TypeVariable()):
            return "a list"
        case ListType(element=ListType(element=TypeVariable())):
            return "a list of lists"
        case DictType(value=TypeVariable()):
            return "a dict, or a record whose fields have one type"
        case TypeVariable(ordered=True):
            return "a number, a text or a list of them"
    return str(wanted)
