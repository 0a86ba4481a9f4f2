"""Generic traversal and rewriting of syntax trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import is_
from typing import Any, TypeVar, cast

from msgspec.structs import astuple

from gotlang.syntax.expressions import Argument, Expression, Identifier, Node

_Any = TypeVar("_Any", bound=Node)


def children(node: Node) -> list[Node]:
    """The nodes directly inside a node, in the order of the text."""
    found: list[Node] = []
    for value in astuple(node):
        if isinstance(value, Node):
            found.append(value)
        elif value and isinstance(value, tuple):
            found.extend(nodes_in(value))
    return found


def nodes_in(value: Any) -> Iterator[Node]:
    """The outermost nodes in a value made of nodes, lists and tuples."""
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from nodes_in(item)


def walk(node: Node) -> Iterator[Node]:
    """A node and everything inside it, parents first, without recursion."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack += reversed(children(top))


def children_first(roots: Iterable[str], children: Callable[[str], Iterable[str]]) -> Iterator[str]:
    """The roots and everything below them, each once and after its children, except for one child in each
    circle; without recursion."""
    seen: set[str] = set()
    for root in roots:
        stack = [(root, iter(children(root)))] if root not in seen else []
        seen.add(root)
        while stack:
            name, rest = stack[-1]
            following = next((child for child in rest if child not in seen), None)
            if following is None:
                stack.pop()
                yield name
            else:
                seen.add(following)
                stack.append((following, iter(children(following))))


def rebuilt(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """An expression with a function applied to each part of it, the inner ones first, and then to itself."""
    return change(with_parts(node, lambda part: rebuilt(part, change)))


def mapped(
    node: _Any, change: Callable[[Node], Node], moved: Callable[[Node, Node], None] | None = None
) -> _Any:
    """A node with a function applied to each node in it, the inner ones first, and then to itself; unchanged
    nodes stay the same objects. `moved` is called with each node that changed only because of its parts."""

    def inside(value: Any) -> Any:
        if isinstance(value, Node):
            return mapped(value, change, moved)
        if isinstance(value, tuple):
            items = tuple(map(inside, value))
            return value if all(map(is_, items, value)) else items
        return value

    before = astuple(node)
    after = list(map(inside, before))
    new = node
    if not all(map(is_, after, before)):
        kind: Any = type(node)
        new = kind(*after)
        if moved is not None:
            moved(node, new)
    return cast(_Any, change(new))


def with_parts(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """An expression with its direct subexpressions changed; the same object if none was."""
    before = astuple(node)
    after = [_changed(value, change) for value in before]
    kind: Any = type(node)
    return node if all(map(is_, after, before)) else cast(Expression, kind(*after))


def _changed(value: Any, change: Callable[[Expression], Expression]) -> Any:
    """A field's value with the expressions in it changed; the same object if none was."""
    match value:
        case Argument():
            inner = change(value.value)
            return value if inner is value.value else Argument(value.span, value.name, inner)
        case Identifier():
            return value
        case Node():
            return change(cast(Expression, value))
        case tuple():
            items = tuple(_changed(item, change) for item in value)
            return value if all(map(is_, items, value)) else items
    return value
