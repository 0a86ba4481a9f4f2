"""Actions of an editor: edits that fix diagnostics, and commands above schemes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

from gotlang.diagnostics import Diagnostic, with_fixes
from gotlang.editing.documents import Document
from gotlang.editing.prices import price_hints
from gotlang.span import Span
from gotlang.syntax import expressions as e
from gotlang.syntax import nodes as n


@final
@dataclass(frozen=True, slots=True)
class Correction:
    """The whole text of a program with what `found` reports fixed, or `every` fixable diagnostic; `title`
    describes it."""

    title: str
    found: tuple[Diagnostic, ...]
    text: str
    every: bool = False


def corrections(document: Document, start: int, end: int) -> tuple[Correction, ...]:
    """The unambiguous fixes of diagnostics of a program's own text that touch a range of offsets, one by one;
    and last, if there are several in the text, all of them at once."""
    name, text = document.source.name, document.source.text
    fixable = [d for d in document.diagnostics if d.fix is not None and d.fix.span.source == name]
    found = [d for d in fixable if d.span.source == name and d.span.start <= end and start <= d.span.end]
    made = [Correction(_title(d), (d,), with_fixes(text, [d.fix])) for d in found if d.fix is not None]
    return (*made, *correction_of_all(document)) if made and len(fixable) > 1 else tuple(made)


def correction_of_all(document: Document) -> tuple[Correction, ...]:
    """All unambiguous fixes of a program's own text, as one correction; none if there are none."""
    name, text = document.source.name, document.source.text
    found = tuple(d for d in document.diagnostics if d.fix is not None and d.fix.span.source == name)
    if not found:
        return ()
    mended = with_fixes(text, [d.fix for d in found if d.fix is not None])
    title = f"Fix all {len(found)} fixable diagnostics" if len(found) > 1 else _title(found[0])
    return (Correction(title, found, mended, every=True),)


def _title(found: Diagnostic) -> str:
    assert found.fix is not None
    if not found.fix.text:
        return f"Delete: {found.message}"
    if found.fix.span.start == found.fix.span.end:
        return f"Insert `{found.fix.text}`"
    return f"Write `{found.fix.text}`"


class Lens(NamedTuple):
    """A command above a line: `got.run` or `got.explain` of a scheme, which the editor runs in a terminal,
    with a `model` if it names one."""

    span: Span
    title: str
    command: str
    scheme: str
    model: str = ""


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
        if simulated:
            yield Lens(d.name.span, "run simulated", "got.run", name, "simulated")
        else:
            yield Lens(d.name.span, "run", "got.run", name)
        yield Lens(d.name.span, f"explain: {price}" if price else "explain", "got.explain", name)
