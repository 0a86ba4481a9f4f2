"""Time and memory of a comparison: four schemes on 30 rows with the simulated model and an empty cache.

    python benchmarks/comparing.py

Measured is the whole command `gotc compare`, with its table, paired intervals and report.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from checking import measure
from measurement import PROGRAMS, options, report

COLUMNS = {
    "rows": "{}",
    "schemes": "{}",
    "wall time": "{:.1f} s",
    "processor time": "{:.1f} s",
    "memory": "{:.0f} MB",
}
SCHEMES = ["io", "cot", "tot", "got"]
ROWS = 30


if __name__ == "__main__":
    given = options(__doc__).parse_args()
    data = ["--data", str(PROGRAMS / "data" / "digits64.csv"), "--limit", str(ROWS)]
    with tempfile.TemporaryDirectory() as folder:
        files = ["--cache", str(Path(folder) / "cache.sqlite"), "--html", str(Path(folder) / "report.html")]
        started = time.perf_counter()
        seconds, memory = measure(
            "compare", str(PROGRAMS / "sorting.got"), "--schemes", ",".join(SCHEMES), *data, *files
        )
        wall = time.perf_counter() - started
    report(given, COLUMNS, [(ROWS, len(SCHEMES), wall, seconds, memory / 1e6)])
