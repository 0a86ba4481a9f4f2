"""The declarations of a file as a tree, and its foldable ranges."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, final

from msgspec import Struct

from gotlang.editing.documents import Document
from gotlang.editing.modules import KINDS
from gotlang.editing.symbols import Kind
from gotlang.linking.modules import declared
from gotlang.span import Source, Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n
from gotlang.syntax.walk import walk

OutlineKind = Kind | Literal["test"]


@final
class OutlineEntry(Struct, frozen=True):
    """A declaration, or a part of one: its name, the first line of its text, its place, and its name's."""

    name: str
    kind: OutlineKind
    detail: str
    span: Span
    at: Span
    inside: tuple[OutlineEntry, ...] = ()


@final
class FoldingRange(Struct, frozen=True, order=True):
    """Lines that can be folded, counted from 1; `end` is the last of them."""

    start: int
    end: int
    kind: Literal["region", "comment", "imports"] = "region"


def outline(document: Document) -> tuple[OutlineEntry, ...]:
    """The declarations of a program's own file, in the order of the text."""
    return tuple(entry for d in document.module.declarations for entry in _entries(d, document.source))


def _entries(d: n.Declaration, source: Source) -> Iterator[OutlineEntry]:
    detail = source.line(source.position(d.span.start)[0]).strip().removesuffix(":")
    match d:
        case n.Study():
            yield OutlineEntry(d.name.text, "study", detail, d.span, d.name.span)
        case n.Test():
            yield OutlineEntry(str(d.name.value), "test", detail, d.span, d.name.span)
        case _:
            for name in declared(d):
                if name.text != e.HOLE:
                    inside = tuple(_inside(d))
                    yield OutlineEntry(
                        name.text, KINDS[type(d)], detail, d.span.to(name.span), name.span, inside
                    )


def _inside(d: n.Declaration) -> Iterator[OutlineEntry]:
    """The fields and cases of a type, and the bindings of a scheme."""
    for node in walk(d) if isinstance(d, n.TypeAlias | n.Scheme) else ():
        match node:
            case n.CaseTypeNode(name=name):
                yield OutlineEntry(name.text, "case", "", node.span.to(name.span), name.span)
            case n.TypedName(name=name) if isinstance(d, n.TypeAlias):
                yield OutlineEntry(name.text, "field", "", node.span.to(name.span), name.span)
            case n.Bind(name=name) if name.text != e.HOLE:
                yield OutlineEntry(name.text, "local", "", node.span.to(name.span), name.span)


def folds(document: Document) -> tuple[FoldingRange, ...]:
    """The foldable ranges of a program's own file: declarations, blocks, long texts, comments, imports."""
    source, found = document.source, dict[int, FoldingRange]()

    def add(start: int, end: int, kind: Literal["region", "comment", "imports"] = "region") -> None:
        if start < end and (start not in found or found[start].end < end):
            found[start] = FoldingRange(start, end, kind)

    def lines(span: Span) -> tuple[int, int]:
        text = source.text[span.start : span.end].rstrip()
        return source.position(span.start)[0], source.position(span.start + len(text))[0]

    for d in document.module.declarations:
        for node in walk(d):
            is_long = isinstance(node, e.Constant) and node.long
            if (
                node is d or is_long or isinstance(node, n.Block | n.Bind)
            ) and node.span.start < node.span.end:
                add(*lines(node.span))
    comments = [source.position(c.span.start)[0] for c in document.module.comments if c.own_line]
    imports = [
        lines(d.span)
        for d in document.module.declarations
        if isinstance(d, n.ImportGot | n.ImportPython | n.ImportCorpus | n.Simulate)
    ]
    for start, end in _runs([(line, line) for line in comments]):
        add(start, end, "comment")
    for start, end in _runs(imports):
        add(start, end, "imports")
    return tuple(sorted(found.values()))


def _runs(lines: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ranges of lines, each from neighbours that are one after another."""
    if not lines:
        return
    start = lines[0][0]
    for (_, end), (following, _) in pairwise(lines):
        if following > end + 1:
            yield start, end
            start = following
    yield start, lines[-1][1]
