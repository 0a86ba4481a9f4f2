"""A sample: one numbered completion of a request and where it came from, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from gotlang.cache.base import StoredSample

SampleSource = Literal["model", "process", "persistent"]
"""Where a completion came from: requested now, requested by another operation of this run, stored before."""


@final
@dataclass(frozen=True, slots=True)
class MissingSample:
    """A sample without a completion, and why; `cut_off` if it was never requested."""

    reason: str
    cut_off: bool = False


Sample = tuple[StoredSample, SampleSource] | MissingSample
