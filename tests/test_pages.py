"""Pages in a real browser with the network closed: drawn, clickable, searchable, also at 10,000 operations.

Screenshots stay in the folder of `pytest --screenshots FOLDER`, else in the test's own.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from support.browser import Browser, Keep, browser, needs_browser
from support.gotc import SORT128, SORTING, VOTE, digits, gotc, row
from support.sight import cut_off, too_faint
from support.studio import studio
from support.timing import paced
from support.wide import WIDE, WIDE_SIM

from .cli.test_eval import data

pytestmark = needs_browser

STUDY = """
train 20, test 20
minimize error(result, target)
subject to cost <= 2 * baseline
trials 12
"""


FRAME = "return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
PANNED = """
for (let frame = 0; frame < 20; frame++) {
  graph.camera.x += 23 / graph.camera.scale; graph.camera.y += 11 / graph.camera.scale;
  draw();
}
"""


@pytest.fixture(scope="module")
def sorted_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run of sort128, made once."""
    folder = tmp_path_factory.mktemp("run")
    digits(folder)
    program = folder / "sort128.got"
    shutil.copy(SORT128, program)
    shutil.copy(SORT128.parent / "sorting_sim.py", folder)
    assert gotc("run", program, *row(folder / "digits.csv", 0), cwd=folder).returncode == 0
    page = folder / "run.html"
    assert gotc("graph", "last", "--out", page, cwd=folder).returncode == 0
    return page


def place_of(window: Browser, label: str) -> dict[str, Any]:
    """The middle of the first node with a label, in the window, and its key."""
    found = window.run(
        """
        const { camera } = graph, { nodes, boxes } = graph.chosen.view, [label] = arguments;
        const node = [...nodes.values()].find((one) => one.label === label && boxes.has(one.key));
        const box = boxes.get(node.key);
        const frame = document.getElementById("canvas").getBoundingClientRect();
        const x = frame.left + (box.x + box.w / 2 - camera.x) * camera.scale;
        const y = frame.top + (box.y + box.h / 2 - camera.y) * camera.scale;
        return { key: node.key, x, y };
        """,
        label,
    )
    assert isinstance(found, dict)
    return found


def drawn_colors(window: Browser) -> int:
    """How many colors there are in the canvas."""
    return int(
        window.run(
            """
            return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
              const canvas = document.getElementById("canvas");
              const { width, height } = canvas;
              const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
              copy.drawImage(canvas, 0, 0);
              const { data } = copy.getImageData(0, 0, width, height);
              const colors = new Set();
              for (let i = 0; i < data.length; i += 4)
                colors.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
              done(colors.size);
            })));
            """
        )
    )


def text(window: Browser, selector: str) -> str:
    return str(window.run("return document.querySelector(arguments[0]).innerText", selector))


def test_a_click_on_an_operation_shows_its_prompt_and_its_answers(
    window: Browser, sorted_run: Path, keep: Keep
) -> None:
    window.open(sorted_run)
    assert drawn_colors(window) > 20
    place = place_of(window, "Generate split")
    window.click(place["x"], place["y"])
    panel = text(window, "#panel")
    assert "Generate split" in panel
    assert "Cut these 128 digits into 8 lists" in panel  # the prompt
    assert '"List 1"' in panel  # the answer
    assert "sort128.got:" in panel  # where in the source
    assert "Generate(k=1) split(numbers, 8)" in panel
    keep(window, "run-operation")
    place = place_of(window, "Score mistakes")
    window.click(place["x"], place["y"])
    assert "score" in text(window, "#panel")
    assert window.errors() == []


def test_search_finds_prompts_answers_and_operations(window: Browser, sorted_run: Path, keep: Keep) -> None:
    window.open(sorted_run)
    for words, least in (("aggregate merge", 7), ("cut these 128", 1), ("no such thing at all", 0)):
        window.run("document.getElementById('search').value = ''")
        window.type("#search", words)
        assert int(text(window, "#found")) >= least
        assert window.run("return graph.chosen.matches.size") >= least
    window.run("document.getElementById('search').value = ''")
    window.type("#search", "aggregate merge\ue007\ue007")  # Enter goes to the next
    assert text(window, "#found").startswith("2/")
    assert "Aggregate merge" in text(window, "#panel")
    keep(window, "run-search")
    assert window.errors() == []


