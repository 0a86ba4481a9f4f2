"""The simulators keep the papers' orderings, and docs/calibration.md says what they give."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import orderings


@pytest.mark.parametrize("task", orderings.TASKS, ids=lambda task: task.name)
def test_orderings_hold_and_the_page_is_true(task: orderings.Task, request: pytest.FixtureRequest) -> None:
    outcome = orderings.run(task)
    assert [finding.claim for finding in outcome.findings if not finding.holds] == []
    section = orderings.section(outcome)
    page = orderings.PAGE.read_text()
    if section not in page and request.config.getoption("--accept"):
        orderings.write()
        page = orderings.PAGE.read_text()
    assert section in page, "run pytest with --accept"
