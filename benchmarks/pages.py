"""Loading and interaction times of the page of a run in a real browser, by its own clock.

    python benchmarks/pages.py

The page is opened in a headless Chromium without network access and without a graphics card, as a file and
from `gotc studio`. `painted` (the first contentful paint), `loaded` (the page's scripts have run) and `drawn`
(two frames later) count from the start of navigation, the others from the click or key press to the second
frame after it. `pan frame` is the processor time of the page's thread for a frame while everything is open
and the picture moves, the mean of forty. The table has the median of five loads.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from measurement import options, report
from support.browser import Browser, browser, installed
from support.gotc import environment
from support.studio import studio
from support.wide import WIDE, WIDE_SIM

SIZES = ((5, 50), (25, 50), (50, 50), (100, 50))
"""Rows and columns of the program: each pair is four operations, each row one more."""
REPEATS = 5

DRAWN = """
const [page] = performance.getEntriesByType("navigation");
return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  done([paint ? paint.startTime : performance.now(), page.domContentLoadedEventEnd, performance.now()]);
})));
"""
FRAMES = 40
TIMED = """
return new Promise((done) => {
  const started = performance.now();
  %s
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - started)));
});
"""
PANNED = """
for (let frame = 0; frame < 40; frame++) {
  graph.camera.x += 23 / graph.camera.scale; graph.camera.y += 11 / graph.camera.scale;
  draw();
}
"""
ACTIONS = {
    "all groups opened": "document.getElementById('unfold').click();",
    "searched": (
        "document.getElementById('search').value = 'guess 1249';"
        "document.getElementById('search').dispatchEvent(new Event('input'));"
    ),
    "shown": "graph.next(1);",
    "thoughts": "graph.choose('reasoning');",
}


def page(folder: Path, rows: int, columns: int) -> Path:
    """The page of a run."""
    (folder / "wide.got").write_text(WIDE)
    (folder / "wide_sim.py").write_text(WIDE_SIM)
    out = folder / f"wide{rows}.html"
    sizes = ("--input", f"rows={rows}", "--input", f"columns={columns}", "--quiet")
    for command in (("run", "wide.got", *sizes), ("graph", "last", "--out", str(out))):
        subprocess.run(
            [sys.executable, "-m", "gotlang", *command],
            cwd=folder,
            env=environment(GOTC_ALLOW_PYTHON="1"),
            stdout=subprocess.DEVNULL,
            check=True,
        )
    return out


COLUMNS = {"page": "{}", "operations": "{:,}", "MB": "{:.1f}"}
COLUMNS |= dict.fromkeys(("painted", "loaded", "drawn", *ACTIONS), "{:.2f} s") | {"pan frame": "{:.3f} s"}


def rows() -> Iterator[tuple[Any, ...]]:
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder)) as window:
        for size in SIZES:
            made = page(Path(folder), *size)
            with studio(Path(folder)) as served:
                name = served.get("/runs").data[0]["run"]
                window.open(served.address)  # the cookie
                for kind, place in (("file", made), ("studio", f"{served.origin}/runs/{name}")):
                    yield (kind, *row(window, place, made))


def row(window: Browser, place: Path | str, made: Path) -> tuple[Any, ...]:
    """The figures of a page: operations, megabytes, and the medians of its times."""
    found: list[list[float]] = []
    for _ in range(REPEATS):
        window.open(place)
        while not window.run("return graph.chosen.view.name !== ''"):
            pass
        loaded = window.run(DRAWN)
        window.until("!doc.reading", 120)  # the studio's page reads its other views after the graph
        done = [window.run(TIMED % action) for action in ACTIONS.values()]
        window.run("graph.choose('execution'); document.getElementById('unfold').click()")
        before = window.processor_s()
        window.run(PANNED)
        found.append([*loaded, *done, 1000 * (window.processor_s() - before) / FRAMES])
    count = window.run("return graph.chosen.view.nodes.size")
    return (count, made.stat().st_size / 1e6, *(median(one) / 1000 for one in zip(*found, strict=True)))


if __name__ == "__main__":
    given = options(__doc__).parse_args()
    if not installed():
        raise SystemExit("chromium and chromedriver are not installed (Debian: chromium chromium-driver)")
    report(given, COLUMNS, rows())
