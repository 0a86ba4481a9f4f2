"""Write the tables of benchmarks/README.md and docs/scale.md from the results in benchmarks/results.

    python benchmarks/figures.py

A table is between `<!-- figures: NAME begin -->` and `<!-- figures: NAME end -->`, and is made from
results/NAME.json. To measure again, run benchmarks/NAME.py with `--write`, and then this script.
"""

from __future__ import annotations

import re

from measurement import RESULTS, ROOT, Measurement

PAGES = (ROOT / "benchmarks" / "README.md", ROOT / "docs" / "scale.md")
TABLE = re.compile(r"(<!-- figures: ([\w/]+) begin -->\n).*?(<!-- figures: \2 end -->)", re.DOTALL)


def with_figures(text: str) -> str:
    """A page with the tables that its markers name."""

    def table(match: re.Match[str]) -> str:
        measured = Measurement.read(RESULTS / f"{match[2]}.json")
        return f"{match[1]}{measured.caption()}:\n\n{measured.table()}\n{match[3]}"

    return TABLE.sub(table, text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_figures(page.read_text(encoding="utf-8")), encoding="utf-8")
