"""The lines of a scheme: the calls of its steps, as the program writes them, and the rank of each among equal
ones.

A sample's number depends on its line (`gotlang.runtime.spaces`), so a line must be stable when lines
around it are added or removed. Branches of one `if` or `match` exclude each other, so equal lines in them
have equal ranks.
"""

from __future__ import annotations

from collections import ChainMap

from msgspec.structs import replace

from gotlang.ir import program as ir
from gotlang.ir.text import line_text
from gotlang.operations.step import LineKey


def with_lines(region: ir.Region) -> ir.Region:
    """The body of a scheme or a score, with the rank of each line."""
    return _ranked(region, ChainMap())


def _ranked(region: ir.Region, seen: ChainMap[str, int]) -> ir.Region:
    steps = []
    for step in region.steps:
        if isinstance(step, ir.Branching):
            step = _exclusive(step, seen)
        elif step.regions:
            step = step.with_regions(lambda inner: _ranked(inner, seen))
        if text := step.line.text if step.line is not None else line_text(step):
            rank = seen.get(text, 0)
            step = replace(step, line=LineKey(text, rank))
            seen[text] = rank + 1
        steps.append(step)
    return replace(region, steps=tuple(steps))


def _exclusive(step: ir.Step, seen: ChainMap[str, int]) -> ir.Step:
    after: dict[str, int] = {}

    def branch(inner: ir.Region) -> ir.Region:
        own = seen.new_child()
        ranked = _ranked(inner, own)
        after.update({text: max(rank, after.get(text, 0)) for text, rank in own.maps[0].items()})
        return ranked

    step = step.with_regions(branch)
    seen.update(after)
    return step
