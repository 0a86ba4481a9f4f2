"""What a study holds: no more for each row that it has run."""

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


def test_graphs_of_rows_that_ended_are_not_held(tmp_path: Path) -> None:
    (tmp_path / "wide_sim.py").write_text("def guess(rng, number):\n    return str(number + 3)\n")
    (tmp_path / "rows.csv").write_text("target\n" + "".join(f"{10 * n}\n" for n in range(8)))
    held = []
    for points in (12, 40):
        (tmp_path / "wide.got").write_text(WIDE.format(points=points))
        study = subprocess.run(
            [
                sys.executable,
                "-c",
                COUNTED,
                "tune",
                "wide.got",
                "--model",
                "simulated",
                "--no-cache",
                "--quiet",
            ],
            cwd=tmp_path,
            env=environment(GOTC_ALLOW_PYTHON="1"),
            capture_output=True,
            text=True,
            check=True,
        )
        held.append(int(study.stdout.split()[-1]))
    assert held[1] - held[0] < 60_000, "blocks of memory, for 168 rows more of 200 operations each"
