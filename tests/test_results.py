"""The report of an evaluation: scales with round ticks, charts that hold every row, texts that stay texts."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from xml.dom import minidom

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.gotc import SORTING, gotc

from gotlang.evaluate.comparison import ComparedScheme, Comparison, assemble
from gotlang.evaluate.evaluation import Evaluation, RowRun
from gotlang.evaluate.rows import Row
from gotlang.metric import ScoreKind
from gotlang.report.charts import TICK_LETTER, Chart, Quantity, bounds, brief, shown, stacked
from gotlang.report.plot import plot
from gotlang.report.results import boxes, charts, differences, results_page, spread, tradeoff
from gotlang.statistics import mean_interval

from .cli.test_eval import data

VALUES = st.lists(st.floats(-1e9, 1e9).filter(lambda v: v == 0 or abs(v) > 1e-9), min_size=1, max_size=9)

NEAR = st.tuples(st.floats(1e-6, 1e9), st.floats(0, 1e-5)).map(
    lambda pair: [pair[0], pair[0] * (1 + pair[1])]
)
"""Two values that are nearly one."""


@given(VALUES | NEAR, st.booleans())
@example([1000000000.0, 999999999.9999999], False)
@example([999999501.0, 999999502.0], False)
def test_an_axis_holds_all_values_between_round_ticks(values: list[float], zero: bool) -> None:
    scale = Quantity("", values, zero).over(0.0, 100.0)
    slack = 1e-6 * (scale.high - scale.low)
    assert scale.low - slack <= min(values)
    assert max(values) <= scale.high + slack
    assert 2 <= len(scale.ticks) <= 13
    for value in values:
        assert -1e-3 <= scale(value) <= 100.001
    steps = {
        round((b - a) / (scale.ticks[1] - scale.ticks[0]), 3)
        for a, b in zip(scale.ticks, scale.ticks[1:], strict=False)
    }
    assert steps == {1.0}


def test_values_in_words() -> None:
    assert shown("correct", 0.125) == "12.5%"
    assert shown("cost", 0.01234) == "$0.0123"
    assert shown("cost", -2.5) == "-$2.50"
    assert shown("cost", None) == "unknown"
    assert shown("score", math.inf) == "?"
    assert shown("seconds", 2.04) == "2.0 s"
    assert shown("cost", 0.00001, short=True) == "$0.00001"
    assert shown("cost", 0.00000123) == "$0.0000012"
    assert shown("cost", 0.0) == "$0.0000"
    assert brief("a_scheme_with_a_long_name", 10) == "a_scheme_…"
    assert shown("cost", 0.0000123) == "$0.000012"  # little is not nothing
    assert bounds("score", mean_interval([1.0])) == "unknown"
    assert bounds("score", mean_interval([1.0, 1.0])) == "1.00 to 1.00"
    assert shown("score", -1e-12) == "0.00"
    assert shown("score", 123456.7) == "123,456.70"
    assert shown("score", 1e150) == "1e+150"


NASTY = "</script><b>&\"'"


def entry(name: str, scores: list[float | None], cost: float | None = 0.01) -> ComparedScheme:
    runs = [
        RowRun(Row(place, {"q": NASTY}, NASTY), 0, "failed", reason=NASTY)
        if score is None
        else RowRun(Row(place, {"q": NASTY}, NASTY), 0, "done", NASTY, score, score == 0, cost, 2, 1.0)
        for place, score in enumerate(scores)
    ]
    kind = ScoreKind("mistakes", lower=True)
    about = {"program": "p", "model": "m", "simulated": True, "data": "d.csv"}
    return ComparedScheme(name, Evaluation(name, kind, runs, **about))  # type: ignore[arg-type]


def comparison(*entries: ComparedScheme) -> Comparison:
    return assemble(entries, entries[0].name)


def drawn_of(chart: Chart | None) -> str:
    assert chart is not None
    return chart.svg()


def test_charts_hold_every_row_and_every_scheme() -> None:
    found = comparison(entry("a<b", [1, 2, 3, None]), entry("b", [0, 0, 5, 4], 0.02), entry("c", [None] * 4))
    drawn = minidom.parseString(drawn_of(boxes(found)))
    assert len(drawn.getElementsByTagName("circle")) == 7
    points = minidom.parseString(drawn_of(tradeoff(found))).getElementsByTagName("circle")
    assert len(points) == 2  # nothing is known of c
    assert minidom.parseString(drawn_of(differences(found))).getElementsByTagName("circle")


def test_long_names_are_cut_in_charts_and_known_in_full() -> None:
    long = "a_scheme_with_a_name_that_is_longer_than_its_place"
    found = comparison(entry(long, [1, 2, 3]), entry("b", [0, 0, 5]), entry("c" + long, [1, 1, 1]))
    for drawn in map(drawn_of, (boxes(found), tradeoff(found), differences(found))):
        minidom.parseString(drawn)
        assert f">{long}</text>" not in drawn
        assert f"<title>c{long}" in drawn
    assert f'<th title="{long}">a_scheme_' in results_page(found)


def test_the_nodes_of_a_cluster_are_in_the_report() -> None:
    found = comparison(entry("a", [1, 2]))
    page = results_page(found, nodes=[("10.0.0.5", "2", "6", "1", "3.0", "$0.02")])
    (table,) = re.findall(r"<h2>Nodes</h2>.*?</table>", page, re.DOTALL)
    assert re.findall(r"<(?:th|td)>(.*?)</t", table)[-6:] == ["10.0.0.5", "2", "6", "1", "3.0", "$0.02"]
    assert "<h2>Nodes</h2>" not in results_page(found)


def test_one_row_tells_of_no_interval() -> None:
    page = results_page(comparison(entry("a", [1]), entry("b", [2])))
    assert "1 row of d.csv" in page
    assert "?" not in page.split("<script")[0].split("<body>")[1]
    assert "No difference is significant with fewer than 6 rows in common." in page
    assert "whisker" not in drawn_of(differences(comparison(entry("a", [1]), entry("b", [2]))))


@pytest.mark.parametrize("cost", [None, 0.0])
def test_where_nothing_has_a_price_answers_are_what_is_spent(cost: float | None) -> None:
    found = comparison(entry("a", [1, 2], cost), entry("b", [0, 1], cost))
    assert found.cost_metric == "calls"
    for drawn in map(drawn_of, (boxes(found), tradeoff(found), spread(found))):
        minidom.parseString(drawn)
        assert "calls per row" in drawn
        assert "$" not in drawn


def test_rows_of_one_scheme_stand_at_their_cost_and_quality() -> None:
    drawn = minidom.parseString(drawn_of(spread(comparison(entry("a", [1, 2, None, 0])))))
    rows = [circle.getAttribute("data-row") for circle in drawn.getElementsByTagName("circle")]
    assert rows == ["0", "1", "3"]


def test_right_and_wrong_are_drawn_as_shares() -> None:
    runs = [RowRun(Row(n, {}), 0, "done", 1, None, n < 3, 0.01, 1, 1.0) for n in range(4)]
    alone = ComparedScheme("a", Evaluation("a", ScoreKind(), runs))
    assert charts(comparison(alone)) == {}  # the table says it
    assert 'class="figures"' not in results_page(comparison(alone))
    found = comparison(alone, ComparedScheme("b", Evaluation("b", ScoreKind(), runs)))
    assert found.metric == "correct"
    drawn = minidom.parseString(drawn_of(boxes(found)))
    assert drawn.getElementsByTagName("circle") == []
    assert any("75.0%" in (title.firstChild.data or "") for title in drawn.getElementsByTagName("title"))
    assert spread(found) is None


def test_what_models_and_tables_hold_cannot_become_markup() -> None:
    page = results_page(comparison(entry("a", [1, None]), entry("b", [2, 0])))
    assert page.count("</script>") == 2
    assert "<b>&" not in page.replace("<b>&amp;", "")
    assert "Simulated: no real model was called." in page
    assert "://" not in page


def test_one_scheme_alone_has_a_page_too(tmp_path: Path) -> None:
    command = ("eval", SORTING, "--scheme", "io", "--data", data(tmp_path, 4), "--html", "out/e.html")
    done = gotc(*command, "--repeat", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "report: out/e.html" in done.stderr
    page = (tmp_path / "out" / "e.html").read_text()
    assert "sorting: io" in page
    assert "Cost and mistakes of every row." in page
    assert "against" not in re.sub(r"<script.*", "", page, flags=re.DOTALL)
    unscored = ComparedScheme(
        "x", Evaluation("x", ScoreKind(), [RowRun(Row(0, {}), 0, "done", 1, usd=0.1, calls=1)])
    )
    assert "cost" in results_page(comparison(unscored))


def test_charts_are_a_file_of_their_own_too() -> None:
    found = comparison(entry("a", [1, 2, 3]), entry("b", [0, 0, 5]))
    drawn = minidom.parseString(stacked("p: a & b", list(charts(found).values())))
    assert drawn.documentElement is not None
    assert drawn.documentElement.getAttribute("aria-label") == "p: a & b"
    assert len(drawn.getElementsByTagName("text")) > 20


def test_whole_numbers_have_ticks_at_whole_numbers() -> None:
    for most in (1, 2, 3, 4, 7, 12):
        ticks = Quantity("", [0, most]).over(0, 100).ticks
        assert ticks == tuple(round(tick) for tick in ticks)


@given(VALUES)
def test_labels_are_wide_enough_apart(values: list[float]) -> None:
    chart = Chart(300, 100, "")
    chart.below(Quantity("", values).over(20, 280), "values")
    drawn = minidom.parseString(chart.svg()).getElementsByTagName("text")
    ticks = [node for node in drawn if "tick" in node.getAttribute("class")]
    ends = [(float(n.getAttribute("x")), TICK_LETTER * len(n.firstChild.data)) for n in ticks]  # type: ignore[union-attr]
    assert ends
    for (x, width), (y, other) in itertools.pairwise(ends):
        assert x + width / 2 <= y - other / 2


def test_names_are_an_axis_too() -> None:
    scale = Quantity("", ["plain", "fancy", "plain"]).over(0, 100)
    assert (scale("fancy"), scale("plain")) == (25, 75)
    assert scale.labels == ("fancy", "plain")


def test_results_are_plotted() -> None:
    found = comparison(entry("a", [1, 2, 3]), entry("b", [0, 0, 5]))
    assert plot(found).html == results_page(found)
    minidom.parseString(plot(found).svg)
    alone = plot(found.entries[0].evaluation)
    assert alone.title == "p: a"
    minidom.parseString(alone.svg)
