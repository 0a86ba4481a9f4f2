"""Errors and warnings about a program, as data; rendering comes last.

A message says what was found, what was expected and how to fix it. `docs/diagnostics.md` explains each code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, final

from msgspec import Struct

from gotlang.span import Source, Span

Severity = Literal["error", "warning"]


@final
class Label(Struct, frozen=True):
    """A secondary place of a diagnostic, with its role."""

    span: Span
    text: str


@final
class Fix(Struct, frozen=True):
    """An edit that resolves a diagnostic: replacement text for a place; empty to delete it."""

    span: Span
    text: str = ""


@final
class Diagnostic(Struct, frozen=True):
    """One error or warning in a program.

    `at` is the short text under the carets; `notes` are facts (`its parameters: ...`), `help` is advice;
    `fix` applies it if it is unambiguous.
    """

    code: str
    message: str
    span: Span
    at: str = ""
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
    severity: Severity = "error"
    fix: Fix | None = None


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to a misspelt one, or None."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """A hint at the known name closest to a misspelt one, or None."""
    near = nearest(name, known)
    return f"did you mean `{near}`?" if near else None


def with_fixes(text: str, fixes: Iterable[Fix]) -> str:
    """A text with these fixes applied; of two that overlap, only the first. A deletion removes the whole line
    if nothing else is on it."""
    done = len(text)
    for fix in sorted(set(fixes), key=lambda fix: (-fix.span.end, -fix.span.start)):
        start, end = fix.span.start, fix.span.end
        if not fix.text:
            margin, rest = text.rfind("\n", 0, start) + 1, text.find("\n", end)
            rest = len(text) - 1 if rest < 0 else rest
            if not text[margin:start].strip() and not text[end:rest].partition("#")[0].strip():
                start, end = margin, rest + 1
                while margin == 0 and text.startswith("\n", end):
                    end += 1
        if end <= done:
            text, done = text[:start] + fix.text + text[end:], start
    return text


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sorted by place, without duplicates of a code at a place.

    Warnings are withheld while there are errors: they could be consequences.
    """
    unique = {(d.span.source, d.span.start, d.code, d.message): d for d in diagnostics}
    errors = [d for d in unique.values() if d.severity == "error"]
    shown = errors or list(unique.values())
    return tuple(sorted(shown, key=lambda d: (d.span.source, d.span.start, d.span.end, d.code)))


def render(diagnostic: Diagnostic, sources: Mapping[str, Source], *, color: bool = False) -> str:
    """A diagnostic with its line and carets, as `gotc check` prints it."""
    tone, blue, bold, reset = (_TONES[diagnostic.severity], _BLUE, _BOLD, _RESET) if color else ("",) * 4
    lines = [f"{tone}{diagnostic.severity}[{diagnostic.code}]{reset}{bold}: {diagnostic.message}{reset}"]
    places = [Label(diagnostic.span, diagnostic.at), *diagnostic.labels]
    positions = [sources[p.span.source].position(p.span.start) for p in places if p.span.source in sources]
    gutter = " " * len(str(max(positions, default=(1, 1))[0]))
    for number, place in enumerate(places):
        mark, arrow = ("-", ":::") if number else ("^", "-->")
        lines.extend(_excerpt(place, mark, arrow, gutter, sources, (blue, tone, reset)))
    notes = [*diagnostic.notes, *([f"help: {diagnostic.help}"] if diagnostic.help else [])]
    return "\n".join([*lines, *(f"{gutter} {blue}={reset} {note}" for note in notes)])


def excerpt(span: Span, sources: Mapping[str, Source], *, color: bool = False) -> str:
    """A place in a program with its line and carets; empty if its text is not available."""
    if span.source not in sources:
        return ""
    return "\n".join(render(Diagnostic("", "", span), sources, color=color).split("\n")[1:])


_TONES = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m"}
_BLUE, _BOLD, _RESET = "\x1b[1;34m", "\x1b[1m", "\x1b[0m"
_MAX_WIDTH = 160


