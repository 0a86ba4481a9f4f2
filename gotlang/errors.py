"""The errors that gotlang raises, each with the exit code of `gotc`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gotlang.diagnostics import Diagnostic
    from gotlang.span import Source, Span


class GotError(Exception):
    """Base of all errors. `help` is advice, or None. `handled`: whether a `try` in a program handles it,
    because it depends on data or models."""

    exit_code = 1
    handled = False

    def __init__(self, message: str, *, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help

    def in_words(self) -> str:
        """The message, with the help."""
        return f"{self.message} ({self.help})" if self.help else self.message


class Terminated(KeyboardInterrupt):
    """SIGTERM, which comes to one process; Ctrl-C comes to its children, too."""


class SimulatedWarning(UserWarning):
    """No model was chosen, so the responses are simulated by the program's simulators."""


class UsageError(GotError):
    """A wrong option, input, file or configuration: nothing ran, nothing was spent."""

    exit_code = 2


@contextmanager
def reporting(what: str) -> Iterator[None]:
    """Convert an OSError inside to a UsageError: `what` failed, such as `cannot write FILE`, and the system's
    reason."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{what}: {error.strerror or error}") from None


class NotTrusted(UsageError):
    """A project needs the user's trust (`gotc trust`), to run its Python or to reach out of its folder.
    Nothing ran, nothing was spent."""


class CompileError(GotError):
    """The program does not compile; `diagnostics` has every error and warning, `sources` the texts they point
    into, by name. As text it is every diagnostic with its line and carets, as `gotc check` prints them."""

    exit_code = 2

    def __init__(
        self, diagnostics: Sequence[Diagnostic], sources: Mapping[str, Source] | None = None
    ) -> None:
        errors = sum(d.severity == "error" for d in diagnostics)
        super().__init__(f"{errors} error{'s' if errors != 1 else ''}")
        self.diagnostics = tuple(diagnostics)
        self.sources = dict(sources or {})

    def __str__(self) -> str:
        from gotlang.diagnostics import render

        return "\n\n".join(
            [self.message, *(render(diagnostic, self.sources) for diagnostic in self.diagnostics)]
        )


class RunError(GotError):
    """A run ended without a result. `failures` has the failures with their places in the source and reasons;
    `span` is the step that lost the result, if any."""

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
        """The texts that `span` may point into, by name, if they are known."""
        self.outcome: Any = None
        """What the run did and spent until then: an `Outcome` without a value. None if it did nothing."""


class PartialResult(RunError):
    """A limit or an interruption ended the run early: its value, if any, is the best thought of the result so
    far. `outcome` has it. Raised by `Result.raise_for_status()` only."""

    exit_code = 3


class InvalidResult(RunError):
    """The last validation of the result found it invalid; `outcome` has its value. Raised by
    `Result.raise_for_status()` only."""

    exit_code = 5


class BudgetExceeded(GotError):
    """The next request could exceed the budget, so it was not sent."""

    exit_code = 3


class ModelError(GotError):
    """A model did not respond. `retryable` tells whether the same request may succeed later, `requests`
    counts the requests that were sent."""

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        requests: int = 0,
        help: str | None = None,
    ) -> None:
        super().__init__(message, help=help)
        self.retryable = retryable
        self.requests = requests


class OutsideSimulation(ModelError):
    """A simulator received a request that it does not simulate. It ends the run, even inside a `try`."""


class Waiting(ModelError):
    """A question to a person has no answer yet; the rest of the run continues."""

    def __init__(self, question: Any) -> None:
        super().__init__(f"question {question.id} has no answer yet")
        self.question = question


class CacheError(GotError):
    """A cache cannot be opened, read or written, or the file is not a cache."""

    exit_code = 2


class CacheLost(CacheError):
    """The cache can store nothing any more, so no further requests were sent. `gotc run`, `eval` and
    `compare` end with its exit code, `gotc tune` with the error."""

    exit_code = 6
    WORDS = "the cache is lost: "
    """The prefix of the reason why a run was stopped."""


class ReadError(GotError):
    """A response that cannot be parsed as its type (the thought fails, the scheme continues)."""


class TemplateError(GotError):
    """A prompt template that does not parse or does something that templates may not do.

    `line` counts from 1 in the text of the template; None if it is unknown.
    """

    exit_code = 2

    def __init__(self, message: str, *, line: int | None = None, help: str | None = None) -> None:
        super().__init__(message, help=help)
        self.line = line


class EvaluationError(GotError):
    """An expression without a value: a division by zero, an index out of range."""

    handled = True


class LimitExceeded(EvaluationError):
    """A program exceeds a limit of the language."""

    handled = False


class BeyondBest(GotError):
    """A score that is better than the `best` of its declaration, at `span`."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message, help="correct `best`, or the score")
        self.span = span


class OperationFailed(GotError):
    """An operation of a run has no result. `cut_off`: only because the budget, or a stop, prevented it."""

    def __init__(self, reason: str, *, cut_off: bool = False) -> None:
        super().__init__(reason)
        self.cut_off = cut_off
        self.handled = not cut_off
