"""The tables of benchmarks/README.md are made from the results in benchmarks/results."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import figures
import measurement
import nodes


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.name)
def test_the_tables_of_a_page_are_the_results(page: Path, accept: bool) -> None:
    text = page.read_text(encoding="utf-8")
    made = figures.with_figures(text)
    if accept:
        page.write_text(made, encoding="utf-8")
    else:
        assert text == made, "run pytest with --accept"


def test_every_result_is_on_the_page_and_has_its_script() -> None:
    names = {path.stem for path in measurement.RESULTS.glob("*.json")}
    text = figures.PAGES[0].read_text(encoding="utf-8")
    assert names == {match[2] for match in figures.TABLE.finditer(text)}
    assert [name for name in names if not (measurement.ROOT / "benchmarks" / f"{name}.py").exists()] == []


def test_the_sentences_about_many_machines_have_the_figures_of_the_results() -> None:
    text = " ".join(figures.PAGES[1].read_text(encoding="utf-8").split())
    rows = measurement.Measurement.read(measurement.RESULTS / "scale" / "kills.json").rows
    kinds, used = Counter(row[1] for row in rows), [row[6] for row in rows]
    assert f"In {len(rows)} runs on three nodes" in text
    assert "a worker ({worker} runs), a node ({node}) or the driver ({driver})".format(**kinds) in text
    assert f"{min(used):.1%} to {max(used):.1%} of it was charged" in text
    constants = asdict(nodes.read_constants())
    ms = {name: f"{1000 * seconds:.2g} ms" for name, seconds in constants.items()}
    assert (
        "{driver_row_s} of the driver's processor for a row, {worker_call_s} of a worker's".format(**ms)
        in text
    )
    assert "and {database_call_s} of the database's for a call, {budget_call_s} more".format(**ms) in text
    assert "and {row_s} and a round trip".format(**ms) in text


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
