"""Which scheme's call an operation stands in, told from its path and the program."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, final

from gotlang.ir import program as ir


@final
class Calls:
    """Tells for operations of one program's runs which scheme was called where they stand."""

    def __init__(self, program: ir.Program) -> None:
        self._program = program
        self._schemes = {scheme.name: scheme for scheme in program.schemes}
        self._scores = {score.name: score for score in program.scores}
        self._named = cache(self._find)

    def of(self, path: tuple[Any, ...]) -> str | None:
        """The scheme whose call is the innermost block around an operation; None where another block is."""
        owner, called = str(path[0]), None
        for part in path[1:-1]:
            name = str(part[0] if isinstance(part, tuple) else part)
            found = self._named(owner, name)
            called = found.scheme if isinstance(found, ir.Invoke) else None
            if called is not None:
                owner = called
            elif isinstance(found, ir.Score) and found.score is not None:
                owner = found.score
        return called

    def _find(self, owner: str, name: str) -> ir.AnyStep | None:
        """The step of a scheme or a score that gives a name; names may stand without the compiler's `%`."""
        holder = self._schemes.get(owner) or self._scores.get(owner)
        if holder is None:
            return None
        return next((s for s in _steps(holder.body) if s.result.lstrip("%") == name.lstrip("%")), None)


def _steps(region: ir.Region) -> Iterator[ir.AnyStep]:
    for step in region.steps:
        yield step
        for inner in ir.regions(step):
            yield from _steps(inner)
