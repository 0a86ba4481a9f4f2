"""Python's annotations as types of the language, read as text: nothing is run."""

from __future__ import annotations

import ast
from typing import Final

from gotlang.types import DYNAMIC, SIMPLE, DictType, ListType, LiteralType, PairType, Type, optional

_NAMES: Final[dict[str, Type]] = {
    **{name: SIMPLE[name] for name in ("str", "int", "float", "bool")},
    "list": ListType(DYNAMIC),
    "dict": DictType(DYNAMIC),
    "Any": DYNAMIC,
    "object": DYNAMIC,
}


def annotated(text: str) -> Type | None:
    """The type that an annotation says; None where the language has none like it."""
    try:
        return _type(ast.parse(text, mode="eval").body)
    except SyntaxError:
        return None


def _type(node: ast.expr) -> Type | None:
    match node:
        case ast.Constant(value=str() as text):  # written in quotes
            return annotated(text)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _NAMES.get(name)
        case ast.BinOp(left=item, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _optional(item)
        case ast.BinOp(left=ast.Constant(value=None), op=ast.BitOr(), right=item):
            return _optional(item)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inside):
            return _generic(name, inside.elts if isinstance(inside, ast.Tuple) else [inside])
    return None


def _optional(item: ast.expr) -> Type | None:
    found = _type(item)
    return optional(found) if found is not None else None


def _generic(name: str, inside: list[ast.expr]) -> Type | None:
    if name == "Literal":
        values = tuple(one.value for one in inside if isinstance(one, ast.Constant))
        texts = tuple(value for value in values if isinstance(value, str))
        return LiteralType(texts) if texts and len(texts) == len(inside) else None
    if name == "Optional" and len(inside) == 1:
        return _optional(inside[0])
    types = [found for one in inside if (found := _type(one)) is not None]
    match name, types:
        case _ if len(types) < len(inside):
            return None
        case "list" | "List" | "Sequence", [element]:
            return ListType(element)
        case "dict" | "Dict" | "Mapping", [key, value] if key == SIMPLE["str"]:
            return DictType(value)
        case "tuple" | "Tuple", [first, second]:
            return PairType((first, second))
    return None
