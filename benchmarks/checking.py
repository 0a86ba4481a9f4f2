"""How long `gotc check` takes, and what memory, for programs of 1,000 to 10,000 lines.

    python benchmarks/checking.py [--lines 1000,2500,5000,10000] [--rounds 3] [--json]

A program is programs/sorting.got again and again, each copy with names of its own, so that everything is a
declaration of its own. Seconds are those of the processor for the whole command, Python's start in it; the
table has the smallest of the rounds. Memory is the largest resident size, less that of a check of one line.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SORTING = (ROOT / "programs" / "sorting.got").read_text()
DECLARED = re.compile(r"^(?:param|prompt|score|scheme) (\w+)", re.MULTILINE)


def program(lines: int) -> str:
    """So many lines, or a few more, that compile."""
    head, _, body = SORTING.partition("\nparam ")
    body = "param " + body
    names = "|".join(sorted(set(DECLARED.findall(body)), key=len, reverse=True))
    copies, height = [], body.count("\n") + 1
    for number in range(max(1, -(-lines // height))):
        copies.append(re.sub(rf"\b({names})\b(?!=)", rf"\1_{number}", body))
    return "\n".join([head, *copies])


def check(path: Path) -> tuple[float, int]:
    """Seconds of the processor and bytes at most, of a process of its own."""
    command = [sys.executable, "-m", "gotlang", "check", str(path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    told = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{path} does not compile:\n{told.decode()[:2000]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def rows(sizes: list[int], rounds: int) -> Iterator[dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.got"
        path.write_text("param k = 1\n")
        _, empty = check(path)
        for size in sizes:
            text = program(size)
            path.write_text(text)
            seconds, memory = min(check(path) for _ in range(rounds))
            lines = text.count("\n")
            yield {
                "lines": lines,
                "seconds": round(seconds, 2),
                "ms_a_line": round(1000 * seconds / lines, 3),
                "mb": round((memory - empty) / 1e6, 1),
                "kb_a_line": round((memory - empty) / lines / 1000, 2),
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--lines", default="1000,2500,5000,10000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = list(rows([int(size) for size in given.lines.split(",")], given.rounds))
    if given.json:
        print(json.dumps(found))
        return
    print(f"{'lines':>8} {'seconds':>8} {'ms/line':>8} {'MB':>7} {'KB/line':>8}")
    for row in found:
        print(
            f"{row['lines']:>8,} {row['seconds']:>8.2f} {row['ms_a_line']:>8.3f} "
            f"{row['mb']:>7.1f} {row['kb_a_line']:>8.2f}"
        )


if __name__ == "__main__":
    main()
