"""What README shows first is what the code gives: the picture of a run, and the table of a comparison."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_picture_and_the_table_of_the_readme_are_what_runs_give(request: pytest.FixtureRequest) -> None:
    make = runpy.run_path(str(ROOT / "docs" / "pictures" / "make.py"))
    if request.config.getoption("--accept"):
        make["main"]()
    picture, table = make["made"]()
    assert make["PICTURE"].read_text() == picture, "run pytest with --accept"
    assert table in make["README"].read_text(), "run pytest with --accept"
    for command in (make["RUN"], make["COMPARE"]):
        assert f"gotc {command}" in make["README"].read_text().replace("\\\n    ", "")
