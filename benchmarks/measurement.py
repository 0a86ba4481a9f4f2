"""The result of a benchmark: its options, its table, its file benchmarks/results/NAME.json, and the lines of
its studies, so that it can be interrupted and continued."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PROGRAMS = ROOT / "programs"
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
os.environ.setdefault("GOTC_ALLOW_PYTHON", "1")  # benchmarks run programs of this repository and their own
LOAD = os.getloadavg()[0]
"""The machine's load before the benchmark."""
Found = dict[str, Any]
"""A study's line in its file: what names it, what it found, and how many `seconds` it took of a processor."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A table of measured values, and when, where and how they were measured.

    `columns` maps the title of each column to the format of its values, such as `{:.1f} s`; `load` is the
    load average of the machine before the benchmark, or None if it is not known.
    """

    date: str
    command: str
    machine: str
    load: float | None
    note: str
    columns: Mapping[str, str]
    rows: Sequence[Sequence[Any]]

    @classmethod
    def read(cls, path: Path) -> Measurement:
        """The measurement in a file of benchmarks/results."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def table(self) -> str:
        """The values as a Markdown table; numbers are aligned right, None is an empty cell."""
        right = [any(isinstance(row[i], int | float) for row in self.rows) for i in range(len(self.columns))]
        lines = [list(self.columns), ["---:" if aligned else "---" for aligned in right]]
        for row in self.rows:
            formats = zip(row, self.columns.values(), strict=True)
            lines.append(["" if value is None else text.format(value) for value, text in formats])
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def caption(self) -> str:
        """The command, the date and the machine."""
        load = [] if self.load is None else [f"load {self.load:.1f}"]
        return ", ".join([f"`{self.command}`", self.date, self.machine, *load, *filter(None, [self.note])])

    def json(self) -> str:
        """The text of its file, a row per line."""
        head = json.dumps({**asdict(self), "rows": []}, indent=2, ensure_ascii=False)
        rows = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in self.rows)
        return head.replace('"rows": []', f'"rows": [\n{rows}\n  ]') + "\n"


def options(doc: str | None, rounds: int | None = None, quick: int | None = None) -> argparse.ArgumentParser:
    """The options of every benchmark, and `--rounds` with this default, of which `--quick` makes `quick`; a
    script adds its own."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--write", action="store_true", help="write the result to benchmarks/results/")
    parser.add_argument("--note", default="", help="what else to know about the measurement")
    if rounds is not None:
        parser.add_argument("--rounds", type=int, default=rounds)
        help = "one round" if quick == 1 else f"{quick} rounds"
        parser.add_argument("--quick", action="store_const", dest="rounds", const=quick, help=help)
    return parser


def study_options(doc: str | None) -> argparse.ArgumentParser:
    """The options of a benchmark whose lines are in a file, so that it can be continued."""
    parser = options(doc)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--out", type=Path, default=RESULTS / f"{Path(sys.argv[0]).stem}.jsonl")
    return parser


def report(given: argparse.Namespace, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> None:
    """Print the result, and write it with `--write`; its name is that of the script."""
    script = Path(sys.argv[0])
    chosen = [a for a in sys.argv[1:] if a not in ("--json", "--write", "--note", given.note)]
    measured = Measurement(
        date.today().isoformat(),
        " ".join([f"python benchmarks/{script.name}", *chosen]),
        f"{os.cpu_count()} cores, {platform.python_implementation()} {platform.python_version()}",
        round(LOAD, 1),
        given.note,
        columns,
        list(rows),
    )
    print(measured.json() if given.json else measured.table())
    if given.write:
        (RESULTS / f"{script.stem}.json").write_text(measured.json(), encoding="utf-8")


def resumed(file: Path, studies: Sequence[Found], run: Callable[..., Found], jobs: int) -> list[Found]:
    """The lines of these studies in a file. Those that it does not have are run, `jobs` at a time, and
    appended as each ends. What names a study are the arguments of `run`."""
    written = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    keys = [*studies[0]] if studies else []
    known = {tuple(map(line.get, keys)): line for line in map(json.loads, written)}
    missing = [study for study in studies if tuple(study.values()) not in known]
    file.parent.mkdir(parents=True, exist_ok=True)
    with multiprocessing.get_context("fork").Pool(max(1, jobs), maxtasksperchild=1) as pool:
        for line in pool.imap_unordered(partial(_timed, run), missing):
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(line, separators=(",", ":")) + "\n")
            known[tuple(map(line.get, keys))] = line
            print(f"{file.stem}: {json.dumps(line)[:110]}", file=sys.stderr, flush=True)
        pool.close()  # a process that is terminated while it starts may never end
        pool.join()
    return [known[tuple(study.values())] for study in studies]


def _timed(run: Callable[..., Found], study: Found) -> Found:
    started = time.process_time()
    found = run(**study)
    return {**study, **found, "seconds": round(time.process_time() - started, 1)}