def _excerpt(
    place: Label, mark: str, arrow: str, gutter: str, sources: Mapping[str, Source], colors: tuple[str, ...]
) -> list[str]:
    blue, tone, reset = colors
    span, source = place.span, sources.get(place.span.source)
    if source is None:
        return [f"{gutter}{blue}{arrow}{reset} {span.source}"]
    number, column = source.position(span.start)
    end_line, end_column = source.position(max(span.start, span.end))
    line = source.line(number)
    length = end_column - column if end_line == number else len(line) - column + 1
    # A line of a megabyte is shown only around the place.
    shift = max(0, column - _MAX_WIDTH // 2) if len(line) > _MAX_WIDTH else 0
    shown = "".join(
        c if c.isprintable() else "�" if c != "\t" else " " for c in line[shift : shift + _MAX_WIDTH]
    )
    carets = mark * max(1, min(length, _MAX_WIDTH - (column - shift)))
    padded = str(number).rjust(len(gutter))
    before, after = " " * (column - 1 - shift), f" {place.text}" if place.text else ""
    return [
        f"{gutter}{blue}{arrow}{reset} {span.source}:{number}:{column}",
        f"{gutter} {blue}|{reset}",
        f"{blue}{padded} |{reset} {shown.rstrip()}",
        f"{gutter} {blue}|{reset} {before}{tone}{carets}{after}{reset}",
        f"{gutter} {blue}|{reset}",
    ]


def as_json(diagnostic: Diagnostic, sources: Mapping[str, Source]) -> dict[str, Any]:
    """The same as data: lines and columns count from 1, columns in characters. `fix` is a place and its
    replacement, None if the author must decide."""

    def place(span: Span) -> dict[str, Any]:
        source = sources.get(span.source)
        line, column = source.position(span.start) if source else (1, 1)
        end_line, end_column = source.position(span.end) if source else (1, 1)
        start = {"file": span.source, "line": line, "column": column}
        return {**start, "end_line": end_line, "end_column": end_column}

    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        **place(diagnostic.span),
        "at": diagnostic.at,
        "labels": [{**place(label.span), "text": label.text} for label in diagnostic.labels],
        "notes": list(diagnostic.notes),
        "help": diagnostic.help,
        "fix": None if (fix := diagnostic.fix) is None else {**place(fix.span), "text": fix.text},
    }


@final
class Report:
    """A growing list of diagnostics."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []

    def error(
        self,
        code: str,
        message: str,
        span: Span,
        at: str = "",
        *,
        labels: tuple[Label, ...] = (),
        notes: tuple[str, ...] = (),
        help: str | None = None,
        fix: Fix | None = None,
    ) -> None:
        """Add an error."""
        self.diagnostics.append(Diagnostic(code, message, span, at, labels, notes, help, fix=fix))

    def warning(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        help: str | None = None,
        fix: Fix | None = None,
    ) -> None:
        """Add a warning, which does not prevent the program from running."""
        self.diagnostics.append(Diagnostic(code, message, span, help=help, severity="warning", fix=fix))

    def unknown(
        self,
        code: str,
        what: str,
        name: str,
        span: Span,
        known: Iterable[str],
        note: str = "",
        help: str = "",
        last: bool = False,
    ) -> None:
        """Add an error for an unknown name, with `help` or the nearest known name. `last`: the name is the
        last word of the span."""
        told = re.fullmatch(r"write `(\w+)`", help)
        guess = told[1] if told is not None else nearest(name, known)
        written = Span(span.source, span.end - len(name), span.end) if last else span
        sure = told is not None or (not help and len(name) > 1)  # a single letter is not a useful suggestion
        if written.end - written.start != len(name) or (code == "GOT0208" and not last):
            sure = False  # the place of a value
        self.error(
            code,
            f"{what} `{name}` is not known",
            span,
            f"no such {what.split()[-1]}",
            notes=(note,) if note else (),
            help=help or (f"did you mean `{guess}`?" if guess else None),
            fix=Fix(written, guess) if guess and sure else None,
        )
