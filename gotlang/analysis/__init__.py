"""Static analysis of a checked program beyond its types: constants, recursion, files."""

from __future__ import annotations

from gotlang.analysis.constants import check_constants
from gotlang.analysis.foreign import Files, check_foreign
from gotlang.analysis.measures import check_measures
from gotlang.analysis.recursion import check_recursion
from gotlang.diagnostics import Diagnostic, Report
from gotlang.semantics.check import Checked

__all__ = ["Files", "analyze"]


def analyze(checked: Checked, files: Files | None) -> list[Diagnostic]:
    """The errors of declarations without type errors; without `files`, Python is not checked."""
    report = Report()
    check_constants(checked, report)
    if checked.ok:
        check_recursion(checked, report)
        check_measures(checked, report)
    if files is not None:
        check_foreign(checked, files, report)
    return report.diagnostics
