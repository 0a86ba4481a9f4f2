"""Which pool each name and each label of a program stands for, block by block, while its IR is built.

A program may use a name again: for the elements of another `foreach`, or inside a block for something else
than outside. In the IR no name in force is given twice, since steps look theirs up when they run: the later
one is called `%part`, `%part_` and so on, and the expressions that mean it say so.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable
from dataclasses import replace
from typing import final

from gotlang.syntax import expressions as e
from gotlang.syntax.walk import with_parts

START_POOL = "%start"
"""The empty thought that a scheme starts with, wherever in it."""
PAIR, ROUND = "%pair", "%round"
"""What each merge of a `reduce`, and each round of a `repeat`, starts from."""


@final
class Naming:
    """The names in force at a place of one scheme or score; `given` are its parameters."""

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
        name = "%" + label.replace(" ", "_")
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def of_name(self, name: str) -> str:
        """A pool for a name: called like it, unless something in force is."""
        return self.of_label(name) if name in self._names else name

    # ---------------------------------------------------------------- names in force

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
        other = {name: pool for name, pool in self._names.items() if name != pool}
        return _renamed(node, other) if other else node


def _renamed(node: e.Expression, names: dict[str, str]) -> e.Expression:
    match node:
        case e.Reference(name=name):
            return e.Reference(node.span, names[name]) if name in names else node
        case e.Comprehension(position=position, condition=condition):
            own = {node.name.text, *([position.text] if position is not None else [])}
            inner = {name: pool for name, pool in names.items() if name not in own}
            return replace(
                node,
                element=_renamed(node.element, inner),
                iterable=_renamed(node.iterable, names),
                condition=_renamed(condition, inner) if condition is not None else None,
            )
    return with_parts(node, lambda part: _renamed(part, names))
