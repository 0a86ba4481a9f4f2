"""What every operation of a run shares."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

from gotlang.errors import GotError, OperationFailed
from gotlang.ir.effects import Effects
from gotlang.ir.evaluate import Evaluator
from gotlang.ir.foreign import changes_graph
from gotlang.ir.program import Program
from gotlang.models.base import Model
from gotlang.runtime.graph import FAILED, Graph, Operation, PathKey, path_key, path_text
from gotlang.runtime.sampler.events import Event, Failed, Observer
from gotlang.runtime.sampler.sample_numbers import SampleNumbers
from gotlang.runtime.sampler.sampler import Sampler
from gotlang.span import NOWHERE, Span

MOST_CALLS = 32
"""Python functions that a run has under way at the same time."""


@final
@dataclass(frozen=True, slots=True)
class Failure:
    """Something that failed in a run: where in its graph, where in the source, and why.

    `sample` numbers the answer or the thought that failed; None where it was an operation as a whole.
    `key` is what failures are sorted by, so that their order does not depend on when things ended.
    """

    operation: str
    reason: str
    span: Span = NOWHERE
    sample: int | None = None
    key: PathKey = field(default=(), repr=False, compare=False)


@final
@dataclass(slots=True)
class Context:
    """The parts of one run. `truth` is the known answer (`has_truth` tells whether there is one)."""

    program: Program
    evaluate: Evaluator
    graph: Graph
    sampler: Sampler
    models: Callable[[str | None], Model]
    functions: Mapping[str, Callable[..., Any]]
    corpora: Mapping[str, Callable[[str, int], list[str]]]
    params: Mapping[str, Any]
    seed: int = 0
    truth: Any = None
    has_truth: bool = False
    timeout_s: float | None = None
    """How many seconds a function that `Call` runs may take; None: as long as it likes."""
    wave: int | None = None
    """How many draws the first wave of an early-stopped sampling asks for; None: what is likely cheapest."""
    observe: Observer | None = None
    failures: list[Failure] = field(default_factory=list)
    result: Operation | None = None
    """The operation that gives the result."""
    doomed: bool = False
    """Whether the result was lost, and not only because of the budget or a stop."""
    culprits: dict[Operation, GotError] = field(default_factory=dict)
    """The operations that failed by themselves, and how; those that failed with them are not among them."""
    measured: dict[Operation, bool | None] = field(default_factory=dict)
    """What each `GroundTruth` found; None where the truth is not known."""
    skipped: int = 0
    """Draws that were not asked for, because of the budget or because the run was stopped."""
    cut_off: set[Operation] = field(default_factory=set)
    """The operations that wanted them."""
    used_names: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """The names that the arguments of a step use, by the arguments' id."""
    examples: dict[int, list[str]] = field(default_factory=dict)
    """The examples of a prompt as its message shows them, by the prompt's id."""
    numbers: SampleNumbers = field(default_factory=SampleNumbers)
    declared: Effects = field(init=False)
    """What records of operations ask about the program."""
    calls: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_CALLS))

    def __post_init__(self) -> None:
        changing = frozenset(name for name, function in self.functions.items() if changes_graph(function))
        self.declared = Effects(self.program, changing)

    def emit(self, event: Event) -> None:
        """Tell the observer, if there is one."""
        if self.observe is not None:
            self.observe(event)

    def failed(
        self, operation: Operation, reason: str, sample: int | None = None, *, fatal: bool = False
    ) -> None:
        """Note a failure."""
        where = path_text(operation)
        span = operation.step.span if operation.step is not None else NOWHERE
        self.failures.append(Failure(where, reason, span, sample, path_key(operation)))
        if self.observe is not None:
            self.observe(Failed(where, reason, span, sample, fatal))

    def lost(self, operation: Operation, error: GotError, hops: int = 0, seconds: float = 0.0) -> None:
        """An operation failed; what cannot do without it fails with it, and is not noted."""
        self.culprits[operation] = error
        had = self.result is not None and self.result.state != FAILED
        self.graph.fail(operation, hops, seconds)
        if isinstance(error, OperationFailed) and error.cut_off:
            return
        self.failed(operation, error.in_words(), fatal=True)
        if had and self.result is not None and self.result.state == FAILED:
            self.doomed = True
