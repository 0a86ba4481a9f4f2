"""What is wrong with an expression of another type than the one wanted, and what to write instead."""

from __future__ import annotations

from gotlang.semantics.narrowing import is_subject
from gotlang.syntax import expressions as e
from gotlang.syntax.format import format_expression
from gotlang.types import (
    BOOL,
    FLOAT,
    NONE,
    STR,
    DictType,
    DynamicType,
    ListType,
    OptionalType,
    Type,
    Variable,
    accepts,
    is_text,
)


def code_and_help(node: e.Expression, wanted: Type, found: Type) -> tuple[str, str | None]:
    """The code of the error, and its help."""
    text = format_expression(node)
    name = text if is_subject(node) and len(text) <= 40 else "x"
    if isinstance(found, DynamicType):
        known = not isinstance(wanted, DynamicType | Variable)
        type_, otherwise = (str(wanted), "") if known else ("int", ", if it is an int")
        if isinstance(node, e.Call):
            function = node.function.text
            line = f'import python "...": {function} -> {type_}'
            return "GOT0212", f"say what `{function}` returns where it is imported: `{line}`{otherwise}"
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
        return "GOT0213", f"leave out what is none: `[y for y in {name} if y != none]`"
    if found == BOOL and accepts(FLOAT, wanted):
        return "GOT0201", f"write `1 if {text if len(text) <= 40 else '...'} else 0`"
    if is_text(found) and accepts(FLOAT, wanted):
        return "GOT0201", f"`{wanted}(...)` reads a number from a text"
    if (
        isinstance(found, ListType)
        and not isinstance(wanted, ListType | Variable)
        and accepts(wanted, found.element)
    ):
        each = "foreach y:" if name == "thoughts" else f"foreach y in {name}:"
        joined = f", `join({name}, ...)` makes one text of them" if wanted == STR else ""
        return "GOT0201", f"it is a list: `{each}` takes its elements{joined}"
    if wanted == STR and not is_text(found):
        return "GOT0201", "`str(...)` makes a text of a value"
    if isinstance(wanted, Variable) and wanted.ordered:
        return "GOT0201", "numbers, texts and lists of them are ordered"
    return "GOT0201", None


def in_words(wanted: Type) -> str:
    """What a built-in takes, in words where any type will do."""
    match wanted:
        case ListType(Variable(ordered=True)):
            return "a list of numbers, texts or lists of them"
        case ListType(Variable()):
            return "a list"
        case ListType(ListType(Variable())):
            return "a list of lists"
        case DictType(Variable()):
            return "a dict, or a record whose fields have one type"
        case Variable(ordered=True):
            return "a number, a text or a list of them"
    return str(wanted)
