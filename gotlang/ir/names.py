"""The names of the IR: what the names and labels of one scheme or score are called in it."""

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
"""What each merge of a `reduce`, and each round of a `repeat`, starts from."""


@final
class Naming:
    """Which pool each name and each label in scope at a place of one scheme or score stands for; `given` are
    its parameters.

    A program may use a name again: for the elements of another `foreach`, or inside a block for something
    else than outside. In the IR no name in scope is given twice, since steps look theirs up when they run:
    the later one is called `%part`, `%part_` and so on, and the expressions that mean it say so.
    """

    def __init__(self, given: Iterable[str]) -> None:
        self._count = 0
        self._taken = {START_POOL, PAIR, ROUND}
        self._names: ChainMap[str, str] = ChainMap({name: name for name in given})
        self._labels: ChainMap[str, str] = ChainMap()

    # ---------------------------------------------------------------- new pools

    def fresh(self) -> str:
        """A pool that has no name."""
        self._count += 1
        return f"%{self._count}"

    def of_label(self, label: str) -> str:
        """A pool for what a labelled block leaves: no other one's, whatever other labels there are."""
        name = "%" + re.sub(r"\W", "_", label, flags=re.ASCII)
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def of_name(self, name: str) -> str:
        """A pool for a name: called like it, unless something in scope is."""
        return self.of_label(name) if name in self._names else name

    # ---------------------------------------------------------------- names in scope

    def bind(self, name: str, pool: str) -> None:
        """From here on a name stands for a pool."""
        self._names[name] = pool

    def bind_label(self, label: str, pool: str) -> None:
        """From here on a label stands for a pool."""
        self._labels[label] = pool

    def label(self, label: str) -> str:
        """The pool that a label stands for."""
        return self._labels[label]

    def own(self, name: str) -> bool:
        """Whether a name is the program's, whatever it means elsewhere."""
        return name in self._names

    def open(self, names: Iterable[str] = ()) -> None:
        """A block begins, with names of its own."""
        self._names = self._names.new_child({name: name for name in names})
        self._labels = self._labels.new_child()

    def close(self) -> None:
        """The block has ended."""
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
