"""The names of the IR: the names and labels of one scheme or score, made unique."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterable
from typing import final

from msgspec.structs import replace

from gotlang.ir.model_scores import START_POOL
from gotlang.syntax import expressions as e
from gotlang.syntax.walk import with_parts

PAIR, ROUND = "%pair", "%round"
"""The input pool of each merge of a `reduce`, and of each round of a `repeat`."""


@final
class IrNames:
    """The pools of the names and labels in scope at a place of one scheme or score; `given` are its
    parameters.

    A program may use a name again: for the elements of another `foreach`, or inside a block with another
    meaning than outside. In the IR no name in scope is used twice, since steps look names up when they run:
    the later one is called `%part`, `%part_` and so on, and so in the expressions that refer to it.
    """

    def __init__(self, given: Iterable[str]) -> None:
        self._count = 0
        self._taken = {START_POOL, PAIR, ROUND}
        self._names: ChainMap[str, str] = ChainMap({name: name for name in given})
        self._labels: ChainMap[str, str] = ChainMap()

    # ---------------------------------------------------------------- new pools

    def fresh(self) -> str:
        """An unnamed pool."""
        self._count += 1
        return f"%{self._count}"

    def of_label(self, label: str) -> str:
        """A unique pool for the output of a labelled block."""
        name = "%" + re.sub(r"\W", "_", label, flags=re.ASCII)
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def of_name(self, name: str) -> str:
        """A pool for a name: with the same name, unless that is in scope."""
        return self.of_label(name) if name in self._names else name

    # ---------------------------------------------------------------- names in scope

    def bind(self, name: str, pool: str) -> None:
        """Bind a name to a pool from here on."""
        self._names[name] = pool

    def bind_label(self, label: str, pool: str) -> None:
        """Bind a label to a pool from here on."""
        self._labels[label] = pool

    def label(self, label: str) -> str:
        """The pool of a label."""
        return self._labels[label]

    def own(self, name: str) -> bool:
        """Whether a name is the program's, whatever it means elsewhere."""
        return name in self._names

    def open(self, names: Iterable[str] = ()) -> None:
        """Begin a block with names of its own."""
        self._names = self._names.new_child({name: name for name in names})
        self._labels = self._labels.new_child()

    def close(self) -> None:
        """End the block."""
        self._names, self._labels = self._names.parents, self._labels.parents

    def here(self, node: e.Expression) -> e.Expression:
        """An expression of the program in the names of the IR."""
        return _renamed(node, self._names)


def _renamed(node: e.Expression, names: ChainMap[str, str]) -> e.Expression:
    match node:
        case e.Reference(name=name):
            return node if (other := names.get(name, name)) == name else e.Reference(node.span, other)
        case e.Comprehension(condition=condition):
            inner = names.new_child({name.text: name.text for name in node.names})
            return replace(
                node,
                element=_renamed(node.element, inner),
                iterable=_renamed(node.iterable, names),
                condition=_renamed(condition, inner) if condition is not None else None,
            )
    return with_parts(node, lambda part: _renamed(part, names))
