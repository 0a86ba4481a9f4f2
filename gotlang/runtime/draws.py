"""A draw: one numbered answer to a request, where it came from, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from gotlang.cache.base import StoredSample

Source = Literal["model", "process", "persistent"]
"""Where an answer came from: paid now, asked by another operation of this run, stored before."""


@final
@dataclass(frozen=True, slots=True)
class Missing:
    """A draw that no answer came for, and why; `cut_off` where it was never asked."""

    reason: str
    cut_off: bool = False


Draw = tuple[StoredSample, Source] | Missing
Found = StoredSample | Missing
