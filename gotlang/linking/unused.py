"""Definitions that nothing uses. A definition is checked as part of what uses it; of one without a use it is
only checked that its names are known."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from gotlang.diagnostics import Report
from gotlang.operations import OPERATIONS
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import walk
from gotlang.turns import DECLARED
from gotlang.types import SIMPLE

_TYPES: Final = {*SIMPLE, *DECLARED, "list", "pair", "dict", "any", "prompt", "score", "scheme", "corpus"}


def check_names(
    d: n.Operation | n.Function | n.Scheme,
    own: Collection[str],
    declared: Collection[str],
    given: Collection[str],
    words: Collection[tuple[str, int]],
    report: Report,
) -> None:
    """Report names that nothing has: `own` are those that the definition binds, `declared` those of the
    program, `given` those of the language. At the places `words` are words that are no names."""
    known, types = {*own, *declared, *given}, {*own, *declared, *_TYPES}
    for node in walk(d):
        match node:
            case e.Reference(name=name):
                name, what, code, there = e.Identifier(node.span, name), "name", "GOT0103", known
            case e.Call(function=name):
                what, code, there = "function", "GOT0103", known
            case n.Step(operation=name):
                what, code, there = "operation", "GOT0106", {*OPERATIONS, *declared}
            case n.NamedType(name=name):
                what, code, there = "type", "GOT0104", types
            case _:
                continue
        if (
            name.text not in there
            and "." not in name.text
            and (name.span.source, name.span.start) not in words
        ):
            near = {*own, *declared} if what == "name" else there
            report.unknown(code, what, name.text, name.span, near)
