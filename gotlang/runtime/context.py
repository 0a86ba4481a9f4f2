"""What every operation of a run shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

from gotlang.errors import GotError
from gotlang.ir.evaluate import Evaluator
from gotlang.ir.program import Program
from gotlang.models.base import Model
from gotlang.runtime.events import Event, Failed, Observer
from gotlang.runtime.graph import Graph, Operation
from gotlang.runtime.numbering import Numbering
from gotlang.runtime.sampling import Sampler
from gotlang.span import NOWHERE, Span


@final
@dataclass(frozen=True, slots=True)
class Failure:
    """Something that failed in a run: where in its graph, where in the source, and why."""

    operation: str
    reason: str
    span: Span = NOWHERE
    draw: int | None = None


@final
class OperationFailed(GotError):
    """An operation has no thought to give. `over_budget` where only the budget was in its way."""

    def __init__(self, reason: str, *, over_budget: bool = False) -> None:
        super().__init__(reason)
        self.over_budget = over_budget


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
    wave: int | None = None
    """How many draws the first wave of an early-stopped sampling asks for; None: a third of them."""
    observe: Observer | None = None
    failures: list[Failure] = field(default_factory=list)
    measured: dict[tuple[Any, ...], bool | None] = field(default_factory=dict)
    skipped: int = 0
    """Draws that the budget did not allow."""
    numbering: Numbering = field(default_factory=Numbering)

    def emit(self, event: Event) -> None:
        """Tell the observer, if there is one."""
        if self.observe is not None:
            self.observe(event)

    def failed(
        self, operation: Operation, reason: str, draw: int | None = None, *, fatal: bool = False
    ) -> None:
        """Note a failure."""
        where = path_text(operation)
        span = operation.step.span if operation.step is not None else NOWHERE
        self.failures.append(Failure(where, reason, span, draw))
        self.emit(Failed(where, reason, span, draw, fatal))


def path_text(operation: Operation) -> str:
    """An operation's place in the run, in one word: `sort128/part[3]/generate`."""
    out = []
    for part in operation.path:
        if isinstance(part, tuple):
            name, *numbers = part
            out.append(str(name).lstrip("%") + "".join(f"[{number}]" for number in numbers))
        else:
            out.append(str(part))
    return "/".join(out)
