"""Processor time of `gotc check` and of a cached `gotc run`, compared with Python's own start.

    python benchmarks/checking.py [--lines 1000 10000 100000] [--rounds 5]

A program is programs/sorting.got repeated, each copy with its own names; a small one is
programs/least_to_most.got, which has a loop in a prompt, or programs/chain_of_thought.got, which has none.
Each round runs every command once, and `python -c pass`; times are of whole commands, medians with minimum
and maximum, and so are their ratios to the `pass` of the same round. `first` is a command with an empty cache
folder, `again` the next one, of an unchanged program; the answers of a run come from the cache in both. `x
compile()` is the time of a first check beyond that of a small program, a line, beside that of CPython's
`compile()` for this repository's own Python. Memory is the peak resident size beyond that of the small
program.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from measurement import PROGRAMS, ROOT, options, report

SORTING = (PROGRAMS / "sorting.got").read_text().replace('simulate with "sorting_sim.py"\n', "")
DECLARED = re.compile(r"^(?:param|prompt|score|scheme) (\w+)", re.MULTILINE)
SMALL = {"small": "least_to_most.got", "plain": "chain_of_thought.got"}
GOALS = {"first, 10,000": 1.5, "again, 10,000": 0.15}
RATIOS = {
    **dict.fromkeys(("first, small", "again, small", "first, plain", "again, plain"), 8),
    **dict.fromkeys(("rerun, small", "rerun, plain"), 12),
}
"""The goals: seconds, and multiples of `python -c pass`."""


def program(lines: int) -> str:
    """A program of at least so many lines that compiles."""
    head, _, body = SORTING.partition("\nparam ")
    body = "param " + body
    names = "|".join(sorted(set(DECLARED.findall(body)), key=len, reverse=True))
    copies, height = [], body.count("\n") + 1
    for number in range(max(1, -(-lines // height))):
        copy = re.sub(rf"\b({names})\b(?!=)", rf"\1_{number}", body)
        copies.append(re.sub(r'^((?:law|test) "[^"]*)"', rf'\1 {number}"', copy, flags=re.MULTILINE))
    return "\n".join([head, *copies])


def measure(*arguments: str, cwd: Path = ROOT, **variables: str) -> tuple[float, int]:
    """Processor time in seconds and peak memory in bytes of a gotc command."""
    return timed([sys.executable, "-m", "gotlang", *arguments], cwd, variables)


def timed(command: list[str], cwd: Path, variables: Mapping[str, str]) -> tuple[float, int]:
    """The same of any command."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed command has its bytecode
    process = subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} failed:\n{output.decode()[:2000]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def of_python() -> float:
    """Seconds that `compile()` takes for a line of this repository's Python."""
    texts = [path.read_text() for path in sorted((ROOT / "gotlang").rglob("*.py"))]
    began = time.process_time()
    for text in texts:
        compile(text, "text", "exec")
    return (time.process_time() - began) / sum(text.count("\n") for text in texts)


COMMANDS = {"run": "gotc run, first, cached responses", "rerun": "gotc run, again, cached responses"}

COLUMNS = {
    "command": "{}",
    "lines": "{:,}",
    "seconds": "{:.3f}",
    "range": "{}",
    "goal": "{:g}",
    "x pass": "{:.1f}",
    "its range": "{}",
    "its goal": "{:g}",
    "x compile()": "{:.1f}",
    "memory": "{:.0f} MB",
}


def rows(sizes: list[int], rounds: int) -> Iterator[tuple[object, ...]]:
    times: dict[str, list[float]] = {}
    ratios: dict[str, list[float]] = {}
    memory: dict[str, int] = {}
    lines: dict[str, int] = {}
    python: list[float] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for path in PROGRAMS.glob("*.py"):
            shutil.copy(path, folder)
        files = {name: folder / f"{name}.got" for name in SMALL}
        for name, file in files.items():
            shutil.copy(PROGRAMS / SMALL[name], file)
        for size in sizes:
            files[f"{size:,}"] = folder / f"program{size}.got"
            files[f"{size:,}"].write_text(program(size))
        kept: dict[str, str] = {}
        told = "story=Ada has 7 pens. She finds 5 more. How many pens does Ada have?"
        runs = {
            f"{kind}, {name}": ("run", f"{name}.got", "--allow-python", "--input", told)
            for name in SMALL
            for kind in ("run", "rerun")
        }
        for number in range(rounds + 1):
            kept["XDG_CACHE_HOME"] = str(folder / f"cache{number}")
            once, _ = timed([sys.executable, "-c", "pass"], folder, kept)
            commands = {
                f"{kind}, {name}": ("check", file.name)
                for name, file in files.items()
                for kind in ("first", "again")
            }
            for name, arguments in {**commands, **runs}.items():
                seconds, peak = measure(*arguments, cwd=folder, **kept)
                if number:  # the first round fills the cache of the run, and writes missing bytecode
                    times.setdefault(name, []).append(seconds)
                    ratios.setdefault(name, []).append(seconds / once)
                    memory[name] = max(memory.get(name, 0), peak)
                file = files[name.partition(", ")[2]]
                lines[name] = file.read_text().count("\n")
            python.append(of_python())
    start = median(times["first, small"])
    for name, found in times.items():
        kind, _, size = name.partition(", ")
        beyond = size not in SMALL and kind == "first"
        yield (
            COMMANDS.get(kind, f"gotc check, {kind}"),
            lines[name],
            median(found),
            span(found, 3),
            GOALS.get(name),
            median(ratios[name]),
            span(ratios[name], 1),
            RATIOS.get(name),
            (median(found) - start) / lines[name] / median(python) if beyond else None,
            (memory[name] - memory["first, small"]) / 1e6 if beyond else None,
        )


def span(found: list[float], digits: int) -> str:
    """The least and the most."""
    return f"{min(found):.{digits}f} to {max(found):.{digits}f}"


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--lines", type=int, nargs="+", default=[1000, 10000, 100000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="two rounds of 1,000 and 10,000 lines")
    given = parser.parse_args()
    report(given, COLUMNS, rows([1_000, 10_000], 2) if given.quick else rows(given.lines, given.rounds))
