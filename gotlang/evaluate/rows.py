"""The rows of a table as inputs of a scheme."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from gotlang.data.inputs import inputs
from gotlang.data.table import Table
from gotlang.errors import UsageError
from gotlang.evaluate.matching import TRUTH, Matching, match
from gotlang.ir import program as ir
from gotlang.ir.program import Program, Scheme
from gotlang.syntax.expressions import Reference
from gotlang.syntax.walk import walk


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A row: its number in the table, counted from 0, the inputs, and the known answer (None: none)."""

    number: int
    inputs: Mapping[str, Any]
    truth: Any = None


def read_rows(
    table: Table, program: Program, scheme: Scheme, mapping: Mapping[str, str], limit: int | None = None
) -> tuple[list[Row], Matching]:
    """The first `limit` rows (None: all) for a scheme, each cell read by the type of its input.

    All are read before anything runs. Raises UsageError with the place of a cell that cannot be read.
    """
    wanted = dict(scheme.parameters)
    compared = TRUTH not in wanted and (TRUTH in mapping or looks_at_truth(program, scheme))
    known = {*wanted, *([] if TRUTH in wanted else [TRUTH])}
    if unknown := [name for name in mapping if name not in known]:
        raise UsageError(
            f"there is no input `{unknown[0]}` to map a column to",
            help=f"the inputs of scheme `{scheme.name}` are: {', '.join(wanted) or 'none'}",
        )
    found = match(table, wanted, scheme.truth if compared else None, mapping)
    optional = {TRUTH: scheme.truth} if TRUTH in found.columns and TRUTH not in wanted else {}
    count = len(table) if limit is None else min(limit, len(table))
    rows = []
    for number in range(count):
        values = inputs(table, number, found.columns, wanted, optional)
        answer = values.pop(TRUTH, None) if optional else None
        rows.append(Row(number, values, answer))
    return rows, found


def looks_at_truth(program: Program, scheme: Scheme) -> bool:
    """Whether a scheme, or one that it calls, compares with the known answer."""
    return any(
        isinstance(node, Reference) and node.name == TRUTH
        for step in steps(program, scheme)
        if isinstance(step, ir.GroundTruth)
        for node in walk(step.condition)
    )


def steps(program: Program, scheme: Scheme) -> list[ir.AnyStep]:
    """Every step of a scheme, of its blocks and of the schemes it calls, in the order of the text."""
    out: list[ir.AnyStep] = []
    seen: set[str] = set()

    def add(region: ir.Region) -> None:
        for step in region.steps:
            out.append(step)
            for inner in ir.regions(step):
                add(inner)
            if isinstance(step, ir.Invoke) and step.scheme not in seen:
                seen.add(step.scheme)
                add(program.scheme(step.scheme).body)

    add(scheme.body)
    return out
