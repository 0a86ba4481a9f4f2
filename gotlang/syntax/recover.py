"""Reading one declaration, and reading on in it after a mistake.

A broken line of a pipeline is taken for an empty one, and the declaration is read again for the next
mistake. That is done only where the rest still means what it did: never for a line that opens a block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from gotlang.diagnostics import Diagnostic
from gotlang.syntax.expressions import Argument, Node
from gotlang.syntax.nodes import Declaration, Suite
from gotlang.syntax.scan import MAX_DEPTH, line_starts, scan
from gotlang.syntax.walk import children

MAX_MENDED = 10_000
"""How long a declaration may be, in characters, to be read again after a mistake."""

_DECLARATION = re.compile(r"(?:import|param|prompt|scheme|score|simulate|study|type)\b")
_PIPELINE = re.compile(r"(?:scheme|score)\b")
_UNPAIRED = frozenset({"GOT0004", "GOT0009"})


class Reader:
    """Reads declaration after declaration of a source and collects what is wrong.

    At most `patience` lines are taken out to read on.
    """

    def __init__(self, name: str, patience: int) -> None:
        self._name, self._patience = name, patience
        self._lost = False
        self.problems: list[Diagnostic] = []

    def read(self, text: str, base: int, known: Sequence[Diagnostic]) -> tuple[Declaration, ...]:
        """The declarations of a piece of text that starts at the margin; none where something is wrong.

        `known` is what a scan found wrong with it already.
        """
        if self._lost and not _DECLARATION.match(text):
            # What follows a broken declaration at the margin most likely belongs to it.
            return ()
        module, found, mendable = self._attempt(text, base, known)
        self._lost = bool(found)
        if not found:
            declarations: tuple[Declaration, ...] = module.declarations
            return declarations
        while found:
            self.problems.extend(found)
            mended = _without_line(text, found[0], base) if mendable and self._patience else None
            if mended is None:
                break
            self._patience -= 1
            text = mended
            pieces, _ = scan(self._name, text, base)
            _, found, mendable = self._attempt(text, base, pieces[0].problems)
        return ()

    def _attempt(
        self, text: str, base: int, known: Sequence[Diagnostic]
    ) -> tuple[Any, tuple[Diagnostic, ...], bool]:
        if known:
            first = min(known, key=lambda problem: problem.span.start)
            return None, (first,), first.code in _UNPAIRED
        return run(self._name, text, base, "module")


def run(name: str, text: str, base: int, start: str) -> tuple[Any, tuple[Diagnostic, ...], bool]:
    """The node of a text whose brackets pair up, its mistakes, and whether one line alone is at fault."""
    from lark.exceptions import UnexpectedInput

    from gotlang.syntax.build import TreeBuilder
    from gotlang.syntax.grammar import parser
    from gotlang.syntax.problems import explain

    try:
        tree = parser().parse(text, start=start)
    except UnexpectedInput as error:
        problem, mendable = explain(error, name, text, base)
        return None, (problem,), mendable
    builder = TreeBuilder(name, text, base)
    node = builder.build(tree)
    if builder.problems:
        return None, tuple(builder.problems), False
    if deep := _too_deep(node):
        message = f"nested more than {MAX_DEPTH} levels deep"
        return None, (Diagnostic("GOT0005", message, deep.span, help="name the parts"),), False
    return node, (), False


_TRANSPARENT = (Argument, Suite)  # these add no level of their own


def _too_deep(root: Node) -> Node | None:
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            return node
        stack.extend((child, depth + (type(child) not in _TRANSPARENT)) for child in children(node))
    return None


def _without_line(text: str, problem: Diagnostic, base: int) -> str | None:
    """The text with the line of a problem made empty, every other character where it was."""
    if len(text) > MAX_MENDED or not _PIPELINE.match(text):
        return None
    at = min(problem.span.start - base, len(text) - 1)
    if problem.code in _UNPAIRED:
        # An open bracket or quote has swallowed the lines below: only its own line is at fault.
        start, end = text.rfind("\n", 0, at) + 1, text.index("\n", at) + 1
    else:
        starts = [0, *line_starts(text), len(text)]
        start, end = next((a, b) for a, b in pairwise(starts) if a <= at < b)
    line = text[start:end]
    margin = len(line) - len(line.lstrip(" "))
    below = text[end:].lstrip("\n")
    if start == 0 or len(below) - len(below.lstrip(" ")) > margin:
        return None
    empty = "none" if len(line) > margin + len("none") else "0"
    return text[:start] + (line[:margin] + empty).ljust(len(line) - 1) + "\n" + text[end:]
