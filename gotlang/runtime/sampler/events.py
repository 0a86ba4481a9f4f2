"""What happens in a run, as data, for progress lines, traces and histories."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import final

from gotlang.models.base import Request
from gotlang.runtime.graph import Operation
from gotlang.runtime.sampler.store import Sample
from gotlang.span import Span


@final
@dataclass(frozen=True, slots=True)
class Added:
    """Operations were added to the execution graph; `count` is how many there are now, but for those whose
    thoughts were known when they were made, and `more` how many of them are new."""

    count: int
    more: int


@final
@dataclass(frozen=True, slots=True)
class Started:
    """An operation that asks a model or a tool started."""

    operation: Operation


@final
@dataclass(frozen=True, slots=True)
class Ended:
    """An operation ended with its thoughts."""

    operation: Operation


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """Draws of a request are there, from a model or a cache; `model` is the name it goes by, `operation` what
    asked for them (None where no operation of a graph did)."""

    request: Request
    key: str
    numbers: tuple[int, ...]
    samples: tuple[Sample, ...]
    model: str
    operation: Operation | None = None


@final
@dataclass(frozen=True, slots=True)
class Failed:
    """An operation failed, or one of its samples or thoughts (`sample` is its number)."""

    path: str
    reason: str
    span: Span
    sample: int | None = None
    fatal: bool = False


@final
@dataclass(frozen=True, slots=True)
class Unsaved:
    """Paid answers could not be written to the persistent cache, `more` than could not before; or less, where
    they could be after all. `reason` says why not. They are in memory, and will be tried again."""

    more: int
    reason: str


Event = Added | Started | Ended | Asked | Failed | Unsaved
Observer = Callable[[Event], None]


def guarded(observers: Iterable[Observer | None], notes: dict[str, None]) -> Observer | None:
    """Observers as one that cannot end a run, None where there are none: once one raises, it is left alone,
    and the notes say so."""
    told = [observe for observe in observers if observe is not None]

    def tell(event: Event) -> None:
        for observe in tuple(told):
            try:
                observe(event)
            except Exception as error:
                told.remove(observe)
                reason = f"an observer raised {type(error).__name__}, and was told nothing more: {error}"
                notes[reason] = None

    return tell if told else None
