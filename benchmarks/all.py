"""Every figure of speed with its goal, and compared with alternatives.

    python -m benchmarks all --quick              fewer rounds and sizes, within a quarter of an hour
    python -m benchmarks all --quick wire cache   some of them
    python -m benchmarks all --write              as in benchmarks/README.md

Runs the benchmarks of speed one after the other, each in a process of its own, and prints their tables. Those
of other frameworks need them: `--langgraph` is a Python that has LangGraph, `--graph-of-thoughts` and
`--framework-of-thoughts` are folders with checkouts. Results and costs of studies are measured by `python -m
benchmarks tuning`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from measurement import Measurement, options

NAMES = (
    "wire",
    "byhand",
    "wall",
    "speculation",
    "overhead",
    "million",
    "evaluating",
    "trials",
    "cache",
    "checking",
    "compiling",
    "editing",
    "scale speed",
    "scale rows",
    "scale kills",
    "nodes",
)
PEERS = ("langgraph", "graph-of-thoughts", "framework-of-thoughts")


def main() -> int:
    parser = options(__doc__)
    known = list(dict.fromkeys(name.split()[0] for name in NAMES))
    parser.add_argument("names", nargs="*", choices=[[], *known], help="which of them (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and sizes")
    for peer in PEERS:
        parser.add_argument(f"--{peer}", help="see above")
    given = parser.parse_args()
    started, failed = time.monotonic(), 0
    for part in NAMES:
        name, *more = part.split()
        if given.names and name not in given.names:
            continue
        command = [sys.executable, str(Path(__file__).with_name(f"{name}.py")), *more, "--json"]
        words = ("write",) if name == "nodes" else ("quick", "write")
        command += [f"--{word}" for word in words if getattr(given, word)]
        if name == "overhead":
            for peer in PEERS:
                where = getattr(given, peer.replace("-", "_"))
                command += [f"--{peer}", where] if where else []
        begun = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        print(f"\n## {part}: {time.monotonic() - begun:.0f} s\n", flush=True)
        if done.returncode:
            failed += 1
            print(f"failed: `{' '.join(command[1:])}`")
        if not done.stdout:
            continue
        measured = Measurement(**json.loads(done.stdout))
        print(f"{measured.caption()}\n\n{measured.table()}", flush=True)
    print(f"\n{(time.monotonic() - started) / 60:.1f} minutes, {failed} failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