def test_groups_fold_and_open_and_thoughts_have_a_view_of_their_own(
    window: Browser, sorted_run: Path, keep: Keep
) -> None:
    window.open(sorted_run)
    count = "return [...graph.chosen.view.boxes.keys()].filter((key) => key[0] === 'n').length"
    opened = window.run(count)
    window.run("document.getElementById('fold').click()")
    assert window.run(count) < opened
    keep(window, "run-folded")
    window.run("document.getElementById('unfold').click()")
    assert window.run(count) == opened
    window.run("document.getElementById('coloring').value = 'score'")
    window.run("document.getElementById('coloring').dispatchEvent(new Event('change'))")
    window.run("graph.choose('reasoning')")
    assert drawn_colors(window) > 20
    window.run("const last = [...graph.chosen.view.nodes.keys()].pop(); graph.select(last, { move: true })")
    panel = text(window, "#panel")
    assert "thought" in panel.lower()
    assert "INPUTS" in panel
    keep(window, "run-reasoning")
    assert window.errors() == []


def test_a_plan_shows_the_templates(window: Browser, tmp_path: Path, keep: Keep) -> None:
    page = tmp_path / "plan.html"
    assert gotc("graph", SORT128, "--out", page, cwd=tmp_path).returncode == 0
    window.open(page)
    assert drawn_colors(window) > 20
    place = place_of(window, "Aggregate merge")
    window.click(place["x"], place["y"])
    assert "First list: {{ left }}" in text(window, "#panel")
    keep(window, "plan")
    assert window.errors() == []


def test_what_is_clicked_stays_in_sight_beside_the_panel(window: Browser, sorted_run: Path) -> None:
    window.open(sorted_run)
    right = window.run(
        """
        const { boxes, nodes } = graph.chosen.view;
        const one = [...boxes.values()].filter((box) => nodes.has(box.key)).sort((a, b) => b.x - a.x)[0];
        const frame = document.getElementById("canvas").getBoundingClientRect();
        const { camera: c } = graph, x = frame.left + (one.x + one.w / 2 - c.x) * c.scale;
        return { key: one.key, x, y: frame.top + (one.y + 9 - c.y) * c.scale };
        """
    )
    window.click(right["x"], right["y"])
    inside = window.run(
        """
        const box = graph.chosen.view.boxes.get(arguments[0]), { x, scale } = graph.camera;
        return (box.x + box.w - x) * scale <= document.getElementById("canvas").clientWidth;
        """,
        right["key"],
    )
    assert window.run("return graph.chosen.item") == right["key"]
    assert inside


def test_thoughts_that_the_result_came_from_stand_out(window: Browser, sorted_run: Path, keep: Keep) -> None:
    window.open(sorted_run)
    window.run("graph.choose('reasoning')")
    assert drawn_colors(window) > 20
    (result,) = window.run("return graph.chosen.view.results")
    way = window.run("return [...graph.chosen.origins]")
    assert result in way
    assert 8 < len(way) < window.run("return graph.chosen.view.nodes.size")
    keep(window, "run-result")
    assert window.errors() == []


def test_zoom_follows_the_buttons_and_the_keys(window: Browser, sorted_run: Path) -> None:
    window.open(sorted_run)
    scale = "return graph.camera.scale"
    before = window.run(scale)
    window.run("document.getElementById('closer').click()")
    assert window.run(scale) > before
    window.run("document.getElementById('farther').click()")
    assert window.run(scale) == pytest.approx(before)
    window.type("#canvas", "+")
    assert window.run(scale) > before
    window.type("#canvas", "0")
    assert window.run(scale) == pytest.approx(before)


