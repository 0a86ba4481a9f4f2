"""The context of an offset: its line and declaration, the names in scope there, the enclosing call or
template."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from gotlang.diagnostics import Report
from gotlang.editing.documents import Document
from gotlang.scope import Scope, Variable
from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.index import VisibleNames
from gotlang.span import Source
from gotlang.syntax import expressions as e
from gotlang.syntax.parse import parse_expression
from gotlang.types import EMPTY, AnyType, ListType, Type

_HEAD = re.compile(r"^([a-z]+)\b", re.MULTILINE)
_CALL = re.compile(r"([A-Za-z_][\w.]*)$")
_STRING = re.compile(r'"""[\s\S]*?(?:"""|\Z)|"(?:[^"\\\n]|\\.)*(?:"|$)|#[^\n]*', re.MULTILINE)
_VALUE = re.compile(r"[\w.\[\]()\"]+$")


@final
@dataclass(frozen=True, slots=True)
class Around:
    """The context of an offset: the line before it; `head`, the word that its declaration starts with and its
    place; `text`, its declaration's text before it; the kind of text it is in: `code`, `string`, `template`
    or `comment`."""

    line: str
    head: str
    start: int
    text: str
    inside: str


def around(source: Source, offset: int) -> Around:
    """The context of an offset of a text."""
    text = source.text[:offset]
    line = text[text.rfind("\n") + 1 :]
    starts = list(_HEAD.finditer(text))
    start = starts[-1].start() if starts else 0
    before = text[start:]
    inside = "code"
    for found in _STRING.finditer(before):
        if found.end() == len(before):
            quotes = '"""' if found[0].startswith('"""') else '"'
            ended = len(found[0]) >= 2 * len(quotes) and found[0].endswith(quotes)
            if found[0].startswith("#"):
                inside = "comment"
            elif not ended:
                inside = "template" if _opened(found[0]) else "string"
    return Around(line, starts[-1][1] if starts else "", start, before, inside)


def _opened(text: str) -> bool:
    """Whether a text ends inside `{{ }}` or `{% %}`."""
    opening = max(text.rfind("{{"), text.rfind("{%"))
    return opening > max(text.rfind("}}"), text.rfind("%}"))


def place(document: Document, offset: int, *, statement: bool = False) -> VisibleNames | None:
    """The statement or expression at an offset, or else the last one above it in the same declaration, or the
    first one below its head; with `statement` only a statement."""
    name, best = document.source.name, None
    below: VisibleNames | None = None
    start = around(document.source, offset).start
    for found in document.index.places:
        span = found.span
        if (statement and found.pool is None) or span.source != name or span.start < start:
            continue
        if span.start > offset:
            below = found if below is None or span.start < below.span.start else below
            continue
        if best is None or (span.start, -span.end) >= (best.span.start, -best.span.end):
            best = found
    return best or below


def names(document: Document, offset: int) -> dict[str, Variable]:
    """The names in scope at an offset, innermost first; with `it` and `thoughts` if there are thoughts."""
    found: dict[str, Variable] = {}
    here, source = place(document, offset), document.source.name
    scope: Scope | None = here.scope if here is not None else None
    while scope is not None:
        for name, variable in scope.names.items():
            if variable.span.source != source or variable.span.start < offset:
                found.setdefault(name, variable)
        scope = scope.parent
    step = place(document, offset, statement=True)
    if step is not None and step.pool is not None and step.pool.type != EMPTY:
        found.setdefault("it", Variable("it", step.pool.type, "thought", facts=step.pool.facts))
        found.setdefault("thoughts", Variable("thoughts", ListType(step.pool.type), "thoughts"))
    found.pop(e.HOLE, None)
    return found


def value_before(document: Document, offset: int, line: str = "") -> Type | None:
    """The type of the value that ends at an offset, such as `it` in `it.`, also on an unreadable line, or of
    one that ends a `line` of its own; None if unknown."""
    line = line or around(document.source, offset).line
    scope = Scope(place="")
    for variable in names(document, offset).values():
        scope.add(variable)
    for text in _values(line):
        node = parse_expression(Source.of(document.source.name, text))
        if isinstance(node, e.Expression):
            report = Report()
            type_ = ExpressionChecker(document.index.symbols, report).infer(node, scope)
            if not report.diagnostics and not isinstance(type_, AnyType):
                return type_
    return None


def _values(line: str) -> Iterator[str]:
    """The texts at the end of a line that may be the value before its end, the longest first."""
    found = _VALUE.search(line)
    text = found[0] if found is not None else ""
    for at in range(len(text)):
        if at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_."):
            yield text[at:]


def call(text: str) -> tuple[str, int, tuple[str, ...]] | None:
    """The innermost call that is open at the end of a text: its name, the index of the argument, counted from
    0, and the names of named arguments; None if there is no call."""
    depth, commas, given = 0, 0, []
    spaced = _STRING.sub(lambda found: "~" * len(found[0]) if found.end() < len(text) else found[0], text)
    for at in range(len(spaced) - 1, max(-1, len(spaced) - 4000), -1):
        mark = spaced[at]
        if mark in ")]}":
            depth += 1
        elif mark in "([{":
            if depth == 0:
                found = _CALL.search(spaced[:at]) if mark == "(" else None
                if found is not None:
                    given = re.findall(r"(\w+) *=(?!=)", spaced[at:])
                    return found[1], commas, tuple(given)
                commas = 0
            else:
                depth -= 1
        elif mark == "," and depth == 0:
            commas += 1
    return None
