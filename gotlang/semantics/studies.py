"""Checks studies, as far as that can be done without opening the program they name."""

from __future__ import annotations

from gotlang.semantics.expressions import ExpressionChecker
from gotlang.semantics.symbols import Symbols
from gotlang.syntax import nodes as n


def check_study(node: n.Study, symbols: Symbols, expressions: ExpressionChecker) -> None:
    """Note what a study lacks."""
    del symbols
    report = expressions.report
    if node.program is None:
        report.error("GOT0601", "a study names its program", node.span, help='write `program "sort128.got"`')
    if node.data is None:
        report.error(
            "GOT0601", "a study names its data", node.span, help='write `data "rows.csv" (input = Column)`'
        )
    if not node.objectives:
        report.error(
            "GOT0601", "a study has an objective", node.span, help="write `minimize ...` or `maximize ...`"
        )
