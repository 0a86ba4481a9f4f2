"""What a study holds: no more memory for each row that it has run, and one thread of numpy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

from support.gotc import environment

COUNTED = """\
import atexit, sys
from gotlang.cli.main import main
atexit.register(lambda: print(sys.getallocatedblocks()))
main()
"""
THREADS = """\
import atexit, os, sys, threading
from gotlang.cli.main import main
counts = lambda: print(len(os.listdir("/proc/self/task")), threading.active_count(), "numpy" in sys.modules)
atexit.register(counts)
main()
"""
WIDE = """\
simulate with "wide_sim.py"

param shift = 1 in 1..{points}

prompt guess(number: int) -> int:
    max_tokens 5
    "{{{{ number }}}}"

score distance(number: int, target: int) -> lower:
    abs(number - target)

scheme wide(target: int) -> int:
    foreach i in range(100):
        Generate() guess(target + i)
        Map() it + shift
    Score() distance(it, target)
    KeepBestN(1)

study wide:
    data "rows.csv", train 6, test 2
    minimize distance(result, target)
    trials {points}
    sampler grid
"""


def ended(folder: Path, script: str) -> list[str]:
    """The last words of a script that runs the study in a folder as the command does."""
    words = [
        sys.executable,
        "-c",
        script,
        "tune",
        "wide.got",
        "--model",
        "simulated",
        "--no-cache",
        "--quiet",
    ]
    own = {
        name: text for name, text in environment(GOTC_ALLOW_PYTHON="1").items() if "_NUM_THREADS" not in name
    }
    study = subprocess.run(words, cwd=folder, env=own, capture_output=True, text=True, check=True)
    return study.stdout.split()


def write_study(folder: Path, points: int, study: str = WIDE) -> None:
    (folder / "wide_sim.py").write_text("def guess(rng, number):\n    return str(number + 3)\n")
    (folder / "rows.csv").write_text("target\n" + "".join(f"{10 * n}\n" for n in range(8)))
    (folder / "wide.got").write_text(study.format(points=points))


def test_graphs_of_rows_that_ended_are_not_held(tmp_path: Path) -> None:
    held = []
    for points in (12, 40):
        write_study(tmp_path, points)
        held.append(int(ended(tmp_path, COUNTED)[-1]))
    assert held[1] - held[0] < 60_000, "blocks of memory, for 168 rows more of 200 operations each"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted on Linux")
def test_numpy_calculates_in_one_thread(tmp_path: Path) -> None:
    write_study(tmp_path, 12, WIDE.replace("    sampler grid\n", ""))
    running, python, numpy = ended(tmp_path, THREADS)[-3:]
    assert numpy == "True"
    assert running == python
