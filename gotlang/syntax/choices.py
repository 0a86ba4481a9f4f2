"""The rules of the tree builder for `search`, `first` and `race`."""

# As in `gotlang/syntax/build.py`, the parts of a rule have no static type.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.build_expressions import ExpressionBuilder

_PARTS = ("expand", "simulate", "value", "backup")


class Choices(ExpressionBuilder):
    """Makes nodes of the blocks that choose between states or lines."""

    suite: Any
    lost: Any
    _words: Any

    def search(self, span, first, *rest):
        unreadable = isinstance(first, e.Reference)
        if unreadable:
            state, root, until = (*self._words(first.span)[1:2], e.Identifier(span, e.HOLE))[0], first, None
        else:
            state, root, until, rest = *rest[:3], rest[3:]
        clauses = tuple(part for part in rest if isinstance(part, n.Setting))
        parts = [part for part in rest if isinstance(part, tuple)]
        words = [word for word, _ in parts]
        found: dict[str, Any] = dict(parts)
        if "" not in words and not unreadable:  # else a line that could not be read may be any of them
            wanted = [word for word in _PARTS if word in words or word in ("expand", "value")]
            if words != wanted:
                message = (
                    "a `search` has `expand`, maybe `simulate`, `value` and maybe `backup`, in this order"
                )
                place = replace(span, end=span.start + len("search"))
                self._problem("GOT0751", message, place, f"write {', '.join(wanted)}, once each")
        missing = n.Suite(span, (self.lost(span, None),))
        unread = found.pop("", missing)
        lost = next((word for word in ("expand", "value") if word not in found), None)
        expand, value = (found.get(word, unread if word == lost else missing) for word in ("expand", "value"))
        simulate, backup = found.get("simulate"), found.get("backup")
        ends = [backup] if backup is not None else [part for _, part in parts]
        inside = (expand, simulate, value, backup)
        return n.Search(self._until(span, *ends), state, root, until, clauses, *inside)

    def expand(self, _span, part):
        return "expand", part

    def simulated(self, _span, part):
        return "simulate", part

    def valued(self, _span, part):
        return "value", part

    def backup(self, _span, name):
        return "backup", name

    def lost_search(self, span, _hole, body=None):
        return "", body or n.Suite(span, (self.lost(span, None),))

    def inline(self, span, statement):
        return self.suite(span, statement)

    def first(self, span, _word, until, at_once, body):
        lines = tuple(n.Suite(line.span, (line,)) for line in body.statements)
        return n.First(self._until(span, body), "once" if at_once else "turn", until, lines)

    def at_once(self, _span):
        return True

    def race(self, span, _word, until, body):
        return replace(self.first(span, None, until, None, body), way="race")
