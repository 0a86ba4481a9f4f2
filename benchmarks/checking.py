"""Time and memory of `gotc check` for programs of 1,000 to 10,000 lines.

    python benchmarks/checking.py [--lines 1000 2500 5000 10000] [--rounds 3]

A program is programs/sorting.got repeated, each copy with its own names. Seconds are processor time of the
whole command, including the start of Python; the table has the minimum of the rounds. Memory is the peak
resident size beyond that of checking one line.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measurement import PROGRAMS, ROOT, options, report

SORTING = (PROGRAMS / "sorting.got").read_text().replace('simulate with "sorting_sim.py"\n', "")
DECLARED = re.compile(r"^(?:param|prompt|score|scheme) (\w+)", re.MULTILINE)


def program(lines: int) -> str:
    """A program of at least so many lines that compiles."""
    head, _, body = SORTING.partition("\nparam ")
    body = "param " + body
    names = "|".join(sorted(set(DECLARED.findall(body)), key=len, reverse=True))
    copies, height = [], body.count("\n") + 1
    for number in range(max(1, -(-lines // height))):
        copies.append(re.sub(rf"\b({names})\b(?!=)", rf"\1_{number}", body))
    return "\n".join([head, *copies])


def check(path: Path) -> tuple[float, int]:
    """Processor time in seconds and peak memory in bytes of `gotc check`."""
    return measure("check", str(path))


def measure(*arguments: str) -> tuple[float, int]:
    """Processor time in seconds and peak memory in bytes of a gotc command."""
    command = [sys.executable, "-m", "gotlang", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} failed:\n{output.decode()[:2000]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


COLUMNS = {
    "lines": "{:,}",
    "seconds": "{:.2f}",
    "ms per line": "{:.2f}",
    "memory": "{:.1f} MB",
}


def rows(sizes: list[int], rounds: int) -> Iterator[tuple[float, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.got"
        path.write_text("param k = 1\n")
        _, empty = check(path)
        for size in sizes:
            text = program(size)
            path.write_text(text)
            seconds, memory = min(check(path) for _ in range(rounds))
            lines = text.count("\n")
            yield lines, seconds, 1000 * seconds / lines, (memory - empty) / 1e6


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--lines", type=int, nargs="+", default=[1000, 2500, 5000, 10000])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    report(given, COLUMNS, rows(given.lines, given.rounds))


if __name__ == "__main__":
    main()
