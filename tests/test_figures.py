"""The tables of benchmarks/README.md are made from the results in benchmarks/results."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import figures
import measurement


def test_the_tables_of_the_page_are_the_results(accept: bool) -> None:
    page = figures.PAGE.read_text(encoding="utf-8")
    made = figures.with_figures(page)
    if accept:
        figures.PAGE.write_text(made, encoding="utf-8")
    else:
        assert page == made, "run pytest with --accept"


def test_every_result_is_on_the_page_and_has_its_script() -> None:
    names = {path.stem for path in measurement.RESULTS.glob("*.json")}
    assert names == {match[2] for match in figures.TABLE.finditer(figures.PAGE.read_text(encoding="utf-8"))}
    assert [name for name in names if not (measurement.ROOT / "benchmarks" / f"{name}.py").exists()] == []


def test_a_result_is_written_and_read(tmp_path: Path) -> None:
    columns = {"graph": "{}", "time": "{:.2f} s", "calls": "{:,}"}
    rows = [["wide", 0.126, 1000], ["tree", None, 7]]
    measured = measurement.Measurement("2026-11-22", "python x.py", "2 cores", 0.5, "", columns, rows)
    path = tmp_path / "x.json"
    path.write_text(measured.json(), encoding="utf-8")
    assert measurement.Measurement.read(path) == measured
    assert measured.caption() == "`python x.py`, 2026-11-22, 2 cores, load 0.5"
    assert measured.table().splitlines()[1:] == [
        "| --- | ---: | ---: |",
        "| wide | 0.13 s | 1,000 |",
        "| tree |  | 7 |",
    ]
