"""Loading and interaction times of the page of a run in a real browser, by its own clock.

    python benchmarks/pages.py

The page is opened in a headless Chromium without network access and without a graphics card. `loaded` (the
page's scripts have run) and `drawn` (two frames later) count from the start of navigation, the others from
the click or key press to the second frame after it. The table has the median of five loads.
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
from support.browser import browser, installed
from support.gotc import environment
from support.wide import WIDE, WIDE_SIM

SIZES = ((5, 50), (25, 50), (100, 50))
"""Rows and columns of the program: each pair is four operations, each row one more."""
REPEATS = 5

DRAWN = """
const [page] = performance.getEntriesByType("navigation");
return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
  done([page.domContentLoadedEventEnd, performance.now()]))));
"""
TIMED = """
return new Promise((done) => {
  const started = performance.now();
  %s
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - started)));
});
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


COLUMNS = {"operations": "{:,}", "MB": "{:.1f}"}
COLUMNS |= dict.fromkeys(("loaded", "drawn", *ACTIONS), "{:.2f} s")


def rows() -> Iterator[tuple[Any, ...]]:
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder)) as window:
        for size in SIZES:
            made = page(Path(folder), *size)
            found: list[list[float]] = []
            for _ in range(REPEATS):
                window.open(made)
                found.append(
                    [*window.run(DRAWN), *(window.run(TIMED % action) for action in ACTIONS.values())]
                )
            window.run("graph.choose('execution')")
            count = window.run("return graph.chosen.view.nodes.size")
            yield (
                count,
                made.stat().st_size / 1e6,
                *(median(times) / 1000 for times in zip(*found, strict=True)),
            )


def main() -> None:
    given = options(__doc__).parse_args()
    if not installed():
        raise SystemExit("chromium and chromedriver are not installed (Debian: chromium chromium-driver)")
    report(given, COLUMNS, rows())


if __name__ == "__main__":
    main()
