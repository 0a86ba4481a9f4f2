"""How long pages take in a real browser, by its own clock: `python benchmarks/pages.py` prints the table.

The page of a run of 5,000 operations is opened in a headless Chromium that reaches no host. `loaded` (the
page's scripts have run) and `drawn` (two frames later) count from the start of navigation; the others from
the click or the key to the second frame after it. The processor draws everything: there is no graphics card.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import browser, installed  # noqa: E402
from support.gotc import environment  # noqa: E402
from support.wide import WIDE, WIDE_SIM  # noqa: E402

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
            env=environment(),
            stdout=subprocess.DEVNULL,
            check=True,
        )
    return out


def main() -> None:
    """Print a line a size: the medians of several loads, in seconds."""
    if not installed():
        raise SystemExit("chromium and chromedriver are not installed (Debian: chromium chromium-driver)")
    heads = ["operations", "MB", "loaded", "drawn", *ACTIONS]
    print("| " + " | ".join(heads) + " |")
    print("|" + " ---: |" * len(heads))
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder)) as window:
        for rows, columns in SIZES:
            made = page(Path(folder), rows, columns)
            found: dict[str, list[float]] = {}
            for _ in range(REPEATS):
                window.open(made)
                for name, milliseconds in zip(("loaded", "drawn"), window.run(DRAWN), strict=True):
                    found.setdefault(name, []).append(milliseconds)
                for name, action in ACTIONS.items():
                    found.setdefault(name, []).append(window.run(TIMED % action))
            window.run("graph.choose('execution')")
            count = window.run("return graph.chosen.view.nodes.size")
            cells = [f"{count:,}", f"{made.stat().st_size / 1e6:.1f}"]
            cells += [f"{median(times) / 1000:.2f} s" for times in found.values()]
            print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
