"""Reports for CI in JUnit's XML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def junit(suites: Mapping[str, Sequence[str]]) -> str:
    """A document of test suites: their names, and their cases as `test_case` writes them."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for name, cases in suites.items():
        failures, errors = (sum(f"<{kind} " in case for case in cases) for kind in ("failure", "error"))
        counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}"'
        lines += [f"<testsuite name={_quoted(name)} {counts}>", *cases, "</testsuite>"]
    return "\n".join((*lines, "</testsuites>\n"))


def test_case(
    group: str, name: str, outcome: tuple[str, str] | None = None, seconds: float | None = None
) -> str:
    """A test case. `outcome` is `failure`, `error` or `skipped` and its message; None if it passed."""
    took = "" if seconds is None else f' time="{seconds:.3f}"'
    inside = "" if outcome is None else f"<{outcome[0]} message={_quoted(outcome[1])}/>"
    return f"<testcase classname={_quoted(group)} name={_quoted(name)}{took}>{inside}</testcase>"


def _quoted(words: str) -> str:
    """An attribute's value; characters that XML does not allow are left out."""
    return f'"{escape(_NOT_XML.sub("", words))}"'
