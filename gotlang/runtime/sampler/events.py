"""What happens in a run, as data, for progress lines, traces and histories."""

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
"""Where a completion came from: requested now, requested by another operation of this run, stored before."""


@final
class MissingSample(Struct, frozen=True):
    """A sample without a completion, and why; `cut_off` if it was never requested. `seconds` is how long it
    was waited for. `retryable`: the same request may succeed later."""

    reason: str
    cut_off: bool = False
    seconds: float = 0.0
    retryable: bool = False


Sample = tuple[StoredSample, SampleSource] | MissingSample


@final
class Added(Struct, frozen=True):
    """Operations were added to the execution graph: `more` of the `count` there are now, constants aside."""

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
    """Samples of a request are there, from a model or a cache; `model` is the model's name, `operation` the
    operation that asked for them (None for none of a graph)."""

    request: Request
    key: str
    numbers: tuple[int, ...]
    samples: tuple[Sample, ...]
    model: str
    operation: Operation | None = None


@final
class Streamed(Struct, frozen=True):
    """A completion grew: the text so far of the sample of this number, which may start anew after a failure.
    The last one of a sample has its whole text. Only where streams are asked for (`Options.stream`)."""

    operation: Operation | None
    prompt: str
    key: str
    number: int
    text: str


@final
class Failure(Frozen, frozen=True):
    """Something failed: the path of the operation, the place in the source, and why.

    `sample` numbers the sample or the thought that failed; None for the operation as a whole (`fatal`).
    `handled`: the program went on with another sample, or with the `else` of a `try`. Failures are sorted by
    `key`, so that their order does not depend on time.
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
    """`more` completions could not be written to the persistent cache; less than 0 if some could be after
    all. They are in memory, and will be tried again."""

    more: int
    reason: str


@final
class Retrying(Struct, frozen=True):
    """A request failed for `reason`; retry `number` of `most` follows after so many seconds."""

    model: str
    reason: str
    number: int
    most: int
    seconds: float


@final
class RowsEnded(Struct, frozen=True):
    """Rows ended on another node, with so many calls, and responses from the cache; `failed` counts failures,
    `usd` what counts towards a limit. The history stores it with a run, too."""

    node: str = ""
    rows: Count = 0
    calls: Count = 0
    cached: Count = 0
    failed: Count = 0
    usd: float = 0.0

    def and_these(self, more: RowsEnded) -> RowsEnded:
        """Both counts as one, of the same node."""
        names = ("rows", "calls", "cached", "failed", "usd")
        return RowsEnded(more.node, *(getattr(self, name) + getattr(more, name) for name in names))

    def cells(self, seconds: float) -> tuple[str, ...]:
        """The node after so many seconds: name, rows, calls, cached responses, calls per second, spending."""
        counts = (f"{number:,}" for number in (self.rows, self.calls, self.cached))
        return self.node, *counts, f"{self.calls / max(seconds, 1e-9):.1f}", dollars(self.usd)


Event = Added | Started | Ended | Asked | Streamed | Failure | Unsaved | Retrying | RowsEnded
Observer = Callable[[Event], None]


def guarded(observers: Iterable[Observer | None], notes: dict[str, None]) -> Observer | None:
    """Observers as one that cannot end a run (None for none): one that raises is noted and then ignored."""
    active = [observe for observe in observers if observe is not None]

    def tell(event: Event) -> None:
        for observe in tuple(active):
            try:
                observe(event)
            except Exception as error:
                active.remove(observe)
                notes[f"an observer raised {type(error).__name__} and is not called again: {error}"] = None

    return tell if active else None
