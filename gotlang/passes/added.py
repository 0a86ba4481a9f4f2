"""Steps that Python adds to a run, from their text to optimized IR; each text is compiled once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from gotlang.ir.added import compile_block
from gotlang.ir.program import Program, Region
from gotlang.passes import optimize_region
from gotlang.scope import PoolType
from gotlang.semantics.check import Checked
from gotlang.span import Span


@final
class AddedSteps:
    """Compiles steps in the names of one program, at the optimization level that its run has."""

    def __init__(self, checked: Checked, program: Program, level: int, skip: frozenset[str]) -> None:
        self._checked = checked
        self._program = program
        self._level = level
        self._skip = skip
        self._known: dict[Any, tuple[Region, PoolType]] = {}

    def __call__(
        self, text: str, names: Mapping[str, PoolType | None], pool: PoolType, span: Span
    ) -> tuple[Region, PoolType]:
        """What `compile_block` says of the same, optimized. Raises EvaluationError with the first mistake."""
        key = (text, tuple(names.items()), pool, span)
        if key not in self._known:
            region, left = compile_block(self._checked, text, names, pool, span)
            self._known[key] = optimize_region(self._program, region, self._level, self._skip), left
        return self._known[key]
