"""Where the checker writes down what it finds, so that one run shows everything."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from gotlang.diagnostics import Diagnostic, Label, nearest
from gotlang.span import Span


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
    ) -> None:
        """Note an error."""
        self.diagnostics.append(Diagnostic(code, message, span, at, labels, notes, help))

    def warning(self, code: str, message: str, span: Span, at: str = "", *, help: str | None = None) -> None:
        """Note a warning: the program runs all the same."""
        self.diagnostics.append(Diagnostic(code, message, span, at, help=help, severity="warning"))

    def unknown(
        self, code: str, what: str, name: str, span: Span, known: Iterable[str], note: str = ""
    ) -> None:
        """Note a name that nothing has, with the nearest one that something has."""
        guess = nearest(name, known)
        self.error(
            code,
            f"{what} `{name}` is not known",
            span,
            f"no such {what.split()[-1]}",
            notes=(note,) if note else (),
            help=f"did you mean `{guess}`?" if guess else None,
        )
