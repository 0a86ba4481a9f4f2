"""The data that all operations of a run share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, final

from msgspec import Struct, field

from gotlang.errors import GotError, OperationFailed
from gotlang.ir.effects import Effects
from gotlang.ir.evaluate import Evaluator
from gotlang.ir.program import Program
from gotlang.models.base import Media, Model
from gotlang.runtime.graph import FAILED, REMOVED, Graph, Operation, PathKey, before, path_key, path_text
from gotlang.runtime.program_tables import ProgramTables
from gotlang.runtime.sampler.events import Event, Failure, Observer
from gotlang.runtime.sampler.sampler import Sampler
from gotlang.span import NOWHERE

DEFAULT_CONCURRENCY = 64
"""Concurrent requests by default."""
DEFAULT_TIMEOUT_S = 180.0
"""Default timeout of a Python function of the program, in seconds."""
MOST_CALLS = 32
"""Maximum number of concurrent Python functions of a run."""


@final
class RunSettings(Struct, frozen=True):
    """The settings of a run. `concurrency` None means no limit, `wave` is the size of the first round of an
    early-stopped sampling (None: the one that is likely cheapest), `timeout_s` the timeout of a Python
    function in seconds (None: no limit), `prefer` is as in `Options`. `edits` are message texts that replace
    the program's, by the path of an operation and the key of its request."""

    seed: int = 0
    concurrency: int | None = DEFAULT_CONCURRENCY
    schedule: str = "breadth-first"
    wave: int | None = None
    timeout_s: float | None = DEFAULT_TIMEOUT_S
    prefer: str | None = None
    edits: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)


@final
class Context(Struct):
    """The parts of one run, and the `tables` of its program. `truth` is the known answer (`has_truth` says
    whether there is one)."""

    tables: ProgramTables
    graph: Graph
    sampler: Sampler
    models: Callable[[str | None], Model]
    functions: Mapping[str, Callable[..., Any]]
    corpora: Mapping[str, Callable[[str, int], list[str]]]
    params: Mapping[str, Any]
    settings: RunSettings = RunSettings()
    truth: Any = None
    has_truth: bool = False
    observe: Observer | None = None
    failures: list[Failure] = field(default_factory=list)
    result: Operation | None = None
    """The operation that yields the result."""
    doomed: bool = False
    """Whether the result was lost, and not only because of the budget or an interruption."""
    culprits: dict[Operation, GotError] = field(default_factory=dict)
    """The operations that failed by themselves, with their errors; not those that failed as a consequence."""
    handled: list[PathKey] = field(default_factory=list)
    """The paths of the blocks whose failure a `try` has handled."""
    measured: dict[Operation, bool | None] = field(default_factory=dict)
    """The outcome of each `GroundTruth`; None if the truth is unknown."""
    beyond: bool = False
    """Whether a score was better than its `best`."""
    skipped: int = 0
    """Samples that were not requested, because of the budget or an interruption."""
    cut_off: set[Operation] = field(default_factory=set)
    """The operations that requested them."""
    media: Mapping[tuple[str, str], Media] = field(default_factory=dict)
    """The images and files of the inputs, by kind and path."""
    give_up: Callable[[], None] = field(default=lambda: None)
    """Cancels operations whose results are no longer needed."""
    calls: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_CALLS))

    @property
    def program(self) -> Program:
        """The program."""
        return self.tables.program

    @property
    def evaluate(self) -> Evaluator:
        """What evaluates its expressions."""
        return self.tables.evaluate

    @property
    def declared(self) -> Effects:
        """Whether the program declares a name, for operations."""
        return self.tables.effects

    def emit(self, event: Event) -> None:
        """Call the observer, if there is one."""
        if self.observe is not None:
            self.observe(event)

    def failed(
        self,
        operation: Operation,
        reason: str,
        sample: int | None = None,
        *,
        fatal: bool = False,
        handled: bool = False,
    ) -> None:
        """Record a failure."""
        span = operation.step.span if operation.step is not None else NOWHERE
        failure = Failure(path_text(operation), reason, span, sample, fatal, handled, path_key(operation))
        self.failures.append(failure)
        if self.observe is not None:
            self.observe(failure)

    def lost(self, operation: Operation, error: GotError, hops: int = 0, seconds: float = 0.0) -> None:
        """Record that an operation failed. Operations that need it fail with it, and are not recorded."""
        had = self.result is not None and self.result.state != FAILED
        self.graph.fail(operation, hops, seconds)
        # A failure that a `try` does not handle has a known cause.
        known = operation.role == "rescue" and any(error is one for one in self.culprits.values())
        if not known:
            self.culprits[operation] = error
        if cut_off(error):
            return
        if not known:
            self.failed(operation, error.in_words(), fatal=True)
        if had and self.result is not None and self.result.state == FAILED:
            self.doomed = True

    def causes(self, lost: Operation) -> Iterator[tuple[Operation, GotError]]:
        """The operations that lost another one by failing themselves, and their errors."""
        if lost.state != FAILED:
            return
        seen = {lost}
        stack = [lost]
        while stack:
            at = stack.pop()
            failed = [o for o in before(at) if o.state in (FAILED, REMOVED)]
            # An operation whose samples all failed is not the cause.
            if at in self.culprits and not failed:
                yield at, self.culprits[at]
            for operation in failed:
                if operation not in seen:
                    seen.add(operation)
                    stack.append(operation)


def cut_off(error: GotError) -> bool:
    """Whether an operation failed only because the budget, or a stop, prevented it."""
    return isinstance(error, OperationFailed) and error.cut_off
