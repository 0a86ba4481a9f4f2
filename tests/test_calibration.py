"""docs/calibration.md has the simulators' results, including all deviations from the papers.

Some rows of each task are run again; with LAWS, all of them.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest
from support.laws import NEW

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import orderings

AGAIN = 3
"""How many rows of each task are run."""


@cache
def recorded() -> dict[str, dict[str, orderings.Rows]]:
    return orderings.recorded()


@pytest.mark.parametrize("task", orderings.TASKS, ids=lambda task: task.name)
def test_rows_that_are_run_again_are_those_of_the_results(
    task: orderings.Task, request: pytest.FixtureRequest
) -> None:
    rows = task.rows if NEW else task.rows[:: -(-len(task.rows) // AGAIN)]
    found = orderings.measured(task, rows)
    known = {
        name: orderings.Rows(
            {row: value for row, value in one.quality.items() if row in rows},
            {row: value for row, value in one.usd.items() if row in rows},
        )
        for name, one in recorded()[task.name].items()
    }
    if found != known and request.config.getoption("--accept"):
        orderings.write([task])
    else:
        assert found == known, "run pytest with --accept"


def test_the_page_says_what_the_results_show_and_what_is_missed(request: pytest.FixtureRequest) -> None:
    page = orderings.page(orderings.recorded())
    if request.config.getoption("--accept"):
        orderings.PAGE.write_text(page, encoding="utf-8")
    assert orderings.PAGE.read_text(encoding="utf-8") == page, "run pytest with --accept"
    end = page[page.index("## Not reached") :]
    for task in orderings.TASKS:
        for finding in orderings.outcome(task, recorded()[task.name]).findings:
            assert (f"- {task.name}: {finding}\n" in end) is not finding.holds


def test_all_rows_of_each_task_are_in_the_results() -> None:
    for task in orderings.TASKS:
        found = recorded()[task.name]
        assert tuple(found) == task.schemes
        assert {tuple(rows.usd) for rows in found.values()} == {tuple(task.rows)}


def test_graphs_are_better_than_trees_where_they_are_said_to_be_by_far() -> None:
    """The simulators are of use only if they keep the order of the longer lists and sets."""
    for task in orderings.TASKS:
        if task.name not in ("sorting 64", "sorting 128", "sets 64", "sets 128", "keywords"):
            continue
        findings = orderings.outcome(task, recorded()[task.name]).findings
        claims = [one for one in findings if isinstance(one, orderings.Finding)]
        better = [one for one in claims if (one.claim.better[:3], one.claim.worse) == ("got", "tot")]
        assert better and all(one.shown == "better" for one in better)
