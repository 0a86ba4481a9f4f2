"""What gotlang raises. Each error knows the exit code that `gotc` ends with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gotlang.diagnostics import Diagnostic
    from gotlang.span import Source, Span


class GotError(Exception):
    """Base of every error a user can meet. `help` says what to do about it, where that is known."""

    exit_code = 1

    def __init__(self, message: str, *, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help

    def in_words(self) -> str:
        """The reason, with what to do about it."""
        return f"{self.message} ({self.help})" if self.help else self.message


class UsageError(GotError):
    """A wrong option, input, file or configuration: nothing ran, nothing was paid."""

    exit_code = 2


class CompileError(GotError):
    """The program does not compile; `diagnostics` holds every error and warning found, `sources` the texts
    they point into, by name."""

    exit_code = 2

    def __init__(
        self, diagnostics: Sequence[Diagnostic], sources: Mapping[str, Source] | None = None
    ) -> None:
        errors = sum(d.severity == "error" for d in diagnostics)
        super().__init__(f"{errors} error{'s' if errors != 1 else ''}")
        self.diagnostics = tuple(diagnostics)
        self.sources = dict(sources or {})


class RunError(GotError):
    """A run that ended without a result. `failures` says what failed, where in the source, and why; `span` is
    where the step stands that lost the result (None: no step did)."""

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        failures: Sequence[Any] = (),
        span: Span | None = None,
        help: str | None = None,
    ) -> None:
        super().__init__(message, help=help)
        self.failures = tuple(failures)
        self.span = span
        self.sources: Mapping[str, Source] = {}
        """The texts that `span` may point into, where they are at hand."""
        self.outcome: Any = None
        """What the run did and paid until then: an `Outcome` without a value. None where it did nothing."""


class BudgetExceeded(GotError):
    """The next request could cross the limit, so it was not sent."""

    exit_code = 3


class ModelError(GotError):
    """A model did not answer. `retryable` tells whether the same request may succeed later.

    `refused` names the setting that the endpoint does not take (`n`, `logprobs`, `temperature`, ...),
    where that is what went wrong. `requests` counts what went over the wire for it, `lost` those of them that
    may have been charged without an answer.
    """

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        refused: str | None = None,
        requests: int = 0,
        lost: int = 0,
        help: str | None = None,
    ) -> None:
        super().__init__(message, help=help)
        self.retryable = retryable
        self.refused = refused
        self.requests = requests
        self.lost = lost


class CacheError(GotError):
    """A cache file that cannot be opened, read or written, or that is not ours."""

    exit_code = 2


class ReadError(GotError):
    """An answer that cannot be read as its type (the thought fails, the scheme goes on)."""


class TemplateError(GotError):
    """A prompt's text that does not parse, or asks for what a template may not do.

    `line` is counted from 1 in the template's text; None where no line is to blame.
    """

    exit_code = 2

    def __init__(self, message: str, *, line: int | None = None, help: str | None = None) -> None:
        super().__init__(message, help=help)
        self.line = line


class EvaluationError(GotError):
    """An expression that has no value: a division by zero, an index out of range, a limit crossed."""
