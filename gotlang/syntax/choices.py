"""The rules of the tree builder for `search`, `first` and `race`."""

# As in `gotlang/syntax/build.py`, the parts of a rule have no static type.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gotlang.syntax import nodes as n
from gotlang.syntax.build_expressions import ExpressionBuilder


class Choices(ExpressionBuilder):
    """Makes nodes of the blocks that choose between states or lines."""

    suite: Any

    def search(self, span, _word, state, root, until, *rest):
        *clauses, expand, simulate, value, backup = rest
        parts = (expand, simulate, value, backup)
        return n.Search(self._until(span, backup or value), state, root, until, tuple(clauses), *parts)

    def expand(self, _span, part):
        return part

    simulated = valued = backup = expand

    def inline(self, span, statement):
        return self.suite(span, statement)

    def first(self, span, _word, until, at_once, body):
        lines = tuple(n.Suite(line.span, (line,)) for line in body.statements)
        return n.First(self._until(span, body), "once" if at_once else "turn", until, lines)

    def at_once(self, _span):
        return True

    def race(self, span, _word, until, body):
        return replace(self.first(span, None, until, None, body), way="race")
