"""Whether a disturbed study has the result of an undisturbed one, and what it pays twice.

    python -m benchmarks disturbed --quick        an outage of six seconds
    python -m benchmarks disturbed --write        of three minutes

The model is an endpoint on this machine that counts what it charges and tells the workers apart. They are
killed with SIGKILL and start again, the endpoint answers 503 to everything, PostgreSQL, which holds cache and
storage, restarts, and in the last row all of it happens. `under way` are the requests that were charged again
because a worker or the database went before their answer was stored; `twice` are all others that were charged
more than once. Each study appends a line to `--out`, so that the benchmark can be interrupted and continued.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from measurement import Found, report, resumed, study_options
from support import postgres
from support.disturbed import CASES, disturbed, told

AWAY_S, QUICK_S = 180.0, 6.0
"""How long the endpoint is away."""
COLUMNS = {
    "what happens": "{}",
    "workers": "{}",
    "charged": "{:,}",
    "under way": "{}",
    "twice": "{}",
    "refused": "{:,}",
    "same result": "{}",
    "wall": "{:.0f} s",
}


def studied(case: str, away_s: float) -> Found:
    """What becomes of a study; `found` says by a digest what each worker found."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            course = disturbed(Path(folder), CASES[case], away_s=away_s)
    finally:
        postgres.end()
    texts = (json.dumps(told(document), sort_keys=True) for document in course.documents)
    return {
        "found": [hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts],
        "charged": course.charged,
        "under_way": course.under_way,
        "twice": course.twice,
        "refused": course.refused,
        "wall": round(course.seconds, 1),
    }


def studies(away_s: float) -> list[Found]:
    """What names each study, the undisturbed one first; those in PostgreSQL where it is installed."""
    able = [name for name, case in CASES.items() if not (case.database and postgres.why_not())]
    return [{"case": name, "away_s": away_s} for name in able]


def same(line: Found, lines: Sequence[Found]) -> bool:
    """Whether each worker found what the undisturbed study found."""
    return {*line["found"]} == {*lines[0]["found"]}


def table(lines: Sequence[Found]) -> Iterator[tuple[Any, ...]]:
    """A row for each study."""
    for line in lines:
        counts = (line[name] for name in ("charged", "under_way", "twice", "refused"))
        found = "yes" if same(line, lines) else "no"
        yield line["case"], CASES[line["case"]].workers, *counts, found, line["wall"]


if __name__ == "__main__":
    parser = study_options(__doc__)
    parser.add_argument("--quick", action="store_true", help=f"an outage of {QUICK_S:.0f} seconds")
    given = parser.parse_args()
    wanted = studies(QUICK_S if given.quick else AWAY_S)
    report(given, COLUMNS, table(resumed(given.out, wanted, studied, 1)))
