"""Results of the papers' studies, with their time and memory.

    python -m benchmarks studies --seeds 1 2 3 --write

Each study of `studies/` runs as `gotc tune` on the simulated model, in a process of its own with an empty
cache. The seeds are those of the samples; a study's rows are always the same. Each appends a line to `--out`,
so that the benchmark can be interrupted and continued.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measurement import RESULTS, ROOT, Found, options, report, resumed

COLUMNS = {
    "study": "`{}`",
    "seed": "{}",
    "result": "{}",
    "lead": "{}",
    "spent": "${:.2f}",
    "points": "{}",
    "processor": "{:.0f} s",
    "wall": "{:.0f} s",
    "memory": "{:.0f} MB",
}


def studied(name: str, seed: int) -> Found:
    """What a study finds and takes."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for part in ("programs", "studies"):
            shutil.copytree(ROOT / part, folder / part)
        (folder / "gotc.toml").touch()
        command = ["tune", f"studies/{name}.got", "--model", "simulated", "--seed", str(seed), "--json"]
        started = time.monotonic()
        with (folder / "result.json").open("wb") as out:
            study = subprocess.Popen([sys.executable, "-m", "gotlang", *command], cwd=folder, stdout=out)
            _, status, used = os.wait4(study.pid, 0)
        if code := os.waitstatus_to_exitcode(status):
            raise SystemExit(f"{name}: exit code {code}")
        found = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    first = found["held_out"]["compared"][0]
    lead, unchanged = first["lead"], first["tuned"] == first["original"]
    return {
        "result": found["held_out"]["verdict"],
        "lead": None if unchanged else [first["original"], lead["low"], lead["mean"], lead["high"]],
        "usd": found["spent"]["usd"],
        "points": found["trials"],
        "processor": round(used.ru_utime + used.ru_stime, 1),
        "wall": round(time.monotonic() - started, 1),
        "mb": round(used.ru_maxrss / 1024),
    }


def row(line: Found) -> tuple[object, ...]:
    """A line of the table; the lead in shares of the original's value."""
    lead = "–"
    if line["lead"] is not None:
        original, *ends = line["lead"]
        low, mean, high = (f"{end / abs(original):+.1%}" for end in ends)
        lead = f"{mean} ({low} to {high})"
    names = ("name", "seed", "result", "usd", "points", "processor", "wall", "mb")
    name, seed, result, *rest = (line[each] for each in names)
    return name, seed, result, lead, *rest


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument(
        "--studies", nargs="+", default=sorted(p.stem for p in (ROOT / "studies").glob("*.got"))
    )
    parser.add_argument("--out", type=Path, default=RESULTS / "studies.jsonl")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    wanted = [{"name": name, "seed": seed} for name in given.studies for seed in given.seeds]
    lines = resumed(given.out, wanted, studied, given.jobs)
    report(given, COLUMNS, map(row, lines))
