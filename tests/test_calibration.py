"""docs/calibration.md says what the simulators give, and all that they do not reach."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import orderings


@cache
def run(name: str) -> orderings.Outcome:
    return orderings.run(next(task for task in orderings.TASKS if task.name == name))


@pytest.mark.parametrize("task", orderings.TASKS, ids=lambda task: task.name)
def test_the_page_says_what_is_measured_and_what_is_missed(
    task: orderings.Task, request: pytest.FixtureRequest
) -> None:
    outcome = run(task.name)
    section = orderings.section(outcome)
    page = orderings.PAGE.read_text(encoding="utf-8")
    if section not in page and request.config.getoption("--accept"):
        orderings.write([outcome])
        page = orderings.PAGE.read_text(encoding="utf-8")
    assert section in page, "run pytest with --accept"
    end = page[page.index("## Not reached") :]
    for finding in outcome.findings:
        assert (f"- {task.name}: {finding}\n" in end) is not finding.holds


def test_the_page_has_no_other_sections() -> None:
    page = orderings.PAGE.read_text(encoding="utf-8")
    heads = [line[3:].lower() for line in page.splitlines() if line.startswith("## ")]
    assert heads == [*(task.name.lower() for task in orderings.TASKS), "not reached"]


def test_graphs_are_better_than_trees_where_they_are_said_to_be_by_far() -> None:
    """The simulators are of use only if they keep the order of the longer lists and sets."""
    for name in ("sorting 64", "sorting 128", "sets 64", "sets 128", "keywords"):
        outcome = run(name)
        claims = [one for one in outcome.findings if isinstance(one, orderings.Finding)]
        better = [one for one in claims if (one.claim.better[:3], one.claim.worse) == ("got", "tot")]
        assert better and all(one.shown == "better" for one in better)
