"""Commands above schemes: run, and explain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gotlang.editing.documents import Document
from gotlang.editing.prices import price_hints
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n


class Lens(NamedTuple):
    """A command above a line: `got.run` or `got.explain` of a scheme, which the editor runs in a terminal."""

    span: Span
    title: str
    command: str
    scheme: str


def lenses_of(document: Document) -> Iterator[Lens]:
    """The commands of each scheme of a program's own file that can run alone: those that take prompts, scores
    or schemes cannot. A program with simulators is run on them."""
    simulated = any(isinstance(d, n.Simulate) for d in document.module.declarations)
    prices = {document.source.position(hint.offset)[0]: hint.text for hint in price_hints(document)}
    for d in document.module.declarations:
        if not isinstance(d, n.Scheme) or d.variables or any(p.part for p in d.parameters):
            continue
        if (name := d.name.text).endswith(e.HOLE):
            continue
        price = prices.get(document.source.position(d.span.start)[0])
        yield Lens(d.name.span, "run simulated" if simulated else "run", "got.run", name)
        yield Lens(d.name.span, f"explain: {price}" if price else "explain", "got.explain", name)
