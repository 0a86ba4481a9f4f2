"""Sorting on the published files: the reported score is the task's; merges that see the input are better.

LAWS=1 python -m pytest tests/test_published_sorting.py   # the table of the page, by all rows and seeds
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.laws import NEW

from benchmarks.published import CALLS, measure, mistakes
from gotlang.api import Options, load

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT.parent / "shared" / "data"
OPTIONS = Options(model="simulated", cache=None, python=True)
SORTING = [("sorting", name) for name in ("io", "cot", "tot", "tot2", "tot_rounds", "got", "got_rounds")]

FIRST = {
    32: "0.60 | 0.50 | +0.10 (-0.15 to +0.38)",
    64: "1.63 | 2.03 | -0.40 (-0.90 to +0.13)",
    128: "8.80 | 10.57 | -1.77 (-3.08 to -0.56)",
}
"""What the first 30 rows give with one seed: another figure here asks for the whole."""


def rows_of(size: int) -> Path:
    """The published file, or where it is absent our own in its format."""
    published = PUBLISHED / f"sorting_{size:03}.csv"
    return published if published.exists() else ROOT / "programs" / "data" / f"digits{size}.csv"


@pytest.mark.parametrize(
    ("program", "scheme", "size"),
    [
        *((program, scheme, size) for program, scheme in SORTING for size in (32, 64)),
        ("sorting", "got", 128),
        ("sorting", "got_rounds", 128),
        ("sort128", "sort128", 128),
        ("listings/listing5", "listing5", 32),
        ("listings/listing6", "listing6", 64),
        ("listings/listing7", "listing7", 128),
    ],
)
def test_run_and_eval_report_the_mistakes_of_the_result_against_the_input(
    program: str, scheme: str, size: int
) -> None:
    loaded, path = load(ROOT / "programs" / f"{program}.got"), rows_of(size)
    found = loaded.evaluate(path, scheme=scheme, limit=3, options=OPTIONS)
    assert [one.score for one in found.runs] == [
        mistakes(one.value, one.row.inputs["numbers"]) for one in found.runs
    ]
    numbers = found.runs[0].row.inputs["numbers"]
    result = loaded.run(numbers=numbers, scheme=scheme, options=OPTIONS)
    assert result.score == mistakes(result.value, numbers)


def test_compare_reports_the_mistakes_of_the_results_against_the_inputs() -> None:
    loaded, schemes = load(ROOT / "programs" / "sorting.got"), ("io", "tot_rounds", "got", "got_rounds")
    found = loaded.compare(rows_of(64), schemes=schemes, limit=4, options=OPTIONS)
    for entry in found.entries:
        runs = entry.evaluation.runs
        wanted = [mistakes(one.value, one.row.inputs["numbers"]) for one in runs]
        assert [one.score for one in runs] == wanted


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published files are not here")
@pytest.mark.parametrize("size", CALLS)
def test_merges_that_see_the_input_are_no_worse_and_for_longer_lists_better(size: int) -> None:
    row, by = measure(PUBLISHED, size) if NEW else measure(PUBLISHED, size, rows=30, seeds=1)
    page = (ROOT / "docs" / "schemes" / "graph_of_thoughts.md").read_text(encoding="utf-8")
    assert row in page if NEW else row == f"| {size} | {CALLS[size]} | {FIRST[size]} |"
    assert by.mean <= 0 or (size == 32 and not NEW)
    if size == 128 or (size == 64 and NEW):
        assert by.high < 0