def test_what_a_model_wrote_cannot_become_markup(window: Browser, tmp_path: Path) -> None:
    attack = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
    (tmp_path / "speak.got").write_text(
        'simulate with "say_sim.py"\nprompt say(words: str) -> str:\n    "{{ words }}"\n'
        "scheme speak(words: str) -> str:\n    Generate() say(words)\n"
    )
    (tmp_path / "say_sim.py").write_text("def say(rng, words):\n    return words\n")
    done = gotc("run", "speak.got", "--input", f"words={attack}", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert gotc("graph", "last", "--out", "say.html", cwd=tmp_path).returncode == 0
    window.open(tmp_path / "say.html")
    place = place_of(window, "Generate say")
    window.click(place["x"], place["y"])
    assert "window.hacked = 1" in text(window, "#panel")
    assert window.run("return window.hacked === undefined")
    assert window.errors() == []


def test_a_long_text_is_shown_in_parts(window: Browser, sorted_run: Path) -> None:
    """A browser takes minutes to lay out millions of characters."""
    window.open(sorted_run)
    first, second, last = window.run(
        """
        const text = passage("x".repeat(19999) + "\\ud83c\\udf89" + "y".repeat(25000));
        const next = () => {
          const now = text.textContent;
          text.querySelector("button")?.click();
          return now;
        };
        return [next(), next(), next()];
        """
    )
    assert first == "x" * 19999 + " show more (25,002 characters)"  # no half of a character
    assert second == "x" * 19999 + "\U0001f389" + "y" * 19998 + " show more (5,002 characters)"
    assert last == "x" * 19999 + "\U0001f389" + "y" * 25000


def test_a_run_that_failed_says_why_where_one_clicks(window: Browser, tmp_path: Path, keep: Keep) -> None:
    (tmp_path / "vote.got").write_text(VOTE)
    (tmp_path / "vote_sim.py").write_text("def answer(rng, question):\n    return 'no idea'\n")
    assert gotc("run", "vote.got", "--input", "question=why", cwd=tmp_path).returncode == 1
    assert gotc("graph", "last", "--out", "failed.html", cwd=tmp_path).returncode == 0
    window.open(tmp_path / "failed.html")
    assert "failed: Generate answer: every thought failed" in text(window, "#facts")
    assert drawn_colors(window) > 5
    place = place_of(window, "Generate answer")
    window.click(place["x"], place["y"])
    panel = text(window, "#panel")
    assert "ERROR" in panel
    assert "no number found: 'no idea'" in panel
    window.type("#search", "no number found")
    assert text(window, "#found") == "1"
    keep(window, "run-failed")
    assert window.errors() == []


def test_a_talk_with_tools_shows_its_turns_and_calls(window: Browser, tmp_path: Path, keep: Keep) -> None:
    assert gotc("init", "shop", "--template", "agent", cwd=tmp_path).returncode == 0
    run = gotc("run", "agent.got", "--input", "question=What do 2 lamps cost?", cwd=tmp_path / "shop")
    assert run.returncode == 0, run.stderr
    assert gotc("graph", "last", "--out", "talk.html", cwd=tmp_path / "shop").returncode == 0
    window.open(tmp_path / "shop" / "talk.html")
    groups = window.run("return [...graph.chosen.view.groups.values()].map((group) => group.label)")
    assert {"turn 1", "call 1", "turn 2", "turn 3"} <= set(groups), groups
    found = "[...graph.chosen.view.nodes.values()].filter((node) => node.label === 'turn work_out')"
    assert window.run(f"return {found}[0].detail").startswith("I look it up. find_price(")
    window.run(f"graph.select({found}[1].key)")
    panel = text(window, "#panel")
    assert "I look it up.\nfind_price(" in panel and "response 1" in panel
    assert "calculate(" in panel.split("RESPONSES")[1]
    keep(window, "talk_with_tools")
    # A long time line begins at its left, readable, also on a phone.
    window.resize(400, 900)
    window.run("dispatchEvent(new Event('resize')); graph.choose('time line')")
    assert window.run("return [graph.camera.scale >= 0.8, graph.camera.x < 0]") == [True, True]
    window.resize(1400, 900)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run of 10,050 operations, in the folder of its history."""
    folder = tmp_path_factory.mktemp("wide")
    (folder / "wide.got").write_text(WIDE)
    (folder / "wide_sim.py").write_text(WIDE_SIM)
    sizes = ("--input", "rows=50", "--input", "columns=50", "--as", "wide", "--quiet")
    done = gotc("run", "wide.got", *sizes, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert gotc("graph", "wide", "--out", "wide.html", cwd=folder).returncode == 0
    return folder / "wide.html"


def test_ten_thousand_operations_are_drawn_opened_and_searched(
    window: Browser, wide: Path, keep: Keep
) -> None:
    window.open(wide)
    assert drawn_colors(window) > 5
    assert window.run("return graph.chosen.view.nodes.size") > 10_000
    keep(window, "wide-folded")
    window.run("document.getElementById('unfold').click()")
    assert drawn_colors(window) > 5
    window.type("#search", "guess 1249")
    assert int(text(window, "#found")) >= 1
    keep(window, "wide-open")
    assert window.errors() == []


def usually(measured: Callable[[], float]) -> float:
    """The median of three, on a quiet machine; the larger of two, where they are near each other."""
    found = [took / slower for took, slower in (paced(measured) for _ in range(2))]
    if max(found) > 1.5 * min(found):
        took, slower = paced(measured)
        found.append(took / slower)
    return sorted(found)[1]


@pytest.mark.parametrize("served", [False, True])
def test_ten_thousand_operations_are_painted_within_a_second_and_a_half_and_move_smoothly(
    window: Browser, wide: Path, served: bool
) -> None:
    """The first paint on the clock; the whole graph and a frame by Chromium's own count of what the page's
    thread did, and what the studio did meanwhile. `benchmarks/pages.py` has times on the clock."""
    paints = []
    with studio(wide.parent) if served else nullcontext() as running:

        def drawn_s() -> float:
            window.open("about:blank")
            before = 0.0 if running is None else running.processor_s()
            window.open(wide if running is None else running.at("/runs/wide"))
            window.until("graph.chosen.view.name !== ''", 60)
            window.run(FRAME)
            paints.append(window.run("return performance.getEntriesByType('paint')[0].startTime / 1000"))
            page = window.processor_s()
            return page if running is None else page + running.processor_s() - before

        def frame_s() -> float:
            window.run("document.getElementById('unfold').click()")
            before = window.processor_s()
            window.run(PANNED)
            return (window.processor_s() - before) / 20

        assert usually(drawn_s) < 2.5
        assert median(paints) < 1.5
        assert usually(frame_s) < 0.05
        assert window.errors() == []
        window.open("about:blank")
    window.errors()  # what was still asked of the studio as it ended


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a comparison, made once."""
    folder = tmp_path_factory.mktemp("compared")
    data(folder, 12, 32)
    done = gotc(
        *("compare", SORTING, "--schemes", "io,cot,got,best-of-n", "--data", "lists.csv", "--html", "c.html"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return folder / "c.html"


def test_a_comparison_shows_boxes_a_front_and_what_became_of_each_row(
    window: Browser, compared: Path, keep: Keep
) -> None:
    window.open(compared)
    count = "return document.querySelectorAll(arguments[0]).length"
    assert window.run(count, "svg .box") == 4
    assert window.run(count, "svg .bar") == 4
    assert window.run(count, "svg .point") == 4
    assert window.run(count, "svg .interval") == 3
    assert window.run(count, "#rows tr[data-row]") == 12
    keep(window, "compare")
    window.run("document.querySelector('#rows tr[data-row=\"3\"]').scrollIntoView({ block: 'center' })")
    place = window.run(
        "const box = document.querySelector('#rows tr[data-row=\"3\"]').getBoundingClientRect();"
        "return { x: box.left + 40, y: box.top + box.height / 2 }"
    )
    window.click(place["x"], place["y"])
    panel = text(window, "#panel")
    assert "Row 3" in panel
    assert "numbers" in panel
    assert "mistakes" in panel
    assert "--row 3 --scheme got" in panel
    assert window.run(count, "svg .dot.on") == 4
    keep(window, "compare-row")
    assert window.errors() == []


def test_one_scheme_s_rows_are_clicked_in_the_chart(window: Browser, tmp_path: Path, keep: Keep) -> None:
    data(tmp_path, 9, 32)
    done = gotc("eval", SORTING, "--scheme", "got", "--data", "lists.csv", "--html", "e.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    window.open(tmp_path / "e.html")
    heads = window.run(
        "return [...document.querySelectorAll('#rows th')].map((cell) => cell.innerText.toLowerCase())"
    )
    assert heads == ["row ↑", "input", "mistakes", "cost", "calls", *map(str, range(9))]
    dot, click = "figure:nth-of-type(2) .dot[data-row='4']", "new Event('click', { bubbles: true })"
    window.run(f"document.querySelector(arguments[0]).dispatchEvent({click})", dot)
    assert "Row 4" in text(window, "#panel")
    keep(window, "eval-row")
    assert window.errors() == []


ANSWERS = """
simulate with "say_sim.py"
prompt say(n: str) -> str:
    "{{ n }}"
prompt shout(n: str) -> str:
    "{{ n }}!"
scheme plain(n: str) -> str:
    Generate() say(n)
    GroundTruth() it == truth
scheme loud(n: str) -> str:
    Generate() shout(n)
    GroundTruth() it == truth
"""
ANSWERS_SIM = """
def say(rng, n):
    return n
def shout(rng, n):
    return n.upper() if int(n[1:]) % 4 else f"<img src=x onerror='document.title=1'>{n}"
"""


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two schemes on 3,000 rows: every row differs, a quarter of `loud` is markup, `plain` is right."""
    folder = tmp_path_factory.mktemp("answered")
    (folder / "say.got").write_text(ANSWERS)
    (folder / "say_sim.py").write_text(ANSWERS_SIM)
    rows = "".join(f"{'W' if n % 3 == 0 else 'w'}{n},w{n}\n" for n in range(3000))
    (folder / "n.csv").write_text("n,expected\n" + rows)
    done = gotc(
        *("compare", "say.got", "--schemes", "plain,loud", "--data", "n.csv", "--html", "c.html"),
        cwd=folder,
        GOTC_ALLOW_PYTHON="1",
    )
    assert done.returncode == 0, done.stderr
    return folder / "c.html"


def test_thousands_of_rows_are_filtered_searched_sorted_and_walked_with_the_keyboard(
    window: Browser, answered: Path, keep: Keep
) -> None:
    window.open(answered)
    options = window.run(
        "return [...document.querySelectorAll('#filter option')].map((one) => one.innerText)"
    )
    assert options == ["all rows (3000)", "wrong (3000)", "schemes differ (2250)", "right and wrong (2000)"]
    drawn = "return document.querySelectorAll('#rows tr[data-row]').length"
    assert 10 < window.run(drawn) < 150  # only those in sight
    assert window.run("return document.querySelector('#rows th.text').innerText") == "INPUT"
    started = window.run(
        "const started = performance.now(); const select = document.getElementById('filter');"
        "select.value = 'differ'; select.onchange(); return performance.now() - started"
    )
    assert started < 500
    assert text(window, "#found") == "2250 of 3000 rows"
    window.run("report.select(report.rows()[1])")
    panel = text(window, "#panel")
    assert "expected" in panel and "plain" in panel and "loud" in panel
    keep(window, "rows-differ")
    window.type("#search", "onerror")
    assert text(window, "#found") == "750 of 3000 rows"
    assert "<img" in text(window, "#rows")  # a text
    assert window.run("return document.querySelectorAll('#rows img, #panel img').length") == 0
    window.run("document.getElementById('search').value = ''; document.getElementById('search').oninput()")
    # By keyboard alone: to the last row and back.
    window.run("document.querySelector('#rows tr[data-row]').focus()")
    focused = "return Number(document.activeElement.dataset.row)"
    window.press("End")
    assert window.run(focused) == window.run("return report.rows().at(-1)")
    assert f"Row {window.run(focused)}" in text(window, "#panel")
    window.press("ArrowUp", "ArrowUp")
    assert window.run(focused) == window.run("return report.rows().at(-3)")
    window.press("Home")
    assert window.run(focused) == window.run("return report.rows()[0]")
    # The files have what is shown.
    window.type("#search", "w17 w1700"[:3])
    lines = window.run("return report.csv()").splitlines()
    assert lines[0].startswith("row,input_n,expected,scheme,repeat,state,result,")
    assert len(lines) - 1 == 2 * window.run("return report.rows().length")
    found = [json.loads(line) for line in window.run("return report.jsonl()").splitlines()]
    assert {line["scheme"] for line in found} == {"plain", "loud"}
    cells = ["=1+1", "@SUM(A1)", "-2", "-2+cmd", "a=b"]
    assert window.run(f"return {json.dumps(cells)}.map(quoted)") == [
        "'=1+1",
        "'@SUM(A1)",
        "-2",
        "'-2+cmd",
        "a=b",
    ]
    assert all("w17" in line["input_n"].lower() for line in found)
    assert window.run("return document.title") != "1"
    assert window.errors() == []


def test_failures_are_counted_by_reason(window: Browser, tmp_path: Path, keep: Keep) -> None:
    (tmp_path / "say.got").write_text(
        'simulate with "say_sim.py"\nprompt say(n: int) -> int:\n    "{{ n }}"\n'
        "scheme say_it(n: int) -> int:\n    Generate() say(n)\n    GroundTruth() it == n\n"
    )
    (tmp_path / "say_sim.py").write_text(
        'def say(rng, n):\n    return str(n) if n % 3 else f"who knows {chr(97 + n)}"\n'
    )
    (tmp_path / "n.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(12)))
    done = gotc("eval", "say.got", "--data", "n.csv", "--html", "e.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    window.open(tmp_path / "e.html")
    body = text(window, "body")
    assert "Failures by reason" in body
    assert "who knows" not in body.partition("Failures by reason")[2].partition("Rows")[0]
    assert window.run("return document.querySelectorAll('#rows td.failed').length") == 4
    window.run("report.select(3)")
    assert "who knows d" in text(window, "#panel")
    keep(window, "eval-failures")
    assert window.errors() == []


def test_the_report_of_a_study_draws_its_charts(window: Browser, tmp_path: Path, keep: Keep) -> None:
    pytest.importorskip("optuna", reason="the extra `tune` is not installed")
    from support.studies import guess_study

    guess_study(tmp_path, STUDY)
    done = gotc("tune", "study.got", "--model", "simulated", "--report", "tune.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    window.open(tmp_path / "tune.html")
    drawn = window.run("return [...document.querySelectorAll('.plots svg')].length")
    assert drawn >= 6
    boxes = "[...document.querySelectorAll('.plots figure')]"
    wider = window.run(f"return {boxes}.filter((box) => box.scrollWidth > box.clientWidth + 1).length")
    assert wider == 0
    assert "held-out rows" in text(window, "body")
    keep(window, "tune")
    assert window.errors() == []


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("dark", [False, True])
def test_the_rows_are_read_on_a_phone_and_in_the_dark(
    answered: Path, tmp_path: Path, keep: Keep, width: int, dark: bool
) -> None:
    with browser(tmp_path, dark=dark) as window:
        window.resize(width, 900)
        window.open(answered)
        window.run("report.select(4); document.getElementById('rows').scrollIntoView()")
        assert window.run("return innerWidth") == width
        assert cut_off(window) == []
        assert too_faint(window) == []
        cut = "[...document.querySelectorAll('#rows td.number')].filter((e) => e.scrollWidth > e.clientWidth)"
        assert window.run(f"return {cut}.map((e) => e.innerText)") == []  # no cost is shortened
        window.run("document.querySelector('#rows tr[data-row=\"2\"] td').click()")
        height = window.run(
            "return innerHeight - document.querySelector('#panel h2').getBoundingClientRect().top"
        )
        assert height > 100  # what was clicked is in sight, also where it is below the rows
        keep(window, f"rows-{width}{'-dark' * dark}")
        assert window.errors() == []


def test_pages_fit_a_phone(sorted_run: Path, compared: Path, tmp_path: Path, keep: Keep) -> None:
    with browser(tmp_path, width=500, height=900) as window:
        for name, page in (("run", sorted_run), ("compare", compared)):
            window.open(page)
            assert window.run("return document.documentElement.scrollWidth <= innerWidth"), name
            keep(window, f"{name}-phone")
        window.open(sorted_run)
        assert drawn_colors(window) > 5
        lowest = "[...graph.chosen.view.boxes.values()].sort((a, b) => b.y - a.y)[0].key"
        window.run(f"graph.select({lowest})")
        # What is chosen is between the tools and the panel, which takes the place of the legend.
        legend, top, bottom, panel = window.run(
            """
            const box = graph.chosen.view.boxes.get(graph.chosen.item), { y, scale } = graph.camera;
            const frame = document.getElementById("legend").getBoundingClientRect();
            const stage = document.getElementById("canvas").getBoundingClientRect();
            return [frame.height, (box.y - y) * scale, (box.y + box.h - y) * scale, stage.height];
            """
        )
        assert legend == 0
        assert 0 <= top < bottom <= panel
        assert window.errors() == []


def test_pages_are_dark_where_that_is_wanted(
    sorted_run: Path, compared: Path, tmp_path: Path, keep: Keep
) -> None:
    with browser(tmp_path, dark=True) as window:
        for name, page in (("run", sorted_run), ("compare", compared)):
            window.open(page)
            ground = window.run("return getComputedStyle(document.body).backgroundColor")
            assert ground == "rgb(13, 17, 25)"
            keep(window, f"{name}-dark")
        assert window.errors() == []
