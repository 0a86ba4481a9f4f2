"""Pages in a real browser with the network closed: drawn, clickable, searchable, fast at 5,000 operations.

Screenshots stay in the folder that GOTC_SCREENSHOTS names, else in the test's own.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import Browser, browser, needs_browser
from support.gotc import SORT128, SORTING, digits, gotc, row

from .cli.test_eval import data

pytestmark = needs_browser

WIDE = """\
simulate with "wide_sim.py"

prompt guess(n: int) -> int:
    "Guess {{ n }}."

score distance(guess: int, n: int) -> lower, best 0:
    abs(guess - n)

scheme wide(rows: int, columns: int) -> many int:
    foreach i in range(rows):
        foreach j in range(columns):
            Generate() guess(i * columns + j)
            Score() distance(it, i * columns + j)
            KeepBestN(1)
            Map() it + 1
        Select() it % 7 == 0
"""
WIDE_SIM = """\
def guess(rng, n):
    return f"It is {n + rng.randrange(3)}."
"""


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


def keep(window: Browser, folder: Path, name: str) -> None:
    kept = Path(os.environ.get("GOTC_SCREENSHOTS", folder))
    kept.mkdir(parents=True, exist_ok=True)
    window.screenshot(kept / f"{name}.png")


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
    window: Browser, sorted_run: Path, tmp_path: Path
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
    keep(window, tmp_path, "run-operation")
    place = place_of(window, "Score mistakes")
    window.click(place["x"], place["y"])
    assert "score" in text(window, "#panel")
    assert window.errors() == []


def test_search_finds_prompts_answers_and_operations(
    window: Browser, sorted_run: Path, tmp_path: Path
) -> None:
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
    keep(window, tmp_path, "run-search")
    assert window.errors() == []


def test_groups_fold_and_open_and_thoughts_have_a_view_of_their_own(
    window: Browser, sorted_run: Path, tmp_path: Path
) -> None:
    window.open(sorted_run)
    count = "return [...graph.chosen.view.boxes.keys()].filter((key) => key[0] === 'n').length"
    opened = window.run(count)
    window.run("document.getElementById('fold').click()")
    assert window.run(count) < opened
    keep(window, tmp_path, "run-folded")
    window.run("document.getElementById('unfold').click()")
    assert window.run(count) == opened
    window.run("document.getElementById('coloring').value = 'score'")
    window.run("document.getElementById('coloring').dispatchEvent(new Event('change'))")
    window.run("graph.choose('reasoning')")
    assert drawn_colors(window) > 20
    window.run("const last = [...graph.chosen.view.nodes.keys()].pop(); graph.select(last, { move: true })")
    panel = text(window, "#panel")
    assert "thought" in panel.lower()
    assert "COMES FROM" in panel
    keep(window, tmp_path, "run-reasoning")
    assert window.errors() == []


def test_a_plan_shows_the_templates(window: Browser, tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    assert gotc("graph", SORT128, "--out", page, cwd=tmp_path).returncode == 0
    window.open(page)
    assert drawn_colors(window) > 20
    place = place_of(window, "Aggregate merge")
    window.click(place["x"], place["y"])
    assert "First list: {{ left }}" in text(window, "#panel")
    keep(window, tmp_path, "plan")
    assert window.errors() == []


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


def test_five_thousand_operations_are_usable_within_three_seconds(window: Browser, tmp_path: Path) -> None:
    (tmp_path / "wide.got").write_text(WIDE)
    (tmp_path / "wide_sim.py").write_text(WIDE_SIM)
    command = ("run", "wide.got", "--input", "rows=25", "--input", "columns=50", "--quiet")
    done = gotc(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert gotc("graph", "last", "--out", "wide.html", cwd=tmp_path).returncode == 0
    started = time.monotonic()
    window.open(tmp_path / "wide.html")
    drawn = drawn_colors(window)
    loaded = time.monotonic() - started
    assert drawn > 5
    assert window.run("return graph.chosen.view.nodes.size") >= 5000
    keep(window, tmp_path, "wide-folded")
    started = time.monotonic()
    window.run("document.getElementById('unfold').click()")
    assert drawn_colors(window) > 5
    opened = time.monotonic() - started
    started = time.monotonic()
    window.type("#search", "guess 1249")
    assert int(text(window, "#found")) >= 1
    searched = time.monotonic() - started
    keep(window, tmp_path, "wide-open")
    print(f"loaded {loaded:.2f} s, all open {opened:.2f} s, searched {searched:.2f} s")
    assert max(loaded, opened, searched) < 3
    assert window.errors() == []


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
    window: Browser, compared: Path, tmp_path: Path
) -> None:
    window.open(compared)
    count = "return document.querySelectorAll(arguments[0]).length"
    assert window.run(count, "svg .box") == 4
    assert window.run(count, "svg .bar") == 4
    assert window.run(count, "svg .point") == 4
    assert window.run(count, "svg .difference") == 3
    assert window.run(count, "#rows tbody tr") == 12
    keep(window, tmp_path, "compare")
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
    keep(window, tmp_path, "compare-row")
    assert window.errors() == []


def test_pages_are_dark_where_that_is_wanted(sorted_run: Path, compared: Path, tmp_path: Path) -> None:
    with browser(tmp_path, dark=True) as window:
        for name, page in (("run", sorted_run), ("compare", compared)):
            window.open(page)
            ground = window.run("return getComputedStyle(document.body).backgroundColor")
            assert ground == "rgb(13, 17, 25)"
            keep(window, tmp_path, f"{name}-dark")
        assert window.errors() == []
