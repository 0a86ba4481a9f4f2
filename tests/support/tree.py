"""A syntax tree as readable text, for golden cases: a field a line, short ones on the line of their node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from msgspec import Struct

from gotlang.span import Source
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n

_WIDTH = 90
# Their places are shown: a wrong span is a wrong caret.
_PLACED = (*get_args(n.Declaration), *get_args(n.Statement), n.Suite)


def dump(module: n.Module, source: Source) -> str:
    """The declarations and comments of a module, with the places of declarations and statements."""
    lines = [line for part in module.declarations for line in _lines(part, source)]
    for comment in module.comments:
        kind = "inside" if comment.nested else "alone" if comment.own_line else "after code"
        lines.append(f"{comment.text} ({kind})")
    return "\n".join(lines)


def _lines(value: Any, source: Source) -> Iterator[str]:
    """A value over several lines where it is too long for one."""
    if isinstance(value, _PLACED):
        yield f"{type(value).__name__} {_place(value, source)}"
    elif len(_flat(value)) <= _WIDTH or not isinstance(value, e.Node | tuple):
        yield _flat(value)
        return
    elif isinstance(value, e.Node):
        yield type(value).__name__
    if isinstance(value, n.Suite | tuple):
        for item in value.statements if isinstance(value, n.Suite) else value:
            for first, line in _first(_lines(item, source)):
                yield ("- " if first else "  ") + line
        return
    for name, item in _shown(value):
        rendered = list(_lines(item, source))
        if len(rendered) == 1 and len(rendered[0]) + len(name) <= _WIDTH:
            yield f"  {name}: {rendered[0]}"
        elif isinstance(item, _PLACED):
            yield f"  {name}: {rendered[0]}"
            yield from ("  " + line for line in rendered[1:])
        else:
            yield f"  {name}:"
            yield from ("    " + line for line in rendered)


def _first(lines: Iterator[str]) -> Iterator[tuple[bool, str]]:
    return ((number == 0, line) for number, line in enumerate(lines))


def _flat(value: Any) -> str:
    match value:
        case None:
            return "-"
        case e.Identifier(text=text):
            return text
        case e.Reference(name=name):
            return name
        case e.Constant():
            return repr(value.value) + (" (long)" if value.long else "")
        case e.Argument(name=name):
            return (f"{name.text}=" if name else "") + _flat(value.value)
        case n.NamedType():
            return value.name.text + (_flat(value.arguments) if value.arguments else "")
        case n.TypedName():
            return f"{value.name.text}: {_flat(value.type)}"
        case tuple():
            return "[" + ", ".join(_flat(item) for item in value) + "]"
        case e.Node():
            parts = [_flat(getattr(value, slot)) for slot in value.__struct_fields__[1:]]
            return f"{type(value).__name__}({', '.join(parts)})"
        case Struct():
            parts = [_flat(getattr(value, slot)) for slot in value.__struct_fields__]
            return f"{type(value).__name__}({', '.join(parts)})"
    return value if isinstance(value, str) else repr(value)


def _shown(node: Any) -> Iterator[tuple[str, Any]]:
    """The fields that say something."""
    for slot in node.__struct_fields__[1:]:
        value = getattr(node, slot)
        if value is not None and value is not False and value != ():
            yield slot, value


def _place(node: e.Node, source: Source) -> str:
    line, column = source.position(node.span.start)
    end_line, end_column = source.position(node.span.end)
    return f"{line}:{column}-{end_line}:{end_column}"
