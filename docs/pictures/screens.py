"""Makes the screenshots that the docs show, of real pages in a real browser without a network.

    python docs/pictures/screens.py        # needs chromium and chromedriver

The pages are those of runs of this repository's programs with their simulators: a run with one operation
chosen, the same run's thoughts, a comparison, and one row of it. Look at them before they are committed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import Browser, browser, installed  # noqa: E402
from support.gotc import gotc  # noqa: E402

WIDTH, LOW, HIGH = 1280, 860, 1320
"""Pixels of the window."""
RUN = (
    "run --allow-python programs/sort128.got --data programs/data/digits128.csv --row 7 "
    "--map numbers=Unsorted"
)
COMPARE = (
    "compare --allow-python programs/sorting.got --schemes io,cot,tot,got "
    "--data programs/data/digits64.csv --limit 30 --html compare.html"
)
MERGE = """
const node = [...graph.chosen.view.nodes.values()].find((one) => one.label === "Aggregate merge");
graph.select(node.key);
"""
RESULT = """
graph.choose("reasoning");
graph.select(graph.chosen.view.results[0], { move: true });
"""
ROW = "report.select(3); document.querySelector('.split').scrollIntoView({ block: 'start' });"
SHOTS = {
    "operation": (LOW, "run.html", MERGE),
    "thoughts": (LOW, "run.html", RESULT),
    "compare": (HIGH, "compare.html", ""),
    "row": (LOW, "compare.html", ROW),
}
"""How high the window of each screenshot is, its page, and what is done there before."""


def shoot(window: Browser, folder: Path, name: str) -> Path:
    """One screenshot, once what it shows has been drawn."""
    _, page, script = SHOTS[name]
    window.open(folder / page)
    window.run(
        f"{script}\nreturn new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));"
    )
    out = folder / f"page-{name}.png"
    window.screenshot(out)
    return out


def main() -> None:
    """Write all of them beside this file."""
    if not installed():
        raise SystemExit("chromium and chromedriver are not installed (Debian: chromium chromium-driver)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "programs").symlink_to(ROOT / "programs")
        for command in (RUN, "graph last --out run.html", COMPARE):
            done = gotc(*command.split(), cwd=folder)
            assert done.returncode == 0, done.stderr
        for height in (LOW, HIGH):
            with browser(folder, width=WIDTH, height=height) as window:
                for shot in SHOTS:
                    if SHOTS[shot][0] == height:
                        shutil.copy(shoot(window, folder, shot), Path(__file__).parent)


if __name__ == "__main__":
    main()
