"""Events of a run, as data, for progress lines, traces and histories."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, final

from msgspec import Struct

from gotlang.cache.base import StoredSample
from gotlang.frozen import Frozen
from gotlang.models.base import Request
from gotlang.models.prices import dollars
from gotlang.records import Count
from gotlang.runtime.graph import Operation, PathKey
from gotlang.span import Span

SampleSource = Literal["model", "process", "persistent"]
"""The source of a completion: requested now, requested by another operation of this run, stored before."""


@final
class MissingSample(Struct, frozen=True):
    """A sample without a completion, and why; `cut_off` if it was never requested. `seconds` is the time
    spent waiting for it. `retryable`: the same request may succeed later."""

    reason: str
    cut_off: bool = False
    seconds: float = 0.0
    retryable: bool = False


Sample = tuple[StoredSample, SampleSource] | MissingSample


@final
class Added(Struct, frozen=True):
    """Operations were added to the execution graph: `more`, for a total of `count`, without constants."""

    count: int
    more: int


@final
class Started(Struct, frozen=True):
    """An operation that waits for a model or a tool started."""

    operation: Operation


@final
class Ended(Struct, frozen=True):
    """An operation ended with its thoughts."""

    operation: Operation


@final
class Asked(Struct, frozen=True):
    """Samples of a request are available, from a model or a cache; `model` is the model's name, `operation`
    the operation that requested them (None outside a graph)."""

    request: Request
    key: str
    numbers: tuple[int, ...]
    samples: tuple[Sample, ...]
    model: str
    operation: Operation | None = None


@final
class Streamed(Struct, frozen=True):
    """A completion grew: the text so far of the sample with this number, which may restart after a failure.
    The last event of a sample has its whole text. Only if streams are requested (`Options.stream`)."""

    operation: Operation | None
    prompt: str
    key: str
    number: int
    text: str


@final
class Failure(Frozen, frozen=True):
    """A failure: the path of the operation, the place in the source, and the reason.

    `sample` numbers the sample or the thought that failed; None for the operation as a whole (`fatal`).
    `handled`: the program continued with another sample, or with the `else` of a `try`. Failures are sorted
    by `key`, so that their order does not depend on timing.
    """

    incidental = frozenset({"key"})

    operation: str
    reason: str
    span: Span
    sample: int | None = None
    fatal: bool = False
    handled: bool = False
    key: PathKey = ()


@final
class Unsaved(Struct, frozen=True):
    """`more` completions could not be written to the persistent cache; negative if some could be after all.
    They are in memory, and writing is tried again."""

    more: int
    reason: str


@final
class Retry(Struct, frozen=True):
    """A request failed for `reason`; retry `number` of `most` follows after this number of seconds."""

    model: str
    reason: str
    number: int
    most: int
    seconds: float


@final
class RowsEnded(Struct, frozen=True):
    """Rows ended on another node, with this number of calls and of responses from the cache; `failed` counts
    failures, `usd` what counts towards a limit. The history stores it with a run, too."""

    node: str = ""
    rows: Count = 0
    calls: Count = 0
    cached: Count = 0
    failed: Count = 0
    usd: float = 0.0

    def and_these(self, more: RowsEnded) -> RowsEnded:
        """The sum of both, of the same node."""
        names = ("rows", "calls", "cached", "failed", "usd")
        return RowsEnded(more.node, *(getattr(self, name) + getattr(more, name) for name in names))

    def cells(self, seconds: float) -> tuple[str, ...]:
        """The node after this number of seconds: name, rows, calls, cached responses, calls per second,
        spending."""
        counts = (f"{number:,}" for number in (self.rows, self.calls, self.cached))
        return self.node, *counts, f"{self.calls / max(seconds, 1e-9):.1f}", dollars(self.usd)


Event = Added | Started | Ended | Asked | Streamed | Failure | Unsaved | Retry | RowsEnded
Observer = Callable[[Event], None]


def guarded(observers: Iterable[Observer | None], notes: dict[str, None]) -> Observer | None:
    """Observers as one that cannot end a run (None for none): one that raises is recorded and then
    ignored."""
    active = [observe for observe in observers if observe is not None]

    def tell(event: Event) -> None:
        for observe in tuple(active):
            try:
                observe(event)
            except Exception as error:
                active.remove(observe)
                notes[f"an observer raised {type(error).__name__} and is not called again: {error}"] = None

    return tell if active else None
