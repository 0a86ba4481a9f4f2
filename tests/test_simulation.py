"""Some seeds of the simulation (`tests/simulation.py`), and a check that it detects deliberate bugs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.breakages import BREAKAGES
from support.laws import times

ROOT = Path(__file__).parents[1]

FOUND_LATE = {"forgetful": 125}
"""Where the search starts for what the first seeds do not find."""


def simulate(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: it puts itself between Python and the system."""
    return subprocess.run(
        [sys.executable, "-m", "tests.simulation", *arguments],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "GOTC_"))}
        | {"PYTHONHASHSEED": "0"},  # with another, it starts itself again
        capture_output=True,
        text=True,
        timeout=1200,
    )


@pytest.mark.parametrize("part", range(2))
def test_invariants_hold_for_every_seed(part: int) -> None:
    seeds = times(160) // 2
    done = simulate("--first", str(part * seeds), "--seeds", str(seeds))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", BREAKAGES)
def test_broken_code_is_found(name: str) -> None:
    done = simulate("--break", name, "--first", str(FOUND_LATE.get(name, 0)), "--seeds", "200")
    assert done.returncode == 1, f"nobody noticed: {BREAKAGES[name].__doc__}"
    assert re.search(r"Broken: |Hang: ", done.stdout), done.stdout + done.stderr


def test_a_seed_replays() -> None:
    """In another process it happens again, step by step."""
    first, second = (simulate("--seeds", "8", "-v").stdout for _ in range(2))
    one = simulate("--seeds", "1", "--first", "7", "-v").stdout

    def lived(text: str) -> str:
        return re.sub(r"/\S*/gotc-\w+|\.[0-9a-f]{12}\b|, \d+ s: .*", "", text)

    assert lived(first) == lived(second)
    assert lived(one).rpartition("\n1 seeds")[0] in lived(first)
