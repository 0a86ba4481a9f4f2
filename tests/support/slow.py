"""A program whose simulated responses take real time, to watch its run grow."""

from __future__ import annotations

from pathlib import Path

PROGRAM = """\
simulate with "slow_sim.py"

prompt guess(number: int) -> int:
    "Say {{ number }}."

prompt add(left: int, right: int) -> int:
    "Add {{ left }} and {{ right }}."

scheme slow(count: int) -> int:
    foreach number in range(1, count + 1):
        Generate() guess(number)
    reduce left, right:
        Aggregate() add(left, right)
"""
SIMULATOR = """\
import os, time

PAUSE = float(os.environ.get("PAUSE", "0.1"))

def guess(rng, number):
    time.sleep(PAUSE)
    return str(number)

def add(rng, left, right):
    time.sleep(PAUSE)
    return str(left + right)
"""


def write(folder: Path) -> Path:
    """The program in a folder, as `slow.got`."""
    (folder / "slow.got").write_text(PROGRAM)
    (folder / "slow_sim.py").write_text(SIMULATOR)
    return folder / "slow.got"
