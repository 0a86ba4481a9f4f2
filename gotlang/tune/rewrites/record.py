"""The record of a rewrite: all that is known of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

from gotlang.tune.rewrites.stage import Change, Stage


@final
@dataclass(frozen=True, slots=True)
class Rewrite:
    """One way to change the graph of a scheme.

    - `name`, `doc`: what it is called in the name of a variant, and what it does.
    - `calls`: its effect on the bounds of the number of calls, in words; `Change.least` and `Change.most`
      are the formulas.
    - `needs`: what there must be.
    - `changes`: where it applies, and what then stands instead of the stage. The types of the stage decide;
      what does not compile is left out.
    """

    name: str
    doc: str
    calls: str
    needs: str
    changes: Callable[[Stage], Iterator[Change]]
