"""Going through a syntax tree without knowing its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any

from gotlang.syntax.expressions import Node


def children(node: Node) -> Iterator[Node]:
    """The nodes directly inside a node, in the order of the text."""
    kind: Any = type(node)
    for slot in _slots(kind):
        value = getattr(node, slot)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from nodes_in(value)


@cache
def _slots(kind: Any) -> tuple[str, ...]:
    return tuple(slot.name for slot in fields(kind) if slot.name != "span")


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
        stack.extend(reversed(list(children(top))))
