"""Edits that mend what a diagnostic reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from gotlang.diagnostics import Diagnostic, with_fixes
from gotlang.editing.documents import Document


@final
@dataclass(frozen=True, slots=True)
class Correction:
    """The whole text of a program without what `found` reports; `title` says what was done."""

    title: str
    found: tuple[Diagnostic, ...]
    text: str


def corrections(document: Document, start: int, end: int) -> tuple[Correction, ...]:
    """What can be done without thought about the diagnostics of a program's own text that touch a range of
    offsets, one by one; and last, if there are several in the text, all of them at once."""
    name, text = document.source.name, document.source.text
    fixable = [d for d in document.diagnostics if d.fix is not None and d.fix.span.source == name]
    found = [d for d in fixable if d.span.source == name and d.span.start <= end and start <= d.span.end]
    made = [Correction(_title(d), (d,), with_fixes(text, [d.fix])) for d in found if d.fix is not None]
    if made and len(fixable) > 1:
        every = with_fixes(text, [d.fix for d in fixable if d.fix is not None])
        made.append(Correction(f"Fix all {len(fixable)} that can be fixed", tuple(fixable), every))
    return tuple(made)


def _title(found: Diagnostic) -> str:
    assert found.fix is not None
    if not found.fix.text:
        return f"Delete: {found.message}"
    if found.fix.span.start == found.fix.span.end:
        return f"Insert `{found.fix.text}`"
    return f"Write `{found.fix.text}`"
